package runs_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// TestEgress: the policy of an agent, to which rules can be added, also decides which hosts its tools connect to.
func TestEgress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("reached"))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	fetch := &tool.Tool{
		Definition: chat.Tool{Name: "fetch", Description: "Fetches a page."},
		Handler: tool.HandlerFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			client := c.Client()
			defer client.CloseIdleConnections()
			res, err := client.Get(server.URL)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(res.Status), res.Body.Close()
		}),
	}
	for _, tt := range []struct {
		rule policy.Rule
		want string
	}{
		{policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Host: []string{host}}}, "200 OK"},
		{policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Host: []string{"example.com"}}},
			"address refused"},
	} {
		p, err := policy.New(policy.Definition{Name: "p", Default: chat.DecisionAllow, Rules: []policy.Rule{tt.rule}})
		if err != nil {
			t.Fatal(err)
		}
		tools := new(runner.Registry)
		if err := tools.Add(fetch); err != nil {
			t.Fatal(err)
		}
		shared := &runner.Shared{Temp: t.TempDir()}
		defer shared.Close()
		m := &model{answers: []answer{{calls: []chat.Call{call("fetch", `{}`)}}, {text: "Done."}}}
		store := new(journal.Memory)
		h := runs.New(runs.Options{Journal: store, Agents: []runs.Agent{{Name: "home", Model: m,
			Runner: runner.New(runner.Settings{Tools: tools, Policy: p, Shared: shared})}}})
		l, err := h.Start(t.Context(), runs.Start{Agent: "home", Request: ask("go"), By: "me"})
		if err != nil {
			t.Fatal(err)
		}
		l.Outcome()
		var got string
		for e, err := range store.Read(t.Context(), journal.Query{Kinds: []record.Kind{record.KindResult}}) {
			if err != nil {
				t.Fatal(err)
			}
			got += string(e.Record.Result.Result.Data) + e.Record.Result.Result.Error
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.rule, got, tt.want)
		}
		drainNow(h)
	}
}
