package runs

import (
	"context"
	"fmt"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// Conversation returns a conversation as the last run of a session has left it, for the next one to go on with. It
// fails with journal.ErrNotFound where there is none, and with ErrWaiting while that run is not over.
func (h *Hub) Conversation(ctx context.Context, session string) ([]chat.Message, error) {
	known, err := journal.LookUp(ctx, h.store, session)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: session %q", err, session)
	case known.Runs > 0 && known.State != record.StateEnded:
		return nil, fmt.Errorf("%w: the last run of session %s is not over, and the session continues it",
			ErrWaiting, session)
	}
	// no model is asked
	return agent.New(nil, runner.New(runner.Settings{Tools: h.Tools(known.Agent)}),
		agent.Options{Journal: h.store}).Conversation(ctx, session)
}

// rendered returns the result of a call as the model read it.
func rendered(tools runner.Source, f *runner.FinishRecord) chat.Result {
	style := tool.StylePlain
	if tools != nil {
		if e, ok := tools.Lookup(f.Tool); ok {
			style = e.Tool.Style
		}
	}
	return f.Result.Chat(&chat.Call{ID: f.CallID, Name: f.Tool}, style)
}
