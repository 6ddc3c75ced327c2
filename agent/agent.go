package agent

import (
	"context"
	"fmt"
	"iter"

	"wield/chat"
	"wield/journal"
	"wield/tool"
	"wield/tool/runner"
)

// Options say how an Agent works. The zero value is ready.
type Options struct {
	Limits Limits
	Prices Prices
	Window Window

	// Journal records runs, so that they can go on in another process; nil: they are kept nowhere. The
	// runner's own Records have no part in it then.
	Journal journal.Store
	// Wait keeps questions to a person in the journal, in place of the runner's own Approvals, so that a run
	// can wait for an answer that comes from another process.
	Wait bool
	Name string // of the agent, in the journal
	By   string // who asks, in the journal

	// Alike are names under which the same person asks: with one of them, tools may look into conversations
	// of the others.
	Alike []string
	// Whole asks the model for answers that are read when they are whole, not while they are written.
	Whole bool
	// Unattended notes in the journal that nobody keeps a connection open for the answer.
	Unattended bool

	// Only is noted in the journal as the names of the only tools that the runner has of the agent's; nil:
	// all. Who makes the runner sees to it.
	Only *[]string

	// Notes are kept with a new session, for those who continue its runs.
	Notes map[string]string
}

// An Agent is a [chat.Model] that runs tools. It may be used by several goroutines at once.
type Agent struct {
	model  chat.Model
	runner *runner.Runner
	o      Options
}

// New returns an agent that asks m and runs what it calls with r. Calls reach it checked if m is a bridge; r
// checks them all the same.
func New(m chat.Model, r *runner.Runner, o Options) *Agent {
	return &Agent{model: m, runner: r, o: o}
}

// Stream implements [chat.Model]: it carries out a run and yields the events of all its turns, with those of
// the tools between them. Turn counts the turns and Index the calls of the whole run. There is one Usage, the
// sum, and one Finish, that of the last turn.
//
// The model is offered the tools of the runner and those of the request, which are its client's. A call of
// the runner's has its result in the stream. When the model has called tools of the client, and all other
// calls have their results, the stream ends with [chat.FinishCalls]; the calls without a result are the
// client's to run. Its next request brings the conversation with the results. A tool of the request with
// the name of one of the runner's is an error.
func (a *Agent) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if tools := a.runner.Settings().Tools; tools != nil {
		for _, t := range req.Callable() {
			if e, ok := tools.Lookup(t.Name); ok && e.State != tool.StateDisabled {
				return chat.Fail(chat.Errorf(chat.ErrBadRequest,
					"the tool %s of the request has the name of one that runs on the server: rename one of them",
					t.Name))
			}
		}
	}
	return a.Run(req).Events(ctx)
}

// Ask carries out one task, given in words, and returns the text of the answer. A run that ends otherwise
// than with an answer is a [NoAnswerError].
func (a *Agent) Ask(ctx context.Context, task string) (string, error) {
	r := a.Run(&chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(task)}}})
	for _, err := range r.Events(ctx) {
		if err != nil {
			break // the outcome has it
		}
	}
	if o := r.Outcome(); o.Reason != EndAnswer {
		return o.Text, &NoAnswerError{o}
	}
	return r.Outcome().Text, nil
}

// A NoAnswerError says that a run ended without an answer.
type NoAnswerError struct{ Outcome Outcome }

func (e *NoAnswerError) Error() string {
	switch o := &e.Outcome; {
	case o.Err != nil:
		return o.Err.Error()
	case o.Limit != "":
		return fmt.Sprintf("agent: no answer: the run reached its limit: %s", o.Limit)
	default:
		return fmt.Sprintf("agent: no answer: the run ended with %q", o.Reason)
	}
}

// Unwrap returns what the run failed of, if it failed.
func (e *NoAnswerError) Unwrap() error { return e.Outcome.Err }

// Run returns a run that carries out what the request asks for. Nothing happens before its events are ranged over.
//
// With a journal the run belongs to the session of the request (Conversation), or to a new one.
//
// The tools of the request are its client's: the model is offered them beside those of the runner, and when
// it has called some, the run ends with EndClient as soon as the other calls have their results. It goes on
// with Resume and AddResults. Names must differ from those of the runner's tools.
func (a *Agent) Run(req *chat.Request) *Run {
	return a.newRun(req, newRunRecorder(a.o.Journal, req.Conversation))
}

func (a *Agent) newRun(req *chat.Request, l *runRecorder) *Run {
	return &Run{agent: a, req: req, log: l, state: newState(a.o.Limits, req.Messages),
		parked: map[string]runner.Approval{}, inbox: newInbox(), client: clientOf(req)}
}
