package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/journal"
	"wield/tool"
	"wield/tool/runner"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, in sum) (map[string]int, error) {
	return map[string]int{"sum": in.A + in.B}, nil
}

// connect returns the server's tools to an official client.
func connect(t *testing.T, s *Server) *sdk.ClientSession {
	t.Helper()
	there, here := sdk.NewInMemoryTransports()
	if _, err := s.SDK.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// TestCalls checks what a client gets of calls that succeed, are repaired, do not fit, that fail and
// that need a person.
func TestCalls(t *testing.T) {
	var reg runner.Registry
	broken := tool.Func("broken", "Fails.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("no paper")
	})
	wipe := tool.Func("wipe", "Deletes everything.",
		func(context.Context, struct{}) (string, error) { return "gone", nil })
	wipe.Dangerous = true
	picture := tool.Raw("picture", "Takes a picture.", json.RawMessage(`{"type":"object"}`),
		func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{OK: true, Data: json.RawMessage(`"a cat"`),
				Parts: []chat.Part{{Kind: chat.PartImage, MediaType: "image/png", Data: []byte("png")}}}, nil
		})
	if err := reg.Add(tool.Func("add", "Adds numbers.", add), broken, wipe, picture); err != nil {
		t.Fatal(err)
	}
	session := connect(t, New(Options{Runner: runner.New(runner.Settings{Tools: &reg}), Version: "1"}))
	tests := []struct {
		name, args string
		want       string
		isError    bool
		structured string
	}{
		{"add", `{"a":1,"b":2}`, `{"sum":3}`, false, `{"sum":3}`},
		{"add", `{"a":"1","b":2}`, `{"sum":3}`, false, `{"sum":3}`},
		{"add", `{"a":1}`, "Missing required parameter: b", true, ""},
		{"broken", `{}`, "no paper", true, ""},
		{"wipe", `{}`, "approval", true, ""},
		{"picture", `{}`, "a cat", false, ""},
	}
	for _, test := range tests {
		r, err := session.CallTool(t.Context(),
			&sdk.CallToolParams{Name: test.name, Arguments: json.RawMessage(test.args)})
		if err != nil {
			t.Fatalf("%s %s: %v", test.name, test.args, err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		if r.IsError != test.isError || !strings.Contains(strings.ToLower(text), strings.ToLower(test.want)) {
			t.Errorf("%s %s: %q, an error: %v", test.name, test.args, text, r.IsError)
		}
		if data, _ := json.Marshal(r.StructuredContent); test.structured != "" && string(data) != test.structured {
			t.Errorf("%s: structured %s", test.name, data)
		}
		if test.name == "picture" {
			if len(r.Content) != 2 || string(r.Content[1].(*sdk.ImageContent).Data) != "png" {
				t.Errorf("picture: %v", r.Content)
			}
		}
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); err == nil {
		t.Error("a tool that there is none of was called")
	}
}

// TestCostIsLinear makes calls four times as large in one way after another, and compares what they allocate.
func TestCostIsLinear(t *testing.T) {
	var reg runner.Registry
	anything := tool.Raw("anything", "Takes anything.", json.RawMessage(`{"type":"object"}`),
		func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{OK: true, Data: json.RawMessage(`"fine"`)}, nil
		})
	if err := reg.Add(anything); err != nil {
		t.Fatal(err)
	}
	session := connect(t,
		New(Options{Runner: runner.New(runner.Settings{Tools: &reg}), Journal: new(journal.Memory), Version: "1"}))
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n) + item + "]" }
	ways := map[string]func(n int) (name, arguments string){
		"values":  func(n int) (string, string) { return "anything", `{"a":` + list(n, "1") + `}` },
		"objects": func(n int) (string, string) { return "anything", `{"a":` + list(n, `{"b":{}}`) + `}` },
		"keys": func(n int) (string, string) {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `"key%d":1,`, i)
			}
			return "anything", "{" + b.String() + `"last":1}`
		},
		"text": func(n int) (string, string) {
			return "anything", `{"a":"` + strings.Repeat("some words ", n) + `"}`
		},
		"escapes": func(n int) (string, string) { return "anything", `{"a":"` + strings.Repeat(`\u00e9\n`, n) + `"}` },
		"depth": func(n int) (string, string) {
			return "anything", `{"a":` + strings.Repeat("[", n/8) + strings.Repeat("]", n/8) + `}`
		},
		"name": func(n int) (string, string) { return strings.Repeat("anything", n), `{}` },
	}
	for way, call := range ways {
		cost := func(n int) (allocated uint64) {
			name, arguments := call(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			// an error is an answer, too
			_, _ = session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		cost(10)
		if few, many := cost(500), cost(2000); many > 6*few+(1<<20) {
			t.Errorf("%s: a call allocates %d bytes, and one four times as large %d", way, few, many)
		}
	}
}

// TestSync checks that clients see tools that come, change and go.
func TestSync(t *testing.T) {
	var reg runner.Registry
	reg.Add(tool.Func("add", "Adds numbers.", add), tool.Func("old", "Goes away.", add))
	s := New(Options{Runner: runner.New(runner.Settings{Tools: &reg}), Version: "1"})
	session := connect(t, s)
	list := func() (names []string) {
		for one, err := range session.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, one.Name+": "+one.Description)
		}
		return names
	}
	if got, want := list(), []string{"add: Adds numbers.", "old: Goes away."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	reg.Remove("old")
	reg.Replace(tool.Func("add", "Adds two numbers.", add))
	reg.Add(tool.Func("new", "Is new.", add))
	s.Sync()
	if got, want := list(), []string{"add: Adds two numbers.", "new: Is new."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestApprovals: a call that needs an approval asks the person of its client, who may allow it once or deny it, in both
// ways of the protocol.
func TestApprovals(t *testing.T) {
	ran := 0
	wipe := tool.Func("wipe", "Deletes everything.", func(context.Context, struct {
		Path string `json:"path"`
	}) (string, error) {
		ran++
		return "gone", nil
	})
	wipe.Dangerous = true
	var reg runner.Registry
	if err := reg.Add(wipe); err != nil {
		t.Fatal(err)
	}
	f := NewFront(FrontOptions{Open: func(caller Caller, _ string) (Options, bool) {
		return Options{Runner: runner.New(runner.Settings{Tools: &reg}), Approvals: AskClient, By: caller.Name}, true
	}})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Serve(w, r, Caller{Name: "somebody"})
	}))
	defer srv.Close()
	for _, way := range []string{"stream", "2026-07-28", "2025-11-25"} {
		for _, tt := range []struct {
			answer  *sdk.ElicitResult // nil: the client cannot ask
			want    string
			isError bool
			ran     int
		}{
			{&sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, "gone", false, 1},
			{&sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny", "reason": "not today"}},
				"not today", true, 0},
			{&sdk.ElicitResult{Action: "decline"}, "denied", true, 0},
			{&sdk.ElicitResult{Action: "cancel"}, "cancelled. If nobody can answer, a rule of the policy or --allow",
				true, 0},
			{nil, "cannot ask for one; a rule of the policy or --allow of wield mcp serve can allow it.", true, 0},
		} {
			ran = 0
			var question string
			o := &sdk.ClientOptions{}
			if tt.answer != nil {
				o.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					question = r.Params.Message
					return tt.answer, nil
				}
			}
			client := sdk.NewClient(&sdk.Implementation{Name: "test"}, o)
			var session *sdk.ClientSession
			var err error
			if way == "stream" {
				there, here := sdk.NewInMemoryTransports()
				if _, err := New(Options{Runner: runner.New(runner.Settings{Tools: &reg}),
					Approvals: AskClient}).SDK.Connect(t.Context(), there, nil); err != nil {
					t.Fatal(err)
				}
				session, err = client.Connect(t.Context(), here, nil)
			} else {
				session, err = client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL + Root},
					&sdk.ClientSessionOptions{ProtocolVersion: way})
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // an answer holds for one call
				r, err := session.CallTool(t.Context(),
					&sdk.CallToolParams{Name: "wipe", Arguments: json.RawMessage(`{"path":"/x"}`)})
				if err != nil {
					t.Fatalf("%s, %+v: %v", way, tt.answer, err)
				}
				if text := r.Content[0].(*sdk.TextContent).Text; r.IsError != tt.isError ||
					!strings.Contains(text, tt.want) {
					t.Errorf("%s, %+v: %q, an error: %v", way, tt.answer, text, r.IsError)
				}
			}
			if ran != 2*tt.ran ||
				tt.answer != nil && (!strings.Contains(question, "wipe") || !strings.Contains(question, "/x")) {
				t.Errorf("%s, %+v: ran %d times, asked %q", way, tt.answer, ran, question)
			}
			session.Close()
		}
	}
	session := connect(t, New(Options{Runner: runner.New(runner.Settings{Tools: &reg}), Approvals: AskClient}))
	for _, state := range []string{approvalState + "apr_1", approvalState} {
		_, err := session.CallTool(t.Context(),
			&sdk.CallToolParams{Name: "wipe", Arguments: json.RawMessage(`{"path":"/x"}`), RequestState: state,
				InputResponses: sdk.InputResponseMap{approvalKey: &sdk.ElicitResult{Action: "accept",
					Content: map[string]any{"decision": "allow once"}}}})
		if err == nil {
			t.Errorf("a state that nobody was given, %q, is taken", state)
		}
	}
}
