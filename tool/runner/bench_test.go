package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"wield/chat"
	"wield/internal/testlevel"
	"wield/tool"
	"wield/tool/policy"
)

// pipeline returns a runner with one typed tool, and a call of it.
func pipeline(t testing.TB) (*Runner, chat.Call) {
	return runner(t, tool.Func("weather", "Tells the weather.", weather)), call("weather", `{"city":"Oslo","days":3}`)
}

// ruled returns the same with a policy that allows the tool by a rule.
func ruled(t testing.TB) (*Runner, chat.Call) {
	r, c := pipeline(t)
	p, err := policy.New(
		policy.Definition{
			Rules: []policy.Rule{{Decision: chat.DecisionAllow, Selector: policy.Selector{Tool: []string{"weather"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r = r.With(func(s *Settings) { s.Policy = p })
	return r, c
}

func once(t testing.TB, r *Runner, c chat.Call) {
	p, err := r.Plan(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	results := 0
	for e, err := range r.Run(context.Background(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindResult {
			results++
		}
	}
	if results != 1 {
		t.Fatal("no result")
	}
}

// BenchmarkPipeline takes a call of a typed tool in the process from its text to its result.
func BenchmarkPipeline(b *testing.B) {
	r, c := pipeline(b)
	b.ReportAllocs()
	for b.Loop() {
		once(b, r, c)
	}
}

// BenchmarkPipelineRuled does so under a policy.
func BenchmarkPipelineRuled(b *testing.B) {
	r, c := ruled(b)
	b.ReportAllocs()
	for b.Loop() {
		once(b, r, c)
	}
}

// BenchmarkDecode is the floor: reading the arguments and running the function, with nothing around them.
func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var in city
		if err := json.Unmarshal([]byte(`{"city":"Oslo","days":3}`), &in); err != nil {
			b.Fatal(err)
		}
		out, _ := weather(b.Context(), in)
		_ = tool.Text(out)
	}
}

// maxAllocs is what a call may allocate on its way from its text to its result, the policy's decision included.
const maxAllocs = 39

func TestPipelineAllocations(t *testing.T) {
	if testlevel.Race {
		t.Skip("SKIPPED: the race detector allocates on its own")
	}
	r, c := ruled(t)
	once(t, r, c)
	if n := testing.AllocsPerRun(500, func() { once(t, r, c) }); n > maxAllocs {
		t.Errorf("%v allocations a call, at most %d", n, maxAllocs)
	}
}

// TestNothingIsLeft cancels and times out calls, and counts what stays behind.
func TestNothingIsLeft(t *testing.T) {
	const calls = 10_000
	waits := tool.Stream("waits", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		c.Progress(0, 0, "")
		<-ctx.Done()
		return "", ctx.Err()
	})
	waits.Limits.Timeout = 200 * time.Microsecond
	r := runner(t, waits)
	before := runtime.NumGoroutine()
	for i := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := r.Plan(ctx, call("waits", "{}"))
		if err != nil {
			t.Fatal(err)
		}
		results := 0
		for e, err := range r.Run(ctx, p) {
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case e.Kind == chat.KindProgress && i%3 == 0:
				cancel()
			case e.Kind == chat.KindResult:
				results++
			}
			if e.Kind == chat.KindProgress && i%3 == 1 {
				break
			}
		}
		if i%3 != 1 && results != 1 {
			t.Fatalf("call %d has %d results", i, results)
		}
		cancel()
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(fmt.Sprint(runtime.NumGoroutine()-before, " goroutines are left of ", calls, " calls"))
}
