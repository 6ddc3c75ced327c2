package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/chat"
	"wield/internal/cluster"
	"wield/internal/worker"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A service is a cluster behind HTTP, where the key of a worker is its name behind "key-".
type service struct {
	*cluster.Cluster
	*httptest.Server
}

func newService(t testing.TB) *service {
	t.Helper()
	c, err := cluster.Start(cluster.Options{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Cluster: c}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer key-")
		if !ok || r.URL.Path != cluster.Path {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		c.Serve(w, r, key, func() bool { return true })
	}))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		s.Server.Close()
	})
	return s
}

// A hand is a worker that runs in this process.
type hand struct {
	stop context.CancelFunc
	over chan error
}

// work starts a worker of the given tools, and waits until the service knows it.
func (s *service) work(t testing.TB, key, name string, change func(*worker.Options), tools ...*tool.Tool) *hand {
	t.Helper()
	registry := &runner.Registry{}
	if err := registry.Add(tools...); err != nil {
		t.Fatal(err)
	}
	o := worker.Options{Connect: s.URL, Key: "key-" + key, Name: name, Version: "1", Drain: 5 * time.Second,
		Runner: runner.New(runner.Settings{}), Tools: registry, Asks: true}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &hand{stop: stop, over: make(chan error, 1)}
	go func() { h.over <- worker.Run(ctx, o) }()
	t.Cleanup(h.end)
	await(t, "the worker is known", func() bool {
		return slices.ContainsFunc(s.Status().Workers, func(w cluster.WorkerStatus) bool {
			return w.Key == key &&
				w.Name == name
		})
	})
	return h
}

func (h *hand) end() {
	h.stop()
	if err, ok := <-h.over; ok && err != nil {
		panic(err)
	}
	h.over <- nil
}

func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come to pass that %s", what)
		}
	}
}

// runner returns a runner of the tools of a pool, as the service has them.
func (s *service) runner(t testing.TB, pool cluster.Pool) *runner.Runner {
	t.Helper()
	registry := &runner.Registry{}
	for _, d := range s.Offers(&pool) {
		if err := registry.Replace(s.Tool(pool, d)); err != nil {
			t.Fatal(err)
		}
	}
	return runner.New(runner.Settings{Tools: registry})
}

func pool(name string) cluster.Pool { return cluster.Pool{Name: name, Keys: []string{name}} }

const anyObject = `{"type":"object"}`

// define makes a tool by hand.
func define(name string, run tool.HandlerFunc) *tool.Tool {
	return &tool.Tool{Definition: chat.Tool{Name: name, Description: "A tool of a test.",
		Parameters: json.RawMessage(anyObject)}, Handler: run}
}

func echo(who string) *tool.Tool {
	return define("echo", func(_ context.Context, c *tool.Call) (tool.Result, error) {
		return tool.Text(who + " " + c.Arguments), nil
	})
}

func call(t testing.TB, r *runner.Runner, name, arguments string) tool.Result {
	t.Helper()
	result, err := r.Call(t.Context(), name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// TestCall: a call runs on the worker and its result comes back, whatever its kind and size.
func TestCall(t *testing.T) {
	s := newService(t)
	big := strings.Repeat("größer \"x\"\n", 300_000) // in several parts
	s.work(t, "build", "a", nil, echo("a"),
		define("big", func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(big), nil }),
		define("picture", func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{OK: true, Parts: []chat.Part{{Kind: chat.PartImage, MediaType: "image/png",
				Data: []byte{0, 1, 255}}}}, nil
		}),
		define("fails", func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{}, &tool.Error{Kind: tool.ErrTool, Message: "no paper",
				Details: json.RawMessage(`{"tray":2}`)}
		}),
		define("panics", func(context.Context, *tool.Call) (tool.Result, error) { panic("ink") }),
	)
	r := s.runner(t, pool("build"))
	r = r.With(func(s *runner.Settings) { s.Limits.Output = -1 })
	if got := call(t, r, "build__echo", `{"x": 1.50}`); string(got.Data) != `"a {\"x\": 1.50}"` || !got.OK {
		t.Errorf("echo: %+v", got)
	}
	var text string
	if got := call(t, r, "build__big", `{}`); json.Unmarshal(got.Data, &text) != nil || text != big {
		t.Errorf("of %d bytes %d came: %s", len(big), len(text), got.Error)
	}
	if got := call(t, r, "build__picture", `{}`); len(got.Parts) != 1 || string(got.Parts[0].Data) != "\x00\x01\xff" {
		t.Errorf("picture: %+v", got)
	}
	if got := call(t, r, "build__fails", `{}`); got.OK || got.Error != "no paper" || got.ErrorType != tool.ErrTool ||
		string(got.Details) != `{"tray":2}` {
		t.Errorf("fails: %+v", got)
	}
	if got := call(t, r, "build__panics", `{}`); got.OK || got.ErrorType != tool.ErrUnexpected {
		t.Errorf("panics: %+v", got)
	}
	r = r.With(func(s *runner.Settings) { s.Limits.Spill = 1 << 20 })
	if got := call(t, r, "build__big", `{}`); got.OK || got.ErrorType != tool.ErrLimit {
		t.Errorf("a result that is larger than the service takes: %.200s %s", got.Data, got.Error)
	}
}

// TestOutput: what a tool shows while it runs arrives while it runs, in order.
func TestOutput(t *testing.T) {
	s := newService(t)
	seen := make(chan bool)
	s.work(t, "build", "a", nil, define("talk", func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		for i := range 100 {
			fmt.Fprintf(c.Output("stdout"), "line %d\n", i)
		}
		c.Progress(1, 2, "half")
		select {
		case <-seen: // only then it goes on
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
		return tool.Text("end"), nil
	}))
	r := s.runner(t, pool("build"))
	p, err := r.Plan(t.Context(), chat.Call{ID: "1", Name: "build__talk", Arguments: "{}", Complete: true})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	result := ""
	for e, err := range r.Run(t.Context(), p) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == chat.KindProgress && e.Detail.(*runner.ProgressDetail).Text == "half":
			close(seen)
		case e.Kind == chat.KindProgress:
			text.WriteString(e.Detail.(*runner.ProgressDetail).Text)
		case e.Kind == chat.KindResult:
			result = e.Detail.(*chat.Result).Parts[0].Text
		}
	}
	if n := strings.Count(text.String(), "\n"); n != 100 || !strings.HasPrefix(text.String(), "line 0\nline 1\n") ||
		!strings.HasSuffix(text.String(), "line 99\n") || result != "end" {
		t.Errorf("%d lines, result %q: %.100s", n, result, text.String())
	}
}

// TestCancel: when nobody waits any more, or the time is up, the tool on the worker is told so.
func TestCancel(t *testing.T) {
	s := newService(t)
	began, ended := make(chan time.Duration, 10), make(chan error, 10)
	s.work(t, "build", "a", nil, define("hang", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		d, _ := ctx.Deadline()
		began <- time.Until(d)
		<-ctx.Done()
		ended <- ctx.Err()
		return tool.Result{}, ctx.Err()
	}))
	r := s.runner(t, pool("build"))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan tool.Result, 1)
	go func() {
		result, err := r.Call(ctx, "build__hang", "{}")
		if err != nil {
			t.Error(err)
		}
		over <- result
	}()
	if left := <-began; left > time.Minute || left < 50*time.Second {
		t.Errorf("the call has %v", left)
	}
	cancel()
	at := time.Now()
	<-ended
	if got := <-over; got.OK || got.ErrorType != tool.ErrCanceled || len(got.Details) > 0 {
		t.Errorf("cancelled: %+v", got)
	}
	if d := time.Since(at); d > time.Second {
		t.Errorf("a cancelled call ended after %v", d)
	}
	// the tool says a minute, which the runner's does not change
	r = r.With(func(s *runner.Settings) { s.Limits.Timeout = 100 * time.Millisecond })
	e, _ := r.Settings().Tools.Lookup("build__hang")
	e.Tool.Limits.Timeout = 100 * time.Millisecond
	if got := call(t, r, "build__hang", "{}"); got.ErrorType != tool.ErrTimeout {
		t.Errorf("timed out: %+v", got)
	}
	<-ended
	await(t, "the worker is idle", func() bool { return s.Status().Workers[0].Busy == 0 })
}

// TestLeastBusy: calls go to the worker with the least load, and wait where all are busy.
func TestLeastBusy(t *testing.T) {
	s := newService(t)
	var mu sync.Mutex
	most, now := map[string]int{}, map[string]int{}
	for name, limit := range map[string]int{"a": 1, "b": 3} {
		s.work(t, "build", name, func(o *worker.Options) { o.Concurrent = limit },
			define("wait", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
				mu.Lock()
				now[name]++
				most[name] = max(most[name], now[name])
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				mu.Lock()
				now[name]--
				mu.Unlock()
				return tool.Text(name), nil
			}))
	}
	r := s.runner(t, pool("build"))
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if got := call(t, r, "build__wait", "{}"); !got.OK {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	if most["a"] != 1 || most["b"] != 3 {
		t.Errorf("at a time the workers ran %v, and take 1 and 3", most)
	}
}

// TestPools: a pool is those with its keys and labels.
func TestPools(t *testing.T) {
	s := newService(t)
	label := func(value string) func(*worker.Options) {
		return func(o *worker.Options) { o.Labels = map[string]string{"disk": value, "name": "forged"} }
	}
	s.work(t, "build", "a", label("ssd"), echo("a"))
	s.work(t, "build", "b", label("hdd"), echo("b"))
	s.work(t, "other", "c", label("ssd"), echo("c"))
	for _, test := range []struct {
		pool cluster.Pool
		want string
	}{
		{cluster.Pool{Name: "fast", Keys: []string{"build"}, Labels: map[string]string{"disk": "ssd"}}, "a"},
		{cluster.Pool{Name: "b", Keys: []string{"build"}, Labels: map[string]string{"name": "b"}}, "b"},
		{cluster.Pool{Name: "ssd", Labels: map[string]string{"disk": "ssd"}}, "a c"},
		{cluster.Pool{Name: "all"}, "a b c"},
		{cluster.Pool{Name: "none", Labels: map[string]string{"disk": "tape"}}, ""},
	} {
		t.Run(test.pool.Name, func(t *testing.T) {
			if n := len(s.Offers(&test.pool)); n != min(len(test.want), 1) {
				t.Fatalf("%d tools", n)
			}
			found := map[string]bool{}
			for range 3 * min(len(test.want), 1) { // it is the turn of another one each time
				got := call(t, s.runner(t, test.pool), test.pool.Name+"__echo", "{}")
				found[strings.Trim(string(got.Data[:2]), `"`)] = true
			}
			for _, name := range strings.Fields(test.want) {
				if !found[name] {
					t.Errorf("the calls went to %v, want %s", found, test.want)
				}
			}
			if len(found) != len(strings.Fields(test.want)) {
				t.Errorf("the calls went to %v, want %s", found, test.want)
			}
		})
	}
}

// TestDefinitions: a call goes to no worker that has another definition than the service knows.
func TestDefinitions(t *testing.T) {
	s := newService(t)
	s.work(t, "build", "a", nil, echo("a"))
	r := s.runner(t, pool("build"))
	other := echo("b")
	other.Definition.Description = "Another one."
	s.work(t, "build", "b", nil, other)
	if n := len(s.Offers(&cluster.Pool{Name: "build"})); n != 2 {
		t.Fatalf("%d definitions", n)
	}
	for range 4 {
		if got := call(t, r, "build__echo", "{}"); string(got.Data) != `"a {}"` {
			t.Fatalf("%+v", got)
		}
	}
}

// asking is a policy that asks about every call.
func asking(t *testing.T) *policy.Policy {
	t.Helper()
	p, err := policy.New(policy.Definition{Name: "default", Default: chat.DecisionAsk})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestApproval: what the rules of the worker ask about is asked at the service; an approval runs the call, with other
// arguments if a person wrote some, and a refusal does not.
func TestApproval(t *testing.T) {
	s := newService(t)
	rules := asking(t)
	s.work(t, "build", "a", func(o *worker.Options) {
		o.Runner = o.Runner.With(func(s *runner.Settings) { s.Policy = rules })
	}, echo("a"))
	for _, test := range []struct {
		name   string
		answer runner.Answer
		want   string
		kind   tool.ErrorKind
	}{
		{"approved", runner.Answer{State: runner.ApprovalApproved}, `"a {\"n\":1}"`, ""},
		{"edited", runner.Answer{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"n":2}`)}, `"a {\"n\":2}"`, ""},
		{"denied", runner.Answer{State: runner.ApprovalDenied}, "", tool.ErrApproval},
	} {
		t.Run(test.name, func(t *testing.T) {
			questions := &runner.MemoryApprovals{}
			r := s.runner(t, pool("build"))
			r = r.With(func(s *runner.Settings) { s.Approvals = questions })
			records := &runner.MemoryRecords{}
			r = r.With(func(s *runner.Settings) { s.Records = records })
			p, err := r.Plan(t.Context(), chat.Call{ID: "1", Name: "build__echo", Arguments: `{"n":1}`, Complete: true})
			if err != nil {
				t.Fatal(err)
			}
			var asked string
			for e, err := range r.Run(t.Context(), p) {
				if err != nil && !errors.Is(err, runner.ErrPending) {
					t.Fatal(err)
				}
				if e.Kind == chat.KindApproval {
					asked = e.Detail.(*runner.ApprovalDetail).ID
				}
			}
			q, err := questions.Get(t.Context(), asked)
			if err != nil || !strings.Contains(q.Why, "the worker build/a asks") || string(q.Arguments) != `{"n":1}` {
				t.Fatalf("the question: %+v, %v", q, err)
			}
			if _, err := questions.Decide(t.Context(), asked, test.answer); err != nil {
				t.Fatal(err)
			}
			p.Outcome, p.Approval = runner.OutcomeNeedsInput, asked
			for _, err := range r.Run(t.Context(), p) {
				if err != nil {
					t.Fatal(err)
				}
			}
			got := records.Finished()[0].Result
			if string(got.Data) != test.want || got.ErrorType != test.kind {
				t.Errorf("%+v", got)
			}
		})
	}
	got := call(t, s.runner(t, pool("build")), "build__echo", "{}")
	if got.ErrorType != tool.ErrApproval || !strings.Contains(got.Error, "nobody to ask") {
		t.Errorf("with nobody to ask: %+v", got)
	}
}

// TestWorkerRefuses: what the rules of the worker deny is denied, whatever the service allows; where services may not
// answer its questions, what it would ask about is refused as well.
func TestWorkerRefuses(t *testing.T) {
	s := newService(t)
	deny, err := policy.New(policy.Definition{Name: "default", Default: chat.DecisionDeny})
	if err != nil {
		t.Fatal(err)
	}
	asks := asking(t)
	s.work(t, "deny", "a", func(o *worker.Options) {
		o.Runner = o.Runner.With(func(s *runner.Settings) { s.Policy = deny })
	}, echo("a"))
	s.work(t, "alone", "b", func(o *worker.Options) {
		o.Runner, o.Asks = o.Runner.With(func(s *runner.Settings) { s.Policy = asks }), false
	}, echo("b"))
	if got := call(t, s.runner(t, pool("deny")), "deny__echo", "{}"); got.ErrorType != tool.ErrSecurity {
		t.Errorf("denied: %+v", got)
	}
	if got := call(t, s.runner(t, pool("alone")), "alone__echo", "{}"); got.ErrorType != tool.ErrApproval ||
		!strings.Contains(got.Error, "worker.approvals") {
		t.Errorf("refused: %+v", got)
	}
}

// TestForm: a tool that asks a person with a form, such as one of an MCP server, fails with a result that names the
// tool and the question, whether or not the worker's rules have asked before.
func TestForm(t *testing.T) {
	s := newService(t)
	form := define("book", func(_ context.Context, c *tool.Call) (tool.Result, error) {
		if !c.Asks {
			return tool.Text("nobody is asked"), nil
		}
		return tool.Result{}, &tool.InputError{Form: tool.Form{Why: "the MCP server trips asks: which seat?",
			Schema: json.RawMessage(`{"type":"object","properties":{"seat":{"type":"string"}}}`)}}
	})
	s.work(t, "build", "a", nil, form)
	got := call(t, s.runner(t, pool("build")), "build__book", "{}")
	if got.OK || got.ErrorType != tool.ErrApproval {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"the tool book asks", "which seat?", "run it at the service"} {
		if !strings.Contains(got.Error, want) {
			t.Errorf("%q is not in %q", want, got.Error)
		}
	}
}

// TestDrain: a worker that is told to end takes no more calls, and ends those that it has.
func TestDrain(t *testing.T) {
	s := newService(t)
	began, goOn := make(chan bool), make(chan bool)
	slow := func(name string) *tool.Tool {
		return define("slow", func(context.Context, *tool.Call) (tool.Result, error) {
			if name == "a" {
				began <- true
				<-goOn
			}
			return tool.Text(name), nil
		})
	}
	a := s.work(t, "build", "a", nil, slow("a"))
	r := s.runner(t, pool("build"))
	first := make(chan tool.Result)
	go func() { first <- call(t, r, "build__slow", "{}") }()
	<-began
	s.work(t, "build", "b", nil, slow("b"))
	a.stop()
	await(t, "a takes no more calls", func() bool { return s.Status().Workers[0].Leaving })
	for range 6 {
		if got := call(t, r, "build__slow", "{}"); string(got.Data) != `"b"` {
			t.Errorf("%+v", got)
		}
	}
	close(goOn)
	if got := <-first; string(got.Data) != `"a"` {
		t.Errorf("the call that was under way: %+v", got)
	}
	a.end()
	await(t, "a has left", func() bool { return len(s.Status().Workers) == 1 })
}

// TestRefused: a worker without a good key ends, and says why.
func TestRefused(t *testing.T) {
	s := newService(t)
	for key, want := range map[string]string{"": "does not know the key", "wrong": "does not know the key"} {
		err := worker.Run(t.Context(), worker.Options{Connect: s.URL, Key: key, Name: "x",
			Runner: runner.New(runner.Settings{}), Tools: &runner.Registry{}})
		if refused := (*worker.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if err := worker.Run(t.Context(), worker.Options{Connect: "tcp://x", Runner: runner.New(runner.Settings{}),
		Tools: &runner.Registry{}}); err == nil || !strings.Contains(err.Error(), "http://HOST:PORT") {
		t.Errorf("an address of another kind: %v", err)
	}
}

// TestNobody: without a worker a call waits, and then says so.
func TestNobody(t *testing.T) {
	s := newService(t)
	a := s.work(t, "build", "a", nil, echo("a"))
	r := s.runner(t, pool("build"))
	a.end()
	await(t, "a has left", func() bool { return len(s.Status().Workers) == 0 })
	go func() {
		time.Sleep(300 * time.Millisecond)
		s.work(t, "build", "b", nil, echo("b"))
	}()
	if got := call(t, r, "build__echo", "{}"); string(got.Data) != `"b {}"` {
		t.Errorf("a worker that comes while the call waits: %+v", got)
	}
}

// TestSameKey: of two calls with one idempotency key one runs, whoever asks; a process that has lost its run begins
// none.
func TestSameKey(t *testing.T) {
	s := newService(t)
	ran, began, goOn := 0, make(chan bool, 1), make(chan bool)
	s.work(t, "build", "a", nil, define("count", func(context.Context, *tool.Call) (tool.Result, error) {
		ran++ // by one goroutine at a time, or the race detector says so
		began <- true
		<-goOn
		return tool.Text(fmt.Sprint(ran)), nil
	}))
	rnr := s.runner(t, pool("build"))
	ask := func(ctx context.Context, run, id string, fence int64) tool.Result {
		records := &runner.MemoryRecords{}
		r := rnr.With(func(s *runner.Settings) { s.Records, s.Scope = records, tool.Scope{Run: run, Fence: fence} })
		p, err := r.Plan(ctx, chat.Call{ID: id, Name: "build__count", Arguments: "{}", Complete: true})
		if err != nil {
			t.Error(err)
		}
		for _, err := range r.Run(ctx, p) {
			if err != nil {
				t.Error(err)
			}
		}
		return records.Finished()[0].Result
	}
	var first sync.WaitGroup
	before, gone := context.WithCancel(t.Context())
	first.Go(func() { ask(before, "run_1", "1", 1) }) // whose process is gone before it ends
	defer first.Wait()
	defer gone()
	<-began
	second := make(chan tool.Result)
	go func() { second <- ask(t.Context(), "run_1", "1", 2) }()
	time.Sleep(50 * time.Millisecond) // it may also come later, and gets the same
	close(goOn)
	if got := <-second; string(got.Data) != `"1"` {
		t.Errorf("the call of the new owner: %+v", got)
	}
	if got := ask(t.Context(), "run_1", "1", 2); string(got.Data) != `"1"` || ran != 1 {
		t.Errorf("the call once more: %+v, and the tool ran %d times", got, ran)
	}
	if got := ask(t.Context(), "run_1", "2", 1); got.ErrorType != tool.ErrSecurity || ran != 1 {
		t.Errorf("a call of the owner before: %+v, and the tool ran %d times", got, ran)
	}
	if got := ask(t.Context(), "run_2", "1", 1); string(got.Data) != `"2"` {
		t.Errorf("another run: %+v", got)
	}
}
