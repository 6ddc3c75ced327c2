package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/builtin/local"
	"wield/tool/edit"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A question holds what the person is asked now, and what is asked behind it.
type question struct {
	approval runner.Approval
	rest     []runner.Approval
	store    runner.Approvals
	since    time.Time // that it can be read; zero: it was not painted yet
	mode     askMode
	reason   editor
	parts    *local.Parts         // what can be refused one by one; nil: only all of it
	sorting  *sorting             // while that is done
	answered chan runner.Approval // by somebody else
	cancel   context.CancelFunc
}

// An askMode says what the next key is about.
type askMode uint8

const (
	askAnswer askMode = iota
	askAlways         // whether the rule that is shown is to be kept
	askReason         // why not
	askPart           // whether one part is to be carried out
)

func (q *question) answers() <-chan runner.Approval {
	if q == nil {
		return nil
	}
	return q.answered
}

// approvals returns where the questions of the run stand.
func (c *conversation) approvals() runner.Approvals {
	if c.o.Journal == nil {
		return c.o.Approvals
	}
	return &journal.Approvals{Store: c.o.Journal, Session: c.session, Run: c.runs}
}

// questions puts questions, one after another.
func (c *conversation) questions(ctx context.Context, list []runner.Approval) {
	store := c.approvals()
	for len(list) > 0 {
		a, err := store.Get(ctx, list[0].ID)
		if err != nil {
			c.say(styleBad, "The question cannot be read: %v", err)
			a = list[0]
		}
		if a.State == runner.ApprovalPending {
			c.put(ctx, store, a, list[1:])
			return
		}
		c.sayAnswer(&a)
		list = list[1:]
	}
	c.ask = nil
	c.turn.began = c.o.Now()
	c.continueRun(ctx)
}

// put shows one question, and listens for an answer from elsewhere.
func (c *conversation) put(ctx context.Context, store runner.Approvals, a runner.Approval, rest []runner.Approval) {
	q := &question{approval: a, rest: rest, store: store, answered: make(chan runner.Approval, 1),
		parts: local.PartsOf(a.Tool, string(a.Arguments))}
	q.reason.wish = -1
	c.ask = q
	changes := c.preview(ctx, &a)
	c.turn.asked[a.CallID] = changes
	c.screen.print(c.payload(&a, changes)...)
	if !c.screen.plain {
		c.screen.write("\a")
	} else {
		c.screen.print(plainRow(choices(q)))
	}
	ctx, q.cancel = context.WithCancel(ctx)
	if c.o.Journal == nil {
		return
	}
	c.wg.Go(func() {
		for e, err := range c.o.Journal.Watch(ctx,
			journal.Query{Stream: a.ID, Kinds: []record.Kind{record.KindAnswer}}) {
			if err != nil {
				return
			}
			found := a
			found.State, found.Answer = e.Record.Answer.State, e.Record.Answer.Answer
			q.answered <- found
			return
		}
	})
}

// payload shows the whole of what would happen: the changes of files, or the command, or the arguments; and who asks.
func (c *conversation) payload(a *runner.Approval, changes []edit.Change) []row {
	columns := c.screen.columns()
	rows := []row{nil, {{styleWarn, "? "}, {styleStrong, policy.Visible(a.Tool)}, {styleWarn, " wants to:"}}}
	body := changeRows(changes)
	if body == nil {
		body = argumentRows(a.Arguments)
	}
	for _, r := range body {
		rows = append(rows, wrap(r, columns, "")...)
	}
	if a.Dir != "" && a.Dir != c.o.Root {
		rows = append(rows, wrap(styled(styleDim, "in "+policy.Visible(a.Dir)), columns, "  ")...)
	}
	for _, e := range a.Env {
		rows = append(rows, wrap(styled(styleDim, "with "+policy.Visible(e)), columns, "  ")...)
	}
	why := a.Why
	if a.Rule != "" && a.Rule != policy.RuleDefault {
		why = a.Rule + ": " + why
	}
	return append(rows, wrap(styled(styleDim, "asked because "+policy.Visible(why)), columns, "  ")...)
}

// preview returns what would become of files, nil if the call is not about files.
func (c *conversation) preview(ctx context.Context, a *runner.Approval) []edit.Change {
	changes, err := c.o.Runner.Preview(ctx, chat.Call{ID: a.CallID, Name: a.Tool, Arguments: string(a.Arguments),
		Complete: true})
	if err != nil {
		return nil // the arguments are shown then, which are all there is
	}
	return changes
}

// argumentRows shows arguments: a command as it would be typed, everything else member by member, with nothing left
// out.
func argumentRows(raw json.RawMessage) []row {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil || len(args) == 0 {
		return []row{plainRow("  " + policy.Visible(string(raw)))}
	}
	var rows []row
	var command string
	if json.Unmarshal(args["command"], &command) == nil && command != "" {
		var list []string
		switch {
		case len(args["arguments"]) == 0: // as it is given to a shell
			head := "  $ "
			for line := range strings.Lines(strings.TrimRight(command, "\n")) {
				rows = append(rows, row{{styleDim, head}, {styleStrong, visible(strings.TrimSuffix(line, "\n"))}})
				head = "    "
			}
			delete(args, "command")
		case json.Unmarshal(args["arguments"], &list) == nil:
			rows = append(rows, row{{styleDim, "  $ "}, {styleStrong, quoted(append([]string{command}, list...))}})
			delete(args, "command")
			delete(args, "arguments")
		}
	}
	for _, name := range keysInOrder(raw) {
		v, ok := args[name]
		if !ok {
			continue
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			rows = append(rows, row{{styleDim, "  " + policy.Visible(name) + ": "},
				{styleText, policy.Visible(string(v))}})
			continue
		}
		if !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
			rows = append(rows, row{{styleDim, "  " + policy.Visible(name) + ": "}, {styleStrong, policy.Visible(s)}})
			continue
		}
		rows = append(rows, styled(styleDim, "  "+policy.Visible(name)+":"))
		for line := range strings.Lines(s) {
			rows = append(rows, styled(styleStrong, "    "+visible(strings.TrimSuffix(line, "\n"))))
		}
	}
	return rows
}

// keysInOrder returns the names of an object's members as they are written.
func keysInOrder(raw json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := d.Token(); err != nil {
		return nil
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return names
		}
		if s, ok := name.(string); ok {
			names = append(names, s)
		}
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return names
		}
	}
	return names
}

// quoted writes a command so that a person sees where one argument ends and the next begins.
func quoted(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = policy.Visible(a)
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`|&;<>()*?[]{}~#!") {
			out[i] = "'" + strings.ReplaceAll(out[i], "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// choices tells what can be answered. An answer is not broken across rows.
func choices(q *question) string {
	list := []string{"y yes", "n no"}
	if q.parts != nil {
		list = append(list, "g group by group")
	}
	if q.approval.Always != "" {
		list = append(list, "a always")
	}
	list = append(list, "e edit", "r no, with a reason", "s skip all", "q stop")
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(list, "|"), " ", "\u00a0"), "|", " · ")
}

// An answerKey is a letter that answers, and what it does.
type answerKey struct {
	letters string
	words   string // the same, spelled out
	what    string
	do      func(c *conversation, ctx context.Context)
}

// answerKeys are the answers. Enter and Esc are none: nobody approves by accident.
func answerKeys() []answerKey {
	return []answerKey{
		{"yY", "yes", "yes, this once", func(c *conversation, ctx context.Context) {
			c.decide(ctx, runner.Answer{State: runner.ApprovalApproved})
		}},
		{"nN", "no", "no; the model is told", func(c *conversation, ctx context.Context) { c.deny(ctx, "") }},
		{"aA", "always",
			"always: show the rule that would allow it, and keep it for this conversation or this directory",
			(*conversation).always},
		{"gG", "group", "group by group: decide on each part of an edit; the model is told what was left out",
			(*conversation).byParts},
		{"eE", "edit", "edit the arguments in $EDITOR, then run the call", (*conversation).editArguments},
		{"rR", "reason", "no, with a reason for the model",
			func(c *conversation, _ context.Context) { c.ask.mode = askReason }},
		{"sS", "skip", "skip this and every other question of this turn; the model is told", (*conversation).skipAll},
		{"qQ", "quit", "no, and stop the turn", (*conversation).denyAndStop},
	}
}

// press takes a key, and reports whether the question took it.
func (q *question) press(ctx context.Context, c *conversation, p press) bool {
	switch {
	case p.key == keyInterrupt:
		c.denyAndStop(ctx)
		return true
	case p.key == keyClear || p.key == keySuspend:
		return false
	case c.o.Guard > 0 && (q.since.IsZero() || c.o.Now().Sub(q.since) < c.o.Guard):
		return true // it was typed before anybody could read the question
	}
	switch q.mode {
	case askReason:
		q.reasonKey(ctx, c, p)
	case askAlways:
		q.alwaysKey(ctx, c, p)
	case askPart:
		q.partKey(ctx, c, p)
	default:
		for _, k := range answerKeys() {
			if p.key == keyRune && strings.Contains(k.letters, p.text) {
				k.do(c, ctx)
				return true
			}
		}
		c.hint = "Answer with one of the letters. Neither Enter nor Esc says yes."
	}
	return true
}

func (q *question) reasonKey(ctx context.Context, c *conversation, p press) {
	switch p.key {
	case keyEnter:
		text := strings.TrimSpace(q.reason.value())
		switch {
		case text == "":
		case q.sorting != nil:
			q.reason = editor{wish: -1}
			c.answerPart(ctx, false, text)
		default:
			c.deny(ctx, text)
		}
	case keyEsc:
		if q.mode = askAnswer; q.sorting != nil {
			q.mode = askPart
		}
	case keyUp, keyDown, keyPrevious, keyNext:
	default:
		q.reason.press(p)
	}
}

func (q *question) alwaysKey(ctx context.Context, c *conversation, p press) {
	q.mode = askAnswer
	switch {
	case p.key != keyRune:
	case strings.Contains("yY", p.text):
		c.keepRule(ctx, false)
	case strings.Contains("dD", p.text) && c.o.Rules.Lasts():
		c.keepRule(ctx, true)
	}
}

// tail shows what can be answered, below what the turn shows.
func (q *question) tail(c *conversation, rows []row) tail {
	columns := c.screen.columns()
	if c.hint != "" {
		rows = append(rows, wrap(styled(styleWarn, c.hint), columns, "")...)
	}
	if q.mode == askReason {
		input, at, col := q.reason.rows("why not? ", columns)
		return tail{append(rows, input...), len(rows) + at, col}
	}
	text := choices(q)
	if q.mode == askPart {
		text = visible(q.sorting.title()) + "? " + partChoices
	}
	if n := len(q.rest); n > 0 {
		text += fmt.Sprintf(" · %d more", n)
	}
	if q.mode == askAlways {
		for line := range strings.SplitSeq(q.approval.Always, "\n") {
			rows = append(rows, wrap(styled(styleStrong, "  "+policy.Visible(line)), columns, "    ")...)
		}
		if legend := legendOf(q.approval.Always); legend != "" {
			rows = append(rows, wrap(styled(styleDim, "  "+legend), columns, "  ")...)
		}
		text = c.keepChoices()
	}
	lines := wrap(styled(styleWarn, text), columns, "")
	rows = append(rows, lines...)
	return tail{rows, len(rows) - 1, lines[len(lines)-1].cells()}
}

// legendOf explains what is not evident in a rule that could be kept, or is "".
func legendOf(rules string) string {
	if strings.Contains(rules, `args: {"*": `) {
		return `"*" stands for every argument: only these values are allowed.`
	}
	return ""
}

// answerLine takes a line as an answer, where there is no terminal.
func (c *conversation) answerLine(ctx context.Context, line string) {
	word := strings.ToLower(strings.TrimSpace(line))
	if c.ask.mode == askAlways {
		c.alwaysLine(ctx, word)
		return
	}
	if c.ask.mode == askPart {
		c.partLine(ctx, line)
		return
	}
	if why, ok := strings.CutPrefix(word, "r "); ok && why != "" {
		c.deny(ctx, strings.TrimSpace(strings.TrimSpace(line)[2:]))
		return
	}
	for _, k := range answerKeys() {
		if word == strings.ToLower(k.letters[:1]) || word == k.words {
			if k.words == "reason" {
				break
			}
			k.do(c, ctx)
			if c.ask != nil && c.ask.mode == askAlways {
				c.screen.print(plainRow(policy.Visible(c.ask.approval.Always)),
					plainRow(strings.TrimSpace(legendOf(c.ask.approval.Always)+" "+c.keepChoices())))
			}
			return
		}
	}
	c.screen.print(plainRow("Answer with y, n, a, s or q, or r and the reason. Nothing else is taken for a yes."))
}

// alwaysLine answers whether a rule is kept, and for how long.
func (c *conversation) alwaysLine(ctx context.Context, word string) {
	c.ask.mode = askAnswer
	switch {
	case word == "y" || word == "yes":
		c.keepRule(ctx, false)
	case (word == "d" || word == "directory") && c.o.Rules.Lasts():
		c.keepRule(ctx, true)
	default:
		c.screen.print(plainRow(choices(c.ask)))
	}
}

// decide answers the question. Whoever was first has answered it.
func (c *conversation) decide(ctx context.Context, answer runner.Answer) {
	q := c.ask
	answer.By = c.o.By
	a, err := q.store.Decide(ctx, q.approval.ID, answer)
	switch {
	case errors.Is(err, runner.ErrDecided):
		c.say(styleWarn, "It was answered elsewhere first.")
	case err != nil:
		c.say(styleBad, "The answer could not be kept: %v", err)
		return
	}
	c.sayAnswer(&a)
	c.next(ctx)
}

// next continues with the next question, or with the run.
func (c *conversation) next(ctx context.Context) {
	rest := c.ask.rest
	c.closeQuestion()
	c.questions(ctx, rest)
}

func (c *conversation) closeQuestion() {
	if c.ask != nil {
		c.ask.cancel()
		c.ask = nil
	}
}

// elsewhere closes a question that somebody else answered.
func (c *conversation) elsewhere(ctx context.Context, a runner.Approval) {
	c.sayAnswer(&a)
	c.next(ctx)
}

// answers are the states of an answer in words.
var answers = map[runner.ApprovalState]struct {
	word  string
	style style
}{
	runner.ApprovalApproved:  {"approved", styleGood},
	runner.ApprovalConsumed:  {"approved", styleGood},
	runner.ApprovalEdited:    {"approved with changes", styleGood},
	runner.ApprovalDenied:    {"denied", styleBad},
	runner.ApprovalExpired:   {"expired: nobody answered in time", styleBad},
	runner.ApprovalCancelled: {"cancelled", styleWarn},
}

func (c *conversation) sayAnswer(a *runner.Approval) {
	k := answers[a.State]
	text := "  " + k.word
	if a.State == runner.ApprovalDenied {
		c.turn.denied[a.CallID] = true
	}
	if a.Answer.By != "" && a.Answer.By != c.o.By {
		text += " by " + a.Answer.By
	}
	if a.Answer.Reason != "" {
		text += ": " + a.Answer.Reason
	}
	c.screen.print(wrap(styled(k.style, clean(text)), c.screen.columns(), "    ")...)
}

func (c *conversation) deny(ctx context.Context, reason string) {
	c.decide(ctx, runner.Answer{State: runner.ApprovalDenied, Reason: reason})
}

// always shows the rule that would allow such calls from now on.
func (c *conversation) always(context.Context) {
	if c.ask.approval.Always == "" || c.o.Rules == nil {
		c.hint = "No rule would allow this call."
		if c.screen.plain {
			c.screen.print(plainRow(c.hint))
		}
		return
	}
	c.ask.mode = askAlways
}

// keepChoices asks how long the rule that is shown is to be kept.
func (c *conversation) keepChoices() string {
	if !c.o.Rules.Lasts() {
		return "Keep this rule until the conversation ends? y yes · n no"
	}
	return "Keep this rule? y\u00a0until\u00a0the\u00a0conversation\u00a0ends · " +
		"d\u00a0in\u00a0this\u00a0directory,\u00a0for\u00a0good · n\u00a0no"
}

func (c *conversation) keepRule(ctx context.Context, lasting bool) {
	if err := c.o.Rules.Keep(c.ask.approval.Always, lasting); err != nil {
		c.say(styleBad, "The rule cannot be kept: %v", err)
		return
	}
	if lasting {
		c.say(styleGood, "  kept for this directory")
	}
	c.decide(ctx, runner.Answer{State: runner.ApprovalApproved, Always: true})
}

// editArguments lets the person change what runs.
func (c *conversation) editArguments(ctx context.Context) {
	var before strings.Builder
	enc := json.NewEncoder(&before)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c.ask.approval.Arguments); err != nil {
		c.hint = err.Error()
		return
	}
	after, err := c.edited(ctx, "arguments.json", before.String())
	if err != nil {
		c.hint = "The editor: " + err.Error()
		if c.screen.plain {
			c.screen.print(plainRow(c.hint))
		}
		return
	}
	raw := json.RawMessage(strings.TrimSpace(after))
	if strings.TrimSpace(after) == strings.TrimSpace(before.String()) {
		c.hint = "Nothing was changed."
		return
	}
	answer := runner.Answer{State: runner.ApprovalEdited, Arguments: raw}
	if err := answer.Check(); err != nil {
		c.hint = err.Error()
		return
	}
	a := c.ask.approval
	a.Arguments = raw
	changes := c.preview(ctx, &a)
	c.turn.asked[a.CallID] = changes
	c.screen.print(c.payload(&a, changes)...)
	c.decide(ctx, answer)
}

// skipAll denies everything that is asked about.
func (c *conversation) skipAll(ctx context.Context) {
	q := c.ask
	n := len(q.rest)
	c.denyRest(ctx, q.rest, "skipped by the user, with everything else that was asked about")
	q.rest = nil
	if n > 0 {
		c.say(styleWarn, "  skipped this and %d more", n)
	}
	c.deny(ctx, "skipped by the user, with everything else that was asked about")
}

// denyAndStop denies everything that is asked about, and stops before the model is asked again. The calls get results
// that say so.
func (c *conversation) denyAndStop(ctx context.Context) {
	q := c.ask
	const reason = "the user stopped the turn"
	c.denyRest(ctx, q.rest, reason)
	q.rest = nil
	c.turn.stopping = true
	c.turn.run.Halt()
	c.deny(ctx, reason)
}

func (c *conversation) denyRest(ctx context.Context, rest []runner.Approval, reason string) {
	for i := range rest {
		_, err := c.ask.store.Decide(ctx, rest[i].ID, runner.Answer{State: runner.ApprovalDenied, Reason: reason,
			By: c.o.By})
		if err != nil && !errors.Is(err, runner.ErrDecided) {
			c.say(styleBad, "The answer could not be kept: %v", err)
		}
	}
}
