package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/wire/responses"
)

// A Lasting makes answers that outlive the process that began them. Of a model that has one, answers in the background
// go on with the next process; those of any other model fail when their process ends.
type Lasting interface {
	// Begin begins an answer, and returns its name once it is sure to last. Without a name the answer to this request
	// cannot, and the model itself is to be asked.
	Begin(ctx context.Context, req *chat.Request) (answer string, err error)
	// Answer returns a model that yields the answer of that name, from its beginning to its end, whatever it is asked.
	Answer(answer string) chat.Model
	// Abandon ends an answer before its end. To abandon one that has ended is no error.
	Abandon(ctx context.Context, answer string) error
}

// Why a job ends before its model does.
var (
	errCancelled = errors.New("the response was cancelled")
	errForgotten = errors.New("the response was deleted")
	errTaken     = errors.New("another process makes the response")
)

// A job is a response that is made in the background: whether or not anybody waits for it.
type job struct {
	g              *Gateway
	storedResponse storedResponse
	model          chat.Model
	last           Lasting // nil: it ends with the process
	answer         string  // with last: its name
	life           int     // how many processes have worked on it before
	bytes          int     // of its request
	begun          *stored // what is kept of it until its end

	ctx    context.Context // of its making, which outlives every request
	cancel context.CancelCauseFunc
	gone   chan struct{} // closed when nothing of it runs any more
	letGo  func()        // gives back what it holds: its lease, and its place within the limits of whoever asked

	mu      sync.Mutex
	writer  *responses.StreamWriter
	before  []byte // what was told of it before its end, while that is being kept; nil else
	frames  frameLog
	changed chan struct{} // closed at the next change; nil: nobody waits for it
	over    bool          // no frames come any more
	left    bool          // it goes on in the next process
}

// numbersPerLife parts the numbers of the events that different processes give, so that a client which follows a
// response over a restart is not shown the wrong ones.
const numbersPerLife = 1_000_000

// A frameLog has the last events of a response, by their numbers.
type frameLog struct {
	list  [][]byte
	first int // number of list[0]
	bytes int
}

// maxFrameBytes bounds what is kept of the events of one response.
const maxFrameBytes = 4 << 20

// add takes whole frames. The oldest are forgotten if there are too many, but never the last one.
func (f *frameLog) add(b []byte) {
	for len(b) > 0 {
		end := len(b)
		if i := bytes.Index(b, frameEnd); i >= 0 {
			end = i + len(frameEnd)
		}
		f.list = append(f.list, bytes.Clone(b[:end]))
		f.bytes += end
		b = b[end:]
	}
	drop := 0
	for ; f.bytes > maxFrameBytes && drop < len(f.list)-1; drop++ {
		f.bytes -= len(f.list[drop])
	}
	if drop > 0 {
		f.list = append([][]byte(nil), f.list[drop:]...)
		f.first += drop
	}
}

var frameEnd = []byte("\n\n")

// next is the number of the frame that comes after the last one.
func (f *frameLog) next() int { return f.first + len(f.list) }

// emit takes frames that were written with the lock held, and lets followers know.
func (j *job) emit(b []byte) {
	if len(b) == 0 {
		return
	}
	j.frames.add(b)
	j.tellChange()
}

func (j *job) tellChange() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// since returns the frames behind a number, whether no more come, and what is closed when they do. lost says that the
// next one is not kept any more: whoever follows takes them more slowly than they are made.
func (j *job) since(after int) (list [][]byte, lost, over bool, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	from := after + 1 - j.frames.first
	if from < 0 {
		return nil, true, j.over, nil
	}
	if from < len(j.frames.list) {
		list = j.frames.list[from:]
	}
	if j.changed == nil && !j.over {
		j.changed = make(chan struct{})
	}
	return list, false, j.over, j.changed
}

// body returns the response as it is now.
func (j *job) body() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.before != nil {
		return j.before
	}
	return j.writer.Result(nil)
}

// queue writes the first events.
func (j *job) queue() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.frames.first = j.life * numbersPerLife
	j.emit(j.writer.Queue(nil, j.frames.first))
}

// run makes the response. It is the job's goroutine.
func (j *job) run(ctx context.Context, req *chat.Request) {
	begun := time.Now()
	err := j.listen(ctx, req)
	j.conclude(ctx, err)
	log := j.g.opts.Log
	if err == nil {
		log.InfoContext(ctx, "background response completed", "response", j.storedResponse.o.ID, "model",
			j.storedResponse.o.Model, "key", j.storedResponse.owner, "took", time.Since(begun))
		return
	}
	log.WarnContext(ctx, "background response ended early", "response", j.storedResponse.o.ID, "model",
		j.storedResponse.o.Model, "key", j.storedResponse.owner, "took", time.Since(begun), "error",
		string(chat.AsError(err).Kind), "resumes", j.left)
}

// listen takes in what the model says, but for the end, which conclude sees to.
func (j *job) listen(ctx context.Context, req *chat.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			j.g.opts.Log.ErrorContext(ctx, "panic", "response", j.storedResponse.o.ID, "model",
				j.storedResponse.o.Model, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = chat.Errorf(chat.ErrUnavailable,
				"an internal error ended this response; the log has the details under %s", j.storedResponse.o.ID)
		}
	}()
	j.write(func(w *responses.StreamWriter) []byte { return w.Start(nil) })
	for e, err := range j.model.Stream(ctx, req) {
		if err != nil {
			return err
		}
		if e.Kind == chat.KindFinish {
			j.finish(ctx, func(w *responses.StreamWriter) []byte { return w.Append(nil, e) })
			return nil
		}
		j.write(func(w *responses.StreamWriter) []byte { return w.Append(nil, e) })
	}
	return unfinished()
}

// write adds what f writes.
func (j *job) write(f func(*responses.StreamWriter) []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.emit(f(j.writer))
}

// finish adds the last events, once the response is kept and nothing is held for it any more: who sees that it has
// ended, by its events or by asking, can go on with it, delete it and ask for the next one.
func (j *job) finish(ctx context.Context, f func(*responses.StreamWriter) []byte) {
	j.mu.Lock()
	j.before = j.writer.Result(nil)
	last := f(j.writer)
	body, items := j.writer.Result(nil), j.writer.Items()
	j.mu.Unlock()
	if !errors.Is(context.Cause(ctx), errForgotten) {
		j.storedResponse.finish(context.WithoutCancel(ctx), body, items)
	}
	j.letGo()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.before, j.over = nil, true
	j.emit(last)
	j.g.jobs.retire(j)
}

// conclude ends a response that its model did not finish.
func (j *job) conclude(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	switch {
	case err == nil:
	case errors.Is(cause, errTaken),
		j.last != nil && (errors.Is(cause, errDraining) || chat.AsError(err).Code == codeStopping):
		j.letGo() // another process may go on with it at once
		j.mu.Lock()
		defer j.mu.Unlock()
		j.over, j.left = true, true
		j.tellChange()
	case errors.Is(cause, errCancelled), errors.Is(cause, errForgotten), j.last != nil && chat.AsError(err).
		Kind == chat.ErrCanceled:
		j.finish(ctx, func(w *responses.StreamWriter) []byte { return w.Cancel(nil) })
	default:
		told := toldError(responsesFront, chat.AsError(err)).err
		if errors.Is(cause, errDraining) {
			told = processEnded("the service was stopped before the answer was whole")
		}
		j.finish(ctx, func(w *responses.StreamWriter) []byte { return w.AppendError(nil, told) })
	}
}

// processEnded is the error of a response whose process has ended.
func processEnded(message string) *chat.Error {
	return &chat.Error{Kind: chat.ErrUnavailable, Code: codeStopping, Message: message + "; ask again"}
}

// end ends a job before its model does, and waits until it has.
func (j *job) end(ctx context.Context, cause error) error {
	if j.last != nil {
		if err := j.last.Abandon(ctx, j.answer); err != nil {
			return err
		}
	}
	j.cancel(cause)
	return j.wait(ctx)
}

// wait waits until nothing of the job runs any more.
func (j *job) wait(ctx context.Context) error {
	select {
	case <-j.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// jobs are the responses that are made in the background now, and those made last.
type jobs struct {
	mu      sync.Mutex
	closed  bool
	running map[recordKey]*job
	bytes   int    // of the requests of those that run
	ended   []*job // that can still be followed, the oldest first
	kept    int    // bytes of the frames of those
	around  sync.WaitGroup
	base    context.Context // of everything here
	stop    context.CancelCauseFunc
}

// Limits of what is done in the background at a time, and of what is kept to be followed afterwards.
const (
	maxJobs      = 128
	maxJobBytes  = 256 << 20 // of requests
	maxEnded     = 256
	maxEndedSize = 32 << 20 // of events
)

func (a *jobs) open() { a.base, a.stop = context.WithCancelCause(context.Background()) }

// get returns the job of a response that is made now or was not long ago, or nil.
func (a *jobs) get(key recordKey) *job {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.running[key]; j != nil {
		return j
	}
	for _, j := range a.ended {
		if j.storedResponse.key() == key {
			return j
		}
	}
	return nil
}

// know has a job known by what is kept of it.
func (a *jobs) know(j *job, r *stored) {
	a.mu.Lock()
	defer a.mu.Unlock()
	j.begun = r
}

// begun returns what is kept of a response that is being made, or nil.
func (a *jobs) begun(key recordKey) *stored {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.running[key]; j != nil {
		return j.begun
	}
	return nil
}

// admit takes a place for a job. One that goes on after a restart gets it in any case.
func (a *jobs) admit(j *job) *failure {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return stopping()
	case j.life == 0 && (len(a.running) >= maxJobs || a.bytes+j.bytes > maxJobBytes):
		f := refuse(http.StatusTooManyRequests, chat.ErrRateLimit, codeRate, fmt.Sprintf(
			"%d responses are being made in the background, which is as much as this service takes; wait for some of "+
				"them, or ask without background", len(a.running)))
		f.err.RetryAfter = time.Second
		return f
	}
	if a.running == nil {
		a.running = map[recordKey]*job{}
	}
	j.gone = make(chan struct{})
	a.running[j.storedResponse.key()] = j
	a.bytes += j.bytes
	a.around.Add(1)
	return nil
}

// start runs f, unless nothing is begun any more.
func (a *jobs) start(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.around.Go(f)
	}
}

// dismiss ends a job.
func (a *jobs) dismiss(j *job) {
	j.cancel(nil)
	a.retire(j)
	close(j.gone)
	a.around.Done()
}

// retire gives the place of a job back that makes no more events.
func (a *jobs) retire(j *job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[j.storedResponse.key()] != j {
		return
	}
	delete(a.running, j.storedResponse.key())
	a.bytes -= j.bytes
	if len(j.frames.list) > 0 && !j.left {
		a.ended = append(a.ended, j)
		a.kept += j.frames.bytes
	}
	for len(a.ended) > maxEnded || a.kept > maxEndedSize {
		a.kept -= a.ended[0].frames.bytes
		a.ended = a.ended[1:]
	}
}

// forget drops what is kept of a job that has ended.
func (a *jobs) forget(key recordKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, j := range a.ended {
		if j.storedResponse.key() == key {
			a.kept -= j.frames.bytes
			a.ended = append(a.ended[:i:i], a.ended[i+1:]...)
			return
		}
	}
}

// drain takes no more jobs, and lets those that run go on until ctx ends. When it returns, none runs.
func (a *jobs) drain(ctx context.Context) {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		a.around.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	a.stop(errDraining)
	late := time.NewTimer(lastWords)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C: // a model that does not hear
	}
}

// launch makes the response of a job that has its place. release is called when it is over, before anybody is told.
func (g *Gateway) launch(j *job, req *chat.Request, lease *journal.Lease, release func()) {
	go func() {
		defer g.jobs.dismiss(j)
		drop := func() {}
		if lease != nil {
			drop = lease.Hold(j.ctx, g.opts.Journal, jobLease, func() { j.cancel(errTaken) })
		}
		j.letGo = sync.OnceFunc(func() {
			drop()
			release()
		})
		defer j.letGo()
		j.run(j.ctx, req)
	}()
}

// jobLease is how long a process has a response in the background for its own. It asks for more when a third of that
// has passed.
const jobLease = 30 * time.Second
