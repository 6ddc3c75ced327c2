package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/tool/edit"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/undo"
)

// A TTY is the terminal, or what stands in its place.
type TTY struct {
	In      io.Reader
	Out     io.Writer
	Size    func() (columns, rows int) // nil: 80 by 24
	Resized <-chan struct{}            // tells that the size may have changed; nil: it never does
	Plain   bool                       // there is no terminal: lines in, lines out
	Color   bool

	// Release makes the terminal what it was, for a program that uses it meanwhile, until the function that it
	// returns is called. Nil: nothing has to be done.
	Release func() (back func(), err error)
	Suspend func() // stops this process until a shell continues it; nil: that is not possible here
}

// A Stage carries out what a person asks.
type Stage struct {
	Agent   *agent.Agent
	Name    string                             // of the model
	Dialect string                             // that it is told; empty: its own
	Window  int                                // tokens that the model reads at most; 0: not known
	Cost    func(u chat.Usage) (float64, bool) // what was paid; nil: prices are not known
	Close   func()
}

// A RuleStore adds rules to the policy, for the conversation or for later ones in the same directory as well.
type RuleStore interface {
	// Keep makes a rule one of the policy. It is the text that a question offered.
	Keep(rule string, lasting bool) error
	// Lasts reports whether rules can be kept for later conversations.
	Lasts() bool
}

// Options say how a conversation goes. TTY, Open and Runner are needed.
type Options struct {
	TTY  TTY
	Open func(model, dialect string) (*Stage, error) // makes a stage; empty names: as configured
	// Model and Dialect are what the conversation begins with.
	Model, Dialect   string
	Models, Dialects []string

	Runner    *runner.Runner
	Tools     *runner.Session
	Journal   journal.Store    // nil: nothing is recorded
	Approvals runner.Approvals // where questions are, without a journal
	Rules     RuleStore        // nil: no rules are kept
	// what is said at the beginning of the rules that earlier conversations kept; empty: there are none
	Kept string
	Undo *undo.Log // nil: nothing can be taken back

	System  string // instructions for the model
	Past    Past
	First   string          // what is asked first
	Root    string          // the workspace
	Place   string          // what it is called on the screen; empty: Root
	Files   func() []string // names of files that can be mentioned; nil: none
	History string          // file of what was written before; empty: none
	By      string          // who answers questions, for the journal
	// Edit lets a person change a text in a program of their choice.
	Edit func(ctx context.Context, name, text string) (string, error)
	Now  func() time.Time // nil: time.Now
	// Guard is how long keys are not taken for an answer after a question appeared: they were meant for something
	// else. 0: 300 ms; negative: not at all.
	Guard time.Duration
}

// A Past is an earlier session that a conversation continues. The zero value is a new one.
type Past struct {
	Session  string
	Title    string
	Messages []chat.Message
}

// A conversation is one that goes on.
type conversation struct {
	o      Options
	screen screen
	editor editor
	keys   keyReader
	stage  *Stage

	dialog
	draft

	bill    bill
	turn    *userTurn // nil: nothing is carried out
	ask     *question
	last    *trail            // of the last answer
	changes []edit.Change     // that were asked about and happened
	ran     map[string]string // calls whose results came, with the names of their tools
	began   time.Time
	summing *summing // /compact is under way
	quit    bool

	painted time.Time
	wg      sync.WaitGroup
}

// A dialog holds what was said so far, and where it is recorded.
type dialog struct {
	system   string // instructions for the model
	session  string
	title    string
	runs     string         // id of the last run
	messages []chat.Message // without the instructions
	summary  agent.Summary  // that stands for the first of them, and the instructions
	sized    sized
}

// A draft holds what the person is about to say.
type draft struct {
	unsent  string // a message that mentions files which are not there: sent again, it is meant so
	search  *search
	hint    string // below the input, until the next key
	leaving bool   // Ctrl-C was pressed with nothing to stop
	ended   bool   // there is no more
	waiting []string
}

// tick is the interval between paints of the status while something runs.
const tick = 100 * time.Millisecond

// frame limits the time that events are gathered before they are painted.
const frame = 25 * time.Millisecond

// escapeTime is the wait for the rest of an escape sequence.
const escapeTime = 40 * time.Millisecond

// Run has a conversation until the person ends it.
func Run(ctx context.Context, o Options) error {
	c, err := begin(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	err = c.loop(ctx)
	cancel()
	c.wg.Wait()
	c.screen.leave()
	if c.stage.Close != nil {
		c.stage.Close()
	}
	return errors.Join(err, c.screen.failed)
}

func begin(o Options) (*conversation, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Guard == 0 {
		o.Guard = 300 * time.Millisecond
	}
	stage, err := o.Open(o.Model, o.Dialect)
	if err != nil {
		return nil, err
	}
	past := dialog{system: o.System, session: o.Past.Session, title: o.Past.Title, messages: spoken(o.Past.Messages)}
	c := &conversation{o: o, stage: stage, dialog: past, ran: map[string]string{}, began: time.Now()}
	c.screen = screen{w: o.TTY.Out, color: o.TTY.Color, plain: o.TTY.Plain, width: 80, height: 24}
	c.resized()
	c.editor.wish = -1
	c.editor.past.load(o.History)
	return c, nil
}

// resized takes the size that the terminal has now. What is being written is broken anew; what was printed is the
// terminal's.
func (c *conversation) resized() {
	if c.o.TTY.Size == nil {
		return
	}
	c.screen.resize(c.o.TTY.Size())
	if c.turn != nil {
		c.turn.md.columns = c.screen.columns()
	}
}

// An input holds what was read from the terminal.
type input struct {
	data []byte
	err  error
}

// read reads the terminal. It reads only when it is told to, so that another program can have the terminal meanwhile.
func read(ctx context.Context, in io.Reader, more <-chan struct{}, out chan<- input) {
	buf := make([]byte, 64<<10)
	for {
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
		n, err := in.Read(buf)
		data := append([]byte(nil), buf[:n]...)
		select {
		case out <- input{data, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// loop takes what happens, one thing after another.
func (c *conversation) loop(ctx context.Context) error {
	inputs, more := make(chan input), make(chan struct{}, 1)
	// Reading cannot be cancelled, so nothing waits for this goroutine: it ends with its next read, or with the
	// process.
	go read(ctx, c.o.TTY.In, more, inputs)
	if !c.screen.plain {
		c.screen.write(bracketed)
		defer c.screen.write(unmarked)
		more <- struct{}{}
	}
	if c.session != "" {
		c.lastSummary(ctx)
	}
	c.greet()
	if c.o.First != "" {
		c.submit(ctx, c.o.First)
	}
	c.paint()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	asked := false // for a line, where there is no terminal
	var escape <-chan time.Time
	take := func(in input) {
		asked, escape = false, nil
		c.take(ctx, in, more)
		if c.keys.pending() { // from now on, whatever else happens meanwhile
			escape = time.After(escapeTime)
		}
	}
	for !c.quit && c.screen.failed == nil {
		if c.screen.plain {
			c.nextLine(ctx)
			c.paint()
			if c.quit || c.ended && !c.busy() {
				break
			}
			if !asked && !c.ended && (!c.busy() || c.ask != nil) {
				asked = true
				more <- struct{}{}
			}
		}
		select {
		case <-ctx.Done():
			c.stop()
			c.drain(ctx)
			return ctx.Err()
		case in := <-inputs:
			take(in)
		case <-escape:
			escape = nil
			select {
			case in := <-inputs: // what follows has come, and it was this process that was late
				take(in)
			default:
				c.presses(ctx, c.keys.flush())
			}
		case it, ok := <-c.turn.stream():
			if c.event(ctx, it, ok) {
				continue // more has come already
			}
		case sum := <-c.summing.result():
			c.summed(sum)
		case a := <-c.ask.answers():
			c.elsewhere(ctx, a)
		case <-c.o.TTY.Resized:
			c.resized()
		case <-ticker.C:
			if c.turn == nil && c.summing == nil || c.screen.plain {
				continue
			}
		}
		c.paint()
	}
	c.stop()
	c.drain(ctx)
	return nil
}

// busy reports whether something is carried out.
func (c *conversation) busy() bool { return c.turn != nil || c.summing != nil }

// drain waits until what was stopped has ended.
func (c *conversation) drain(ctx context.Context) {
	if c.summing != nil {
		c.summing.cancel()
		c.summed(<-c.summing.done)
	}
	for c.turn != nil && !c.turn.parked {
		it, ok := <-c.turn.stream()
		c.event(ctx, it, ok)
	}
	c.closeQuestion()
	c.paint()
}

// take takes what was read.
func (c *conversation) take(ctx context.Context, in input, more chan<- struct{}) {
	if c.screen.plain {
		c.plainInput(in)
		return
	}
	c.presses(ctx, c.keys.feed(in.data))
	if in.err != nil { // the terminal has gone
		c.quit = true
		return
	}
	more <- struct{}{}
}

// plainInput takes lines. Each is a message, or an answer to a question.
func (c *conversation) plainInput(in input) {
	c.keys.rest = append(c.keys.rest, in.data...)
	if in.err != nil {
		c.ended = true
		if len(c.keys.rest) > 0 {
			c.keys.rest = append(c.keys.rest, '\n')
		}
	}
	text := string(c.keys.rest)
	c.keys.rest = nil
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		c.waiting, text = append(c.waiting, strings.TrimSuffix(line, "\r")), rest
	}
	c.keys.rest = []byte(text)
}

// nextLine takes the next line that was read, if something waits for one.
func (c *conversation) nextLine(ctx context.Context) {
	for len(c.waiting) > 0 && !c.quit && (!c.busy() || c.ask != nil) {
		line := c.waiting[0]
		c.waiting = c.waiting[1:]
		switch {
		case c.ask != nil:
			c.answerLine(ctx, line)
		case strings.TrimSpace(line) != "":
			c.submit(ctx, line)
		}
	}
	if c.ended && c.ask != nil && len(c.waiting) == 0 { // nobody is there to answer
		c.deny(ctx, "there is nobody to ask: the input has ended")
	}
}

// presses takes keys.
func (c *conversation) presses(ctx context.Context, list []press) {
	for _, p := range list {
		if c.quit {
			return
		}
		c.hint = ""
		if p.key != keyInterrupt {
			c.leaving = false
		}
		if p.key == keyPaste && c.keys.lost > 0 {
			c.hint = fmt.Sprintf(
				"The paste was longer than %s; %s of it are missing. Put it into a file and mention it with @.",
				size(maxPaste), size(c.keys.lost))
			c.keys.lost = 0
		}
		switch {
		case c.ask != nil && c.ask.press(ctx, c, p):
		case c.search != nil && c.search.press(c, p):
		default:
			c.press(ctx, p)
		}
	}
}

// commandKeys are the keys that do something beside the input.
var commandKeys = map[key]func(c *conversation, ctx context.Context){
	keyEnter:     (*conversation).enter,
	keyInterrupt: (*conversation).interrupt,
	keyEOF:       (*conversation).endOfInput,
	keyClear:     func(c *conversation, _ context.Context) { c.screen.clear() },
	keyTab:       func(c *conversation, _ context.Context) { c.complete() },
	keySearch:    func(c *conversation, _ context.Context) { c.search = &search{at: len(c.editor.past.entries)} },
	keyEditor:    (*conversation).inEditor,
	keySuspend: func(c *conversation, _ context.Context) {
		if c.o.TTY.Suspend != nil {
			c.released(func() error { c.o.TTY.Suspend(); return nil })
		}
	},
}

func (c *conversation) press(ctx context.Context, p press) {
	if f, ok := commandKeys[p.key]; ok {
		f(c, ctx)
		return
	}
	c.editor.press(p)
}

// enter sends what was written, unless its last line ends with a backslash, which goes on in the next line.
func (c *conversation) enter(ctx context.Context) {
	text := c.editor.value()
	if strings.HasSuffix(text, `\`) && c.editor.at == len(c.editor.text) {
		c.editor.press(press{key: keyBackspace})
		c.editor.insert("\n")
		return
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if c.submit(ctx, text) {
		c.editor.past.add(text)
		c.editor.set("")
	}
}

// interrupt empties the input, else stops what runs, else ends the conversation.
func (c *conversation) interrupt(context.Context) {
	switch {
	case !c.editor.empty():
		c.editor.set("")
	case c.summing != nil:
		c.summing.cancel()
	case c.turn != nil:
		c.stop()
	case c.leaving:
		c.quit = true
	default:
		c.leaving = true
		c.hint = "Press Ctrl-C again to leave. The session is kept."
		if c.o.Journal == nil {
			c.hint = "Press Ctrl-C again to leave."
		}
	}
}

func (c *conversation) endOfInput(context.Context) {
	switch {
	case !c.editor.empty():
		c.editor.press(press{key: keyDelete})
	case !c.busy():
		c.quit = true
	default:
		c.hint = "Something runs: Ctrl-C stops it."
	}
}

// inEditor lets the person write in a program of their choice.
func (c *conversation) inEditor(ctx context.Context) {
	if c.busy() {
		c.hint = "Something runs: Ctrl-C stops it."
		return
	}
	text, err := c.edited(ctx, "message.md", c.editor.value())
	if err != nil {
		c.hint = err.Error()
		return
	}
	c.editor.set(strings.TrimRight(text, "\n"))
}

// edited gives the terminal to an editor, and returns what the person made of a text.
func (c *conversation) edited(ctx context.Context, name, text string) (out string, err error) {
	if c.o.Edit == nil || c.screen.plain {
		return "", errors.New("there is no editor here")
	}
	err = c.released(func() error {
		out, err = c.o.Edit(ctx, name, text)
		return err
	})
	return out, err
}

// released lets something else use the terminal.
func (c *conversation) released(f func() error) error {
	c.screen.leave()
	c.screen.write(unmarked)
	var back func()
	if c.o.TTY.Release != nil {
		var err error
		if back, err = c.o.TTY.Release(); err != nil {
			return err
		}
	}
	err := f()
	if back != nil {
		back()
	}
	c.screen.write(bracketed)
	c.screen.forget()
	c.resized()
	return err
}

// greet says what the conversation is with.
func (c *conversation) greet() {
	if c.screen.plain {
		return
	}
	name := c.stage.Name
	c.screen.print(cut(row{{styleStrong, "wield"},
		{styleDim, " · " + clean(name) + " · " + clean(first(c.o.Place, c.o.Root))}}, c.screen.columns()))
	if c.o.Kept != "" {
		c.screen.print(wrap(styled(styleDim, policy.Visible(c.o.Kept)), c.screen.columns(), "  ")...)
	}
	if n := len(c.messages); n > 0 {
		c.recall()
	}
	c.screen.print(styled(styleDim, "/help lists commands and keys. Ctrl-C stops, Ctrl-D quits."), nil)
}

// recall shows the end of a conversation that goes on.
func (c *conversation) recall() {
	const shown = 6
	from := 0
	c.screen.print(nil)
	if n := len(c.messages); n > shown {
		from = n - shown
		c.screen.print(styled(styleDim, fmt.Sprintf("… %d earlier messages; /save writes all of them to a file", from)))
	}
	for i := range c.messages[from:] {
		c.printMessage(&c.messages[from+i])
	}
}

func (c *conversation) printMessage(m *chat.Message) {
	switch m.Role {
	case chat.RoleUser:
		c.printUser(m.Text())
	case chat.RoleAssistant:
		md := markdown{color: c.screen.color, columns: c.screen.columns()}
		c.screen.print(md.write(m.Text())...)
		c.screen.print(md.close()...)
		for i := range m.Calls {
			c.screen.print(callRow(&m.Calls[i], c.screen.columns()))
		}
		c.screen.print(nil)
	case chat.RoleTool:
		c.screen.print(cut(styled(styleDim, "  "+clean(shorten(m.Text(), 200))), c.screen.columns()))
	}
}

// printUser prints what the person said, of something very long the beginning: it may have been pasted.
func (c *conversation) printUser(text string) {
	columns := c.screen.columns()
	head, rest, found := "> ", strings.TrimRight(text, "\n"), true
	for left := maxShown; found; head = "  " {
		if left == 0 {
			c.screen.print(styled(styleDim, fmt.Sprintf("  … %d more lines", strings.Count(rest, "\n")+1)))
			return
		}
		line := rest
		line, rest, found = strings.Cut(line, "\n")
		n := len(line)
		if most := left * columns; n > most { // what cannot be shown is not broken into rows first
			n = wholeRunes(line[:most])
		}
		rows := wrap(styled(styleUser, head+clean(line[:n])), columns, "  ")
		if n < len(line) || len(rows) > left {
			c.screen.print(rows[:min(len(rows), left)]...)
			c.screen.print(styled(styleDim, fmt.Sprintf("  … %s in all", size(len(text)))))
			return
		}
		c.screen.print(rows...)
		left -= len(rows)
	}
}

// maxShown limits the rows of a user's message that are printed again.
const maxShown = 40

// paint shows how things are.
func (c *conversation) paint() {
	c.resized()
	c.screen.paint(c.tail())
	c.painted = c.o.Now()
	if c.ask != nil && c.ask.since.IsZero() {
		c.ask.since = c.painted
	}
}

// tail returns what stands below the scrollback.
func (c *conversation) tail() tail {
	columns := c.screen.columns()
	var rows []row
	if t := c.turn; t != nil {
		rows = append(rows, t.rows(c)...)
	}
	if c.summing != nil {
		rows = append(rows, row{{styleTool, "Summing up..."}, {styleDim, " · Ctrl-C stops"}})
	}
	if c.ask != nil {
		return c.ask.tail(c, rows)
	}
	prompt, e := "> ", &c.editor
	if c.search != nil {
		prompt, e = c.search.show(c)
	}
	input, at, col := e.rows(prompt, columns)
	if most := max(c.screen.height/2, 3); len(input) > most {
		from := min(max(at-most/2, 0), len(input)-most)
		input, at = input[from:from+most], at-from
	}
	at += len(rows)
	rows = append(rows, input...)
	rows = append(rows, c.footer(columns)...)
	return tail{rows, at, col}
}

// footer stands below the input.
func (c *conversation) footer(columns int) []row {
	if c.hint != "" {
		return wrap(styled(styleWarn, clean(c.hint)), columns, "")
	}
	parts := []string{clean(c.stage.Name)}
	if c.stage.Dialect != "" {
		parts = append(parts, c.stage.Dialect)
	}
	parts = append(parts, c.meter())
	if c.title != "" {
		parts = append(parts, clean(c.title))
	}
	return []row{cut(styled(styleDim, strings.Join(parts, " · ")), columns)}
}

// meter tells how full the model's window is, as far as that is known.
func (c *conversation) meter() string {
	n := c.tokens()
	if c.stage.Window > 0 {
		return fmt.Sprintf("context ~%d%% of %s", n*100/c.stage.Window, count(c.stage.Window))
	}
	return "context ~" + count(n) + " tokens"
}

// A sized holds the size of a conversation, and which one it is.
type sized struct {
	first    *chat.Message
	messages int
	summary  agent.Summary
	tokens   int
}

// tokens estimates how much of the conversation a model is sent.
func (d *dialog) tokens() int {
	now := sized{messages: len(d.messages), summary: d.summary}
	if now.messages > 0 {
		now.first = &d.messages[0]
	}
	now.tokens = d.sized.tokens
	if now != d.sized || now.messages == 0 {
		f := agent.Fitting{Summary: d.summary}
		now.tokens = f.Fit(d.spokenTo()).Tokens
		d.sized = now
	}
	return now.tokens
}

// count writes a number for people.
func count(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// say prints lines of the program itself.
func (c *conversation) say(st style, format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		c.screen.print(wrap(styled(st, clean(line)), c.screen.columns(), "  ")...)
	}
}
