// Package grammar holds a model to the calls of a dialect: it writes grammars in which text is free up to the
// opener of a call, and from there on a call of a declared tool is the only thing that can be written.
//
// Words:
//
//   - A frame is what a dialect writes around the values of a call. It is read off calls that the dialect writes, so
//     that there is one description of a dialect, and a new one needs nothing here.
//   - An opener is the beginning of a call that free text does not have: a tag, a fence with what follows it, a name on
//     its line.
//   - Widened is what a grammar says less strictly than a schema: patterns, bounds and numbers of elements, and with
//     many tools their arguments. Whoever reads the call checks it.
package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wield/dialect"
	"wield/schema/shape"
)

// A Tool is one that may be called.
type Tool struct {
	Name   string          // as the model writes it
	Args   *shape.Shape    // of its arguments; nil: unknown
	Schema json.RawMessage // of its arguments

	// The notation and the text of the grammar that its only argument, a string, follows: "regex" or "lark". The
	// argument is any string where that cannot be held, or the grammars of the tools are too large together.
	Syntax, Definition string
}

// Options say what may be written.
type Options struct {
	Dialect  string
	Tools    []Tool
	Required bool   // nothing but calls
	MaxCalls int    // 1: one call, with which the text ends; else any number
	Behind   string // closer of reasoning that stands before the calls, where they are required; "": there is none

	Decoders *dialect.Cache // for the check of the grammar; may be nil
}

// ErrUnsupported is wrapped by errors about dialects whose calls a grammar cannot hold.
var ErrUnsupported = errors.New("grammar: the calls of this dialect cannot be held")

// maxTools limits the tools that have their arguments in a grammar. With more of them arguments are any object.
const maxTools = 64

// maxNames limits the tools of a grammar, and maxParams the arguments that stand each for itself: all are tried.
const (
	maxNames  = 1000
	maxParams = 5000
)

// A Grammar holds a model to the calls of some tools. It is never changed.
type Grammar struct {
	o     Options
	f     *frame
	texts map[*shape.Shape]textGrammar // of the only argument, by the shape of the arguments
}

// New returns the grammar for o. Before it does, a call of each tool is written by the grammar's own rules and
// read by a decoder. The error wraps [ErrUnsupported] where the dialect cannot be held.
func New(o Options) (*Grammar, error) {
	d, ok := dialect.Lookup(o.Dialect)
	if !ok || d.ByName || len(o.Tools) == 0 || len(o.Tools) > maxNames {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, o.Dialect)
	}
	f, err := newFrame(d, o.Tools)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnsupported, o.Dialect, err)
	}
	o.Tools = slices.Clone(o.Tools)
	g := &Grammar{o: o, f: f, texts: map[*shape.Shape]textGrammar{}}
	size := 0
	for i := range o.Tools {
		t := &o.Tools[i]
		if len(o.Tools) > maxTools || t.Args == nil || len(t.Args.Props) != 1 {
			continue
		}
		text, err := textOf(t.Syntax, t.Definition)
		if err != nil || size+text.size() > maxSize {
			continue
		}
		size += text.size()
		args := *t.Args // tools of the same schema share it
		t.Args = &args
		g.texts[t.Args] = text
	}
	return g, g.check(d)
}

// check reads a call of each tool as the grammar writes it.
func (g *Grammar) check(d *dialect.Dialect) error {
	tools := make([]shape.Tool, len(g.o.Tools))
	for i, t := range g.o.Tools {
		tools[i] = shape.Tool{Name: t.Name, Args: t.Args}
	}
	for i := range g.o.Tools {
		text := numbered(g.f.sample(i, g.o.Tools[i].Args) + g.f.tail)
		read, err := dialect.Parse(text, dialect.Options{Dialect: d.Name, Tools: tools, Cache: g.o.Decoders})
		if err != nil || len(read.Calls) != 1 || !read.Calls[0].Complete || read.Calls[0].Name != g.o.Tools[i].Name {
			return fmt.Errorf("%w: %s: a call of %s is not read as one", ErrUnsupported, d.Name, g.o.Tools[i].Name)
		}
	}
	return nil
}

// sample returns a call of a tool with its required arguments.
func (f *frame) sample(i int, args *shape.Shape) string {
	c := &f.calls[i]
	var props []shape.Prop
	if args != nil {
		props = args.Props
	}
	if f.kind == kindObject {
		var list []string
		for _, p := range props {
			if p.Required {
				value, _ := sampleOf(p.Shape)
				if s := p.Shape; s != nil && len(s.Enum) > 0 {
					value = s.Enum[0]
				}
				list = append(list, quoted(p.Name)+": "+value)
			}
		}
		return c.front + "{" + strings.Join(list, ", ") + "}" + c.back
	}
	text, last := "", ""
	for j, p := range props {
		if !p.Required {
			continue
		}
		value, written := sampleOf(p.Shape)
		if f.kind == kindLiteral {
			written = value
		}
		if text == "" {
			text = c.params[j].first + written
		} else {
			text += last + c.params[j].next + written
		}
		last = c.params[j].close
		if j == len(props)-1 || !required(props[j+1:]) {
			return text + c.params[j].back
		}
	}
	return c.bare
}

// Opening returns the text with which every call begins, up to where the calls of the tools differ.
func (g *Grammar) Opening() (text string) {
	defer func() {
		if unsupported(recover()) != nil {
			text = ""
		}
	}()
	w := &writer{}
	for i := range g.o.Tools {
		for j, begin := range g.begins(w, i) {
			if i+j == 0 {
				text = begin.text
			}
			text = commonPrefix(text, begin.text)
		}
	}
	return strings.TrimRight(numbered(text), " ")
}

// GBNF returns the grammar in the notation of llama.cpp. The error wraps [ErrUnsupported] where it is too large.
func (g *Grammar) GBNF() (text string, err error) {
	defer func() { err = unsupported(recover()) }()
	w := &writer{}
	body := g.calls(w)
	if g.o.Required {
		root := body.message(g.o.MaxCalls)
		if g.o.Behind != "" {
			end := w.add("reasoned", `[ \t\r\n]* `+root)
			root = w.free("reasoning", []string{g.o.Behind}, "", false, func(int) string { return end })
		}
		return w.text(root), nil
	}
	return w.text(g.text(w, body)), nil
}

// unsupported returns the error of a panic with a frameError. Other panics go on.
func unsupported(why any) error {
	if f, ok := why.(frameError); ok {
		return fmt.Errorf("%w: %w", ErrUnsupported, f)
	} else if why != nil {
		panic(why)
	}
	return nil
}

// text writes free text with calls in it.
func (g *Grammar) text(w *writer, body *body) string {
	o := g.f.opener()
	after := `""`
	if g.o.MaxCalls != 1 {
		after = "text-0"
	}
	more := ""
	if body.sep != "" && !strings.HasPrefix(g.f.sep, g.f.tail) || g.f.skip > 0 {
		more = body.more(g.o.MaxCalls)
	}
	end := sequence(more, literalOr(g.f.tail), after)
	var literals, rest []string
	if o.marker != "" {
		literals = []string{o.marker}
		rest = []string{w.add("call", sequence(body.openedBehind(len(o.marker), g.f.start), end))}
	} else {
		for i := range g.f.calls {
			for j, begin := range body.begins[i] {
				literals = append(literals, begin.text)
				rest = append(rest, w.add(fmt.Sprintf("call-%d-%d", i, j), sequence(begin.rest, end)))
			}
		}
	}
	seen := ""
	if o.line {
		for i := range literals {
			literals[i] = "\n" + literals[i]
		}
		seen = "\n"
	}
	return w.free("text", literals, seen, true, func(i int) string { return rest[i] })
}

func literalOr(s string) string {
	if s == "" {
		return ""
	}
	return literal(s)
}

// An opener begins a call, so free text cannot hold it.
type opener struct {
	marker string // with which every call begins; "": the name has to be there as well
	line   bool   // it counts at the start of a line only
}

func (f *frame) opener() opener {
	s := f.start
	switch {
	case strings.HasPrefix(s, "<"):
		if i := strings.IndexByte(s, '>'); i >= 0 {
			s = s[:i+1]
		}
		return opener{marker: s}
	case len(s) > 1 && s[0] == '[' && s[1] >= 'A' && s[1] <= 'Z':
		if i := strings.IndexByte(s, ']'); i >= 0 {
			s = s[:i+1]
		}
		return opener{marker: s}
	case strings.HasPrefix(s, "]"):
		s, _, _ = strings.Cut(s, "\n")
		return opener{marker: s}
	case strings.HasPrefix(s, "```"):
		return opener{marker: strings.TrimRight(s, ` "`), line: true}
	case s != "" && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z':
		if i := strings.IndexAny(s, ":["); i >= 0 {
			s = s[:i+1]
		}
		return opener{marker: s, line: true}
	}
	return opener{line: true}
}

// A body is the rules for calls.
type body struct {
	first, later []string  // rules of a call that is the first of its message, and of one that is not
	begins       [][]begin // how each call begins
	sep, tail    string
}

// A begin is a text with which a call begins, up to its name or further, and the rule for the rest of the call.
type begin struct{ text, rest string }

// message returns what nothing but calls is.
func (b *body) message(most int) string {
	return sequence(choice(b.first...), b.more(most), literalOr(b.tail))
}

// more returns what further calls of a message are.
func (b *body) more(most int) string {
	switch {
	case most == 1 || len(b.later) == 0:
		return ""
	case most > 1:
		return fmt.Sprintf("(%s %s){0,%d}", literalOr(b.sep), choice(b.later...), most-1)
	}
	return fmt.Sprintf("(%s %s)*", literalOr(b.sep), choice(b.later...))
}

// openedBehind returns the choice of all calls behind their first n bytes, of which they have those of start in common.
func (b *body) openedBehind(n int, start string) string {
	var alternatives []string
	for i := range b.begins {
		for _, one := range b.begins[i] {
			alternatives = append(alternatives, sequence(spacedOr(one.text[len(start):]), one.rest))
		}
	}
	return sequence(spacedOr(start[n:]), choice(alternatives...))
}

func spacedOr(s string) string {
	if s == "" {
		return ""
	}
	return spaced(s)
}

// calls writes the rules for the calls of all tools.
func (g *Grammar) calls(w *writer) *body {
	b := &body{sep: g.f.sep, tail: g.f.tail}
	for i := range g.o.Tools {
		list := g.begins(w, i)
		b.begins = append(b.begins, list)
		for _, one := range list {
			b.first = append(b.first, sequence(spacedOr(one.text), one.rest))
			if g.f.many {
				b.later = append(b.later, sequence(spacedOr(one.text[min(g.f.skip, len(one.text)):]), one.rest))
			}
		}
	}
	return b
}

// begins returns how a call of a tool begins, and the rules for what follows.
func (g *Grammar) begins(w *writer, i int) []begin {
	c, args := &g.f.calls[i], g.o.Tools[i].Args
	if g.f.kind == kindObject {
		v := values{w: w, n: g.f.value, texts: g.texts}
		object := ""
		switch {
		case args == nil || len(g.o.Tools) > maxTools:
			object = v.object()
		case len(args.Props) == 0:
			object = `"{" "}"`
			if args.Open && args.Types == 0 {
				object = v.object()
			}
		default:
			object = v.record(args)
		}
		return []begin{{c.front, w.add(w.next("args"), sequence(object, spacedOr(c.back)))}}
	}
	return g.elements(w, c, args)
}

// elements returns how a call begins whose arguments stand each for itself.
func (g *Grammar) elements(w *writer, c *callFrame, args *shape.Shape) (list []begin) {
	var props []shape.Prop
	if args != nil {
		props = args.Props
	}
	v := values{w: w, n: g.f.value}
	// What may follow each argument: a later one, or the end if no required one is left.
	rest, ends := make([]string, len(props)), true
	for i := len(props) - 1; i >= 0; i-- {
		var follow []string
		for j := i + 1; j < len(props); j++ {
			follow = append(follow, sequence(literalOr(c.params[i].close+c.params[j].next), rest[j]))
			if props[j].Required {
				break
			}
		}
		if ends {
			follow = append(follow, literalOr(c.params[i].back))
		}
		value := g.value(&v, props[i].Shape)
		if text := g.texts[args]; text != nil && g.f.kind == kindLiteral {
			value = text.string(w, g.f.value)
		}
		rest[i], ends = w.add(w.next("arg"), sequence(value, choice(nonEmpty(follow)...))), ends && !props[i].Required
	}
	for i := range props {
		list = append(list, begin{c.params[i].first, rest[i]})
		if props[i].Required {
			return list
		}
	}
	return append(list, begin{c.bare, ""})
}

func nonEmpty(list []string) []string {
	for i := range list {
		if list[i] == "" {
			list[i] = `""`
		}
	}
	return list
}

// value returns what the value of one argument is.
func (g *Grammar) value(v *values, s *shape.Shape) string {
	if g.f.kind == kindLiteral || s.Type() != 0 && !s.Types.Any(shape.String) {
		return v.of(s)
	}
	if s != nil && s.Enum != nil {
		var texts []string
		for _, e := range s.Enum {
			var text string
			if json.Unmarshal([]byte(e), &text) != nil || strings.Contains(text, "<") {
				return g.bare(v.w)
			}
			texts = append(texts, literal(text))
		}
		if len(texts) > 0 {
			return choice(texts...)
		}
	}
	return g.bare(v.w)
}

// bare returns the rule for text without any tag of the dialect.
func (g *Grammar) bare(w *writer) string {
	if w.named["bare"] {
		return "bare-0"
	}
	w.once("bare", "bare-0")
	return w.free("bare", g.f.tags(), "", true, func(int) string { return "" })
}
