package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// runner returns a runner over tools.
func runner(t testing.TB, tools ...*tool.Tool) *Runner {
	t.Helper()
	var reg Registry
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	r := New(Settings{Tools: &reg, Shared: &Shared{Temp: t.TempDir()}})
	t.Cleanup(func() {
		if err := r.Settings().Shared.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func call(name, arguments string) chat.Call {
	return chat.Call{ID: "c1", Name: name, Arguments: arguments, Complete: true}
}

// play plans and runs a call, and returns the kinds of events and the text of the result.
func play(t *testing.T, r *Runner, c chat.Call) (kinds []string, result string) {
	t.Helper()
	p, err := r.Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return follow(t, r.Run(t.Context(), p))
}

func follow(t *testing.T, events func(func(chat.Event, error) bool)) (kinds []string, result string) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		word := e.Kind.String()
		if e.Kind == chat.KindToolState {
			word = string(e.Detail.(*StateDetail).State)
		}
		if e.Kind == chat.KindResult {
			result += e.Detail.(*chat.Result).Parts[0].Text
		}
		kinds = append(kinds, word)
	}
	return kinds, result
}

type city struct {
	City string `json:"city" jsonschema:"name of the city"`
	Days int    `json:"days,omitempty"`
}

func weather(context.Context, city) (string, error) { return "sunny", nil }

func TestRun(t *testing.T) {
	slow := tool.Stream("slow", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("stopped: %w", ctx.Err())
	})
	slow.Limits.Timeout = time.Millisecond
	tools := []*tool.Tool{
		tool.Func("weather", "", weather),
		tool.Func("fails", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no such city") }),
		tool.Func("panics", "", func(context.Context, struct{}) (string, error) { panic("on purpose") }),
		tool.Func("exits", "", func(context.Context, struct{}) (string, error) { runtime.Goexit(); return "", nil }),
		tool.Func("empty", "", func(context.Context, struct{}) (tool.Result, error) { return tool.Result{}, nil }),
		tool.Func("broken", "", func(context.Context, struct{}) (tool.Result, error) {
			return tool.Result{OK: true, Data: []byte("no json")}, nil
		}),
		tool.Func("object", "", func(context.Context, struct{}) (map[string]int, error) {
			return map[string]int{"a": 1}, nil
		}),
		tool.Func("list", "", func(context.Context, struct{}) ([]int, error) { return []int{1, 2}, nil }),
		tool.Func("nothing", "", func(context.Context, struct{}) (any, error) { return nil, nil }),
		tool.Func("number", "", func(_ context.Context, in struct {
			N any `json:"n"`
		}) (any, error) {
			return in.N, nil
		}),
		tool.Stream("talks", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
			fmt.Fprint(c.Output("stdout"), "working")
			c.Progress(1, 2, "half")
			return "done", nil
		}),
		slow,
	}
	for i, test := range []struct {
		name, args     string
		events, result string
	}{
		{"weather", `{"city":"Oslo"}`, "running done result", "sunny"},
		{"weather", `{"city":"Oslo","days":"5"}`, "note running done result", "sunny"},
		{"weather", `{'city': 'Oslo',}`, "note note note running done result", "sunny"},
		{"weather", ``, "failed result", "Error: Missing required parameter: city"},
		{"weather", `{}`, "failed result", "Error: Missing required parameter: city"},
		{"weather", `{"city":7.5}`, "failed result", "Error: Invalid arguments: /city: want string, got number 7.5"},
		{"weather", `{"city":"Oslo","approved":true}`, "failed result",
			"Error: Invalid arguments: /approved: unknown property; want only city, days"},
		{"weather", `{bad`, "failed result", "*Error: Invalid arguments: "},
		{"weather", `[1]`, "failed result", "*Error: Invalid arguments: "},
		{"weather", `{"city":"a","city":"b"}`, "failed result", "*Error: Invalid arguments: "},
		{"weather", `{"city":"a","CITY":"b"}`, "failed result", "*Error: Invalid arguments: "},
		{"weather", "{\"city\":\"a\xff\"}", "failed result", "*Error: Invalid arguments: "},
		{"weather", `{"city":"a"} {"city":"b"}`, "failed result", "*Error: Invalid arguments: "},
		{"weather", `{"city":"` + strings.Repeat("a", maxArguments) + `"}`, "failed result",
			"*Error: Invalid arguments: they have 1048587 bytes"},
		{"Weather", `{}`, "failed result", "Error: Tool Weather not found"},
		{"fails", `{}`, "running failed result", "Error: no such city"},
		{"panics", `{}`, "running failed result", "Error: Unexpected error: on purpose"},
		{"exits", `{}`, "running failed result", "Error: Unexpected error: the tool ended its goroutine"},
		{"empty", `{}`, "running failed result", "Error: Unexpected error: the tool gave no result"},
		{"broken", `{}`, "running done result", "no json"},
		{"object", `{}`, "running done result", `{"a":1}`},
		{"list", `{}`, "running done result", `[1,2]`},
		{"nothing", `{}`, "running done result", `OK`},
		{"number", `{"n":9007199254740993}`, "running done result", `9007199254740993`},
		{"number", `{"n":{"__proto__":1}}`, "failed result",
			`Error: Invalid arguments: the name __proto__ is not allowed`},
		{"number", `{"n":{"\u005f_proto__":1}}`, "failed result",
			`Error: Invalid arguments: the name __proto__ is not allowed`},
		{"number", `{"n":"__proto__"}`, "running done result", `__proto__`},
		{"talks", `{}`, "running progress progress done result", "done"},
		{"slow", `{}`, "running failed result", "Error: Tool execution timed out\ntimeout: 0.001"},
	} {
		t.Run(fmt.Sprint(i, " ", test.name), func(t *testing.T) {
			r := runner(t, tools...)
			records := &MemoryRecords{}
			r = r.With(func(s *Settings) { s.Records = records })
			kinds, result := play(t, r, call(test.name, test.args))
			if got := strings.Join(kinds, " "); got != test.events {
				t.Errorf("events %s, want %s", got, test.events)
			}
			want, prefix := strings.CutPrefix(test.result, "*")
			if result != want && !(prefix && strings.HasPrefix(result, want)) {
				t.Errorf("result %q, want %q", result, test.result)
			}
			started, finished := len(records.Started()), records.Finished()
			if ran := strings.Contains(test.events, "running"); len(finished) != 1 || finished[0].Started != ran ||
				(started == 1) != ran {
				t.Errorf("%d start records and %d result records", started, len(finished))
			}
		})
	}
}

// The time of whoever asked is not said to be that of the tool.
func TestTimeOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		slow := tool.Func("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		result := ""
		for e, err := range runner(t, slow).RunAll(ctx, []chat.Call{call("slow", `{}`)}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.KindResult {
				result = e.Detail.(*chat.Result).Parts[0].Text
			}
		}
		if want := "Error: Tool execution timed out"; result != want {
			t.Errorf("got %q, want %q", result, want)
		}
	})
}

func TestIncompleteCallIsNotRun(t *testing.T) {
	c := call("weather", `{"city":"Oslo"}`)
	c.Complete = false
	if _, result := play(t, runner(t, tool.Func("weather", "", weather)),
		c); result != "Error: The call was not complete and was not run" {
		t.Errorf("got %q", result)
	}
}

func TestDisabled(t *testing.T) {
	r := runner(t, tool.Func("weather", "", weather))
	reg := r.Settings().Tools.(*Registry)
	session := reg.Session()
	if err := session.Set("weather", tool.StateDisabled); err != nil {
		t.Fatal(err)
	}
	r = r.With(func(s *Settings) { s.Tools = session })
	if _, result := play(t, r, call("weather", `{"city":"Oslo"}`)); result != "Error: Tool weather is disabled" {
		t.Errorf("got %q", result)
	}
}

// TestMissing: a call of a tool whose server is away says so, in a session as well; other names are not found.
func TestMissing(t *testing.T) {
	r := runner(t)
	reg := r.Settings().Tools.(*Registry)
	reg.SetMissing(map[string]error{"files": errors.New("the MCP server files is not connected")})
	for _, source := range []Source{reg, reg.Session()} {
		r := r.With(func(s *Settings) { s.Tools = source })
		for name, want := range map[string]string{
			"files__read": "Error: Tool files__read is not available: the MCP server files is not connected",
			"other__read": "Error: Tool other__read not found",
		} {
			if _, got := play(t, r, call(name, `{}`)); got != want {
				t.Errorf("%T, %s: %q", source, name, got)
			}
		}
	}
}

func TestAutoToolIsCalledOnlyWhenItWasOffered(t *testing.T) {
	w := tool.Func("weather", "", weather)
	w.State, w.Auto = tool.StateAuto, tool.Rule{Words: []string{"rain"}}
	r := runner(t, w)
	session := r.Settings().Tools.(*Registry).Session()
	r = r.With(func(s *Settings) { s.Tools = session })
	if _, result := play(t, r, call("weather", `{"city":"Oslo"}`)); result != "Error: Tool weather not found" {
		t.Errorf("before: %q", result)
	}
	session.Offered("will it rain?")
	if _, result := play(t, r, call("weather", `{"city":"Oslo"}`)); result != "sunny" {
		t.Errorf("after: %q", result)
	}
}

// decider decides all calls in the same way.
type decider chat.Decision

func (decider) Hides(string) bool { return false }

func (decider) Always(policy.Action) string { return "" }

func (decider) Egress(string, policy.EgressOptions) *policy.Egress { return nil }

func (d decider) Decide(policy.Action) policy.Verdict {
	return policy.Verdict{Decision: chat.Decision(d), Rule: "test", Why: "so the test wants"}
}

func TestDenied(t *testing.T) {
	ran := false
	r := runner(t, tool.Func("x", "", func(context.Context, struct{}) (string, error) { ran = true; return "", nil }))
	for decision, want := range map[decider]string{
		"deny":    "Error: Security violation: so the test wants\ndetails: {\"rule\":\"test\"}",
		"ask":     "Error: User denied approval\ndetails: {\"reason\":\"there is nobody to ask\"}",
		"unheard": "Error: User denied approval\ndetails: {\"reason\":\"there is nobody to ask\"}",
	} {
		r = r.With(func(s *Settings) { s.Policy = decision })
		if _, result := play(t, r, call("x", `{}`)); result != want || ran {
			t.Errorf("%s: got %q, ran %v", decision, result, ran)
		}
	}
}

func TestCanceled(t *testing.T) {
	for name, f := range map[string]func(ctx context.Context, c *tool.Call, _ struct{}) (string, error){
		"obeys": func(ctx context.Context, _ *tool.Call, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		},
		"ignores": func(ctx context.Context, _ *tool.Call, _ struct{}) (string, error) {
			time.Sleep(time.Minute)
			return "late", nil
		},
		"talks": func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
			for ctx.Err() == nil {
				fmt.Fprint(c.Output("stdout"), "x")
				time.Sleep(1300 * time.Millisecond)
			}
			fmt.Fprint(c.Output("stdout"), "end")
			return "", ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := runner(t, tool.Stream("x", "", f))
				records := &MemoryRecords{}
				r = r.With(func(s *Settings) { s.Records = records })
				ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, context.Canceled)
				defer cancel()
				p, _ := r.Plan(ctx, call("x", "{}"))
				start := time.Now()
				_, result := follow(t, r.Run(ctx, p))
				if !strings.HasPrefix(result, "Error: Tool execution ") {
					t.Errorf("got %q", result)
				}
				want := map[string]time.Duration{"obeys": 10 * time.Second, "ignores": 12 * time.Second,
					"talks": 10400 * time.Millisecond}[name]
				if took := time.Since(start); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				if f := records.Finished(); len(f) != 1 || f[0].Result.OK {
					t.Errorf("records %+v", f)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestBreakCancels leaves the loop at the first event of the running tool. The call ends, and its result is recorded.
func TestBreakCancels(t *testing.T) {
	ended := make(chan struct{})
	r := runner(t, tool.Stream("x", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		defer close(ended)
		c.Progress(0, 1, "begun")
		<-ctx.Done()
		return "", ctx.Err()
	}))
	records := &MemoryRecords{}
	r = r.With(func(s *Settings) { s.Records = records })
	p, _ := r.Plan(t.Context(), call("x", "{}"))
	for e := range r.Run(t.Context(), p) {
		if e.Kind == chat.KindProgress {
			break
		}
	}
	<-ended
	if f := records.Finished(); len(f) != 1 || f[0].Result.ErrorType != tool.ErrCanceled {
		t.Errorf("records %+v", f)
	}
}

// failing is a record store that breaks.
type failing struct{ start, finish error }

func (f failing) Start(context.Context, StartRecord) error { return f.start }

func (f failing) Finish(context.Context, FinishRecord) error { return f.finish }

func (failing) Detach(context.Context, string, string) error { return nil }

func (failing) Detached(string) string { return "" }

func TestRecordsThatFail(t *testing.T) {
	broken := errors.New("disk full")
	ran := false
	r := runner(t, tool.Func("x", "", func(context.Context, struct{}) (string, error) { ran = true; return "", nil }))
	for _, test := range []struct {
		records failing
		ran     bool
	}{{failing{start: broken}, false}, {failing{finish: broken}, true}} {
		ran = false
		r = r.With(func(s *Settings) { s.Records = test.records })
		p, _ := r.Plan(t.Context(), call("x", "{}"))
		var last error
		for e, err := range r.Run(t.Context(), p) {
			if e.Kind == chat.KindResult {
				t.Error("a result that is not recorded was given")
			}
			last = err
		}
		if !errors.Is(last, broken) || ran != test.ran {
			t.Errorf("%+v: error %v, ran %v", test.records, last, ran)
		}
	}
}

func TestRetries(t *testing.T) {
	for _, test := range []struct {
		name       string
		idempotent bool
		kind       tool.ErrorKind
		want       int
	}{
		{"declared", true, tool.ErrTool, 3},
		{"not declared", false, tool.ErrTool, 1},
		{"hopeless", true, tool.ErrInvalid, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				x := tool.Func("x", "", func(context.Context, struct{}) (string, error) {
					n++
					return "", &tool.Error{Kind: test.kind, Message: "again"}
				})
				x.Idempotent, x.Retries = test.idempotent, 2
				play(t, runner(t, x), call("x", "{}"))
				if n != test.want {
					t.Errorf("ran %d times, want %d", n, test.want)
				}
			})
		})
	}
}

func TestMiddleware(t *testing.T) {
	var order []string
	around := func(name string) tool.Middleware {
		return func(next tool.Handler) tool.Handler {
			return tool.HandlerFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				order = append(order, name)
				r, err := next.Run(ctx, c)
				order = append(order, "/"+name)
				return r, err
			})
		}
	}
	r := runner(t,
		tool.Func("x", "", func(context.Context, struct{}) (string, error) { order = append(order, "x"); return "in", nil }))
	r = r.With(func(s *Settings) { s.Middleware = []tool.Middleware{around("a"), around("b")} })
	play(t, r, call("x", "{}"))
	if got := strings.Join(order, " "); got != "a b x /b /a" {
		t.Errorf("order %s", got)
	}
	r = r.With(func(s *Settings) {
		s.Middleware = []tool.Middleware{func(tool.Handler) tool.Handler {
			return tool.HandlerFunc(func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("instead"), nil })
		}}
	})
	if _, result := play(t, r, call("x", "{}")); result != "instead" {
		t.Errorf("got %q", result)
	}
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		x := tool.Func("x", "", func(_ context.Context, in city) (int, error) {
			if n++; in.City == "nowhere" {
				return 0, errors.New("no such city")
			}
			return n, nil
		})
		x.Cache.TTL = time.Minute
		r := runner(t, x)
		for i, step := range []struct {
			args   string
			wait   time.Duration
			result string
		}{
			{`{"city":"a","days":1}`, 0, "1"},
			{`{ "days": 1, "city": "\u0061" }`, 59 * time.Second, "1"},
			{`{"city":"b","days":1}`, 0, "2"},
			{`{"city":"a","days":1}`, time.Second, "3"},
			{`{"city":"nowhere"}`, 0, "Error: no such city"},
			{`{"city":"nowhere"}`, 0, "Error: no such city"},
			{`{"city":"c"}`, 0, "6"},
		} {
			time.Sleep(step.wait)
			if _, result := play(t, r, call("x", step.args)); result != step.result {
				t.Errorf("step %d: %q, want %q", i, result, step.result)
			}
		}
	})
}

func TestCacheForgetsTheOldest(t *testing.T) {
	n := 0
	x := tool.Func("x", "", func(context.Context, city) (int, error) { n++; return n, nil })
	x.Cache.TTL = time.Hour
	r := runner(t, x)
	r = r.With(func(s *Settings) { s.Shared.CacheEntries = 2 })
	for _, c := range []string{"a", "b", "a", "c", "a", "b"} {
		play(t, r, call("x", `{"city":"`+c+`"}`))
	}
	if n != 4 { // a, b, c, and b again
		t.Errorf("ran %d times, want 4", n)
	}
}

func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		x := tool.Func("x", "", func(context.Context, city) (int, error) { n++; return n, nil })
		x.Debounce = 500 * time.Millisecond
		r := runner(t, x)
		for i, step := range []struct {
			wait   time.Duration
			city   string
			result string
		}{{0, "a", "1"}, {499 * time.Millisecond, "a", "1"}, {0, "b", "2"}, {time.Millisecond, "a", "3"}} {
			time.Sleep(step.wait)
			if _, result := play(t, r, call("x", `{"city":"`+step.city+`"}`)); result != step.result {
				t.Errorf("step %d: %q, want %q", i, result, step.result)
			}
		}
	})
}

// TestSharedFlight runs identical calls at the same time. The one that runs is cancelled, and another takes over.
func TestSharedFlight(t *testing.T) {
	for _, idempotent := range []bool{true, false} {
		t.Run(fmt.Sprint(idempotent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				x := tool.Func("x", "", func(ctx context.Context, _ struct{}) (string, error) {
					n.Add(1)
					select {
					case <-time.After(time.Second):
						return "ok", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				})
				x.Idempotent = idempotent
				r := runner(t, x)
				first, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				var wg sync.WaitGroup
				var good atomic.Int32
				for i := range 5 {
					ctx := t.Context()
					if i == 0 {
						ctx = first
					}
					wg.Go(func() {
						if result, err := r.Call(ctx, "x", "{}"); err != nil {
							t.Error(err)
						} else if result.OK {
							good.Add(1)
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				want := int32(5)
				if idempotent {
					want = 2
				}
				if n.Load() != want || good.Load() != 4 {
					t.Errorf("ran %d times, want %d; %d good results", n.Load(), want, good.Load())
				}
			})
		})
	}
}

func TestPlanIsStored(t *testing.T) {
	r := runner(t, tool.Func("weather", "", weather), nop("other"))
	p, _ := r.Plan(t.Context(), call("weather", `{"city":"Oslo",}`))
	store := func(p Plan) (out Plan) {
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	kinds, result := follow(t, r.Run(t.Context(), store(p)))
	if got := strings.Join(kinds, " "); got != "note running done result" || result != "sunny" {
		t.Errorf("%s: %q", got, result)
	}
	for name, change := range map[string]func(p *Plan, r *Runner){
		"arguments":  func(p *Plan, _ *Runner) { p.Call.Arguments = `{"city":"Rome"}` },
		"name":       func(p *Plan, _ *Runner) { p.Call.Name = "other" },
		"definition": func(p *Plan, _ *Runner) { p.Definition = "x" },
		"directory":  func(_ *Plan, r *Runner) { *r = *r.With(func(s *Settings) { s.Dir = "/elsewhere" }) },
		"policy": func(_ *Plan, r *Runner) {
			*r = *r.With(func(s *Settings) { s.Policy = decider(chat.DecisionDeny) })
		},
		"ask": func(_ *Plan, r *Runner) {
			*r = *r.With(func(s *Settings) { s.Policy = decider(chat.DecisionAsk) })
		},
		"disabled": func(_ *Plan, r *Runner) { r.Settings().Tools.(*Registry).Set("weather", tool.StateDisabled) },
	} {
		t.Run(name, func(t *testing.T) {
			r := runner(t, tool.Func("weather", "", weather), nop("other"))
			q := store(p)
			change(&q, r)
			if _, result := follow(t, r.Run(t.Context(), q)); !strings.HasPrefix(result, "Error: ") {
				t.Errorf("it ran: %q", result)
			}
		})
	}
}

func TestStyleOfTool(t *testing.T) {
	for style, want := range map[tool.Style]string{
		tool.StylePlain: `{"a":1}`, tool.StyleC: `{"success":true,"data":{"a":1},"error":null}`,
		tool.StyleLLF: `{"success":true,"a":1}`} {
		x := tool.Func("x", "", func(context.Context, struct{}) (map[string]int, error) {
			return map[string]int{"a": 1}, nil
		})
		x.Style = style
		if _, got := play(t, runner(t, x), call("x", "{}")); got != want {
			t.Errorf("%s: %s", style, got)
		}
	}
}

// TestCodes_CR06: in the style of the Tool Calling Protocol a failure that its validation has a code for carries it.
func TestCodes_CR06(t *testing.T) {
	const parameters = `{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["C","F"]}},"required":["city"],"additionalProperties":false}`
	reg := new(Registry)
	weather := tool.Raw("weather", "", json.RawMessage(parameters),
		func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("sunny"), nil })
	weather.State = tool.StateEnabled
	if err := reg.Add(weather); err != nil {
		t.Fatal(err)
	}
	r := New(Settings{Tools: reg})
	for _, c := range []struct{ name, args, code string }{
		{"weather", `{}`, `,"error_code":"MISSING_REQUIRED"}`},
		{"weather", `{"city":"a","town":"b"}`, `,"error_code":"UNKNOWN_PARAM"}`},
		{"weather", `{"city":[1]}`, `,"error_code":"TYPE_MISMATCH"}`},
		{"weather", `{"city":"a","unit":"K"}`, `,"error_code":"INVALID_ENUM"}`},
		{"whether", `{}`, `,"error_code":"TOOL_NOT_FOUND"}`},
		{"weather", `{bad`, `"}`},
		{"weather", `{"city":"a"}`, `"error":null}`},
	} {
		res, err := r.Call(t.Context(), c.name, c.args)
		if err != nil {
			t.Fatal(err)
		}
		got := string(res.Append(nil, tool.StyleC))
		if !strings.HasSuffix(got, c.code) ||
			strings.Contains(got, "error_code") != strings.Contains(c.code, "error_code") {
			t.Errorf("%s %s: %s; want it to end with %s", c.name, c.args, got, c.code)
		}
	}
}
