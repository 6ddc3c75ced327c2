package terminal

import (
	"context"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
)

// follow waits for the end of a run that another process continues, such as that of whoever answered its question.
// The first one carries the call out, and nobody does so twice.
func (c *conversation) follow(ctx context.Context) {
	t := c.turn
	t.moved, t.failed = true, nil
	c.say(styleDim, "Another process continues this run.")
	ctx, t.cancel = context.WithCancel(ctx)
	t.items = make(chan item)
	out := t.items
	c.wg.Go(func() {
		defer close(out)
		c.untilElsewhere(ctx, t.run.ID())
	})
}

// untilElsewhere returns when the process that took a run over has ended it, or waits for something itself.
func (c *conversation) untilElsewhere(ctx context.Context, run string) {
	taken := false
	for e, err := range c.o.Journal.Watch(ctx,
		journal.Query{Stream: run, Kinds: []record.Kind{record.KindResume, record.KindWait, record.KindEnd}}) {
		switch {
		case err != nil, e.Record.Kind == record.KindEnd, taken && e.Record.Kind == record.KindWait:
			return
		case e.Record.Kind == record.KindResume:
			taken = e.Record.Resume.By != c.o.By
		}
	}
}

// followed shows what was said meanwhile.
func (c *conversation) followed(ctx context.Context) {
	t := c.turn
	known := 0
	before := spoken(t.run.Messages())
	for i := range before {
		if before[i].Role == chat.RoleAssistant {
			known = i + 1
		}
	}
	messages, err := c.stage.Agent.Transcript(ctx, t.run.ID())
	if err != nil {
		t.failed = err
	}
	c.finish(agent.Outcome{Reason: agent.EndAnswer})
	if err != nil {
		return
	}
	c.messages = spoken(messages)
	for i := min(known, len(c.messages)); i < len(c.messages); i++ {
		c.printMessage(&c.messages[i])
	}
}
