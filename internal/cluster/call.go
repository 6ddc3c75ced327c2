package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

const (
	absence   = 10 * time.Second        // that a call waits for a worker where there is none
	lastWords = 1500 * time.Millisecond // that a worker has to tell how a cancelled call ended
	missed    = 3                       // beats without a call that it was given, after which the call is lost
	maxKept   = 16 << 20                // bytes of output that wait to be shown
)

// Tool returns the tool of a pool that runs on its workers. Which definition it has was agreed to.
func (c *Cluster) Tool(p Pool, d Definition) *tool.Tool {
	return &tool.Tool{
		Definition: chat.Tool{Name: p.Name + tool.Separator + d.Name, Description: d.Description,
			Parameters: d.Parameters},
		Handler: &handler{cluster: c, pool: p, name: d.Name, hash: d.Hash(), schema: d.Parameters,
			idempotent: d.Idempotent},
		State:      tool.StateEnabled, // a pool is named to be used
		Facts:      tool.Facts{Network: d.Network},
		Limits:     tool.CallLimits{Timeout: d.Timeout},
		Idempotent: d.Idempotent, Dangerous: d.Dangerous,
		Source: "workers " + p.Name, Namespace: p.Name,
	}
}

// Remote reports whether calls of a tool run on workers.
func Remote(t *tool.Tool) bool {
	_, ok := t.Handler.(*handler)
	return ok
}

// A handler runs calls of one tool on the workers of a pool.
type handler struct {
	cluster    *Cluster
	pool       Pool
	name, hash string
	schema     json.RawMessage
	idempotent bool
}

// Run implements [tool.Handler].
func (h *handler) Run(ctx context.Context, tc *tool.Call) (tool.Result, error) {
	approved, near, err := h.approved(tc)
	if err != nil {
		return tool.Result{}, err
	}
	call := &CallRequest{Service: h.cluster.id, Key: h.key(tc), Once: tc.Key(),
		Run: tc.Scope.Run, Fence: tc.Scope.Fence, Tool: h.name, Definition: h.hash, Arguments: tc.Arguments,
		Output: tc.Limits.Spill, By: tc.Scope.By, Approved: approved}
	var refused []*Worker
	for {
		w, err := h.reserve(ctx, near, refused, func() { tc.Progress(0, 0, "waits for a worker of "+h.pool.Name) })
		if err != nil {
			return tool.Result{}, err
		}
		done, end := h.on(ctx, w, *call, tc)
		h.cluster.release(w)
		switch {
		case end == endRefused:
			refused = append(refused, w)
		case end == endLost && h.idempotent && ctx.Err() == nil:
			tc.Progress(0, 0, "the worker "+w.String()+" is lost: another one takes the call")
		case end == endLost:
			return tool.Result{}, &tool.Error{Kind: tool.ErrInterrupted, Message: "The worker " + w.String() +
				" was lost during the call. It is not known whether the call took effect; it was not run again. Look " +
				"before you repeat it.",
				Details: json.RawMessage(`{"state":"unknown"}`)}
		case end == endStopped:
			return tool.Result{}, stopped(ctx, done != nil)
		case done.Ask != nil:
			return tool.Result{}, h.ask(tc, w, done.Ask)
		default:
			return sound(done.Result, w)
		}
	}
}

// stopped says how a call ended that was cancelled or whose time was up; confirmed means that the worker has said so.
func stopped(ctx context.Context, confirmed bool) error {
	if confirmed {
		return ctx.Err()
	}
	return &tool.Error{Kind: tool.ErrCanceled, Cause: ctx.Err(),
		Details: json.RawMessage(
			`{"note":"the worker has not said that the call ended, so that it is not known what it has done"}`)}
}

// sound returns the result of a worker, without what has a meaning only there.
func sound(r *tool.Result, w *Worker) (tool.Result, error) {
	if r == nil {
		return tool.Result{}, tool.Errorf(tool.ErrUnexpected, "the worker %s gave no result", w)
	}
	r.Truncated, r.Edited, r.Refused, r.Cached = nil, nil, "", false
	return *r, nil
}

// key returns the idempotency key of a call. A further attempt is another call.
func (h *handler) key(tc *tool.Call) string {
	if tc.Scope.Run == "" {
		return rand.Text()
	}
	return fmt.Sprintf("%s/%s/%d", tc.Scope.Run, tc.ID, tc.Attempt)
}

// asked holds what the answer to a worker's question needs.
type asked struct {
	Binding string `json:"binding"`
	Worker  string `json:"worker"` // id
}

// ask turns the question of a worker's rules into one to the person who answers for this service.
func (h *handler) ask(tc *tool.Call, w *Worker, a *Ask) error {
	why := fmt.Sprintf("the worker %s asks before it runs %s: %s", w, h.name, a.Why)
	if !tc.Asks {
		return tool.Errorf(tool.ErrApproval, "%s; there is nobody to ask", why)
	}
	state, err := json.Marshal(asked{a.Binding, w.ID})
	if err != nil {
		return err
	}
	return &tool.InputError{Form: tool.Form{Why: why, Schema: h.schema, Draft: json.RawMessage(tc.Arguments),
		State: state}}
}

// approved returns the answer to the question of a worker, and which worker asked.
func (h *handler) approved(tc *tool.Call) (*Approved, string, error) {
	if tc.Reply == nil {
		return nil, "", nil
	}
	if !tc.Reply.Accepted {
		return nil, "", &tool.Error{Kind: tool.ErrApproval}
	}
	var q asked
	if err := json.Unmarshal(tc.Reply.State, &q); err != nil {
		return nil, "", err
	}
	a := &Approved{Binding: q.Binding}
	if string(runner.Canonical(string(tc.Reply.Content))) != string(runner.Canonical(tc.Arguments)) {
		a.Arguments = tc.Reply.Content
	}
	return a, q.Worker, nil
}

// reserve takes a place at the worker with the least load. It waits until there is one: for a short time where nobody
// offers the tool, else as long as the call may take.
func (h *handler) reserve(ctx context.Context, near string, refused []*Worker, waits func()) (*Worker, error) {
	c := h.cluster
	var none <-chan time.Time
	told := false
	for {
		c.mu.Lock()
		w, offered := h.pick(near, refused)
		changed := c.changed
		if w != nil {
			c.turn++
			w.mine, w.turn = w.mine+1, c.turn
			c.mu.Unlock()
			return w, nil
		}
		c.waiting++
		c.mu.Unlock()
		if !told {
			told = true
			waits()
		}
		switch {
		case offered:
			none = nil
		case none == nil:
			none = time.After(absence)
		}
		var over error
		select {
		case <-changed:
			refused = nil
		case <-none:
			over = tool.Errorf(tool.ErrNotAvailable,
				"no worker of %s offers %s now; wield cluster status shows which are connected", h.pool.Name, h.name)
		case <-ctx.Done():
			over = ctx.Err()
		}
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
		if over != nil {
			return nil, over
		}
	}
}

// pick returns the worker with the least load that has room, and whether any offers the tool. Of several it is the one
// that had none for the longest time. Whoever calls it holds the cluster's mu.
func (h *handler) pick(near string, refused []*Worker) (best *Worker, offered bool) {
	for _, w := range h.cluster.workers {
		if !w.offers(h.name, h.hash) || !h.pool.holds(w) {
			continue
		}
		offered = true
		load := w.load()
		if load >= w.Concurrent || slices.Contains(refused, w) {
			continue
		}
		if w.ID == near {
			return w, true
		}
		if best == nil || load*best.Concurrent < best.load()*w.Concurrent ||
			load*best.Concurrent == best.load()*w.Concurrent && w.turn < best.turn {
			best = w
		}
	}
	return best, offered
}

// release gives a place back.
func (c *Cluster) release(w *Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.mine--
	if w.busy > 0 { // until it says so itself
		w.busy--
	}
	if c.waiting > 0 {
		c.tell()
	}
}

// An end tells how an attempt ended.
type end int

const (
	endDone    end = iota
	endRefused     // the worker has not begun the call and will not
	endLost        // the worker is gone
	endStopped     // nobody waits any more
)

// An attempt is one call at one worker.
type attempt struct {
	worker *Worker

	mu      sync.Mutex
	frames  []*Frame
	kept    int  // bytes of output among them
	dropped bool // output
	beats   int  // without it

	ready chan struct{} // has room for one
}

// add takes a frame. Output that nobody reads is dropped, and that is said.
func (x *attempt) add(f *Frame) {
	x.mu.Lock()
	x.beats = 0
	if f.Output != nil {
		if x.kept += len(f.Output.Text); x.kept > maxKept {
			if x.dropped {
				x.mu.Unlock()
				return
			}
			x.dropped = true
			f.Output = &Output{Stream: f.Output.Stream,
				Text: "\n[output left out here: it came faster than it was read]\n"}
		}
	}
	x.frames = append(x.frames, f)
	x.mu.Unlock()
	x.signal()
}

func (x *attempt) signal() {
	select {
	case x.ready <- struct{}{}:
	default:
	}
}

// miss counts beats of the worker that do not list the call.
func (x *attempt) miss(is bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !is {
		x.beats = 0
	} else if x.beats++; x.beats == missed {
		x.signal()
	}
}

// take returns the frames that have come.
func (x *attempt) take() (frames []*Frame, missing bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	frames, x.frames, x.kept, x.dropped = x.frames, nil, 0, false
	return frames, x.beats >= missed
}

// frame takes what a worker sends about a call.
func (c *Cluster) frame(m *nats.Msg) {
	p := pieces(m.Subject, 4)
	if p == nil {
		return
	}
	c.mu.Lock()
	x := c.calls[p[3]]
	c.mu.Unlock()
	if x == nil || x.worker.Address != (Address{p[0], p[1]}) { // it is over, or another's
		return
	}
	if m.Header.Get("Status") == "503" { // nobody hears the worker's subject
		x.add(&Frame{Busy: true})
		return
	}
	f := &Frame{}
	if err := json.Unmarshal(m.Data, f); err != nil {
		c.o.Log.Warn("a worker sent an invalid frame", "worker", x.worker.String(), "error", err)
		return
	}
	x.add(f)
}

// on runs a call on a worker, and passes on its output.
func (h *handler) on(ctx context.Context, w *Worker, call CallRequest, tc *tool.Call) (*Done, end) {
	c := h.cluster
	call.ID = rand.Text()
	if t, ok := ctx.Deadline(); ok {
		call.Within = max(time.Until(t), time.Millisecond)
	}
	x := &attempt{worker: w, ready: make(chan struct{}, 1)}
	c.mu.Lock()
	c.calls[call.ID] = x
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, call.ID)
		c.mu.Unlock()
	}()
	full := c.id + "." + call.ID
	if err := c.send(w.Address, &ToWorker{Call: &call}, w.Out(c.id, call.ID)); err != nil {
		return nil, endRefused
	}
	ended := ctx.Done()
	var over <-chan time.Time
	parts, most := map[int][]byte{}, 2*max(call.Output, 0)/MaxPart+1 // as JSON a result is longer
	for {
		select {
		case <-x.ready:
			frames, missing := x.take()
			for _, f := range frames {
				switch {
				case f.Busy:
					return nil, endRefused
				case f.Output != nil:
					show(tc, f.Output)
				case f.Part != nil && f.Number <= most:
					parts[f.Number] = f.Part
				case f.Done != nil && whole(f.Done, parts, most):
					_ = c.send(w.Address, &ToWorker{Ack: full}, "") // it sends the result again
					if ctx.Err() != nil {
						return f.Done, endStopped
					}
					return f.Done, endDone
				}
			}
			if missing && len(frames) == 0 {
				_ = c.send(w.Address, &ToWorker{Stop: full}, "")
				return nil, endLost
			}
		case <-w.lost:
			if ctx.Err() != nil {
				return nil, endStopped
			}
			return nil, endLost
		case <-ended:
			ended = nil
			over = time.After(lastWords)
			_ = c.send(w.Address, &ToWorker{Stop: full}, "") // it is sent again when the worker beats
		case <-over:
			return nil, endStopped
		}
	}
}

// show passes on what a running tool shows.
func show(tc *tool.Call, o *Output) {
	if o.Stream != "" {
		_, _ = tc.Output(o.Stream).Write([]byte(strings.ToValidUTF8(o.Text, "\ufffd"))) // it never fails
		return
	}
	tc.Progress(o.Done, o.Total, o.Text)
}

// whole puts a result together that came in parts. It reports false as long as some are missing: the worker sends all
// of them again until it is told that they have arrived.
func whole(d *Done, parts map[int][]byte, most int) bool {
	if d.Parts == 0 {
		return true
	}
	if d.Parts > most+1 { // a worker keeps to the limit
		d.Result = &tool.Result{Error: "the result of the worker is longer than it may be", ErrorType: tool.ErrLimit}
		return true
	}
	var text []byte
	for i := range d.Parts {
		if parts[i] == nil {
			return false
		}
		text = append(text, parts[i]...)
	}
	d.Result = &tool.Result{}
	if err := json.Unmarshal(text, d.Result); err != nil {
		*d.Result = tool.Result{Error: "the result of the worker cannot be read: " + err.Error(),
			ErrorType: tool.ErrUnexpected}
	}
	return true
}
