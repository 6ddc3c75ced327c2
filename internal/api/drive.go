package api

import (
	"context"
	"errors"
	"strings"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/shorten"
	"wield/journal"
)

// A Task starts a run.
type Task struct {
	Agent   string    `json:"agent" jsonschema:"name of a model; one that wield runs no tools for answers without"`
	Input   string    `json:"input,omitempty" jsonschema:"what to do, as the user's message"`
	Session string    `json:"session,omitempty" jsonschema:"the conversation to continue; without it a new one begins"`
	Before  int64     `json:"before,omitempty" jsonschema:"with session: a new conversation begins, with what was said in that one before the message at this position of its transcript"`
	Tools   *[]string `json:"tools,omitempty" jsonschema:"names of the only tools that it may use; without it all that the model has"`

	Attachments []Attachment `json:"attachments,omitempty" jsonschema:"files that come with the input"`
}

// A Say is a message for a run under way.
type Say struct {
	Text string `json:"text,omitempty" jsonschema:"it enters the conversation before the model is asked again"`

	Attachments []Attachment `json:"attachments,omitempty" jsonschema:"files that come with the text"`
}

// startRun answers POST /runs.
func (x *exchange) startRun() (any, error) {
	in := x.body.(*Task)
	said, err := spokenMessage(in.Input, "/input", "there is nothing to do: say in input what the run is for",
		in.Attachments)
	if err != nil {
		return nil, err
	}
	if err := x.checkAgent(in.Agent); err != nil {
		return nil, err
	}
	if in.Before != 0 && in.Session == "" {
		return nil, invalid("/before", "before is a position in a session").with("say in session which one")
	}
	ctx := x.r.Context()
	messages, err := x.earlier(ctx, in)
	if err != nil {
		return nil, err
	}
	start := runs.Start{Agent: in.Agent, Session: in.Session, By: x.caller.Name,
		Request: &chat.Request{Messages: append(messages, said)}, Only: in.Tools}
	if in.Before != 0 {
		start.Session = "" // the other one stays as it is
	}
	live, err := x.s.o.Hub.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	x.w.Header().Set("Location", Prefix+"/runs/"+live.ID)
	run, err := x.s.head(ctx, live.ID)
	return &run, err
}

// earlier returns what was said before the message of a task.
func (x *exchange) earlier(ctx context.Context, in *Task) ([]chat.Message, error) {
	if in.Session == "" {
		return nil, nil
	}
	s, err := journal.LookUp(ctx, x.s.o.Journal, in.Session)
	if errors.Is(err, journal.ErrNotFound) || err == nil && (s.Runs == 0 || !x.caller.owns(s.By)) {
		f := notFound("session", in.Session)
		f.Field = "/session"
		return nil, f
	}
	if err != nil {
		return nil, err
	}
	messages, err := x.s.o.Hub.Conversation(ctx, in.Session)
	if err != nil || in.Before == 0 {
		return messages, err
	}
	later, err := x.asked(ctx, &s, in.Before)
	if err != nil {
		return nil, err
	}
	return until(messages, later), nil
}

// asked returns how many messages of users a session has from a position on, at which one has to stand.
func (x *exchange) asked(ctx context.Context, s *journal.Session, position int64) (n int, err error) {
	there := false
	for step, err := range x.steps(ctx, s, position-1) {
		if err != nil {
			return 0, err
		}
		if step.Role == chat.RoleUser {
			n++
			there = there || step.Position == position
		}
	}
	if !there {
		return 0, invalid("/before", "no message of a user stands at position %d of the session", position).
			with("take the position of one from the transcript")
	}
	return n, nil
}

// until returns the messages before the last n of users.
func until(messages []chat.Message, n int) []chat.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != chat.RoleUser {
			continue
		}
		if n--; n == 0 {
			return messages[:i]
		}
	}
	return nil
}

// checkAgent reports a name that is no agent's, or that the caller may not use.
func (x *exchange) checkAgent(name string) error {
	var known []string
	for _, a := range x.s.o.Hub.Agents() {
		if !x.caller.sees(a) {
			continue
		}
		if a == name {
			return nil
		}
		known = append(known, a)
	}
	f := invalid("/agent", "there is no agent %s", shorten.Quoted(name))
	if len(known) == 0 {
		return f.with("give a model tools in its agent section of the configuration")
	}
	return f.with("there are " + strings.Join(sorted(known), ", "))
}

// cancelRun answers POST /runs/{run}/cancel.
func (x *exchange) cancelRun() (any, error) {
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	if err := x.s.o.Hub.Cancel(x.r.Context(), run.ID); err != nil {
		return nil, err
	}
	return x.showRun()
}

// resumeRun answers POST /runs/{run}/resume.
func (x *exchange) resumeRun() (any, error) {
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	if _, err := x.s.o.Hub.Resume(x.r.Context(), run.ID); err != nil {
		return nil, err
	}
	return x.showRun()
}

// tellRun answers POST /runs/{run}/messages.
func (x *exchange) tellRun() (any, error) {
	in := x.body.(*Say)
	said, err := spokenMessage(in.Text, "/text", "the message is empty", in.Attachments)
	if err != nil {
		return nil, err
	}
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	if err := x.s.o.Hub.Send(x.r.Context(), run.ID, said); err != nil {
		return nil, err
	}
	return x.showRun()
}
