package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/policy"
	"wield/tool/undo"
)

// own returns what tells the actions of this conversation from others on the same files: they were done since it
// began, by its calls.
func (c *conversation) own(ctx context.Context) func(*undo.Action) bool {
	since := c.began
	if c.o.Journal != nil {
		for s, err := range journal.Sessions(ctx, c.o.Journal, 0) {
			if err != nil {
				break // then only what was done since this process began is told
			}
			if s.ID == c.session && s.Begun.Before(since) {
				since = s.Begun
			}
		}
	}
	tools := map[string]string{} // by the id of the call
	for i := range c.messages {
		if m := &c.messages[i]; m.Role == chat.RoleTool {
			tools[m.CallID] = m.Name
		}
	}
	return func(a *undo.Action) bool {
		name, ok := tools[a.Call]
		if !ok {
			name, ok = c.ran[a.Call]
		}
		return ok && name == a.Tool && !a.At.Before(since.Truncate(time.Microsecond))
	}
}

func (c *conversation) cmdUndo(ctx context.Context, arg string) {
	if c.o.Undo == nil {
		c.say(styleWarn, "There is nothing to undo here.")
		return
	}
	root, err := files.Open(c.o.Root, files.Options{})
	if err != nil {
		c.say(styleBad, "%v", err)
		return
	}
	defer root.Close()
	of := c.own(ctx)
	if arg == "last" {
		of = nil
	}
	last, err := c.o.Undo.Last(root, of)
	if errors.Is(err, undo.ErrUnknown) {
		c.nothingLeft(root, arg)
		return
	}
	var changes []edit.Change
	if err == nil {
		changes, err = c.o.Undo.Undo(root, last.ID)
	}
	if err != nil {
		c.notUndone(&last, err)
		return
	}
	var names []string
	for i := range changes {
		c.say(styleGood, "taken back: %s", policy.Visible(changes[i].Summary()))
		names = append(names, changes[i].Path)
	}
	if len(changes) == 0 {
		c.say(styleDim, "The files are as they were before %s already.", last.Tool)
		return
	}
	c.changes = append(c.changes, changes...)
	c.tell("The user took back what " + last.Tool + " made of these files: " + strings.Join(names, ", "))
}

// nothingLeft says that there is nothing to take back, and what another conversation left.
func (c *conversation) nothingLeft(root *files.Root, arg string) {
	last, err := c.o.Undo.Last(root, nil)
	if err != nil || arg != "" {
		c.say(styleWarn, "There is nothing to take back.")
		return
	}
	c.say(styleWarn,
		"This conversation has nothing to take back. The last change of files here is from %s: %s. To take that "+
			"back: /undo last", last.At.Local().Format("2006-01-02 15:04"), policy.Visible(summaries(&last)))
}

// notUndone says why an action stands, with its files.
func (c *conversation) notUndone(a *undo.Action, err error) {
	c.say(styleBad, "%s", policy.Visible(err.Error()))
	if len(a.Files) > 1 {
		c.say(styleWarn, "Nothing was taken back: %s belong together.", policy.Visible(summaries(a)))
	}
}

// summaries says what an action made of its files.
func summaries(a *undo.Action) string {
	var list []string
	for _, f := range a.Files {
		list = append(list, f.Summary)
	}
	return strings.Join(list, ", ")
}

func (c *conversation) cmdDiff(ctx context.Context, _ string) {
	if c.o.Undo == nil {
		c.askedDiff()
		return
	}
	root, err := files.Open(c.o.Root, files.Options{})
	if err != nil {
		c.say(styleBad, "%v", err)
		return
	}
	defer root.Close()
	totals, err := c.o.Undo.Changes(root, c.own(ctx))
	if err != nil {
		c.say(styleBad, "%s", policy.Visible(err.Error()))
		return
	}
	n := 0
	for i := range totals {
		t := &totals[i]
		if t.Since {
			c.say(styleWarn, "%s was changed by others since; that is in the diff too.", policy.Visible(t.Path))
		}
		if !t.Changed() {
			continue
		}
		n++
		c.printChanges([]edit.Change{t.Change})
	}
	if n == 0 {
		c.say(styleWarn, "The calls of this conversation have changed no files. What programs change is not kept.")
	}
}

// askedDiff shows what was asked about, where nothing keeps what was changed.
func (c *conversation) askedDiff() {
	if len(c.changes) == 0 {
		c.say(styleWarn, "There is no approved change to show.")
		return
	}
	c.printChanges(slices.Clone(c.changes))
}

func (c *conversation) printChanges(changes []edit.Change) {
	for _, r := range changeRows(changes) {
		c.screen.print(wrap(r, c.screen.columns(), "")...)
	}
}
