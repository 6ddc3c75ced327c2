//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
)

// TestWorkerTools runs tools of each kind on a worker that connects over TLS, with a certificate of the test's own
// authority: each works, and those that act get the idempotency key of their call.
func TestWorkerTools(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is missing is missed below
		fmt.Fprintf(w, "%s %s key=%s", r.Method, body, r.Header.Get("Idempotency-Key"))
	}))
	t.Cleanup(site.Close)
	server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "post", Description: "Posts a letter."},
		func(_ context.Context, r *sdk.CallToolRequest, in struct {
			To string `json:"to"`
		}) (*sdk.CallToolResult, any, error) {
			text := fmt.Sprintf("to %s key=%v", in.To, r.Params.Meta["wield/idempotency-key"])
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
	far := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(far.Close)

	tools := []struct{ name, arguments, want string }{
		{"build__calculator", `{expression: "6 * 7"}`, `42`},
		{"build__save", `{n: 1}`, `saved`},
		{"build__variables", `{}`, `key=KEY fence=true deadline=true`},
		{"build__order", `{what: ink}`, `POST {"what":"ink"} key=KEY`},
		{"build__look_up", `{}`, `GET  key=`},
		{"build__far__post", `{to: me}`, `to me key=KEY`},
	}
	s := slowStory
	s.config = strings.ReplaceAll(workedConfig, "ADDRESS", "127.0.0.1") + "tls: {cert: cert.pem, key: key.pem}\n"
	s.scenario = "\n"
	for i, one := range tools {
		s.scenario += fmt.Sprintf("  - {id: t%d, when: {turn: %d}, reply: [{call: {name: %s, args: %s}}]}\n",
			i, i, one.name, one.arguments)
	}
	s.scenario += "  - {id: answer, when: {}, reply: [{text: \"All done.\"}]}\n"
	w, err := newWorld(t.TempDir(), &s, "")
	if err != nil {
		t.Fatal(err)
	}
	certificate := filepath.Join(w.dir, "cert.pem")
	makeCertificate(t, certificate, filepath.Join(w.dir, "key.pem"), "authority")
	service := w.serve(t, "WIELD_TEST_WORKER="+workerKey)

	other, err := newWorld(t.TempDir(), &story{}, "")
	if err != nil {
		t.Fatal(err)
	}
	places := strings.NewReplacer("SITE", site.URL, "HOST", site.Listener.Addr().String(), "FAR", far.URL)
	writeFile(t, filepath.Join(other.dir, "wield.yaml"), places.Replace(`wield: config/v1
data: state
sandbox: {level: limits}
policies: {default: {default: allow, rules: [{allow: {host: ["HOST"]}}]}}
worker: {tools: [calculator, save, variables, order, look_up, far__post]}
tools:
  dirs: [tools]
  builtin: {calculator: {enabled: true}}
  sh:
    variables: {description: Shows variables., enabled: true, mode: rw, command: "echo key=$WIELD_CALL_KEY
      fence=$([ $WIELD_CALL_FENCE -gt 0 ] && echo true) deadline=$([ $WIELD_CALL_DEADLINE ] && echo true)"}
  http:
    order: {description: Orders., enabled: true, mode: rw, method: POST, url: "SITE/", params: {what: {type: string}}}
    look_up: {description: Looks it up., enabled: true, url: "SITE/"}
mcp: {servers: {far: {url: "FAR"}}}
`))
	stranger := other.hire(t, service.base, "stranger", nil)
	await(t, "a worker that does not know the authority stays away", func() bool {
		return strings.Contains(stranger.log.String(), "certificate")
	})
	stranger.stop(t)
	other.hire(t, service.base, "w", []string{"SSL_CERT_FILE=" + certificate})
	await(t, "the tools are offered", func() bool { return service.described(t, "build__far__post") != "" })
	var run shownRun
	if !service.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &run) {
		t.Fatalf("no run begins: %s", service.log)
	}
	awaitFor(t, time.Minute, "the run ends", func() bool {
		return service.call(t, "GET", "runs/"+run.ID, nil, &run) && run.State == "ended"
	})
	store, err := w.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	results := map[string]string{}
	ended := journal.Query{Stream: run.ID, Kinds: []record.Kind{record.KindResult}}
	for _, e := range journaltest.List(t, store.Read(t.Context(), ended)) {
		r := e.Record.Result
		var text string
		if json.Unmarshal(r.Result.Data, &text) != nil {
			text = string(r.Result.Data)
		}
		results[r.Tool] = strings.ReplaceAll(strings.TrimSpace(text)+r.Result.Error, run.ID+"/"+r.CallID, "KEY")
	}
	for _, one := range tools {
		if got := results[one.name]; got != one.want {
			t.Errorf("%s gives %q, not %q", one.name, got, one.want)
		}
	}
}
