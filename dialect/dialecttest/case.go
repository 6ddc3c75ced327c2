package dialecttest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
	"wield/schema"
	"wield/schema/shape"
)

// A Case is one text and what must come out of it. The JSON form is that of the case files; `wield parse --jsonl`
// reads the same lines.
type Case struct {
	ID      string `json:"id"`
	Dialect string `json:"dialect,omitempty"` // empty: auto
	Only    bool   `json:"only,omitempty"`    // without the safe others
	Prefix  string `json:"prefix,omitempty"`
	Repair  string `json:"repair,omitempty"` // off, safe or full; empty: full
	Open    bool   `json:"starts_in_reasoning,omitempty"`
	Finish  string `json:"finish_reason,omitempty"` // length: the text was cut at a limit
	Tools   []Tool `json:"tools"`
	Text    string `json:"text"`
	TextB64 string `json:"text_b64,omitempty"` // instead of Text, for bytes that are no UTF-8
	Want    Want   `json:"want"`
	Why     string `json:"why,omitempty"` // the rule behind the case, where it is not plain
}

// A Tool is a definition in the form of the OpenAI protocol.
type Tool struct {
	Type     string   `json:"type,omitempty"`
	Function Function `json:"function"`
}

// A Function is the inner part of a Tool.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Want holds the expected output. What is absent or null is not compared; an empty list is.
// Reasoning is always compared.
type Want struct {
	Content   *string        `json:"content"`
	Space     string         `json:"space,omitempty"` // "free": white space in content and reasoning is not compared
	Reasoning string         `json:"reasoning,omitempty"`
	Calls     []WantCall     `json:"calls"`
	Rejected  []WantRejected `json:"rejected"`
	Notes     []string       `json:"notes"` // kinds, each once; the order is free
}

// A WantCall is one call that must come out.
type WantCall struct {
	Name string `json:"name"`
	// as a value: order of keys and white space are free, number text is not
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Text      string          `json:"arguments_text,omitempty"` // byte for byte
	ID        string          `json:"id,omitempty"`
	Dialect   string          `json:"dialect,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	// the text ends inside the call; its arguments are compared only by Text
	Incomplete bool `json:"incomplete,omitempty"`
}

// A WantRejected is one attempt that must be reported.
type WantRejected struct {
	Reason string `json:"reason"`
	Name   string `json:"name,omitempty"`
	Raw    string `json:"raw,omitempty"` // empty: not compared
}

// ReadFile reads a file of cases, one JSON object a line.
func ReadFile(name string) ([]Case, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cases, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return cases, nil
}

// ReadDir reads all files of cases in a directory, keyed by file name.
func ReadDir(fsys fs.FS) (map[string][]Case, error) {
	names, err := fs.Glob(fsys, "*.jsonl")
	if err != nil {
		return nil, err
	}
	all := make(map[string][]Case)
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		if all[name], err = Read(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("%s:%w", name, err)
		}
	}
	return all, nil
}

// Read reads cases, one JSON object a line. Fields that it does not know are errors, so that a slip of the pen is
// found.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	ids := make(map[string]bool)
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			c, perr := parseCase(line)
			if perr == nil && ids[c.ID] {
				perr = fmt.Errorf("the id %q stands twice", c.ID)
			}
			if perr != nil {
				return nil, fmt.Errorf("%d: %w", n, perr)
			}
			ids[c.ID] = true
			cases = append(cases, c)
		}
		if errors.Is(err, io.EOF) {
			return cases, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func parseCase(line []byte) (Case, error) {
	var c Case
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	if c.ID == "" {
		return c, errors.New("no id")
	}
	if c.TextB64 != "" {
		b, err := base64.StdEncoding.DecodeString(c.TextB64)
		if err != nil {
			return c, fmt.Errorf("text_b64: %w", err)
		}
		c.Text = string(b)
	}
	return c, nil
}

// Options returns the options under which the text of the case is to be read.
func (c *Case) Options() (dialect.Options, error) {
	o := dialect.Options{Dialect: c.Dialect, Only: c.Only, Prefix: c.Prefix}
	o.Thinking.Open = c.Open
	if c.Repair != "" {
		r, ok := dialect.ParseRepair(c.Repair)
		if !ok {
			return o, fmt.Errorf("unknown repair level %q", c.Repair)
		}
		o.Repair = r
	}
	var err error
	o.Tools, err = Shapes(c.Tools)
	return o, err
}

// Shapes compiles the parameters of tools.
func Shapes(tools []Tool) ([]shape.Tool, error) {
	var shapes []shape.Tool
	for _, t := range tools {
		s, err := schema.Compile(t.Function.Parameters)
		if err != nil {
			return nil, fmt.Errorf("parameters of %s: %w", t.Function.Name, err)
		}
		shapes = append(shapes, shape.Tool{Name: t.Function.Name, Args: s.Shape()})
	}
	return shapes, nil
}

// Maker returns what makes decoders of package dialect for the case.
func (c *Case) Maker() (Maker, error) { return c.maker(new(dialect.Cache)) }

// maker is Maker with a cache for the many decoders that one text, or many texts, are read with.
func (c *Case) maker(cache *dialect.Cache) (Maker, error) {
	o, err := c.Options()
	if err != nil {
		return nil, err
	}
	o.Cache = cache
	if _, err := dialect.New(o); err != nil {
		return nil, err
	}
	return func() Decoder {
		d, _ := dialect.New(o) // the same options made one above
		if c.Finish == "length" {
			return truncated{d}
		}
		return d
	}, nil
}

// truncated is a decoder of texts that were cut at a limit.
type truncated struct{ *dialect.Decoder }

func (d truncated) Close(dst []chat.Event) []chat.Event {
	d.Truncated()
	return d.Decoder.Close(dst)
}

// Check decodes the text with a decoder of package dialect, compares what comes out with what is wanted, and runs All
// over it.
func (c *Case) Check() error { return new(Suite).check(c) }

// check is Case with the failures as one error.
func (s *Suite) check(c *Case) error {
	var errs []error
	for _, f := range s.Case(c) {
		errs = append(errs, fmt.Errorf("%s: %w", f.Rule, f.Err))
	}
	return errors.Join(errs...)
}

// Compare compares events with what is wanted and returns all differences as one error.
func (c *Case) Compare(events []chat.Event) error {
	var got dialect.Collector
	for _, e := range events {
		got.Add(e)
	}
	return errors.Join(
		c.Want.content(got.Content()),
		c.Want.text("reasoning", c.Want.Reasoning, got.Reasoning()),
		c.Want.calls(got.Calls),
		c.Want.rejected(got.Rejected),
		c.Want.notes(got.Notes),
	)
}

func differs(what, want, got string) error {
	if want == got {
		return nil
	}
	return fmt.Errorf("%s: want %s, got %s", what, check.Short(want), check.Short(got))
}

func (w *Want) content(got string) error {
	if w.Content == nil {
		return nil
	}
	return w.text("content", *w.Content, got)
}

func (w *Want) text(what, want, got string) error {
	if w.Space == "free" {
		want, got = strings.Join(strings.Fields(want), ""), strings.Join(strings.Fields(got), "")
	}
	return differs(what, want, got)
}

func (w *Want) calls(got []chat.Call) error {
	if w.Calls == nil {
		return nil
	}
	if len(got) != len(w.Calls) {
		var names []string
		for _, c := range got {
			names = append(names, c.Name+c.Arguments)
		}
		return fmt.Errorf("calls: want %d, got %d: %s", len(w.Calls), len(got), check.Short(strings.Join(names, " ")))
	}
	var errs []error
	for i := range got {
		if err := w.Calls[i].compare(&got[i]); err != nil {
			errs = append(errs, fmt.Errorf("call %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (w *WantCall) compare(got *chat.Call) error {
	var errs []error
	errs = append(errs, differs("name", w.Name, got.Name))
	if got.Complete == w.Incomplete {
		errs = append(errs, fmt.Errorf("complete is %t", got.Complete))
	}
	if w.ID != "" {
		errs = append(errs, differs("id", w.ID, got.ID))
	}
	if w.Dialect != "" {
		errs = append(errs, differs("dialect", w.Dialect, got.Dialect))
	}
	if w.Reasoning != "" {
		errs = append(errs, differs("reasoning", w.Reasoning, got.Reasoning))
	}
	switch {
	case w.Text != "":
		errs = append(errs, differs("arguments", w.Text, got.Arguments))
	case !w.Incomplete && !check.SameJSON(string(w.Arguments), got.Arguments):
		errs = append(errs, differs("arguments", string(w.Arguments), got.Arguments))
	}
	return errors.Join(errs...)
}

func (w *Want) rejected(got []chat.RejectedDetail) error {
	if w.Rejected == nil {
		return nil
	}
	var errs []error
	for i := range max(len(got), len(w.Rejected)) {
		switch {
		case i >= len(got):
			errs = append(errs, fmt.Errorf("rejected: %s %s is missing", w.Rejected[i].Reason, w.Rejected[i].Name))
		case i >= len(w.Rejected):
			errs = append(errs, fmt.Errorf("rejected: %s %s (%s) is not wanted", got[i].Reason, got[i].Name,
				got[i].Message))
		default:
			errs = append(errs, w.Rejected[i].compare(&got[i]))
		}
	}
	return errors.Join(errs...)
}

func (w *WantRejected) compare(got *chat.RejectedDetail) error {
	raw := w.Raw
	if raw == "" {
		raw = got.Raw
	}
	return errors.Join(
		differs("rejected", w.Reason, string(got.Reason)),
		differs("rejected name", w.Name, got.Name),
		differs("rejected raw", raw, got.Raw),
	)
}

func (w *Want) notes(got []chat.NoteDetail) error {
	if w.Notes == nil {
		return nil
	}
	want := make(map[string]bool)
	for _, k := range w.Notes {
		want[k] = true
	}
	seen := make(map[string]bool)
	var errs []error
	for _, n := range got {
		if k := string(n.Kind); !want[k] && !seen[k] {
			errs = append(errs, fmt.Errorf("note %s (%s -> %s) is not wanted", k, check.Short(n.Before),
				check.Short(n.After)))
		}
		seen[string(n.Kind)] = true
	}
	for _, k := range w.Notes {
		if !seen[k] {
			errs = append(errs, fmt.Errorf("note %s is missing", k))
		}
	}
	return errors.Join(errs...)
}
