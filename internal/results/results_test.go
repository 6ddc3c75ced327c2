package results_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/internal/results"
	"wield/tool"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter makes a runner, as a new process would, of a tool that counts its runs.
func counter(t *testing.T, s *results.Store, ttl time.Duration, ran *int) *runner.Runner {
	t.Helper()
	count := tool.Raw("count", "Counts.",
		[]byte(
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"fail":{"type":"boolean"}}}`),
		func(_ context.Context, c *tool.Call) (tool.Result, error) {
			*ran++
			if strings.Contains(c.Arguments, "fail") {
				return tool.Result{}, tool.Errorf(tool.ErrTool, "no")
			}
			return tool.Text(fmt.Sprint("run ", *ran)), nil
		})
	count.Cache.TTL = ttl
	reg := new(runner.Registry)
	if err := reg.Add(count); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: reg, Root: t.TempDir(), Shared: &runner.Shared{Cache: s, Temp: t.TempDir()}})
	t.Cleanup(func() { r.Settings().Shared.Close() })
	return r
}

func call(t *testing.T, r *runner.Runner, args string) (string, bool) {
	t.Helper()
	var got *chat.Result
	p, err := r.Plan(t.Context(), chat.Call{ID: "1", Name: "count", Arguments: args, Complete: true})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindResult {
			got = e.Detail.(*chat.Result)
		}
	}
	m := got.Message()
	return m.Text(), p.Outcome == runner.OutcomeCached
}

// A result outlives its process for as long as its tool says; only those that are OK do, for the same
// arguments in any order and the same workspace.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "results.db")
	now := time.Now()
	o := results.Options{Now: func() time.Time { return now }}
	ran := 0
	root := t.TempDir()
	fresh := func() (*runner.Runner, *results.Store) {
		s := results.New(path, o)
		r := counter(t, s, time.Hour, &ran)
		r = r.With(func(s *runner.Settings) { s.Root = root })
		return r, s
	}
	steps := []struct {
		name, args, want string
		cached           bool
		before           func(r *runner.Runner)
	}{
		{"the first", `{"a":1,"b":2}`, "run 1", false, nil},
		{"another process", `{"b": 2, "a": 1}`, "run 1", true, nil},
		{"other arguments", `{"a":1,"b":3}`, "run 2", false, nil},
		{"another workspace", `{"a":1,"b":2}`, "run 3", false,
			func(r *runner.Runner) { *r = *r.With(func(s *runner.Settings) { s.Root = t.TempDir() }) }},
		{"a failure", `{"fail":true}`, "Error: no", false, nil},
		{"a failure again", `{"fail":true}`, "Error: no", false, nil},
		{"nearly over", `{"a":1,"b":2}`, "run 1", true,
			func(*runner.Runner) { now = now.Add(time.Hour - 2*time.Second) }},
	}
	for _, s := range steps {
		r, store := fresh()
		if s.before != nil {
			s.before(r)
		}
		got, cached := call(t, r, s.args)
		if got != s.want || cached != s.cached {
			t.Errorf("%s: %q, cached: %t", s.name, got, cached)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

func TestOver(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := results.New(filepath.Join(t.TempDir(), "results.db"),
		results.Options{Bytes: 30_000, Now: func() time.Time { return now }})
	defer s.Close()
	ctx := t.Context()
	if _, ok, err := s.Get(ctx, "none"); ok || err != nil {
		t.Fatalf("an empty store: %t, %v", ok, err)
	}
	for i := range 5 {
		now = now.Add(time.Second)
		if err := s.Put(ctx, fmt.Sprint(i), tool.Text(strings.Repeat("x", 9000)), now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	have := func() (list string) {
		for i := range 5 {
			if _, ok, err := s.Get(ctx, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			} else if ok {
				list += fmt.Sprint(i)
			}
		}
		return list
	}
	if got := have(); got != "234" {
		t.Errorf("there are %s: the oldest have to go", got)
	}
	if err := s.Put(ctx, "large", tool.Text(strings.Repeat("x", 40_000)), now.Add(time.Minute)); err != nil ||
		have() != "234" {
		t.Errorf("one that is too large: %v, and there are %s", err, have())
	}
	now = now.Add(time.Minute - time.Second)
	if got := have(); got != "4" {
		t.Errorf("there are %s after their time", got)
	}
}

// TestClockJumps: a result does not outlive its time because the clock was ahead when it was kept.
func TestClockJumps(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		jump time.Duration
		kept bool
	}{{-100 * 365 * 24 * time.Hour, false}, {-time.Hour, false}, {0, true}, {30 * time.Second, true},
		{time.Hour, false}, {100 * 365 * 24 * time.Hour, false}} {
		now := begin
		s := results.New(filepath.Join(t.TempDir(), "results.db"),
			results.Options{Now: func() time.Time { return now }})
		defer s.Close()
		ctx := t.Context()
		if err := s.Put(ctx, "old", tool.Text("x"), now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		now = begin.Add(c.jump)
		if _, ok, err := s.Get(ctx, "old"); ok != c.kept || err != nil {
			t.Errorf("%v: kept %t, %v", c.jump, ok, err)
		}
		if err := s.Put(ctx, "new", tool.Text("y"), now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, after := range []time.Duration{59 * time.Second, time.Minute} {
			now = begin.Add(c.jump + after)
			if _, ok, err := s.Get(ctx, "new"); ok != (after < time.Minute) || err != nil {
				t.Errorf("%v: kept after %v: %t, %v", c.jump, after, ok, err)
			}
		}
		now = begin
		if _, ok, _ := s.Get(ctx, "old"); ok && !c.kept {
			t.Errorf("%v: what was over is there again", c.jump)
		}
	}
}

// TestBroken: what is wrong with the file is no reason for a call to fail.
func TestBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := results.New(path, results.Options{})
	defer s.Close()
	ran := 0
	if got, cached := call(t, counter(t, s, time.Hour, &ran), `{"a":1}`); got != "run 1" || cached {
		t.Errorf("%q, cached: %t", got, cached)
	}
	if _, _, err := s.Get(t.Context(), "x"); err == nil {
		t.Error("a file that is no database is read")
	}
}

// TestExact: what is kept comes out as it went in, byte for byte.
func TestExact(t *testing.T) {
	s := results.New(filepath.Join(t.TempDir(), "results.db"), results.Options{})
	defer s.Close()
	in := tool.Result{OK: true, Data: []byte("{ \"html\" : \"<b>&\",\n \"n\": 1.0 }"), Details: []byte(`{ "a": "<" }`),
		Parts: []chat.Part{{Kind: chat.PartImage, Data: []byte("<&>"), MediaType: "image/png"}}}
	if err := s.Put(t.Context(), "b", in, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	out, ok, err := s.Get(t.Context(), "b")
	if err != nil || !ok || string(out.Data) != string(in.Data) || string(out.Details) != string(in.Details) ||
		!reflect.DeepEqual(out.Parts, in.Parts) {
		t.Errorf("%t %+v, %v; want %+v", ok, out, err, in)
	}
}
