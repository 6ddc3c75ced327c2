package api

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/profile"
	"wield/internal/shorten"
	"wield/schema"
	"wield/schema/shape"
)

// Bounds of reading. They keep one request from using the machine for long.
const (
	maxReadText   = 768 << 10 // bytes of one text
	maxReadAll    = 768 << 10 // bytes of all readings of one request together
	maxReadEvents = 5_000     // events of one reading: pieces grow until there are no more; and candidates
	maxReadPiece  = 64 << 10  // bytes of a piece where none is asked for
	maxReadTools  = 256       // tools
	maxDialects   = 100       // readings
	maxReadSchema = 256 << 10 // bytes of one schema
	maxPatterns   = 200_000   // of all schemas, see [schema.Schema.Patterns]
)

// A Parsing asks how texts of models are read.
type Parsing struct {
	Text     string      `json:"text" jsonschema:"what a model wrote"`
	Tools    []ParseTool `json:"tools,omitempty" jsonschema:"the tools that were offered, as in any of the protocols"`
	Dialects []string    `json:"dialects,omitempty" jsonschema:"one reading for each: auto, or a name. Left out: auto. The word all stands for every one"`
	Only     bool        `json:"only,omitempty" jsonschema:"a dialect that is named reads alone, without the safe others"`
	Model    string      `json:"model,omitempty" jsonschema:"the model whose habits are taken into account, by its name"`
	Prefix   string      `json:"prefix,omitempty" jsonschema:"what stands in front of the names of tools in the text"`
	Repair   string      `json:"repair,omitempty" jsonschema:"off, safe or full, which it is if it is left out"`
	Open     bool        `json:"starts_in_reasoning,omitempty" jsonschema:"the text begins in reasoning"`
	Chunk    int         `json:"chunk,omitempty" jsonschema:"bytes of a piece; 0: the whole text at once, if it is not longer than 64 KiB"`
}

// A ParseTool is a tool in the form of the OpenAI protocol, or with its parts beside its name.
type ParseTool struct {
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Function    *ParseFunction  `json:"function,omitempty"`
}

// A ParseFunction is the inner part of a ParseTool.
type ParseFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
}

// Parsed holds the readings of a text.
type Parsed struct {
	Readings []Reading `json:"readings"`
}

// A Reading holds what one decoder makes of a text. All offsets are bytes of the text.
type Reading struct {
	Dialect    string                `json:"dialect" jsonschema:"that was asked for"`
	Error      string                `json:"error,omitempty" jsonschema:"why there is no reading"`
	Content    string                `json:"content,omitempty"`
	Reasoning  string                `json:"reasoning,omitempty"`
	Calls      []ParsedCall          `json:"calls"`
	Rejected   []chat.RejectedDetail `json:"rejected"`
	Notes      []chat.NoteDetail     `json:"notes"`
	Overrun    *chat.OverrunDetail   `json:"overrun,omitempty" jsonschema:"the model went on past the end of its turn: where, and at which marker"`
	Candidates []Candidate           `json:"candidates" jsonschema:"places where a call could have begun, and what became of them"`
	Unlisted   int                   `json:"unlisted,omitempty" jsonschema:"how many candidates there are beyond those"`
	Events     []ParsedEvent         `json:"events"`
}

// A ParsedCall is a call that was read from a text.
type ParsedCall struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Arguments string        `json:"arguments" jsonschema:"as they were sent, so that a key may stand in them twice"`
	Complete  bool          `json:"complete"`
	Dialect   string        `json:"dialect" jsonschema:"that it was read in"`
	At        int           `json:"at"`
	End       int           `json:"end"`
	Values    []ParsedValue `json:"values" jsonschema:"where its keys and values stand in the text, in the order of the arguments"`
}

// A ParsedValue says from which bytes of a text a key or a value was read.
type ParsedValue struct {
	Path string `json:"path" jsonschema:"JSON pointer into the arguments; of a key, that of its value"`
	Key  bool   `json:"key,omitempty"`
	From int    `json:"from" jsonschema:"with to: bytes of the arguments, without the quotes of a string"`
	To   int    `json:"to"`
	At   int    `json:"at" jsonschema:"with end: bytes of the text; of what was made up, none"`
	End  int    `json:"end"`
	Same bool   `json:"same,omitempty" jsonschema:"they are the same bytes"`
}

// A Candidate is a place where a call could have begun.
type Candidate struct {
	Dialect string                `json:"dialect"`
	At      int                   `json:"at"`
	End     int                   `json:"end"`
	Outcome chat.CandidateOutcome `json:"outcome" jsonschema:"accepted or refused"`
	Why     string                `json:"why"`
}

// A ParsedEvent is one event of a decoder.
type ParsedEvent struct {
	Kind  string `json:"kind"`
	Text  string `json:"text,omitempty" jsonschema:"of what is no part of the text as it is: arguments, and attempts that were refused"`
	Index int    `json:"index,omitempty" jsonschema:"of the call that it is about"`
	Name  string `json:"name,omitempty"`
	At    int    `json:"at"`
	End   int    `json:"end"`
	Fed   int    `json:"fed" jsonschema:"bytes of the text that the decoder had seen when it came"`
}

// parse answers POST /parse.
func (x *exchange) parse() (any, error) {
	in := x.body.(*Parsing)
	if len(in.Text) > maxReadText {
		return nil, invalid("/text", "the text has %d bytes, and at most %d are read", len(in.Text), maxReadText)
	}
	repair, ok := dialect.ParseRepair(in.Repair)
	if !ok && in.Repair != "" {
		return nil, invalid("/repair", "repair must be off, safe or full, not %s", shorten.Quoted(in.Repair))
	}
	tools, err := parseShapes(in.Tools)
	if err != nil {
		return nil, err
	}
	names, err := parseDialects(in)
	if err != nil {
		return nil, err
	}
	if all := len(in.Text) * len(names); all > maxReadAll {
		return nil, invalid("/dialects", "%d readings of %d bytes are too many", len(names), len(in.Text)).
			with("ask for fewer dialects, or for a shorter text")
	}
	o := dialect.Options{Tools: tools, Prefix: in.Prefix, Repair: repair, Thinking: dialect.Thinking{Open: in.Open},
		Cache: new(dialect.Cache)}
	out := &Parsed{Readings: []Reading{}}
	text := strings.ToValidUTF8(in.Text, "\ufffd")
	for _, name := range names {
		if err := x.r.Context().Err(); err != nil {
			return nil, err
		}
		out.Readings = append(out.Readings, readAs(x.r.Context(), text, o, name, in.Model, in.Only, in.Chunk))
	}
	return out, nil
}

// parseDialects returns the names of the dialects that are asked for.
func parseDialects(in *Parsing) ([]string, error) {
	var names []string
	for i, name := range in.Dialects {
		switch _, known := dialect.Lookup(name); {
		case name == "all":
			names = append(append(names, "auto"), dialect.Names()...)
		case name == "auto" || known:
			names = append(names, name)
		default:
			return nil, invalid("/dialects/"+strconv.Itoa(i), "there is no dialect %s", shorten.Quoted(name)).
				with("wield dialect list prints them")
		}
	}
	if len(names) == 0 {
		names = []string{"auto"}
	}
	if len(names) > maxDialects {
		return nil, invalid("/dialects", "at most %d readings are made at once", maxDialects)
	}
	return names, nil
}

// parseShapes returns what a decoder has to know of tools.
func parseShapes(tools []ParseTool) ([]shape.Tool, error) {
	if len(tools) > maxReadTools {
		return nil, invalid("/tools", "at most %d tools are looked at", maxReadTools)
	}
	shapes := make([]shape.Tool, 0, len(tools))
	patterns := 0
	for i, t := range tools {
		field := "/tools/" + strconv.Itoa(i)
		name, params := t.Name, t.Parameters
		if t.Function != nil {
			name, params = t.Function.Name, t.Function.Parameters
		}
		if len(params) == 0 {
			params = t.InputSchema
		}
		if name == "" {
			return nil, invalid(field, "the tool has no name").with(`a tool is {"name": .., "parameters": ..}`)
		}
		if len(params) > maxReadSchema {
			return nil, invalid(field, "the schema of %s has more than %d bytes", shorten.Quoted(name), maxReadSchema)
		}
		s, err := schema.Compile(params)
		if err != nil {
			return nil, invalid(field, "the schema of %s: %v", shorten.Quoted(name), err)
		}
		if patterns += s.Patterns(); patterns > maxPatterns {
			return nil, invalid("/tools", "the patterns of the schemas are too large together")
		}
		shapes = append(shapes, shape.Tool{Name: name, Args: s.Shape()})
	}
	return shapes, nil
}

// readAs reads a text as a dialect, as one that models of a name would write.
func readAs(ctx context.Context, text string, o dialect.Options, name, model string, only bool, chunk int) Reading {
	if model != "" {
		if p, known := profile.Find(model); known {
			p.Apply(&o)
		}
	}
	if name != "auto" {
		o.Dialect, o.Only = name, only
	}
	r, err := read(ctx, text, o, chunk)
	r.Dialect = name
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// read reads a text in pieces of chunk bytes; 0: at once.
func read(ctx context.Context, text string, o dialect.Options, chunk int) (Reading, error) {
	r := Reading{Calls: []ParsedCall{}, Rejected: []chat.RejectedDetail{}, Notes: []chat.NoteDetail{},
		Candidates: []Candidate{}, Events: []ParsedEvent{}}
	o.Trace = true
	d, err := dialect.New(o)
	if err != nil {
		return r, err
	}
	if chunk <= 0 {
		chunk = maxReadPiece
	}
	chunk = max(chunk, len(text)/maxReadEvents, 1)
	var c dialect.Collector
	var last strings.Builder // the text of the last event, of which more may come
	take := func(events []chat.Event, fed int) {
		for i := range events {
			if trace, ok := events[i].Detail.(*chat.CandidateDetail); ok {
				r.addCandidate(trace)
				continue
			}
			c.Add(events[i])
			r.add(&events[i], fed, &last)
			if call, ok := events[i].Detail.(*chat.Call); ok && events[i].Kind == chat.KindCallEnd {
				r.Calls = append(r.Calls, parsedCall(text, call))
			}
		}
	}
	var buf []chat.Event
	for at := 0; at < len(text); at += chunk {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		end := min(at+chunk, len(text))
		buf = d.Feed(buf[:0], text[at:end])
		take(buf, end)
	}
	take(d.Close(buf[:0]), len(text))
	r.settle(&last)
	r.Content, r.Reasoning, r.Overrun = c.Content(), c.Reasoning(), c.Overrun
	r.Rejected, r.Notes = append(r.Rejected, c.Rejected...), append(r.Notes, c.Notes...)
	return r, nil
}

func (r *Reading) addCandidate(t *chat.CandidateDetail) {
	if len(r.Candidates) == maxReadEvents {
		r.Unlisted++
		return
	}
	r.Candidates = append(r.Candidates, Candidate{t.Dialect, t.At, t.End, t.Outcome, t.Why})
}

// add adds an event. Deltas that belong together and came together are one: how a decoder cuts them says nothing.
func (r *Reading) add(e *chat.Event, fed int, text *strings.Builder) {
	switch e.Kind {
	case chat.KindNote:
		return // they stand in a list of their own
	case chat.KindText, chat.KindReasoning, chat.KindCallArgs, chat.KindMarkup:
		if n := len(r.Events); n > 0 {
			if last := &r.Events[n-1]; last.Kind == e.Kind.String() && last.Fed == fed && last.Index == e.Index {
				last.End = e.End
				if e.Kind == chat.KindCallArgs {
					text.WriteString(e.Text)
				}
				return
			}
		}
	}
	r.settle(text)
	if e.Kind == chat.KindCallArgs {
		text.WriteString(e.Text)
	}
	p := ParsedEvent{Kind: e.Kind.String(), Index: e.Index, Name: e.Name, At: e.At, End: e.End, Fed: fed}
	switch e.Kind {
	case chat.KindRejected:
		text.WriteString(e.Detail.(*chat.RejectedDetail).Raw)
	case chat.KindOverrun:
		text.WriteString(e.Detail.(*chat.OverrunDetail).Marker)
	}
	r.Events = append(r.Events, p)
}

// settle gives the last event its text.
func (r *Reading) settle(text *strings.Builder) {
	if n := len(r.Events); n > 0 {
		r.Events[n-1].Text = text.String()
	}
	text.Reset()
}

func parsedCall(text string, c *chat.Call) ParsedCall {
	return ParsedCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Complete: c.Complete, Dialect: c.Dialect,
		At: c.At, End: c.End, Values: sources(text, c)}
}
