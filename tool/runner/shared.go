package runner

import (
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"wield/tool"
)

// Shared joins runners: results that are kept, calls under way, outputs that were too long, guarded files. The
// zero value is ready. It must not be copied. Several goroutines may use it at once.
type Shared struct {
	CacheEntries int    // how many results are kept; 0: 1024
	CacheBytes   int    // how many bytes of them; 0: 32 MiB
	Cache        Cache  // keeps results beyond the life of the process; nil: nothing does
	Temp         string // directory for the private file with the rest of long outputs; empty: the system's
	SpillBytes   int    // how many bytes of outputs are kept in it; 0: 256 MiB

	mu      sync.Mutex
	entries map[string]*list.Element // by binding
	recent  list.List                // of *cachedResult; the front was used last
	bytes   int
	calls   map[string]*sharedCall // by binding

	spills spills
	seen   seenFiles
}

// A Cache keeps results beyond the life of a process, of tools that say for how long ([tool.Caching]). What fails in it
// is as if nothing were kept: a call runs without it.
type Cache interface {
	// Get returns the result that is kept under the binding of a call, as long as its time is not over.
	Get(ctx context.Context, binding string) (r tool.Result, ok bool, err error)
	// Put keeps a result until a time.
	Put(ctx context.Context, binding string, r tool.Result, until time.Time) error
}

// Close removes what was kept on disk.
func (s *Shared) Close() error { return s.spills.close() }

// A cachedResult result is good until its time is over.
type cachedResult struct {
	binding string
	result  tool.Result
	size    int
	until   time.Time
}

const (
	defaultCacheEntries = 1024
	defaultCacheBytes   = 32 << 20
)

// cached returns the result of an earlier identical call, or nil.
func (s *Shared) cached(ctx context.Context, binding string) *tool.Result {
	if r := s.recalled(binding); r != nil || s.Cache == nil {
		return r
	}
	r, ok, err := s.Cache.Get(ctx, binding)
	if err != nil || !ok {
		return nil
	}
	r.Cached = true
	return &r
}

// recalled returns the result of an earlier identical call in this process, or nil.
func (s *Shared) recalled(binding string) *tool.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	el := s.entries[binding]
	if el == nil {
		return nil
	}
	k := el.Value.(*cachedResult)
	if !time.Now().Before(k.until) {
		s.drop(el)
		return nil
	}
	s.recent.MoveToFront(el)
	result := k.result
	result.Cached = true
	return &result
}

// keep keeps a result if its tool wants that and it is good.
func (s *Shared) keep(ctx context.Context, t *tool.Tool, binding string, r tool.Result) {
	if t.Cache.TTL <= 0 || !r.OK {
		return
	}
	until := time.Now().Add(t.Cache.TTL)
	if s.Cache != nil && r.Truncated == nil { // the rest of one that was cut does not outlive the process
		// then it is not kept, which is no reason to fail
		_ = s.Cache.Put(context.WithoutCancel(ctx), binding, r, until)
	}
	k := &cachedResult{binding: binding, result: r, size: resultSize(&r) + len(binding), until: until}
	entries, bytes := cmp.Or(s.CacheEntries, defaultCacheEntries), cmp.Or(s.CacheBytes, defaultCacheBytes)
	if k.size > bytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if el := s.entries[binding]; el != nil {
		s.drop(el)
	}
	if s.entries == nil {
		s.entries = make(map[string]*list.Element)
	}
	s.entries[binding] = s.recent.PushFront(k)
	s.bytes += k.size
	for s.recent.Len() > entries || s.bytes > bytes {
		s.drop(s.recent.Back())
	}
}

func (s *Shared) drop(el *list.Element) {
	k := s.recent.Remove(el).(*cachedResult)
	delete(s.entries, k.binding)
	s.bytes -= k.size
}

// resultSize returns about how much memory a result takes.
func resultSize(r *tool.Result) int {
	n := len(r.Data) + len(r.Error) + len(r.Details)
	for i := range r.Parts {
		n += len(r.Parts[i].Text) + len(r.Parts[i].Data) + len(r.Parts[i].Raw) + len(r.Parts[i].URL)
	}
	return n
}

// A sharedCall is a call under way that identical ones wait for.
type sharedCall struct {
	done   chan struct{}
	result tool.Result
	err    error
	until  time.Time // how long identical calls get its result when it is over
}

// share performs the call of x, or waits for an identical one that is under way. Only a tool that can stand it has
// its calls shared: one that is idempotent, keeps results, or asks for it by its debounce.
func (s *Shared) share(ctx context.Context, x *execution) (tool.Result, error) {
	t := x.plan.entry.Tool
	if !t.Idempotent && t.Cache.TTL <= 0 && t.Debounce <= 0 || x.reply != nil {
		return x.perform(ctx)
	}
	for {
		f, first := s.join(x.plan.Binding, t.Debounce)
		if first {
			return s.run(ctx, f, x)
		}
		x.group.leave(x)
		select {
		case <-f.done:
		case <-ctx.Done():
			return tool.Result{}, failureOf(ctx.Err())
		}
		if f.err == nil {
			result := f.result
			result.Cached = true
			return result, nil
		}
		// Whoever ran it went away, or could not begin. That is no reason for this call to fail.
		if err := ctx.Err(); err != nil {
			return tool.Result{}, failureOf(err)
		}
	}
}

// join returns the call of a binding, and whether it has just begun.
func (s *Shared) join(binding string, debounce time.Duration) (f *sharedCall, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if f = s.calls[binding]; f != nil && !f.over(now) {
		return f, false
	}
	if s.calls == nil {
		s.calls = make(map[string]*sharedCall)
	}
	for b, old := range s.calls {
		if old.over(now) {
			delete(s.calls, b)
		}
	}
	f = &sharedCall{done: make(chan struct{}), until: now.Add(debounce)}
	s.calls[binding] = f
	return f, true
}

// over reports whether a call has ended and no further call gets its result.
func (f *sharedCall) over(now time.Time) bool {
	select {
	case <-f.done:
		return f.err != nil || !now.Before(f.until)
	default:
		return false
	}
}

// Those who wait get errNotCompleted when the one that ran the call broke down.
var errNotCompleted = errors.New("tool: the call was not completed")

func (s *Shared) run(ctx context.Context, f *sharedCall, x *execution) (tool.Result, error) {
	f.err = errNotCompleted
	defer func() {
		close(f.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls[x.plan.Binding] == f && f.over(time.Now()) {
			delete(s.calls, x.plan.Binding)
		}
	}()
	result, err := x.perform(ctx)
	if ctx.Err() == nil || result.OK {
		f.result, f.err = result, err
	}
	if x.form != nil { // nobody else is asked the same
		f.err = errNotCompleted
	}
	if err == nil && x.form == nil {
		s.keep(ctx, x.plan.entry.Tool, x.plan.Binding, result)
	}
	return result, err
}

func validJSON(raw json.RawMessage) bool { return json.Valid(raw) }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' && json.Valid(raw) }
