package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/policy"
)

// A Command is something that a person can tell the program, and not the model.
type Command struct {
	Name string // with the slash
	Args string // as help shows them
	What string
}

// Commands lists the commands, in the order of the help.
func Commands() []Command {
	list := make([]Command, len(commands))
	for i, k := range commandTable() {
		list[i] = Command{k.name, k.args, k.what}
	}
	return list
}

// A Key is a key of the input and what it does.
type Key struct{ Keys, What string }

// Keys lists the keys, in the order of the help.
func Keys() []Key { return slices.Clone(keyHelp) }

// Answers lists what a question can be answered with.
func Answers() []Key {
	var list []Key
	for _, k := range answerKeys() {
		list = append(list, Key{k.letters[:1], k.what})
	}
	return list
}

// keyHelp explains the keys that are not the same in every editor, with related keys in one row: /help has to fit on a
// screen.
var keyHelp = []Key{
	{"Enter", "send; a busy model reads it before its next answer"},
	{"Alt-Enter, Ctrl-J", "new line; also backslash, then Enter"},
	{"Tab", "complete a command, its argument, or a file after @"},
	{"Ctrl-C", "clear the input, else stop what runs; twice: quit"},
	{"Ctrl-D", "quit if the input is empty, else delete a character"},
	{"Up, Down, Ctrl-P, Ctrl-N", "earlier messages; Ctrl-R searches them"},
	{"Alt-B, Alt-F", "move by word; Home, End, Ctrl-A, Ctrl-E: in the line"},
	{"Ctrl-W, Ctrl-U, Ctrl-K", "cut a word, or to line start or end; Ctrl-Y pastes"},
	{"Ctrl-G", "edit the message in $VISUAL or $EDITOR"},
	{"Ctrl-L, Ctrl-Z", "clear the screen; suspend wield, fg resumes it"},
	{"@FILE", "attach a text file or an image"},
}

// A command is one line of the table.
type command struct {
	name string
	args string
	what string
	busy bool // it may be used while something runs
	do   func(c *conversation, ctx context.Context, arg string)
	// words returns what the next argument can be, behind those that are written already. It may be nil.
	words func(c *conversation, before []string) []string
}

// commands are all of them. The help is added by commandTable, since it reads the table.
var commands = []command{
	{"/help", "", "show this list", true, nil, nil},
	{"/model", "[NAME]", "list the models, or switch to another", false, (*conversation).cmdModel,
		(*conversation).modelWords},
	{"/tools", "[NAME on|off]", "list the tools, or switch one on or off", true, (*conversation).cmdTools,
		(*conversation).toolWords},
	{"/dialect", "[NAME]", "list the dialects, or set one; auto: the model's own", false, (*conversation).cmdDialect,
		(*conversation).dialectWords},
	{"/raw", "", "show the last answer as the model wrote it", true, (*conversation).cmdRaw, nil},
	{"/why", "", "explain the last answer: calls, repairs, rules", true, (*conversation).cmdWhy, nil},
	{"/undo", "[last]", "undo a file change; last: of any conversation here", false, (*conversation).cmdUndo,
		undoWords},
	{"/diff", "", "show what this conversation changed in files", true, (*conversation).cmdDiff, nil},
	{"/approvals", "", "list open questions of all conversations", true, (*conversation).cmdApprovals, nil},
	{"/cost", "", "show tokens, and cost if prices are configured", true, (*conversation).cmdCost, nil},
	{"/compact", "", "summarize the conversation and continue from that", false, (*conversation).cmdCompact, nil},
	{"/save", "FILE", "save the conversation as Markdown", true, (*conversation).cmdSave, nil},
	{"/resume", "[ID]", "list earlier conversations, or continue one", false, (*conversation).cmdResume, nil},
	{"/title", "[TEXT]", "show or change the title", true, (*conversation).cmdTitle, nil},
	{"/quit", "", "quit; the conversation is kept", true,
		func(c *conversation, _ context.Context, _ string) { c.stop(); c.quit = true }, nil},
}

// commandTable returns the commands with the help among them.
func commandTable() []command {
	list := slices.Clone(commands)
	list[0].do = (*conversation).cmdHelp
	return list
}

// command carries out what begins with a slash, and reports whether that was possible now. What is no command is not
// sent to the model either: it was not meant for it.
func (c *conversation) command(ctx context.Context, text string) bool {
	name, arg, _ := strings.Cut(text, " ")
	list := commandTable()
	i := slices.IndexFunc(list, func(k command) bool { return k.name == name })
	if i < 0 {
		c.hintOf(
			fmt.Sprintf(
				"There is no command %s%s /help lists all; put a space before the slash to send it to the model.",
				shorten(name, 30), nearest(name)))
		return false
	}
	if c.busy() && !list[i].busy {
		c.hintOf(name + " has to wait until the answer is there. Ctrl-C stops it.")
		return false
	}
	if c.turn != nil {
		c.screen.print(c.turn.flush()...)
	}
	list[i].do(c, ctx, strings.TrimSpace(arg))
	return true
}

// hintOf tells something below the input, or in a line where there is no such place.
func (c *conversation) hintOf(text string) {
	if c.hint = text; c.screen.plain {
		c.screen.print(plainRow(clean(text)))
	}
}

// nearest returns a suggestion for a command that does not exist.
func nearest(name string) string {
	for i := range commands {
		if n := len(commonPrefix(commands[i].name, name)); n >= 3 || n >= 2 && len(name) <= 3 {
			return "; did you mean " + commands[i].name + "?"
		}
	}
	return "."
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func (c *conversation) cmdHelp(context.Context, string) {
	for _, k := range commands {
		c.helpRow(k.name+" "+k.args, k.what)
	}
	c.screen.print(nil)
	for _, k := range keyHelp {
		c.helpRow(k.Keys, k.What)
	}
	c.screen.print(nil)
}

func (c *conversation) helpRow(name, what string) {
	const wide = 25
	r := row{{styleStrong, name}}
	if n := cells(name); n >= wide {
		c.screen.print(r)
		r = plainRow(strings.Repeat(" ", wide))
	} else {
		r = append(r, span{styleText, strings.Repeat(" ", wide-n)})
	}
	c.screen.print(wrap(append(r, span{styleText, what}), c.screen.columns(), strings.Repeat(" ", wide))...)
}

func (c *conversation) cmdModel(_ context.Context, name string) {
	if name == "" {
		c.choice(c.o.Models, c.stage.Name)
		return
	}
	c.restage(name, c.stage.Dialect)
}

func (c *conversation) cmdDialect(_ context.Context, name string) {
	if name == "" {
		c.choice(append([]string{"auto"}, c.o.Dialects...), first(c.stage.Dialect, "auto"))
		return
	}
	if name == "auto" {
		name = ""
	}
	c.restage(c.stage.Name, name)
}

// choice lists names, with a mark at the one that is used.
func (c *conversation) choice(names []string, used string) {
	for _, n := range names {
		if n == used {
			c.screen.print(row{{styleGood, "* "}, {styleStrong, clean(n)}})
		} else {
			c.screen.print(plainRow("  " + clean(n)))
		}
	}
}

// restage continues with another model or dialect. The conversation stays.
func (c *conversation) restage(model, dialect string) {
	next, err := c.o.Open(model, dialect)
	if err != nil {
		c.say(styleBad, "%v", err)
		return
	}
	if c.stage.Close != nil {
		c.stage.Close()
	}
	c.stage = next
	c.say(styleGood, "Now using %s, dialect %s.", next.Name, first(next.Dialect, "auto"))
}

func (c *conversation) cmdTools(_ context.Context, arg string) {
	if c.o.Tools == nil {
		c.say(styleWarn, "There are no tools.")
		return
	}
	if name, word, ok := strings.Cut(arg, " "); ok {
		state, known := map[string]tool.State{"on": tool.StateEnabled, "off": tool.StateDisabled}[strings.TrimSpace(
			word)]
		if !known {
			c.say(styleWarn, "/tools NAME on, or off")
			return
		}
		if err := c.o.Tools.Set(name, state); err != nil {
			c.say(styleBad, "%v", err)
			return
		}
		c.say(styleGood, "%s is %s for this conversation.", name, strings.TrimSpace(word))
		return
	}
	shown := 0
	for _, e := range c.o.Tools.Entries() {
		if arg != "" && e.Tool.Name() != arg || arg == "" && e.State == tool.StateDisabled {
			continue
		}
		shown++
		mode := "reads"
		if !e.Tool.Facts.ReadOnly {
			mode = "may change things"
			if e.Guard != nil && e.Guard.Mode == tool.ModeRO {
				mode = "held to reading"
			}
		}
		what, _, _ := strings.Cut(e.Tool.Definition.Description, ". ")
		c.screen.print(wrap(row{{styleStrong, clean(e.Tool.Name())},
			{styleDim, " " + e.State.String() + ", " + mode + ". "}, {styleText, clean(what)}}, c.screen.columns(),
			"  ")...)
	}
	if shown == 0 {
		c.say(styleWarn, "No tool is enabled. wield tool list shows all there are; /tools NAME on switches one on.")
	}
}

func (c *conversation) cmdRaw(context.Context, string) {
	if c.last == nil {
		c.say(styleWarn, "There is no answer yet.")
		return
	}
	c.screen.print(c.last.rawRows()...)
}

func (c *conversation) cmdWhy(context.Context, string) {
	if c.last == nil {
		c.say(styleWarn, "There is no answer yet.")
		return
	}
	for _, r := range c.last.whyRows() {
		c.screen.print(wrap(r, c.screen.columns(), "      ")...)
	}
}

// tell adds something to the conversation that the model has to know when it is asked next.
func (c *conversation) tell(text string) {
	c.messages = append(c.messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text("[" + text + "]")})
}

func (c *conversation) cmdApprovals(ctx context.Context, _ string) {
	if c.o.Journal == nil {
		c.say(styleWarn, "Without a journal there are no questions but the one that is on the screen.")
		return
	}
	n := 0
	for p, err := range (&journal.Approvals{Store: c.o.Journal}).Waiting(ctx) {
		if err != nil {
			c.say(styleBad, "%v", err)
			return
		}
		n++
		c.say(styleText, "%s %s %s, asked %s", p.ID, p.Tool, policy.Visible(shorten(string(p.Arguments), 120)),
			p.Asked.Local().Format("2006-01-02 15:04"))
	}
	if n == 0 {
		c.say(styleDim, "No approvals are pending.")
	}
}

// several writes a number of things.
func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A summing is a summary that is being written.
type summing struct {
	cancel context.CancelFunc
	done   chan summary
}

type summary struct {
	agent.Summary
	usage chat.Usage
	err   error
}

func (s *summing) result() <-chan summary {
	if s == nil {
		return nil
	}
	return s.done
}

// cmdCompact lets the model sum up the conversation.
func (c *conversation) cmdCompact(ctx context.Context, _ string) {
	if len(c.messages) < 2 || c.summary.Messages == len(c.spokenTo()) {
		c.say(styleWarn, "There is nothing to sum up yet.")
		return
	}
	req, before, a := c.request(), c.summary, c.stage.Agent
	s := &summing{done: make(chan summary, 1)}
	ctx, s.cancel = context.WithCancel(ctx)
	c.summing = s
	c.wg.Go(func() {
		var out summary
		out.Summary, out.usage, out.err = a.Compact(ctx, req, before)
		s.done <- out
	})
}

// summed continues a summary in the place of what it stands for.
func (c *conversation) summed(s summary) {
	c.summing.cancel()
	c.summing = nil
	cost, priced := 0.0, false
	if c.stage.Cost != nil {
		cost, priced = c.stage.Cost(s.usage)
	}
	c.bill.add(c.stage.Name, s.usage, cost, priced)
	switch {
	case errors.Is(s.err, chat.ErrCanceled) || errors.Is(s.err, context.Canceled):
		c.say(styleWarn, "Stopped. Nothing was changed.")
		return
	case s.err != nil:
		c.say(styleBad, "%s", failure(s.err))
		return
	}
	before := c.meter()
	c.summary = s.Summary
	md := markdown{color: c.screen.color, columns: c.screen.columns()}
	c.screen.print(md.write(s.Text)...)
	c.screen.print(md.close()...)
	kept := "/save writes all of it to a file."
	if c.o.Journal != nil {
		kept = "The journal keeps all of it."
	}
	c.say(styleGood, "%s before, %s now. %s", before, c.meter(), kept)
}

func (c *conversation) cmdSave(_ context.Context, name string) {
	if name == "" {
		c.say(styleWarn, "/save FILE")
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		c.say(styleBad, "%s is there already; choose another name.", name)
		return
	}
	if err == nil {
		_, err = f.WriteString(transcript(c.title, c.messages))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		c.say(styleBad, "%v", err)
		return
	}
	c.say(styleGood, "%d messages are in %s.", len(c.messages), name)
}

// transcript writes a conversation as Markdown.
func transcript(title string, messages []chat.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", cmp.Or(title, "Conversation"))
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&b, "\n## %s\n\n", m.Role)
		text := m.Text()
		if m.Role == chat.RoleTool {
			b.WriteString(fenced("", text))
			continue
		}
		if text != "" {
			b.WriteString(strings.TrimRight(text, "\n") + "\n")
		}
		for _, k := range m.Calls {
			fmt.Fprintf(&b, "\n`%s`\n\n%s", k.Name, fenced("json", k.Arguments))
		}
	}
	return b.String()
}

// fenced puts text between fences that nothing in it can close.
func fenced(info, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + info + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// maxListed limits the conversations that are listed.
const maxListed = 20

func (c *conversation) cmdResume(ctx context.Context, id string) {
	if c.o.Journal == nil {
		c.say(styleWarn, "Without a journal there are no earlier conversations.")
		return
	}
	n := 0
	for s, err := range journal.Sessions(ctx, c.o.Journal, 0) {
		if err != nil {
			c.say(styleBad, "%v", err)
			return
		}
		if s.Runs == 0 || s.ID == c.session {
			continue
		}
		if id == "" {
			c.say(styleText, "%s  %s  %s", s.ID, s.Changed.Local().Format("2006-01-02 15:04"), s.Title)
			if n++; n == maxListed {
				break
			}
			continue
		}
		if !strings.HasPrefix(s.ID, id) {
			continue
		}
		messages, err := c.stage.Agent.Conversation(ctx, s.ID)
		if err != nil {
			c.say(styleBad, "%v", err)
			return
		}
		c.session, c.title, c.messages, c.last = s.ID, s.Title, spoken(messages), nil
		c.lastSummary(ctx)
		c.recall()
		return
	}
	switch {
	case id != "":
		c.say(styleWarn, "There is no conversation %s.", id)
	case n == 0:
		c.say(styleDim, "There are no others.")
	}
}

func (c *conversation) cmdTitle(ctx context.Context, text string) {
	if text == "" {
		c.say(styleText, "%s", cmp.Or(c.title, "(no title)"))
		return
	}
	c.title = text
	if c.o.Journal == nil || c.runs == "" || c.turn != nil {
		return
	}
	for h, err := range c.o.Journal.Heads(ctx, journal.HeadQuery{Stream: c.runs, Limit: 1}) {
		if err == nil {
			_, err = c.o.Journal.Append(ctx, c.runs, h.Seq,
				record.Record{Kind: record.KindSession, Session: &record.Session{Title: text}})
		}
		if err != nil {
			c.say(styleBad, "The title could not be kept: %v", err)
		}
	}
}
