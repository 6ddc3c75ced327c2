package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/tool/builtin/local"
	"wield/tool/edit"
	"wield/tool/runner"
)

// A run yields items.
type item struct {
	event chat.Event
	err   error
}

// A userTurn is one message of the person and all that comes of it. It ends with an answer, when it is stopped,
// or when it fails; while it waits for the person it is parked.
type userTurn struct {
	run      *agent.Run
	items    chan item
	cancel   context.CancelFunc
	began    time.Time
	md       markdown
	trail    *trail
	parked   bool
	stopping bool
	moved    bool // somebody else continues the run

	thinking  bool // reasoning comes in
	thought   strings.Builder
	thoughtAt time.Time
	using     []string // tools that run or are about to
	output    []byte   // of a tool that runs, its end
	written   int      // bytes that the model wrote
	said      bool     // text was printed since the last other row
	answered  bool     // any text at all
	failed    error
	asked     map[string][]edit.Change // what the person was shown, by the call
	denied    map[string]bool          // calls that somebody refused, which stands on the screen
	retry     *chat.RetryDetail        // a request failed and is made again; nil: none waits
}

// itemsAtOnce limits the events that wait to be shown. A run that is faster waits.
const itemsAtOnce = 256

func (t *userTurn) stream() <-chan item {
	if t == nil || t.parked {
		return nil
	}
	return t.items
}

// send asks the model something. While something is carried out the message has its place behind the calls that run.
func (c *conversation) send(ctx context.Context, text string) bool {
	parts, missing, problems := c.parts(text)
	for _, p := range problems {
		c.say(styleWarn, "%s", p)
	}
	if len(problems) > 0 || !c.meant(text, missing) {
		return false
	}
	m := chat.Message{Role: chat.RoleUser, Parts: parts}
	if c.summing != nil {
		c.hintOf("The conversation is being summed up; Ctrl-C stops that.")
		return false
	}
	if t := c.turn; t != nil {
		if t.stopping || t.moved {
			c.hintOf(aboutToEnd)
			return false
		}
		switch err := t.run.Accept(ctx, m); { // it must not be lost with this process
		case errors.Is(err, agent.ErrEnded):
			c.hintOf(aboutToEnd)
			return false
		case err != nil:
			c.hintOf(err.Error())
			return false
		}
		c.screen.print(t.flush()...)
		c.printUser(text)
		return true
	}
	if !c.screen.plain {
		c.printUser(text)
		c.screen.print(nil)
	}
	c.messages = append(c.messages, m)
	if c.title == "" {
		c.title = shorten(text, 40)
	}
	c.begin(ctx)
	return true
}

// aboutToEnd is said where a message has no place any more in what runs.
const aboutToEnd = "It is about to end: send it again in a moment."

// begin begins to carry out the last message.
func (c *conversation) begin(ctx context.Context) {
	run := c.stage.Agent.Run(c.request())
	run.Shorten(c.summary)
	c.turn = &userTurn{run: run, began: c.o.Now(), trail: new(trail),
		md: markdown{color: c.screen.color, columns: c.screen.columns()}, asked: map[string][]edit.Change{},
		denied: map[string]bool{}}
	c.last = c.turn.trail
	c.continueRun(ctx)
}

// request returns the conversation as the model is asked to go on with it.
func (c *conversation) request() *chat.Request {
	return &chat.Request{Model: c.stage.Name, Conversation: c.session, Messages: c.spokenTo()}
}

// spokenTo returns the conversation behind the instructions.
func (d *dialog) spokenTo() []chat.Message {
	var list []chat.Message
	if d.system != "" {
		list = append(list, chat.Message{Role: chat.RoleSystem, Parts: chat.Text(d.system)})
	}
	return append(list, d.messages...)
}

// lastSummary finds the summary that stands for the beginning of a conversation that goes on.
func (c *conversation) lastSummary(ctx context.Context) {
	s, err := c.stage.Agent.LastSummary(ctx, c.session, c.spokenTo())
	if err != nil {
		c.say(styleWarn, "%v", err)
	}
	c.summary = s
}

// continueRun continues the turn, from its beginning or after the person's answers.
func (c *conversation) continueRun(ctx context.Context) {
	t := c.turn
	ctx, t.cancel = context.WithCancel(ctx)
	t.items, t.parked = make(chan item, itemsAtOnce), false
	out := t.items
	c.wg.Go(func() {
		defer close(out)
		for e, err := range t.run.Events(ctx) {
			out <- item{e, err} // it is always taken: see drain
		}
	})
}

// stop stops the turn. What it says then is said when everything has ended.
func (c *conversation) stop() {
	t := c.turn
	if t == nil {
		return
	}
	t.stopping = true
	t.cancel()
	if t.parked {
		c.closeQuestion()
		c.finish(agent.Outcome{Reason: agent.EndCancel})
	}
}

// event takes what the run yields. It reports whether more has come that can be shown together with it.
func (c *conversation) event(ctx context.Context, it item, ok bool) bool {
	t := c.turn
	for n := 0; ; n++ {
		if !ok {
			t.cancel()
			c.ending(ctx)
			return false
		}
		if it.err != nil {
			t.failed = it.err
		} else {
			c.show(&it.event)
		}
		if n == itemsAtOnce {
			break
		}
		select {
		case it, ok = <-t.items:
			continue
		default:
		}
		break
	}
	return len(t.items) > 0 && c.o.Now().Sub(c.painted) < frame
}

// ending takes the end of the run: it is over, or it waits for the person.
func (c *conversation) ending(ctx context.Context) {
	t := c.turn
	if t.moved {
		c.followed(ctx)
		return
	}
	c.screen.print(t.md.close()...)
	o := t.run.Outcome()
	c.runs = t.run.ID()
	if s := t.run.Session(); s != "" {
		c.session = s
	}
	if o.Reason == agent.EndWaiting && !t.stopping {
		t.parked, t.using, t.output = true, nil, nil
		c.questions(ctx, o.Waiting)
		return
	}
	if errors.Is(t.failed, journal.ErrHeld) || errors.Is(t.failed, journal.ErrConflict) {
		c.follow(ctx)
		return
	}
	c.finish(o)
}

// finish ends the turn.
func (c *conversation) finish(o agent.Outcome) {
	t := c.turn
	c.turn, c.ask = nil, nil
	t.cancel()
	c.messages = spoken(t.run.Messages())
	c.bill.add(c.stage.Name, o.Usage, o.Cost, o.Priced)
	t.trail.usage = o.Usage
	switch {
	case t.stopping:
		c.say(styleWarn, "Stopped.")
	case t.failed != nil:
		c.say(styleBad, "%s", failure(t.failed))
	default:
		if words, ok := endings[o.Reason]; ok {
			c.say(styleWarn, "%s", words)
		}
		if o.Limit != "" {
			c.say(styleWarn, "The limit on %s was reached.", o.Limit)
		}
	}
	c.screen.print(nil)
}

// endings are the ends of a run that need a word.
var endings = map[agent.EndReason]string{
	agent.EndEmpty: "The model said nothing. /raw shows what it wrote.",
	agent.EndLimit: "The model gave no answer.",
}

// failure says what went wrong and what can be done.
func failure(err error) string {
	text := err.Error()
	for kind, words := range remedies {
		if errors.Is(err, kind) {
			text += "\n" + words
		}
	}
	return text
}

var remedies = map[chat.ErrorKind]string{
	chat.ErrContextLength: "The conversation is too long for the model: /compact makes it shorter.",
	chat.ErrUnavailable:   "The server cannot be reached. wield doctor tells more.",
	chat.ErrAuth:          "The server wants another key.",
	chat.ErrRateLimit:     "Wait a while, or choose another model with /model.",
}

// spoken returns a conversation without the instructions at its beginning, which every run brings anew, and closed.
func spoken(messages []chat.Message) []chat.Message {
	for len(messages) > 0 && messages[0].Role == chat.RoleSystem {
		messages = messages[1:]
	}
	return closed(messages)
}

// closed returns a conversation in which every call has its result, in the order of the calls, so that every
// server takes it.
func closed(messages []chat.Message) []chat.Message {
	results := map[string]chat.Message{}
	for i := range messages {
		if m := &messages[i]; m.Role == chat.RoleTool {
			results[m.CallID] = *m
		}
	}
	var out []chat.Message
	for i := range messages {
		if messages[i].Role == chat.RoleTool {
			continue
		}
		out = append(out, messages[i])
		for _, call := range messages[i].Calls {
			m, ok := results[call.ID]
			if !ok {
				m = chat.Message{Role: chat.RoleTool, CallID: call.ID, Name: call.Name, IsError: true,
					Parts: chat.Text("Error: The call was interrupted. It is not known whether it took effect.")}
			}
			out = append(out, m)
		}
	}
	return out
}

// show shows one event.
func (c *conversation) show(e *chat.Event) {
	t := c.turn
	t.trail.add(e)
	if e.Kind != chat.KindIdle {
		t.retry = nil
	}
	if f, ok := showers[e.Kind]; ok {
		f(c, t, e)
	}
}

// showers say how events are shown. The others are only kept for /why.
var showers = map[chat.Kind]func(c *conversation, t *userTurn, e *chat.Event){
	chat.KindTurnStart: func(c *conversation, t *userTurn, _ *chat.Event) {
		c.screen.print(t.flush()...)
		if t.trail.answers() > 1 {
			c.screen.print(nil)
		}
		t.using = nil
	},
	chat.KindIdle: func(c *conversation, t *userTurn, e *chat.Event) {
		if retry, ok := e.Detail.(*chat.RetryDetail); ok {
			t.retry = retry
			c.say(styleWarn, "%s", clean(t.retry.Sentence(c.o.Now())))
		}
	},
	chat.KindText: func(c *conversation, t *userTurn, e *chat.Event) {
		c.endThought(t)
		t.written += len(e.Text)
		t.said, t.answered = true, true
		c.screen.print(t.md.write(e.Text)...)
	},
	chat.KindReasoning: func(c *conversation, t *userTurn, e *chat.Event) {
		if !t.thinking {
			c.screen.print(t.flush()...)
			t.thinking, t.thoughtAt = true, c.o.Now()
		}
		t.written += len(e.Text)
		t.thought.WriteString(e.Text)
	},
	chat.KindCallStart: func(c *conversation, t *userTurn, e *chat.Event) {
		c.endThought(t)
		c.screen.print(t.flush()...)
		t.using = append(t.using, e.Name)
	},
	chat.KindCallArgs: func(_ *conversation, t *userTurn, e *chat.Event) { t.written += len(e.Text) },
	chat.KindCallEnd: func(c *conversation, t *userTurn, e *chat.Event) {
		c.endThought(t)
		c.screen.print(t.flush()...)
		c.screen.print(callRow(e.Detail.(*chat.Call), c.screen.columns()))
	},
	chat.KindNativeCall: func(c *conversation, t *userTurn, e *chat.Event) {
		c.screen.print(t.flush()...)
		c.screen.print(cut(row{{styleTool, "● "}, {styleText, clean(e.Name)},
			{styleDim, " (run by the model's server) " + clean(shorten(e.Text, 200))}}, c.screen.columns()))
	},
	chat.KindRejected: func(c *conversation, t *userTurn, e *chat.Event) {
		r := e.Detail.(*chat.RejectedDetail)
		if e.Flags&chat.FlagSpent != 0 || r.Reason == chat.ReasonIncomplete {
			t.said, t.answered = true, true
			c.screen.print(t.md.write(r.Raw)...)
		}
		t.using = nil
	},
	chat.KindOverrun: func(c *conversation, t *userTurn, e *chat.Event) {
		if e.Detail.(*chat.OverrunDetail).Hard { // else the text may go on
			c.screen.print(t.flush()...)
			c.say(styleDim, "The model went on past its turn; the rest is left out. /why tells more.")
		}
	},
	chat.KindBounce: func(c *conversation, t *userTurn, e *chat.Event) {
		c.screen.print(t.flush()...)
		c.say(styleDim, "The model's call could not be used (%s); it was asked again. /why tells more.",
			e.Detail.(*chat.BounceDetail).Reason)
	},
	chat.KindToolState: func(_ *conversation, t *userTurn, e *chat.Event) {
		if e.Detail.(*runner.StateDetail).State == runner.CallRunning && !slices.Contains(t.using, e.Name) {
			t.using = append(t.using, e.Name)
		}
	},
	chat.KindProgress: func(c *conversation, t *userTurn, e *chat.Event) {
		if e.Detail.(*runner.ProgressDetail).Stream == "summary" { // of a change, which is no output
			if len(t.asked[e.Detail.(*runner.ProgressDetail).CallID]) > 0 {
				return // it was seen with the question
			}
			for line := range strings.Lines(e.Detail.(*runner.ProgressDetail).Text) {
				c.screen.print(cut(styled(styleGood, "  "+strings.TrimSuffix(clean(line), "\n")), c.screen.columns()))
			}
			return
		}
		if s := e.Detail.(*runner.ProgressDetail).Stream; s != "stdout" && s != "stderr" {
			return // how it is held, how far it is
		}
		t.output = append(t.output, e.Detail.(*runner.ProgressDetail).Text...)
		if n := len(t.output); n > 2*keptOutput {
			t.output = append([]byte(nil), t.output[n-keptOutput:]...)
		}
	},
	chat.KindResult: func(c *conversation, t *userTurn, e *chat.Event) {
		t.output = nil
		m := e.Detail.(*chat.Result).Message()
		c.ran[m.CallID] = m.Name
		if !m.IsError {
			c.changes = append(c.changes, t.asked[m.CallID]...)
		}
		if !t.denied[m.CallID] {
			c.screen.print(resultRows(&m, c.screen.columns())...)
		}
		if i := slices.Index(t.using, m.Name); i >= 0 {
			t.using = slices.Delete(t.using, i, i+1)
		}
	},
}

// keptOutput limits the bytes of a running tool's output that are shown.
const keptOutput = 8 << 10

// flush finishes what the model was writing.
func (t *userTurn) flush() []row {
	rows := t.md.close()
	if t.said {
		t.said = false
		if len(rows) == 0 || len(rows[len(rows)-1].text()) > 0 {
			rows = append(rows, nil)
		}
	}
	return rows
}

// endThought folds reasoning that has ended into one row.
func (c *conversation) endThought(t *userTurn) {
	if !t.thinking {
		return
	}
	t.thinking = false
	words := len(strings.Fields(t.thought.String()))
	c.screen.print(styled(styleDim, fmt.Sprintf("∴ thought for %s, %d words; /raw shows them",
		lasted(c.o.Now().Sub(t.thoughtAt)), words)))
	t.thought.Reset()
}

// lasted writes a time for people.
func lasted(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// spinner turns while something runs.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// rows returns the tail of a turn: what is being written, the end of what a tool puts out, and the status.
func (t *userTurn) rows(c *conversation) []row {
	columns := c.screen.columns()
	rows := t.md.tail()
	if most := max(c.screen.height-6, 3); len(rows) > most {
		rows = rows[len(rows)-most:]
	}
	if t.parked {
		return rows
	}
	if t.thinking {
		rows = append(rows, cut(styled(styleDim, "  "+lastLine(t.thought.String())), columns))
	}
	if len(t.output) > 0 {
		all := bytes.Split(bytes.TrimRight(t.output, "\n"), []byte("\n"))
		for _, l := range all[max(len(all)-4, 0):] {
			rows = append(rows, cut(styled(styleDim, "  │ "+clean(string(l))), columns))
		}
	}
	elapsed := c.o.Now().Sub(t.began)
	status := "Thinking..."
	switch {
	case t.stopping:
		status = "Stopping..."
	case t.moved:
		status = "Waiting for another process..."
	case len(t.using) > 0:
		status = "Using " + clean(strings.Join(t.using, ", ")) + "..."
	case t.retry != nil:
		status = fmt.Sprintf("Trying again in %s...", lasted(max(t.retry.At.Sub(c.o.Now()), 0)))
	case t.md.line.Len() > 0:
		status = "Writing..."
	}
	rest := " " + lasted(elapsed)
	if t.written > 0 {
		rest += " · ~" + count((t.written+3)/4) + " tokens"
	}
	if !t.stopping {
		rest += " · Ctrl-C stops"
	}
	turning := spinner[int(elapsed/tick)%len(spinner)]
	return append(rows, cut(row{{styleTool, turning + " " + status}, {styleDim, rest}}, columns))
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n ")
	return clean(s[strings.LastIndexByte(s, '\n')+1:])
}

// callRow says in one row what is called.
func callRow(call *chat.Call, columns int) row {
	if s := local.Summary(call.Name, call.Arguments); s != "" {
		return cut(row{{styleTool, "● "}, {styleText, clean(shorten(s, 300))}}, columns)
	}
	return cut(row{{styleTool, "● "}, {styleStrong, clean(call.Name)},
		{styleText, " " + clean(arguments(call.Arguments))}}, columns)
}

// arguments says in a few words what a call is about: the command, the file, the question, or all of it as it
// is written.
func arguments(text string) string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &args) != nil || len(args) == 0 {
		return shorten(strings.TrimPrefix(text, "{}"), 300)
	}
	for _, name := range telling {
		var s string
		if json.Unmarshal(args[name], &s) != nil || s == "" {
			continue
		}
		var list []string
		if json.Unmarshal(args["arguments"], &list) == nil {
			s = strings.Join(append([]string{s}, list...), " ")
		}
		return shorten(s, 300)
	}
	return shorten(text, 300)
}

// telling are the members that say best what a call is about, the most telling first.
var telling = []string{"command", "shell", "path", "file", "url", "query", "expression", "code", "edits", "operation"}

// outputRows limits the rows of a result.
const outputRows = 8

// resultRows shows what came of a call.
func resultRows(m *chat.Message, columns int) []row {
	text := m.Text()
	if m.IsError {
		return folded(strings.TrimPrefix(text, "Error: "), styleBad, columns)
	}
	var r struct {
		Output  *string `json:"stdout"`
		Errors  string  `json:"stderr"`
		Code    int     `json:"return_code"`
		Content *string `json:"content"`
		Error   string  `json:"error"`
		Success *bool   `json:"success"`
		Files   []struct {
			Summary string `json:"summary"`
			Diff    string `json:"diff"`
		} `json:"files"`
	}
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &r) != nil {
		return folded(text, styleDim, columns)
	}
	switch {
	case r.Success != nil && !*r.Success:
		return folded(r.Error, styleBad, columns)
	case r.Output != nil:
		rows := folded(strings.TrimRight(*r.Output+r.Errors, "\n"), styleDim, columns)
		if r.Code != 0 {
			rows = append(rows, styled(styleBad, fmt.Sprintf("  exit code %d", r.Code)))
		}
		return rows
	case len(r.Files) > 0 && r.Files[0].Summary != "":
		var rows []row
		for _, f := range r.Files {
			rows = append(rows, cut(styled(styleGood, "  "+clean(f.Summary)), columns))
		}
		return rows
	case r.Content != nil:
		n := strings.Count(strings.TrimSuffix(*r.Content, "\n"), "\n") + 1
		return []row{styled(styleDim, fmt.Sprintf("  %d lines, %s", n, size(len(*r.Content))))}
	}
	return folded(text, styleDim, columns)
}

// folded shows the beginning and the end of a text.
func folded(text string, st style, columns int) []row {
	if strings.TrimSpace(text) == "" {
		return []row{styled(styleDim, "  (no output)")}
	}
	all := strings.Split(strings.TrimRight(clean(text), "\n"), "\n")
	var rows []row
	for i, l := range all {
		if len(all) > outputRows && i == outputRows/2 {
			rows = append(rows, styled(styleDim, fmt.Sprintf("  … %d more lines", len(all)-outputRows+1)))
		}
		if len(all) > outputRows && i >= outputRows/2 && i < len(all)-outputRows/2+1 {
			continue
		}
		rows = append(rows, cut(styled(st, "  "+l), columns))
	}
	return rows
}
