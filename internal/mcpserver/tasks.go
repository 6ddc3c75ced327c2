package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/journal"
	"wield/tool/runner"
)

// extension is the name of the extension for tasks, as clients and servers declare it.
const extension = "io.modelcontextprotocol/tasks"

// TaskOptions say which calls become tasks: calls that their clients ask about later, by polling.
type TaskOptions struct {
	After    time.Duration // calls that take longer become tasks; 0: there are none
	TTL      time.Duration // how long a result is kept; 0: 1 h
	Required []string      // patterns of tools that are called only by clients that know tasks
}

// The states of a task.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

const (
	taskPoll  = time.Second      // how often clients are asked to poll
	taskLease = 15 * time.Second // after which a task of a service that was killed is another's
	taskFresh = time.Minute      // how long a result is kept in memory that the journal has too
	maxTasks  = 1000             // of one front, with those whose results are kept in memory
)

// tasks are the calls that clients ask about later. They outlive connections and changes of the configuration, and what
// is in the journal outlives the process.
type tasks struct {
	owner string // in leases

	mu   sync.Mutex
	live map[string]*task
	all  sync.WaitGroup

	recalling sync.Mutex // held while the journal is asked for a task
}

func newTasks() *tasks { return &tasks{owner: journal.NewID("mcp"), live: map[string]*task{}} }

// A task is a call that may go on when its request has been answered.
type task struct {
	id      string
	server  *Server
	log     *log
	created time.Time
	cancel  context.CancelFunc
	first   chan struct{} // closed when the call has come to something while its client still waited

	mu       sync.Mutex
	polled   bool // the client was told to poll
	early    bool // the call has come to something before that
	lost     bool // another process carries it out now
	rounds   int  // of questions
	status   string
	message  string
	updated  time.Time
	result   *sdk.CallToolResult
	err      error
	asks     sdk.InputRequestMap  // what is not answered yet, by keys that are used once
	answers  sdk.InputResponseMap // what is, by the names that the tool gave its questions
	names    map[string]string    // of the questions, by their keys
	answered chan struct{}        // closed when all are answered
}

// becomes is the error by which a call says that it has become a task.
type becomes struct{ *task }

func (becomes) Error() string { return "the call has become a task" }

// declares reports whether the client of a request knows tasks.
func declares(meta sdk.Meta) bool {
	_, ok := capabilities(meta).Extensions[extension]
	return ok
}

// undeclared refuses a request of a client that does not know tasks.
func undeclared() error {
	need := &sdk.ClientCapabilities{}
	need.AddExtension(extension, nil)
	data, err := json.Marshal(&sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: need})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Data: data,
		Message: "the request needs the extension " + extension + " among the client's capabilities"}
}

// offerTasks adds the requests about tasks.
func (s *Server) offerTasks() error {
	s.SDK.AddReceivingMiddleware(s.taskRequests)
	return errors.Join(
		sdk.AddReceivingCustomMethod(s.SDK, "tasks/get", s.getTask),
		sdk.AddReceivingCustomMethod(s.SDK, "tasks/update", s.updateTask),
		sdk.AddReceivingCustomMethod(s.SDK, "tasks/cancel", s.cancelTask))
}

// taskRequests checks requests about tasks, and answers a call that has become a task by the task.
func (s *Server) taskRequests(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if p, ok := r.GetParams().(interface{ about() string }); ok {
			if !declares(r.GetParams().GetMeta()) {
				return nil, undeclared()
			}
			if x := r.GetExtra(); x != nil && x.Header.Get("Mcp-Name") != "" && x.Header.Get("Mcp-Name") != p.about() {
				return nil, &jsonrpc.Error{Code: sdk.CodeHeaderMismatch,
					Message: "the header Mcp-Name is not the taskId of the request"}
			}
		}
		result, err := next(ctx, method, r)
		var b becomes
		if errors.As(err, &b) {
			return &taskResult{ResultType: "task", taskState: b.state(false)}, nil
		}
		return result, err
	}
}

// taskParams are those of requests about a task.
type taskParams struct {
	sdk.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

func (p *taskParams) about() string { return p.TaskID }

// A taskResult is a task, or with no task the acknowledgement of a request about one.
type taskResult struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
	*taskState

	elsewhere json.RawMessage // as another service has written it
}

// A taskState is a task as the protocol has it.
type taskState struct {
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           int64               `json:"ttlMs"`
	Poll          int64               `json:"pollIntervalMs"`
	InputRequests sdk.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *sdk.CallToolResult `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// ttl returns the time that a result is kept.
func (o *TaskOptions) ttl() time.Duration {
	if o.TTL <= 0 {
		return time.Hour
	}
	return o.TTL
}

// requires reports whether only clients that know tasks may call a tool.
func (o *TaskOptions) requires(name string) bool {
	return slices.ContainsFunc(o.Required, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// call carries out one call. One that takes long becomes a task, if its client knows tasks.
func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	tasks := s.o.Tasks.After > 0 && declares(r.Params.Meta)
	call := s.named(r)
	if s.o.Tasks.After > 0 && !tasks && s.o.Tasks.requires(call.Name) {
		return nil, undeclared()
	}
	log, err := s.record(ctx, r.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if log != nil && log.call != "" {
		call.ID = log.call
	}
	if !tasks {
		defer log.end(ctx, endStop, nil)
		return s.carry(ctx, r, call, log, nil)
	}
	if err := log.hold(ctx, s.o.tasks.owner, &call); err != nil {
		return nil, err
	}
	t := s.begin(ctx, r, call, log)
	select {
	case <-t.first:
		return t.result, t.err
	case <-ctx.Done():
		t.cancel()
		return nil, ctx.Err()
	case <-time.After(s.o.Tasks.After):
	}
	if t.poll() {
		return nil, becomes{t}
	}
	select {
	case <-t.first:
		return t.result, t.err
	case <-ctx.Done():
		t.cancel()
		return nil, ctx.Err()
	}
}

// begin carries out a call in a goroutine of its own.
func (s *Server) begin(ctx context.Context, r *sdk.CallToolRequest, call chat.Call, log *log) *task {
	t := newTask(s, log.id(), now())
	t.log = log
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.o.tasks.all.Go(func() { t.run(ctx, r, call) })
	return t
}

func newTask(s *Server, id string, created time.Time) *task {
	return &task{id: id, server: s, created: created, updated: created, status: taskWorking, first: make(chan struct{})}
}

// now is the time as tasks tell it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// poll makes a task of a call. It reports false if the call has come to something just now, or if there are too many
// tasks, so that its client has to wait for it.
func (t *task) poll() bool {
	all := t.server.o.tasks
	all.mu.Lock()
	defer all.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if all.sweep(); len(all.live) >= maxTasks || t.early {
		return false
	}
	t.polled = true
	all.live[t.id] = t
	return true
}

// sweep forgets tasks that are over for as long as results are kept.
func (a *tasks) sweep() {
	for id, t := range a.live {
		t.mu.Lock()
		kept := t.server.o.Tasks.ttl()
		if t.log != nil {
			kept = min(kept, taskFresh)
		}
		if t.lost || t.over() && time.Since(t.updated).Abs() > kept { // also after the clock was set back
			delete(a.live, id)
		}
		t.mu.Unlock()
	}
}

// close ends all tasks, and waits until they have.
func (a *tasks) close() {
	a.mu.Lock()
	for _, t := range a.live {
		t.cancel()
	}
	a.mu.Unlock()
	a.all.Wait()
}

func (t *task) over() bool { return t.status != taskWorking && t.status != taskAsks }

// run carries out the call, again and again while it asks for something, and keeps its lease meanwhile.
func (t *task) run(ctx context.Context, r *sdk.CallToolRequest, call chat.Call) {
	defer t.cancel()
	t.log.keep(ctx, t.lose)
	for {
		result, err := t.server.carry(ctx, r, call, t.log, t.progress)
		again, ok := t.take(ctx, r, result, err)
		if !ok {
			return
		}
		if r = again; !strings.HasPrefix(r.Params.RequestState, approvalState) {
			call = t.server.named(r) // the one before has its result
		}
	}
}

// lose ends the call here, since another process carries it out.
func (t *task) lose() {
	t.mu.Lock()
	t.lost = true
	t.mu.Unlock()
	t.cancel()
}

// progress notes how far the call is. It reports false if its client still waits, and wants to be told.
func (t *task) progress(p *runner.ProgressDetail) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.polled && p.Text != "" {
		t.message, t.updated = p.Text, now()
	}
	return t.polled
}

// take takes what the call came to. If a task asks for something, take waits for it and returns the call with the
// answers.
func (t *task) take(
	ctx context.Context, r *sdk.CallToolRequest, result *sdk.CallToolResult, err error,
) (*sdk.CallToolRequest, bool) {
	t.mu.Lock()
	t.result, t.err = result, err
	if t.early = !t.polled; t.early {
		t.mu.Unlock()
		t.log.end(ctx, endStop, nil)
		t.log.release()
		close(t.first)
		return nil, false
	}
	if ctx.Err() != nil || err != nil || result.InputRequests == nil {
		if result != nil {
			t.server.abandon(context.WithoutCancel(ctx), result.RequestState, t.log)
		}
		t.finish(ctx)
		t.mu.Unlock()
		return nil, false
	}
	t.ask(result.InputRequests)
	answered := t.answered
	t.mu.Unlock()
	settled, stop := t.server.settled(ctx, result.RequestState, t.log)
	defer stop()
	select {
	case <-answered:
	case <-settled:
		t.mu.Lock()
		t.asks, t.status, t.updated = nil, taskWorking, now()
		t.mu.Unlock()
	case <-ctx.Done():
		t.server.abandon(context.WithoutCancel(ctx), result.RequestState, t.log)
		t.mu.Lock()
		t.finish(ctx)
		t.mu.Unlock()
		return nil, false
	}
	if err := t.log.resume(ctx); err != nil {
		t.mu.Lock()
		t.result, t.err = nil, err
		t.finish(ctx)
		t.mu.Unlock()
		return nil, false
	}
	params := *r.Params
	params.InputResponses, params.RequestState = t.answers, result.RequestState
	again := *r
	again.Params = &params
	return &again, true
}

// ask notes what the call asks for. The keys of its questions are used once in the life of a task.
func (t *task) ask(questions sdk.InputRequestMap) {
	t.rounds++
	t.asks, t.answers = sdk.InputRequestMap{}, sdk.InputResponseMap{}
	t.names, t.answered = map[string]string{}, make(chan struct{})
	for name, q := range questions {
		key := name
		if t.rounds > 1 {
			key = fmt.Sprintf("%s.%d", name, t.rounds)
		}
		t.asks[key], t.names[key] = q, name
	}
	t.status, t.message, t.updated = taskAsks, "", now()
	if len(questions) == 0 {
		close(t.answered)
	}
}

// finish notes that the task is over. The journal knows it before its client can.
func (t *task) finish(ctx context.Context) {
	t.asks, t.message, t.updated = nil, "", now()
	end := endStop
	switch {
	case ctx.Err() != nil:
		t.status, end, t.result, t.err = taskCancelled, endCancelled, nil, nil
	case t.err != nil:
		t.status, end, t.result, t.message = taskFailed, endError, nil, t.err.Error()
	default:
		t.status = taskCompleted
	}
	t.log.end(ctx, end, t.err)
	t.log.release()
}

// state returns the task as its client sees it; whole: with what it came to and what it asks for.
func (t *task) state(whole bool) *taskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.updated.Sub(t.created)
	if !t.over() {
		age = time.Since(t.created)
	}
	age = max(age, 0) // the clock may have been set back
	s := &taskState{TaskID: t.id, Status: t.status, StatusMessage: t.message,
		CreatedAt: t.created, LastUpdatedAt: t.updated,
		TTL: (age + t.server.o.Tasks.ttl()).Milliseconds(), Poll: taskPoll.Milliseconds()}
	if !whole {
		return s
	}
	s.InputRequests = maps.Clone(t.asks)
	if s.Result = t.result; !t.over() {
		s.Result = nil
	}
	if t.err != nil && t.over() {
		s.Error = protocolError(t.err)
	}
	return s
}

// protocolError returns an error as the protocol has it.
func protocolError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// noTask refuses a request about a task that there is not, or that is another key's.
func noTask(id string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("there is no task %q, or its result is not kept any more", id)}
}

// task returns a task of the server's key: one that runs here, or one that the journal knows.
func (s *Server) task(ctx context.Context, p *taskParams) (*task, error) {
	all := s.o.tasks
	t := all.find(p.TaskID)
	if t == nil {
		all.recalling.Lock()
		defer all.recalling.Unlock()
		t = all.find(p.TaskID) // it may have been recalled meanwhile
	}
	if t == nil {
		var err error
		if t, err = s.recall(ctx, p.TaskID, p.Meta); err != nil {
			return nil, err
		}
		all.add(t)
	}
	if t.server.o.By != s.o.By {
		return nil, noTask(p.TaskID)
	}
	return t, nil
}

// find returns a task that runs here, or did a while ago; nil: there is none.
func (a *tasks) find(id string) *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	return a.live[id]
}

// add keeps a task that was recalled, if it runs here.
func (a *tasks) add(t *task) {
	if t.cancel == nil {
		return
	}
	a.mu.Lock()
	a.live[t.id] = t
	a.mu.Unlock()
}

// taskHere returns a task that is carried out here, or is over. Of one that another service carries out it returns what
// that one says.
func (s *Server) taskHere(ctx context.Context, do string, p *taskParams) (*task, *taskResult, error) {
	t, err := s.task(ctx, p)
	if err != nil || !t.away() {
		return t, nil, err
	}
	if r, err := s.elsewhere(ctx, do, p); r != nil || err != nil {
		return nil, r, err
	}
	if t, err = s.task(ctx, p); err == nil && t.away() && do != toGet { // it may have ended meanwhile
		return nil, nil, errElsewhere
	}
	return t, nil, err
}

// getTask tells how a task is.
func (s *Server) getTask(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskResult, error) {
	t, r, err := s.taskHere(ctx, toGet, p)
	if t == nil {
		return r, err
	}
	return &taskResult{ResultType: "complete", taskState: t.state(true)}, nil
}

// cancelTask ends a task. One that is over stays as it is.
func (s *Server) cancelTask(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskResult, error) {
	t, r, err := s.taskHere(ctx, toCancel, p)
	if t == nil {
		return r, err
	}
	if t.cancel != nil {
		t.cancel()
	}
	return &taskResult{ResultType: "complete"}, nil
}

// updateTask takes answers to what a task asks for. Those to anything else are ignored.
func (s *Server) updateTask(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskResult, error) {
	t, r, err := s.taskHere(ctx, toUpdate, p)
	if t == nil {
		return r, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, raw := range p.InputResponses {
		if t.asks[key] == nil {
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{t.names[key]: raw})
		if err != nil {
			return nil, err
		}
		answer := sdk.InputResponseMap{}
		if err := json.Unmarshal(one, &answer); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
				Message: fmt.Sprintf("inputResponses.%s: %v", key, err)}
		}
		maps.Copy(t.answers, answer)
		if delete(t.asks, key); len(t.asks) == 0 {
			t.status, t.updated = taskWorking, now()
			close(t.answered)
		}
	}
	return &taskResult{ResultType: "complete"}, nil
}
