package runs

import (
	"context"

	"wield/agent"
	"wield/chat"
	"wield/internal/cli"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// past puts what was said in an earlier session before the request: in the one that --session names, or with
// --continue in the last one that worked in this directory.
func (f *runFlags) past(ctx context.Context, a *agent.Agent, runner *runner.Runner, req *chat.Request) error {
	id := f.session
	if f.goesOn {
		var err error
		if id, err = lastSession(ctx, f.journal, runner.Settings().Root); err != nil {
			return err
		}
	}
	known, err := journal.LookUp(ctx, f.journal, id)
	switch {
	case err != nil:
		return noSession(id, err)
	case known.State != record.StateEnded:
		return cli.UsageErrorf("the last run of the session %s is not over; continue it with wield sessions resume %s",
			cli.Plain(id), cli.Plain(id))
	}
	said, err := a.Conversation(ctx, id)
	if err != nil {
		return noSession(id, err)
	}
	req.Messages, req.Conversation = append(said, req.Messages...), id
	return nil
}

// lastSession returns the session of the last run in a directory.
func lastSession(ctx context.Context, s journal.Store, dir string) (string, error) {
	for session, err := range journal.Sessions(ctx, s, 0) {
		if err != nil {
			return "", err
		}
		if session.Dir == dir && session.Runs > 0 {
			return session.ID, nil
		}
	}
	return "", cli.UsageErrorf("--continue: there is no session of this directory yet")
}
