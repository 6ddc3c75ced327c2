package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Topic is the topic of questions about tasks between services.
const Topic = "tasks"

// Others are the services that share the journal with this one.
type Others interface {
	// Ask asks all of them, and returns the answer of the one that has what is asked about. It reports false if none
	// has.
	Ask(ctx context.Context, topic string, question []byte) (answer []byte, ok bool, err error)
}

// The requests about a task that reach another service.
const (
	toGet    = "get"
	toUpdate = "update"
	toCancel = "cancel"
)

// An errand is a request about a task for the service that carries it out.
type errand struct {
	Do        string                     `json:"do"`
	Task      string                     `json:"task"`
	By        string                     `json:"by"`
	Responses map[string]json.RawMessage `json:"responses,omitempty"`
}

// A taskReply holds the service's answer.
type taskReply struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *jsonrpc.Error  `json:"error,omitempty"`
}

// elsewhere sends a request about a task to the service that carries it out. nil: there is none.
func (s *Server) elsewhere(ctx context.Context, do string, p *taskParams) (*taskResult, error) {
	if s.o.Others == nil {
		return nil, nil
	}
	question, err := json.Marshal(&errand{do, p.TaskID, s.o.By, p.InputResponses})
	if err != nil {
		return nil, err
	}
	answer, ok, err := s.o.Others.Ask(ctx, Topic, question)
	if err != nil || !ok {
		return nil, err
	}
	var r taskReply
	switch err := json.Unmarshal(answer, &r); {
	case err != nil:
		return nil, err
	case r.Error != nil:
		return nil, r.Error
	}
	return &taskResult{elsewhere: r.Result}, nil
}

// MarshalJSON writes the result as the protocol has it.
func (r *taskResult) MarshalJSON() ([]byte, error) {
	if r.elsewhere != nil {
		return r.elsewhere, nil
	}
	type plain taskResult
	return json.Marshal((*plain)(r))
}

// Answer carries out what another service asks about a task. It reports false if the task is not carried out here.
func (f *Front) Answer(ctx context.Context, question []byte) ([]byte, bool) {
	var e errand
	if err := json.Unmarshal(question, &e); err != nil {
		return nil, false
	}
	t := f.tasks.find(e.Task)
	if t == nil || t.server.o.By != e.By {
		return nil, false
	}
	s, p := t.server, &taskParams{TaskID: e.Task, InputResponses: e.Responses}
	do := map[string]func(context.Context, *sdk.ServerSession, *taskParams) (*taskResult, error){
		toGet: s.getTask, toUpdate: s.updateTask, toCancel: s.cancelTask}[e.Do]
	if do == nil {
		return nil, false
	}
	var r taskReply
	result, err := do(ctx, nil, p)
	if err == nil {
		r.Result, err = json.Marshal(result)
	}
	if err != nil {
		r = taskReply{Error: protocolError(err)}
	}
	answer, err := json.Marshal(&r)
	return answer, err == nil
}

// errElsewhere refuses what would be lost: no service says that it carries out the task.
var errElsewhere = &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
	Message: "another service carries out the task and cannot be reached; send this where tools/call was sent, by " +
		"the header Mcp-Name, or try again"}

// away reports whether another service carries out a task.
func (t *task) away() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cancel == nil && !t.over()
}
