package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/internal/mask"
	"wield/tool"
	"wield/tool/runner"
)

// raw is a server that speaks by hand: it answers requests by their method with what answer returns, which may be
// anything.
func raw(t *testing.T, contentType string, answer func(method string, id json.RawMessage) string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m); r.Method != http.MethodPost || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, answer(m.Method, m.ID))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// honest returns the answer of a server of 2025-11-25 with the tool t.
func honest(method string, id json.RawMessage) string {
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"fine"}]}`,
	}[method]
	if result == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, id)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// TestLying meets servers that break the protocol. Each costs its own calls, within their time, and says why.
func TestLying(t *testing.T) {
	call := func(bad string) func(string, json.RawMessage) string {
		return func(method string, id json.RawMessage) string {
			if method == "tools/call" {
				return strings.ReplaceAll(bad, "ID", string(id))
			}
			return honest(method, id)
		}
	}
	tests := []struct {
		name, contentType string
		answer            func(string, json.RawMessage) string
		list, result      string // what is said of the server, and of a call
	}{
		{"honest", "application/json", honest, "", "fine"},
		{"the answer to another request", "application/json",
			call(`{"jsonrpc":"2.0","id":987654,"result":{"content":[]}}`), "", "Error: "},
		{"an id that is no id", "application/json", call(`{"jsonrpc":"2.0","id":{"a":1},"result":{"content":[]}}`), "",
			"Error: "},
		{"no JSON", "application/json", call(`<html>`), "", "Error: "},
		{"a result that is none", "application/json", call(`{"jsonrpc":"2.0","id":ID,"result":{"content":"text"}}`),
			"", "Error: "},
		{"content of an unknown type", "application/json",
			call(`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"smell"}]}}`), "", "Error: "},
		{"another content type", "text/html", honest, "mcp server raw: ", ""},
		{"nothing at all", "application/json", func(string, json.RawMessage) string { return "" }, "mcp server raw: ",
			""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{Name: "raw", URL: raw(t, test.contentType, test.answer), Start: 3 * time.Second,
				// other tests close the connections of the default one
				Client: &http.Client{Transport: &http.Transport{}}})
			defer s.Close()
			tools, problems := s.Tools(t.Context())
			if test.list != "" {
				if len(tools) > 0 || !strings.HasPrefix(fmt.Sprint(problems), "["+test.list) {
					t.Errorf("%d tools, problems %v", len(tools), problems)
				}
				return
			}
			var reg runner.Registry
			if err := reg.Add(tools...); err != nil || len(tools) != 1 {
				t.Fatal(tools, problems, err)
			}
			r := runner.New(runner.Settings{Tools: &reg, Limits: tool.CallLimits{Timeout: time.Second}})
			began := time.Now()
			result, err := r.Call(t.Context(), "raw__t", "{}")
			answer := result.Chat(&chat.Call{}, tool.StylePlain)
			m := chat.Message{Parts: answer.Parts}
			if got := m.Text(); err != nil || !strings.HasPrefix(got, test.result) {
				t.Errorf("%q, %v", got, err)
			}
			if time.Since(began) > 10*time.Second {
				t.Errorf("it took %v", time.Since(began))
			}
		})
	}
}

// TestFlood meets servers that have too much: tools, pages without an end, progress without an end.
func TestFlood(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "many"}, &sdk.ServerOptions{PageSize: 500})
	for i := range 10_000 {
		s.AddTool(&sdk.Tool{Name: fmt.Sprintf("t%05d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
	}
	many := New(Options{Name: "many", URL: service(t, s, true)})
	defer many.Close()
	if tools, problems := many.Tools(t.Context()); len(tools) != maxTools ||
		!strings.Contains(fmt.Sprint(problems), "more than 1000 tools") {
		t.Errorf("%d tools, problems %v", len(tools), problems)
	}
	for cursor, most := range map[string]int{"again": 2, "again-%d": maxPages + 1} {
		pages := 0
		endless := New(Options{Name: "endless",
			URL: raw(t, "application/json", func(method string, id json.RawMessage) string {
				if method != "tools/list" {
					return honest(method, id)
				}
				pages++
				next := strings.ReplaceAll(cursor, "%d", strconv.Itoa(pages))
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":%q}}`, id, next)
			}), Start: 10 * time.Second})
		defer endless.Close()
		if tools, problems := endless.Tools(t.Context()); len(tools) != 0 ||
			!strings.Contains(fmt.Sprint(problems), "pages") || pages > most {
			t.Errorf("%d tools of %d pages, problems %v", len(tools), pages, problems)
		}
	}

	pages := 0
	listing := New(Options{Name: "endless", Prompts: true, Resources: true,
		URL: raw(t, "application/json", func(method string, id json.RawMessage) string {
			switch {
			case method == "initialize":
				return strings.Replace(honest(method, id), `"tools":{}`, `"tools":{},"prompts":{},"resources":{}`, 1)
			case !strings.HasSuffix(method, "/list") || method == "tools/list":
				return honest(method, id)
			}
			pages++
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"prompts":[],"resources":[],"resourceTemplates":[],`+
				`"nextCursor":"%d"}}`, id, pages)
		})})
	defer listing.Close()
	if _, problems := listing.Tools(t.Context()); len(problems) != 3 || pages != 3*maxPages {
		t.Errorf("%d pages, problems %v", pages, problems)
	}

	// A tool that tells how far it is as fast as it can, and never ends.
	loud := sdk.NewServer(&sdk.Implementation{Name: "loud"}, nil)
	loud.AddTool(&sdk.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := 1.0; ctx.Err() == nil; i++ {
				if r.Session.NotifyProgress(ctx,
					&sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: i,
						Message: strings.Repeat("x", 1000)}) != nil {
					break
				}
			}
			return &sdk.CallToolResult{}, nil
		})
	c := New(Options{Name: "loud", URL: service(t, loud, true)})
	r := box(t, c)
	r = r.With(func(s *runner.Settings) { s.Limits.Timeout = time.Second })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result, err := r.Call(t.Context(), "loud__t", "{}")
	if err != nil || result.ErrorType != tool.ErrTimeout {
		t.Errorf("%+v, %v", result, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
}

// TestSecrets meets a server that says a secret in all that it can: what is left is the rest.
func TestSecrets(t *testing.T) {
	const secret = `a "secret" of the server`
	quoted, _ := json.Marshal(secret)
	in := string(quoted[1 : len(quoted)-1])
	says := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},` +
			`"serverInfo":{"name":"raw IN","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"t","description":"It has IN.","inputSchema":{"type":"object",` +
			`"properties":{"IN":{"type":"number","description":"IN","default":1}}}}]}`,
		"tools/call":               `{"content":[{"type":"text","text":"IN"}],"structuredContent":{"IN":["IN",1.5]}}`,
		"prompts/list":             `{"prompts":[{"name":"p","description":"IN"}]}`,
		"resources/list":           `{"resources":[{"name":"r","uri":"file:///IN"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"name":"r","uriTemplate":"file:///{x}/IN"}]}`,
	}
	url := raw(t, "application/json", func(method string, id json.RawMessage) string {
		if says[method] == "" {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no %[2]s","data":{%[3]s:%[3]s}}}`,
				id, in, quoted)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, strings.ReplaceAll(says[method], "IN", in))
	})
	s := New(Options{Name: "raw", URL: url, Prompts: true, Resources: true, Hide: mask.Values([]string{secret})})
	r := box(t, s)
	seen := map[string]any{"status": s.Status(), "offers": s.Offers()}
	result, err := r.Call(t.Context(), "raw__t", "{}")
	seen["result"] = result
	if err != nil || !strings.Contains(string(result.Data), "1.5") {
		t.Errorf("%+v, %v", result, err)
	}
	tools, _ := s.Known()
	for _, one := range tools {
		seen[one.Name()] = one.Definition
	}
	session, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "p"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != -32000 {
		t.Fatal(err)
	}
	seen["error"] = []string{err.Error(), wire.Message, string(wire.Data)}
	for name, one := range seen {
		text, err := json.Marshal(one)
		if err != nil || strings.Contains(string(text), "secret") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if (name == "raw__t" || !strings.HasPrefix(name, "raw__")) && !strings.Contains(string(text), "[masked]") {
			t.Errorf("%s says nothing: %s", name, text)
		}
	}
}

// TestWrongOutput checks that a program whose output is no protocol is blamed for that, not for its end.
func TestWrongOutput(t *testing.T) {
	command := program(t, "good")
	command.Argv = []string{"sh", "-c", "echo '{{{'; cat >/dev/null"}
	s := New(Options{Name: "w", Command: command})
	defer s.Close()
	_, problems := s.Tools(t.Context())
	if text := fmt.Sprint(problems); !strings.Contains(text, "invalid character") {
		t.Error(text)
	}
}

// TestSlow checks that a server that never answers costs nothing but its own time, and is tried again later.
func TestSlow(t *testing.T) {
	block := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(block)
	s := New(Options{Name: "slow", URL: srv.URL, Start: 300 * time.Millisecond})
	defer s.Close()
	began := time.Now()
	tools, problems := s.Tools(t.Context())
	if len(tools) > 0 || len(problems) != 1 || time.Since(began) > 10*time.Second {
		t.Errorf("%d tools, problems %v after %v", len(tools), problems, time.Since(began))
	}
	if text := fmt.Sprint(problems); !strings.Contains(text, "not ready after 300ms (start, in mcp.servers.slow ") {
		t.Errorf("it does not say what to do: %s", text)
	}
	began = time.Now()
	if _, again := s.Tools(t.Context()); len(again) != 1 || time.Since(began) > 200*time.Millisecond {
		t.Errorf("it is asked again at once: %v after %v", again, time.Since(began))
	}
}
