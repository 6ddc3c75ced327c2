package parsing

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/profile"
	"wield/internal/cli"
	"wield/schema"
	"wield/schema/shape"
)

func NewParseCmd(app *cli.App) *cobra.Command {
	var f parseFlags
	cmd := &cobra.Command{
		Use:   "parse [FILE]",
		Short: "Extract tool calls from a text, as JSON",
		Long: `Reads model output from FILE or standard input and prints a JSON line with content, reasoning,
calls, rejected attempts and repairs. Only tools from --tools can be called.

With --jsonl each input line is a record; flags override its fields:
  {"id", "dialect"?, "tools": [..], "text" or "text_b64", "chunks"?: [..], "starts_in_reasoning"?,
   "repair"?, "only"?, "prefix"?, "finish_reason"?}
With the finish_reason "length" a call that lacks its end is incomplete.

If the arguments of a call are not JSON, they are in "arguments_raw", a string. Invalid UTF-8 is
shown as \ufffd; offsets count the original bytes. A bad record gives {"id","error"}, and the exit
code is 1.`,
		Example: `  wield parse --tools tools.json answer.txt
  ollama run qwen2.5 "weather in Rome?" | wield parse --tools tools.json --dialect hermes
  wield parse --jsonl --chunk 4 < cases.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return parse(app, &f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.dialect, "dialect", "auto", "`NAME` of the preferred dialect, or auto")
	fl.BoolVar(&f.only, "only", false, "read only that dialect")
	fl.StringVar(&f.tools, "tools", "", "`FILE` with the offered tools, a JSON array in OpenAI format")
	fl.StringVar(&f.prefix, "prefix", "", "prefix of every tool name in the text, such as user:")
	fl.IntVar(&f.chunk, "chunk", 0, "decode in chunks of `BYTES`; the output is the same; 0: whole")
	fl.StringVar(&f.repair, "repair", "full", "`LEVEL` of repair for broken calls: off, safe or full")
	fl.BoolVar(&f.spans, "spans", false, "add the byte ranges of calls and text")
	fl.BoolVar(&f.events, "events", false, "add the decoder events")
	fl.BoolVar(&f.jsonl, "jsonl", false, "the input is JSON lines")
	profileFlags(cmd, &f)
	return cmd
}

// parseFlags are the flags of wield parse.
type parseFlags struct {
	dialect, tools, repair, prefix string
	profile, model                 string
	only, spans, events, jsonl     bool
	chunk                          int
	given                          func(flag string) bool
}

// A parseRecord is one line of the input.
type parseRecord struct {
	ID      json.RawMessage `json:"id"`
	Dialect string          `json:"dialect"`
	Tools   json.RawMessage `json:"tools"`
	Text    *string         `json:"text"`
	TextB64 *string         `json:"text_b64"`
	Chunks  []string        `json:"chunks"`
	Open    bool            `json:"starts_in_reasoning"`
	Finish  string          `json:"finish_reason"`
	Repair  string          `json:"repair"`
	Only    bool            `json:"only"`
	Prefix  string          `json:"prefix"`
}

func parse(app *cli.App, f *parseFlags, args []string) error {
	p, err := newParser(f)
	if err != nil {
		return err
	}
	in := app.Stdin
	if len(args) > 0 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
		defer file.Close()
		in = file
	}
	out := bufio.NewWriterSize(app.Stdout, 1<<16)
	if !f.jsonl {
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		s := string(text)
		line, err := p.record(&parseRecord{Text: &s})
		if err != nil {
			return err
		}
		if err := writeLine(out, line); err != nil {
			return err
		}
		if f.tools == "" {
			fmt.Fprintln(app.Stderr,
				`wield: no tools are offered, so that nothing is read as a call: --tools FILE offers them, such as [{"name": "get_weather"}]`)
		}
		return out.Flush()
	}
	broken, err := p.lines(in, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("parse: %s could not be read", cli.Count(broken, "line"))
	}
	return nil
}

// A parser reads records under the same flags.
type parser struct {
	flags   *parseFlags
	options dialect.Options
	family  profile.Profile
	tools   []shape.Tool // from --tools; nil: the record's
	schemas schema.Cache
}

func newParser(f *parseFlags) (*parser, error) {
	family, err := f.family()
	if err != nil {
		return nil, err
	}
	p := &parser{flags: f, family: family, options: dialect.Options{Dialect: f.dialect, Only: f.only, Prefix: f.prefix,
		Cache: new(dialect.Cache)}}
	level, ok := dialect.ParseRepair(f.repair)
	if !ok {
		return nil, cli.UsageErrorf("--repair must be off, safe or full, not %q", f.repair)
	}
	p.options.Repair = level
	if f.chunk < 0 {
		return nil, cli.UsageErrorf("--chunk must not be negative")
	}
	if name := p.options.Dialect; name != "" && name != "auto" {
		if _, ok := dialect.Lookup(name); !ok {
			return nil, noDialect(name)
		}
	}
	if _, err := dialect.New(p.options); err != nil {
		return nil, cli.UsageErrorf("%w", err)
	}
	if f.tools != "" {
		data, err := os.ReadFile(f.tools)
		if err != nil {
			return nil, cli.UsageErrorf("--tools: %w", err)
		}
		if p.tools, err = p.shapes(data); err != nil {
			return nil, cli.UsageErrorf("--tools %s: %w", f.tools, err)
		}
	}
	return p, nil
}

// A parseTool is a tool in the form of the OpenAI protocol, chat or responses.
type parseTool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Function   struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// shapes reads an array of tools.
func (p *parser) shapes(data json.RawMessage) ([]shape.Tool, error) {
	var tools []parseTool
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(data, &tools); err != nil {
		return nil, cli.Mistake("tools", err)
	}
	shapes := make([]shape.Tool, 0, len(tools))
	for i, t := range tools {
		name, params := t.Function.Name, t.Function.Parameters
		if name == "" {
			name, params = t.Name, t.Parameters
		}
		if name == "" {
			return nil, fmt.Errorf("tools: tool %d has no name", i)
		}
		s, err := p.schemas.Compile(params)
		if err != nil {
			return nil, fmt.Errorf("parameters of %s: %w", name, err)
		}
		shapes = append(shapes, shape.Tool{Name: name, Args: s.Shape()})
	}
	return shapes, nil
}

// lines reads records until the input ends and returns how many were broken.
func (p *parser) lines(in io.Reader, out io.Writer) (broken int, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		text, rerr := r.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			line := p.line(text)
			if line.Error != "" {
				broken++
			}
			if err := writeLine(out, line); err != nil {
				return broken, err
			}
		}
		if errors.Is(rerr, io.EOF) {
			return broken, nil
		}
		if rerr != nil {
			return broken, rerr
		}
	}
}

// line reads one record. What is wrong with it stands in the line that comes back.
func (p *parser) line(text []byte) *parsedLine {
	rec, err := readRecord(text)
	if err != nil {
		var id struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(text, &id) // the id may be readable where another field is not
		return &parsedLine{ID: id.ID, Error: err.Error()}
	}
	line, err := p.record(rec)
	if err != nil {
		return &parsedLine{ID: rec.ID, Error: err.Error()}
	}
	return line
}

func readRecord(line []byte) (*parseRecord, error) {
	rec := new(parseRecord)
	if err := json.Unmarshal(line, rec); err != nil {
		return nil, cli.Mistake("", err)
	}
	return rec, nil
}

// record decodes one text.
func (p *parser) record(rec *parseRecord) (*parsedLine, error) {
	text, err := rec.text()
	if err != nil {
		return nil, err
	}
	o, err := p.recordOptions(rec)
	if err != nil {
		return nil, err
	}
	d, err := dialect.New(o)
	if err != nil {
		return nil, err
	}
	var events []chat.Event
	for chunk := range p.chunks(rec, text) {
		events = d.Feed(events, chunk)
	}
	if rec.Finish == "length" {
		d.Truncated()
	}
	line := p.result(rec.ID, d.Close(events))
	line.addUnread(text)
	return line, nil
}

func (rec *parseRecord) text() (string, error) {
	switch {
	case rec.Text == nil && rec.TextB64 == nil:
		return "", errors.New("neither text nor text_b64")
	case rec.TextB64 == nil:
		return *rec.Text, nil
	case rec.Text != nil && *rec.Text != "":
		return "", errors.New("text and text_b64 stand beside each other")
	}
	b, err := base64.StdEncoding.DecodeString(*rec.TextB64)
	if err != nil {
		return "", fmt.Errorf("text_b64: %w", err)
	}
	return string(b), nil
}

// recordOptions returns the options of the flags, completed from the record where no flag was given.
func (p *parser) recordOptions(rec *parseRecord) (dialect.Options, error) {
	o, given := p.options, p.flags.given
	if rec.Dialect != "" && !given("dialect") {
		o.Dialect = rec.Dialect
	}
	if !given("only") && !given("dialect") {
		o.Only = rec.Only
	}
	if !given("prefix") {
		o.Prefix = rec.Prefix
	}
	if rec.Repair != "" && !given("repair") {
		level, ok := dialect.ParseRepair(rec.Repair)
		if !ok {
			return o, fmt.Errorf("repair must be off, safe or full, not %q", rec.Repair)
		}
		o.Repair = level
	}
	o.Thinking.Open = rec.Open
	o.Tools = p.tools
	if p.flags.tools == "" {
		var err error
		if o.Tools, err = p.shapes(rec.Tools); err != nil {
			return o, err
		}
	}
	p.family.Apply(&o)
	return o, nil
}

// chunks yields the pieces in which the text is fed: of --chunk bytes, or as the record says, or whole.
func (p *parser) chunks(rec *parseRecord, text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n := p.flags.chunk
		if n == 0 {
			for _, c := range rec.Chunks {
				if len(c) > len(text) || text[:len(c)] != c {
					break // they are not the text's: what is left of it is fed whole
				}
				if !yield(c) {
					return
				}
				text = text[len(c):]
			}
			n = max(len(text), 1)
		}
		for len(text) > 0 {
			c := text[:min(n, len(text))]
			if !yield(c) {
				return
			}
			text = text[len(c):]
		}
	}
}

// A parsedLine is one line of the output.
type parsedLine struct {
	ID        json.RawMessage
	Error     string // nothing else is printed then
	Content   string
	Reasoning string
	Calls     []parsedCall
	Rejected  []parsedRejected
	Notes     []parsedNote
	Overrun   *chat.OverrunDetail
	Spans     []parsedSpan
	Events    []parsedEvent
}

type parsedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Raw       *string         `json:"arguments_raw,omitempty"` // where the arguments are no JSON in UTF-8
	Complete  bool            `json:"complete"`
	Dialect   string          `json:"dialect,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	At        *int            `json:"at,omitempty"`
	End       *int            `json:"end,omitempty"`
}

type parsedRejected struct {
	Reason  chat.Reason `json:"reason"`
	Name    string      `json:"name"`
	Raw     string      `json:"raw"`
	At      int         `json:"at"`
	End     int         `json:"end"`
	Message string      `json:"message,omitempty"`
}

type parsedNote struct {
	Kind   chat.NoteKind `json:"kind"`
	At     int           `json:"at"`
	End    int           `json:"end"`
	Before string        `json:"before"`
	After  string        `json:"after"`
	Path   string        `json:"path,omitempty"`
}

type parsedSpan struct {
	Kind string `json:"kind"`
	At   int    `json:"at"`
	End  int    `json:"end"`
	Call *int   `json:"call,omitempty"`
}

type parsedEvent struct {
	Kind  string `json:"kind"`
	At    int    `json:"at"`
	End   int    `json:"end"`
	Index *int   `json:"index,omitempty"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Text  string `json:"text,omitempty"`
}

func (p *parser) result(id json.RawMessage, events []chat.Event) *parsedLine {
	var c dialect.Collector
	line := &parsedLine{ID: id}
	for _, e := range events {
		c.Add(e)
		if p.flags.events {
			line.Events = append(line.Events, newParsedEvent(e))
		}
		if p.flags.spans {
			line.addSpan(e)
		}
	}
	line.Content, line.Reasoning, line.Overrun = c.Content(), c.Reasoning(), c.Overrun
	for _, call := range c.Calls {
		line.Calls = append(line.Calls, p.call(call))
	}
	for _, r := range c.Rejected {
		line.Rejected = append(line.Rejected, parsedRejected{r.Reason, r.Name, r.Raw, r.At, r.End, r.Message})
	}
	for _, n := range c.Notes {
		line.Notes = append(line.Notes, parsedNote{n.Kind, n.At, n.End, n.Before, n.After, n.Path})
	}
	return line
}

// addUnread tells, beside what was rejected, what is text because its JSON is broken.
func (l *parsedLine) addUnread(text string) {
	for _, r := range dialect.Unread(text) {
		known := slices.ContainsFunc(l.Rejected, func(k parsedRejected) bool { return k.At < r.End && r.At < k.End })
		if !known && strings.Contains(l.Content, r.Raw) {
			l.Rejected = append(l.Rejected, parsedRejected{r.Reason, r.Name, r.Raw, r.At, r.End, r.Message})
		}
	}
}

func (p *parser) call(c chat.Call) parsedCall {
	out := parsedCall{ID: c.ID, Name: c.Name, Complete: c.Complete, Dialect: c.Dialect, Reasoning: c.Reasoning}
	if json.Valid([]byte(c.Arguments)) && utf8.ValidString(c.Arguments) {
		out.Arguments = json.RawMessage(c.Arguments)
	} else {
		out.Raw = &c.Arguments
	}
	if p.flags.spans {
		out.At, out.End = &c.At, &c.End
	}
	return out
}

func callIndex(e chat.Event) *int {
	switch e.Kind {
	case chat.KindCallStart, chat.KindCallArgs, chat.KindCallEnd, chat.KindRejected:
		return &e.Index
	}
	return nil
}

func newParsedEvent(e chat.Event) parsedEvent {
	if e.Kind == chat.KindOverrun {
		e.Text = e.Detail.(*chat.OverrunDetail).Marker
	}
	return parsedEvent{Kind: e.Kind.String(), At: e.At, End: e.End, Index: callIndex(e), ID: e.ID, Name: e.Name,
		Text: e.Text}
}

// addSpan adds the range of an event, joined with the one before it where both are of one kind and one call.
func (l *parsedLine) addSpan(e chat.Event) {
	kind := ""
	switch e.Kind {
	case chat.KindText:
		kind = "content"
	case chat.KindReasoning, chat.KindMarkup, chat.KindRejected:
		kind = e.Kind.String()
	case chat.KindCallStart, chat.KindCallArgs, chat.KindCallEnd:
		kind = "call"
		if e.Flags&chat.FlagPromoted != 0 {
			kind = "promoted"
		}
	}
	if kind == "" || e.At == e.End {
		return
	}
	index := callIndex(e)
	if n := len(l.Spans); n > 0 {
		last := &l.Spans[n-1]
		if last.Kind == kind && last.End == e.At && (last.Call == index || last.Call != nil && index != nil &&
			*last.Call == *index) {
			last.End = e.End
			return
		}
	}
	l.Spans = append(l.Spans, parsedSpan{kind, e.At, e.End, index})
}

// writeLine writes a line with its fields in their fixed order. Lists are never null.
func writeLine(w io.Writer, l *parsedLine) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if len(l.ID) == 0 {
		l.ID = json.RawMessage("null")
	}
	// raw JSON is written as it stands; strings are escaped like this anyway
	l.ID = bytes.ToValidUTF8(l.ID, []byte(`\ufffd`))
	if l.Error != "" {
		return e.Encode(struct {
			ID    json.RawMessage `json:"id"`
			Error string          `json:"error"`
		}{l.ID, l.Error})
	}
	return e.Encode(struct {
		ID        json.RawMessage  `json:"id"`
		Content   string           `json:"content"`
		Reasoning string           `json:"reasoning"`
		Calls     []parsedCall     `json:"calls"`
		Rejected  []parsedRejected `json:"rejected"`
		Notes     []parsedNote     `json:"notes"`

		Overrun *chat.OverrunDetail `json:"overrun,omitempty"`
		Spans   []parsedSpan        `json:"spans,omitempty"`
		Events  []parsedEvent       `json:"events,omitempty"`
	}{l.ID, l.Content, l.Reasoning, list(l.Calls), list(l.Rejected), list(l.Notes), l.Overrun, l.Spans, l.Events})
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
