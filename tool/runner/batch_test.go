package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/tool"
)

func turnOf(calls ...string) []chat.Call {
	var list []chat.Call
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		list = append(list, chat.Call{Index: i, ID: fmt.Sprint("c", i), Name: name, Arguments: args, Complete: true})
	}
	return list
}

// resultsOf runs a turn and returns the texts of the results by their calls, in the order in which they came.
func resultsOf(t *testing.T, r *Runner, calls []chat.Call) string {
	t.Helper()
	var got []string
	for e, err := range r.RunAll(t.Context(), calls) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == chat.KindResult:
			got = append(got, e.ID+"="+e.Detail.(*chat.Result).Parts[0].Text)
		case e.Kind == chat.KindApproval:
			got = append(got, e.ID+":"+string(e.Detail.(*ApprovalDetail).State))
		}
	}
	return strings.Join(got, " ")
}

func sleeper(name string, running, most *atomic.Int32) *tool.Tool {
	return tool.Func(name, "", func(ctx context.Context, in struct {
		MS int `json:"ms"`
	}) (int, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Duration(in.MS) * time.Millisecond)
		return in.MS, nil
	})
}

func TestRunAllInOrder(t *testing.T) {
	for _, test := range []struct {
		name           string
		parallel, tool int
		took           time.Duration
		most           int32
	}{
		{"all at once", 0, 0, 30 * time.Millisecond, 3},
		{"one at a time", 1, 0, 60 * time.Millisecond, 1},
		{"the tool one at a time", 0, 1, 60 * time.Millisecond, 1},
		{"two", 2, 0, 30 * time.Millisecond, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, most atomic.Int32
				x := sleeper("x", &running, &most)
				x.Parallel = test.tool
				r := runner(t, x)
				r = r.With(func(s *Settings) { s.Parallel = test.parallel })
				start := time.Now()
				got := resultsOf(t, r, turnOf(`x {"ms":30}`, `none {}`, `x {"ms":20}`, `x {"ms":10}`))
				if want := "c0=30 c1=Error: Tool none not found c2=20 c3=10"; got != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
				if took := time.Since(start); test.tool == 0 && took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if most.Load() != test.most {
					t.Errorf("%d at a time, want %d", most.Load(), test.most)
				}
			})
		})
	}
}

func TestRunAllBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := tool.Stream("x", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
			c.Progress(0, 0, "begun")
			<-ctx.Done()
			return "", ctx.Err()
		})
		r := runner(t, x)
		records := &MemoryRecords{}
		r = r.With(func(s *Settings) { s.Records, s.Parallel = records, 1 })
		for e := range r.RunAll(t.Context(), turnOf("x", "x", "x")) {
			if e.Kind == chat.KindProgress {
				break
			}
		}
		if n := len(records.Finished()); n != 3 {
			t.Errorf("%d results are recorded, want 3", n)
		}
	})
}

func TestBatch(t *testing.T) {
	var sizes []int
	sum := &tool.Tool{Definition: chat.Tool{Name: "sum"}}
	sum.Batch = batchFunc(func(_ context.Context, calls []*tool.Call) ([]tool.Result, error) {
		sizes = append(sizes, len(calls))
		var results []tool.Result
		for _, c := range calls {
			results = append(results, tool.Text(fmt.Sprint(len(calls), c.Arguments)))
			fmt.Fprint(c.Output("stdout"), "x")
		}
		return results, nil
	})
	r := runner(t, sum, nop("y"))
	records := &MemoryRecords{}
	r = r.With(func(s *Settings) { s.Records, s.Parallel = records, 1 })
	got := resultsOf(t, r, turnOf(`sum {"a":1}`, `y {}`, `sum {"a":2}`, `sum [`, `sum {"a":3}`))
	want := `c0=3{"a":1} c1= c2=3{"a":2} c3=Error: Invalid arguments: the text ends inside the arguments c4=3{"a":3}`
	if !strings.HasPrefix(got, `c0=3{"a":1} c1= c2=3{"a":2} c3=Error: Invalid arguments: `) ||
		!strings.HasSuffix(got, ` c4=3{"a":3}`) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if fmt.Sprint(sizes) != "[3]" {
		t.Errorf("batches of %v calls, want one of 3", sizes)
	}
	if n := len(records.Started()); n != 4 {
		t.Errorf("%d starts are recorded, want 4", n)
	}
	sizes = nil
	if _, result := play(t, r, call("sum", "{}")); result != "1{}" {
		t.Errorf("alone: %q", result)
	}
}

func TestBatchThatBreaks(t *testing.T) {
	for name, test := range map[string]struct {
		f    batchFunc
		want string
	}{
		"too few": {func(context.Context, []*tool.Call) ([]tool.Result, error) { return []tool.Result{tool.Text("a")}, nil },
			"Error: Unexpected error: the tool gave 1 results for 2 calls"},
		"fails":  {func(context.Context, []*tool.Call) ([]tool.Result, error) { return nil, errors.New("down") }, "Error: down"},
		"panics": {func(context.Context, []*tool.Call) ([]tool.Result, error) { panic("oh") }, "Error: Unexpected error: oh"},
	} {
		t.Run(name, func(t *testing.T) {
			x := &tool.Tool{Definition: chat.Tool{Name: "x"}, Batch: test.f}
			got := resultsOf(t, runner(t, x), turnOf("x", "x"))
			if want := "c0=" + test.want + " c1=" + test.want; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestBatchWithout lets one call of a batch be answered before it comes to the handler. The others do not wait for it.
func TestBatchWithout(t *testing.T) {
	x := &tool.Tool{Definition: chat.Tool{Name: "x"}}
	x.Batch = batchFunc(func(_ context.Context, calls []*tool.Call) ([]tool.Result, error) {
		results := make([]tool.Result, len(calls))
		for i := range calls {
			results[i] = tool.Text(fmt.Sprint(len(calls)))
		}
		return results, nil
	})
	r := runner(t, x)
	r = r.With(func(s *Settings) {
		s.Middleware = []tool.Middleware{func(next tool.Handler) tool.Handler {
			return tool.HandlerFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				if c.ID == "c1" {
					return tool.Text("skipped"), nil
				}
				return next.Run(ctx, c)
			})
		}}
	})
	if got := resultsOf(t, r, turnOf("x", "x", "x")); got != "c0=2 c1=skipped c2=2" {
		t.Errorf("got %s", got)
	}
}

func TestBatchTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &tool.Tool{Definition: chat.Tool{Name: "x"}, Limits: tool.CallLimits{Timeout: time.Second}}
		x.Batch = batchFunc(func(ctx context.Context, calls []*tool.Call) ([]tool.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		got := resultsOf(t, runner(t, x), turnOf("x", "x"))
		if want := "c0=Error: Tool execution timed out\ntimeout: 1 c1=Error: Tool execution timed out\ntimeout: 1"; got != want {
			t.Errorf("got %s", got)
		}
	})
}

// batchFunc is a function that is a BatchHandler.
type batchFunc func(ctx context.Context, calls []*tool.Call) ([]tool.Result, error)

// RunBatch calls f.
func (f batchFunc) RunBatch(ctx context.Context, calls []*tool.Call) ([]tool.Result, error) {
	return f(ctx, calls)
}
