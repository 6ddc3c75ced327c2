package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/dialect"
	"wield/internal/script"
)

// show writes events shortly, one a line.
func show(events []chat.Event) []string {
	var list []string
	for _, e := range events {
		s := e.Kind.String()
		switch e.Kind {
		case chat.KindText:
			s = fmt.Sprintf("text %d-%d %q", e.At, e.End, e.Text)
		case chat.KindReasoning:
			s += fmt.Sprintf(" %q", e.Text)
		case chat.KindCallStart:
			s += fmt.Sprintf(" %d %s %s %s", e.Index, e.ID, e.Name, e.Origin)
		case chat.KindCallArgs:
			s += fmt.Sprintf(" %d %q", e.Index, e.Text)
		case chat.KindCallEnd:
			c := e.Detail.(*chat.Call)
			s += fmt.Sprintf(" %d %s %s %s %t %s", c.Index, c.ID, c.Name, c.Arguments, c.Complete, c.Origin)
		case chat.KindNativeCall, chat.KindNativeResult:
			s += fmt.Sprintf(" %s %s %s %s", e.ID, e.Name, e.Text, e.Origin)
		case chat.KindUsage:
			s += fmt.Sprintf(" %+v", *e.Detail.(*chat.Usage))
		case chat.KindFinish:
			finish := e.Detail.(*chat.Finish)
			s += fmt.Sprintf(" %s %s", finish.Reason, finish.Model)
		}
		list = append(list, s)
	}
	return list
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"native tools", `
backend: {native_tools: true}
turns:
  - id: a
    when: {}
    chunk: 5
    reply: [{think: Hm}, {text: "Let me"}, {call: {name: f, args: {a: 1}, id: x}}, {call: {name: g, args: {}, as: hermes}}, {call: {name: h, id: y}}]
    usage: {in: 40, out: 12}
`, []string{
			`reasoning "Hm"`, `text 0-5 "Let m"`, `text 5-6 "e"`,
			`call_start 0 x f function`, `call_args 0 "{\"a\":"`, `call_args 0 " 1}"`,
			`call_end 0 x f {"a": 1} true function`, `HERMES`,
			`call_start 2 y h function`, `call_args 2 "{}"`, `call_end 2 y h {} true function`,
			`usage {Known:true In:40 Out:12 Cached:0 Written:0 Reasoning:0 Requests:1 Uncounted:0}`,
			`finish tool_calls m`}},
		{"targets", `
backend: {speaks: lumo}
turns:
  - id: a
    when: {}
    reply:
      - target: {message: M}
      - target: {reasoning: R}
      - target: {tool_call: '{"name":"f","arguments":{"s":"}{"}}{"name":"g","parameters":{"b":2}}{"name":"h"}'}
      - target: {tool_result: '{"error":true}{"ok":1}'}
      - target: {title: T}
`, []string{`text 0-1 "M"`, `reasoning "R"`,
			`native_call native_0 f {"s":"}{"} native`, `native_call native_1 g {"b":2} native`,
			`native_call native_2 h {} native`, `native_result native_0  {"error":true} native`,
			`native_result native_1  {"ok":1} native`,
			`usage {Known:false In:0 Out:0 Cached:0 Written:0 Reasoning:0 Requests:1 Uncounted:0}`, `finish stop m`}},
		{"length", `turns: [{id: a, when: {}, reply: [], finish: length}]`,
			[]string{`usage {Known:false In:0 Out:0 Cached:0 Written:0 Reasoning:0 Requests:1 Uncounted:0}`,
				`finish length m`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := collect(model(t, head+c.text), request(user("hi")))
			if err != nil {
				t.Fatal(err)
			}
			got := show(events)
			for i, w := range c.want {
				if w == "HERMES" { // chunks of a text that package dialect decides about
					var text strings.Builder
					for i < len(got) && strings.HasPrefix(got[i], "text") {
						text.WriteString(events[len(events)-len(got)+i].Text)
						got = append(got[:i:i], got[i+1:]...)
						events = append(events[:i:i], events[i+1:]...)
					}
					if !strings.HasPrefix(text.String(), "<tool_call>") {
						t.Errorf("the call in a dialect is %q", text.String())
					}
					c.want = append(c.want[:i:i], c.want[i+1:]...)
					break
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Waiting is announced, takes the time that the file says, and does not change what is said.
func TestTime(t *testing.T) {
	text := head + `
seed: 9
defaults: {chunk: 2, ttft: 150ms, tps: 10}
turns: [{id: a, when: {}, reply: [{text: abcd}, {pause: 2s}, {text: e}, {pause: 1s}]}]
`
	for _, c := range []struct {
		speed float64
		want  []string
	}{
		{0, []string{"150ms idle", "150ms text", "150ms idle", "250ms text", "250ms idle", "2.35s text", "2.35s idle",
			"3.35s usage", "3.35s finish"}},
		{10, []string{"15ms idle", "15ms text", "15ms idle", "25ms text", "25ms idle", "235ms text", "235ms idle",
			"335ms usage", "335ms finish"}},
		{-1, []string{"0s text", "0s text", "0s text", "0s usage", "0s finish"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := script.New(mustParse(t, text), script.Options{Speed: c.speed})
			start := time.Now()
			var got []string
			for e, err := range m.Stream(context.Background(), request(user(""))) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, time.Since(start).String()+" "+e.Kind.String())
			}
			if c.speed >= 0 {
				got[0] = strings.Replace(got[0], "0s", strings.Fields(c.want[0])[0], 1) // it comes before the wait
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("speed %v: %s", c.speed, d)
			}
		})
	}
}

func TestJitterIsSeeded(t *testing.T) {
	run := func(seed string) (total time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m := script.New(mustParse(t,
				head+"seed: "+seed+
					"\ndefaults: {chunk: 1, tps: 100, jitter: 50%}\nturns: [{id: a, when: {}, reply: [{text: abcdefghij}]}]\n"), script.Options{})
			start := time.Now()
			if _, err := collect(m, request(user(""))); err != nil {
				t.Fatal(err)
			}
			total = time.Since(start)
		})
		return total
	}
	one, again, other := run("1"), run("1"), run("2")
	if one != again {
		t.Errorf("the same seed gives %v and %v", one, again)
	}
	if one == other {
		t.Errorf("another seed gives the same %v", one)
	}
	if one < 45*time.Millisecond || one > 135*time.Millisecond {
		t.Errorf("9 waits of 10ms ± 50%% take %v", one)
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(t, head+"turns: [{id: a, when: {}, reply: [{text: x}]}]\nfaults: [{do: {stall: 1h}}]\n")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var last error
		for _, err := range m.Stream(ctx, request(user(""))) {
			last = err
		}
		if !errors.Is(last, chat.ErrTimeout) {
			t.Errorf("got %v", last)
		}
		cancel()
		_, err := func() (chat.Event, error) {
			for e, err := range m.Stream(ctx, request(user(""))) {
				return e, err
			}
			return chat.Event{}, nil
		}()
		if err == nil {
			t.Error("a context that ended gives no error")
		}
	})
}

// The faults that mean something without a connection.
func TestFaultsInProcess(t *testing.T) {
	for _, c := range []struct {
		do, want string
		kind     chat.ErrorKind
	}{
		{`{status: 429, retry_after: 1s, body: "Code: 2028"}`, "", chat.ErrRateLimit},
		// as a server says it
		{`{status: 429, retry_after: 1s, body: '{"Code": 2028, "Error": "Code: 2028"}'}`, "", chat.ErrRateLimit},
		{`{status: 401}`, "", chat.ErrAuth},
		{`{status: 503}`, "", chat.ErrOverloaded},
		{`{status: 500}`, "", chat.ErrUnavailable},
		{`{status: 504}`, "", chat.ErrTimeout},
		{`{status: 400}`, "", chat.ErrBadRequest},
		{`html_502`, "", chat.ErrUnavailable},
		{`{wrong_content_type: text/html}`, "", chat.ErrProtocol},
		{`{cut_after: 5b}`, "ab|cd|\xc3", chat.ErrUnavailable},
		{`{cut_after: 4b}`, "ab|cd", chat.ErrUnavailable},
		{`{cut_after: 0b}`, "", chat.ErrUnavailable},
		{`{cut_after: 1chunks}`, "ab", chat.ErrUnavailable},
		{`{cut_after: 10ms}`, "ab|cd|éf", chat.ErrUnavailable},
		{`reset`, "ab|cd|éf", chat.ErrUnavailable},
		{`{cut_after: 2chunks, half_close: true}`, "ab|cd", chat.ErrUnavailable},
		{`{dup_chunk: 2}`, "ab|cd|cd|éf", ""},
		{`{reorder: 1}`, "cd|ab|éf", ""},
		{`{reorder: 3}`, "ab|cd|éf", ""},
		{`{stall: 3s}`, "ab|cd|éf", ""},
		{`{slow_headers: 3s}`, "ab|cd|éf", ""},
		{`{drip: 1s}`, "a|b|c|d|\xc3|\xa9|f", ""},
		{`bad_utf8`, "ab|cd|\xc3f", ""},
		{`bad_sse`, "ab|cd", chat.ErrProtocol},
		{`[drop_done, no_index, finish_stop]`, "ab|cd|éf", ""},
		{`{huge_line: 100}`, "ab|cd|éf", ""},
	} {
		t.Run(c.do, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := model(t,
					head+"turns: [{id: a, when: {}, chunk: 2, reply: [{text: abcdéf}]}]\nfaults: [{on: a, do: "+c.do+
						"}]\n")
				events, err := collect(m, request(user("")))
				if got := texts(events); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if c.kind == "" && err != nil || c.kind != "" && !errors.Is(err, c.kind) {
					t.Errorf("error %v, want %s", err, c.kind)
				}
				var e *chat.Error
				if errors.As(err, &e) && e.Status == 429 && (e.RetryAfter != time.Second || e.Message != "Code: 2028") {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

func TestFailure(t *testing.T) {
	m := model(t, head+`turns: [{id: a, when: {}, reply: [{text: half}], finish: {timeout: High demand error}}]`)
	events, err := collect(m, request(user("")))
	var e *chat.Error
	if texts(events) != "half" || !errors.As(err, &e) || e.Kind != chat.ErrTimeout || e.Message != "High demand error" {
		t.Errorf("%q, %v", texts(events), err)
	}
}

// A backend that only knows text sees results as text of the prompt; the conditions work there too, in the
// form of every dialect.
func TestResultsInText(t *testing.T) {
	m := model(t, head+`
turns:
  - {id: answer, when: {last: tool, tool: get_weather, result_contains: "18", user: "weather in Oslo"}, reply: [{text: "${result.temp} after ${turn}"}]}
  - {id: other, when: {last: tool}, reply: [{text: "other"}]}
  - {id: call, when: {tools_offered: [get_weather]}, reply: [{call: {name: get_weather, args: {}}}]}
`)
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		for _, named := range []bool{true, false} {
			r := chat.Result{Parts: chat.Text(`{"temp": 18}`)}
			if named {
				r.Name = "get_weather"
			}
			call, err := d.AppendCalls(nil,
				[]chat.Call{{Name: "get_weather", Arguments: `{"city":"Oslo"}`, Complete: true}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !named && d.ByName {
				continue // it is not read without being asked for
			}
			got := say(t, m,
				chat.Message{Role: chat.RoleSystem,
					Parts: chat.Text(
						"You can call get_weather(city). Example: TOOL_RESULT: {\"success\": true, \"data\": 1}")},
				user("weather in Oslo"), assistant("Let me see.\n"+string(call)),
				user(string(d.AppendResults(nil, []chat.Result{r}))))
			if got != "18 after 1" {
				t.Errorf("%s, named %t: %q", name, named, got)
			}
		}
	}
}

// The in-process model is safe for concurrent use: requests with different keys do not see each other's state.
func TestStatesApart(t *testing.T) {
	m := model(t, head+`
turns:
  - {id: one, when: {}, need_state: "", set_state: on, reply: [{text: one}]}
  - {id: two, when: {}, need_state: on, set_state: "", reply: [{text: two}]}
`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				req := request(user("x"))
				req.User = fmt.Sprint(i)
				events, err := collect(m, req)
				if want := []string{"one", "two"}[j%2]; err != nil || texts(events) != want {
					t.Errorf("user %d, request %d: %q, %v", i, j, texts(events), err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(m.Player().Journal()); n != 80 {
		t.Errorf("the journal has %d entries", n)
	}
}

// A reply that was not read to its end leaves the state.
func TestStateAfterBreak(t *testing.T) {
	m := model(t, head+`
turns:
  - {id: one, when: {}, need_state: "", set_state: on, reply: [{text: a}, {text: b}]}
  - {id: two, when: {}, reply: [{text: two}]}
`)
	for range m.Stream(context.Background(), request(user("x"))) {
		break
	}
	if got := say(t, m, user("x")); got != "a|b" {
		t.Errorf("got %q", got)
	}
	if got := say(t, m, user("x")); got != "two" {
		t.Errorf("got %q", got)
	}
}

func TestSameBytes(t *testing.T) {
	text := head + `
seed: 4
backend: {native_tools: true}
turns: [{id: a, when: {}, reply: [{text: "cut this somewhere, and the same way each time", split: random}, {call: {name: f}}]}]
`
	first, err := collect(model(t, text), request(user("x")))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := collect(model(t, text), request(user("x")))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(show(first), show(again)); d != "" {
			t.Error(d)
		}
	}
	other, err := collect(model(t, strings.Replace(text, "seed: 4", "seed: 5", 1)), request(user("x")))
	if err != nil {
		t.Fatal(err)
	}
	if texts(first) == texts(other) {
		t.Error("another seed cuts the same way")
	}
	later, err := collect(model(t, text), request(user("x"), assistant("y"), user("z")))
	if err != nil {
		t.Fatal(err)
	}
	if id := func(events []chat.Event) string { return events[len(events)-3].Detail.(*chat.Call).ID }; id(first) == id(
		later) {
		t.Errorf("the id %s comes twice in a conversation", id(first))
	}
}

// The journal keeps what came last, within bounds.
func TestJournalIsBounded(t *testing.T) {
	s := mustParse(t, head+"turns: [{id: a, when: {}, reply: []}]\n")
	p := script.NewPlayer(func() (*script.Scenario, error) { return s, nil }, script.Options{})
	big := make([]byte, 1<<20)
	for range 100 {
		r, err := p.Play(script.Input{Request: request(user("x")), Body: big})
		if err != nil {
			t.Fatal(err)
		}
		r.Record(big[:1])
		r.Sent()
	}
	list := p.Journal()
	if n := len(list); n != 63 || list[n-1].Seq != 100 || !list[n-1].Complete {
		t.Errorf("%d entries, the last is %d", n, list[n-1].Seq)
	}
	groups := "x*"
	for i := range 32 {
		groups = fmt.Sprintf("(?<g%d>%s)", i, groups)
	}
	s = mustParse(t, head+"turns: [{id: a, when: {user: '/"+groups+"/'}, reply: []}]\n")
	for range 40 {
		if _, err := p.Play(script.Input{Request: request(user(strings.Repeat("x", 64<<10)))}); err != nil {
			t.Fatal(err)
		}
	}
	if list := p.Journal(); len(list) != 32 {
		t.Errorf("%d entries with captures of 2 MiB", len(list))
	}
	for range 2000 {
		if _, err := p.Play(script.Input{Request: request(user("x"))}); err != nil {
			t.Fatal(err)
		}
	}
	if list := p.Journal(); len(list) != 1000 || list[0].Seq != 1141 {
		t.Errorf("%d entries, the first is %d", len(list), list[0].Seq)
	}
}

// TestMaxRequests_AR40: a scenario with a limit answers so many requests of each key, and then says so; the scenarios
// that mock Lumo have one of ten.
func TestMaxRequests_AR40(t *testing.T) {
	ask := func(t *testing.T, s *script.Scenario, n int) error {
		t.Helper()
		p := script.NewPlayer(func() (*script.Scenario, error) { return s, nil }, script.Options{})
		for i := range n {
			if _, err := p.Play(script.Input{Request: request(user("x")), Key: "a"}); err != nil {
				t.Fatalf("request %d: %v", i+1, err)
			}
		}
		if _, err := p.Play(script.Input{Request: request(user("x")), Key: "b"}); err != nil {
			t.Errorf("another key: %v", err)
		}
		_, err := p.Play(script.Input{Request: request(user("x")), Key: "a"})
		return err
	}
	err := ask(t, mustParse(t, head+"max_requests: 2\nturns: [{id: a, when: {}, reply: []}]\n"), 2)
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.ErrBadRequest ||
		!strings.Contains(refused.Message, "answers 2 requests") {
		t.Errorf("the third request: %v", err)
	}
	for _, name := range []string{"success", "error", "timeout", "rejected", "toolCall", "misroutedToolCall"} {
		l, err := script.FromCatalogue(script.Catalogue(""), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Scenario()
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(t, s, 10); err == nil {
			t.Errorf("%s answers an eleventh request", name)
		}
	}
}
