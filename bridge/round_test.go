package bridge_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/prompt"
)

// TestRounds plays a whole round in every dialect: the tools are taught in it, the model calls in it, and the call and
// its result go back in it.
func TestRounds(t *testing.T) {
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		for _, prefix := range []string{"", "p_"} {
			if d.ByName && prefix != "" {
				continue // satellites know tools by their names
			}
			written, err := d.AppendCalls(nil,
				[]chat.Call{{Name: prefix + "get_weather", Arguments: `{"city":"Paris"}`}})
			if err != nil {
				t.Fatal(err)
			}
			for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
				f := &fake{t: t, cut: cut, answers: []answer{{text(string(written))}, {text("18 degrees.")}}}
				b := bridge.New(f,
					bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: name, Prefix: prefix}})
				req := ask(weather)
				s := collect(t, b.Stream(t.Context(), req))
				if !cmp.Equal(s.Calls, []string{`get_weather({"city":"Paris"})`}) || s.Content != "" ||
					s.Finish != chat.FinishCalls {
					t.Errorf("%s: %q is read as %+v", name, written, s)
					continue
				}
				req.Messages = append(req.Messages,
					chat.Message{Role: chat.RoleAssistant,
						Calls: []chat.Call{{ID: s.IDs[0], Name: "get_weather", Arguments: `{"city":"Paris"}`}}},
					chat.Message{Role: chat.RoleTool, CallID: s.IDs[0], Parts: chat.Text("18")})
				if s = collect(t, b.Stream(t.Context(), req)); s.Content != "18 degrees." {
					t.Errorf("%s: the answer is %+v", name, s)
				}
				sent := f.requests[1].Messages
				// some show the id
				shown, err := d.AppendCalls(nil,
					[]chat.Call{{ID: req.Messages[1].Calls[0].ID, Name: prefix + "get_weather",
						Arguments: `{"city":"Paris"}`}})
				if got := sent[len(sent)-2].Text(); err != nil || got != string(shown) {
					t.Errorf("%s: the model wrote %q and is shown %q", name, written, got)
				}
				want := []chat.Result{{CallID: req.Messages[1].Calls[0].ID, Name: prefix + "get_weather",
					Parts: chat.Text("18")}}
				if diff := cmp.Diff(want, dialect.Results(lastOf(f.requests[1]))); diff != "" {
					t.Errorf("%s: the result (-want +got):\n%s", name, diff)
				}
			}
		}
	}
}

// TestCorrectiveRequest looks at what the model is sent when its answer was wrong.
func TestCorrectiveRequest(t *testing.T) {
	const wrong = "Hm. <tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call> Done."
	const problem = "TOOL_ERROR: Unknown tool: nope. Please try again with correct format."
	roles := func(messages []chat.Message) []string {
		var list []string
		for _, m := range messages {
			list = append(list, string(m.Role)+": "+m.Text())
		}
		return list
	}
	for _, tc := range []struct {
		name  string
		o     bridge.Options
		first answer
		want  []string // after the messages of the first request
	}{
		{"as user", bridge.Options{}, answer{text(wrong)}, []string{"assistant: " + wrong, "user: " + problem}},
		{"as system", bridge.Options{Bounce: bridge.BounceOptions{Role: chat.RoleSystem}}, answer{text(wrong)},
			[]string{"assistant: " + wrong, "system: " + problem}},
		{"nothing was said", bridge.Options{Decode: dialect.Options{Dialect: "function-style"}},
			native("", "get_weather", `{"city":"Rome"}`, ""), []string{"user: " + bounced(`get_weather(city="Rome")`)}},
		{"several failures", bridge.Options{Decode: dialect.Options{Dialect: "function-style"}},
			join(native("", "get_weather", `{"city":"Rome"}`, ""), native("", "get_weather", `{"city":"Bonn"}`, ""),
				answer{text(apology)}),
			[]string{"assistant: " + apology,
				"user: " + bounced("get_weather(city=\"Rome\")\nget_weather(city=\"Bonn\")")}},
	} {
		tc.o.Mode = bridge.ModeText
		_, f := play(t, tc.o, ask(weather), tc.first, answer{text("Sorry.")})
		n := len(f.requests[0].Messages)
		if diff := cmp.Diff(tc.want, roles(f.requests[1].Messages[n:])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(roles(f.requests[0].Messages), roles(f.requests[1].Messages[:n])); diff != "" {
			t.Errorf("%s: the first messages differ:\n%s", tc.name, diff)
		}
	}

	o := bridge.Options{Mode: bridge.ModeText, Prompt: prompt.Options{Alternate: true}}
	_, f := play(t, o, ask(weather), native("", "get_weather", `{"city":"Rome"}`, ""), answer{text("Sorry.")})
	for i, m := range f.requests[1].Messages {
		if want := []chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant}[i]; m.Role != want {
			t.Errorf("message %d is of %s, turns have to alternate", i, m.Role)
		}
	}

	o = bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Max: 3}}
	s, f := play(t, o, streamed(ask(weather)), answer{text(wrong)}, answer{text(wrong)}, answer{text(wrong)},
		answer{text("I give up.")})
	if len(s.Bounces) != 3 || len(f.requests[3].Messages) != len(f.requests[0].Messages)+6 ||
		s.Content != "Hm. I give up." {
		t.Errorf("three bounces: %+v", s)
	}
	for _, r := range f.requests {
		if len(r.Messages) > 0 && len(f.requests[0].Messages) != 2 {
			t.Error("the first request was changed")
		}
	}
}

// TestNothingForTheGone: for a client that is gone no prompt is rendered to its end, and no model is asked.
func TestNothingForTheGone(t *testing.T) {
	long := make([]chat.Message, 50_000)
	for i := range long {
		long[i] = chat.Message{Role: []chat.Role{chat.RoleUser, chat.RoleAssistant}[i%2], Parts: chat.Text("a")}
	}
	for _, mode := range []bridge.Mode{bridge.ModeText, bridge.ModeNative} {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		f := &fake{t: t} // which tells of every request
		b := bridge.New(f, bridge.Options{Mode: mode})
		req := &chat.Request{Model: "m", Messages: long, Tools: []chat.Tool{{Name: "f"}}}
		var failed error
		bytes := allocated(func() {
			for _, err := range b.Stream(ctx, req) {
				failed = err
			}
		})
		if !errors.Is(failed, context.Canceled) || len(f.requests) != 0 {
			t.Errorf("%s: %v, %d requests", mode, failed, len(f.requests))
		}
		if mode == bridge.ModeText && bytes > 2<<20 { // the messages of a whole prompt take more
			t.Errorf("%s: %d bytes were allocated", mode, bytes)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
