package grammar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// A frame holds the text around the values of a call. It is found out by writing calls and looking where their
// values came to stand, so that a dialect is described once.
type frame struct {
	kind  kind
	value notation
	calls []callFrame // one for each tool
	start string      // with which every call begins, before the name
	sep   string      // between two calls of a message
	skip  int         // bytes at the front of a call that only the first of a message has
	tail  string      // behind the last
	many  bool        // a message may hold several
}

type kind uint8

const (
	kindObject  kind = iota // all arguments are one JSON object
	kindElement             // each argument stands for itself; a string is the text itself
	kindLiteral             // the same with strings in quotes
)

// Classes of dialects whose calls are not a JSON value (dialect.Dialect.Class).
const (
	tagged   = "tagged"
	pythonic = "pythonic"
	channel  = "channel"
)

// A callFrame holds the text around the arguments of one tool.
type callFrame struct {
	front, back string       // kindObject
	bare        string       // a call without arguments, of the other kinds
	params      []paramFrame // as in the shape
}

type paramFrame struct {
	first string // before the value of the only or first argument
	next  string // before that of a later one
	close string // behind it, before another argument
	back  string // behind the last
}

// The values that are looked for. They occur nowhere else.
const (
	markObject = `{"wieldKey":70717}`
	markText   = "wieldText"
	markNumber = "70717"
)

// samples are values of each type, as every dialect writes them.
var samples = []struct {
	is    shape.Types
	value string
}{
	{shape.String, `"` + markText + `"`},
	{shape.Integer | shape.Number, markNumber},
	{shape.Object, `{"wield":` + markNumber + `}`},
	{shape.Array, `[` + markNumber + `]`},
	{shape.Boolean, "true"},
}

// sampleOf returns a value of a shape, and the text that it is written as.
func sampleOf(s *shape.Shape) (value, written string) {
	t := s.Type()
	for _, one := range samples {
		if t == 0 || t.Any(one.is) {
			return one.value, strings.Trim(one.value, `"`)
		}
	}
	return "null", "null"
}

// sample is sampleOf, written in the dialect.
func (w calls) sample(s *shape.Shape) (value, written string) {
	value, written = sampleOf(s)
	if w.d.Class == pythonic {
		written = pythonOf(written)
	}
	return value, written
}

// A frameError says why calls of a dialect cannot be held.
type frameError struct{ why string }

func (e frameError) Error() string { return e.why }

func countParams(tools []Tool) (n int) {
	for i := range tools {
		if tools[i].Args != nil {
			n += len(tools[i].Args.Props)
		}
	}
	return n
}

func newFrame(d *dialect.Dialect, tools []Tool) (f *frame, err error) {
	defer func() {
		if why := unsupported(recover()); why != nil {
			f, err = nil, why
		}
	}()
	w := calls{d}
	f = &frame{kind: kindObject}
	if !strings.Contains(w.write(call("q", markObject)), markObject) {
		f.kind = kindElement
		if d.Class != tagged && d.Class != pythonic && d.Class != channel {
			return nil, frameError{"its calls have no form that a grammar of this package writes"}
		}
		if countParams(tools) > maxParams {
			return nil, frameError{"there are too many arguments"}
		}
	}
	for i := range tools {
		f.calls = append(f.calls, w.frame(f, &tools[i]))
	}
	switch {
	case f.kind == kindElement:
		f.value = elementNotation
	case d.Class == pythonic:
		f.value = pythonNotation
	default:
		f.value = jsonNotation
	}
	f.start = commonPrefix(f.begin(w, "q"), f.begin(w, "Z"))
	for i := range tools {
		f.start = commonPrefix(f.start, f.begin(w, tools[i].Name))
	}
	w.between(f, tools)
	return f, nil
}

// begin returns how a call without arguments, or with an empty object, begins.
func (f *frame) begin(w calls, name string) string { return w.write(call(name, "{}")) }

// calls writes calls in a dialect.
type calls struct{ d *dialect.Dialect }

func call(name, args string) chat.Call { return chat.Call{Name: name, Arguments: args} }

func quoted(s string) string { q, _ := json.Marshal(s); return string(q) } // a text can always be written

// counter stands for the number of a call within its message, where a dialect writes it.
const counter = '\uE000'

func (w calls) write(list ...chat.Call) string {
	text, err := w.try(list)
	if err != nil {
		panic(frameError{err.Error()})
	}
	return text
}

// try writes calls twice, numbered otherwise. What differs then is their numbers.
func (w calls) try(list []chat.Call) (string, error) {
	var texts [2][]rune
	for n := range texts {
		for i := range list {
			list[i].Index = n + i
		}
		b, err := w.d.AppendCalls(nil, list)
		if err != nil {
			return "", err
		}
		texts[n] = []rune(string(b))
	}
	for i := range texts[0] {
		if texts[0][i] != texts[1][i] {
			texts[0][i] = counter
		}
	}
	return string(texts[0]), nil
}

// around returns what stands before and behind a part of a text that occurs once.
func around(text, part string) (before, behind string) {
	i := strings.LastIndex(text, part)
	if i < 0 {
		panic(frameError{fmt.Sprintf("a value does not stand in its call as %s", part)})
	}
	return text[:i], text[i+len(part):]
}

func (w calls) frame(f *frame, t *Tool) (c callFrame) {
	if f.kind == kindObject {
		c.front, c.back = around(w.write(call(t.Name, markObject)), markObject)
		return c
	}
	c.bare = w.write(call(t.Name, "{}"))
	var props []shape.Prop
	if t.Args != nil {
		props = t.Args.Props
	}
	for i := range props {
		c.params = append(c.params, w.param(f, t, props, i))
	}
	return c
}

// param finds out what stands around the value of one argument.
func (w calls) param(f *frame, t *Tool, props []shape.Prop, i int) (p paramFrame) {
	value, written := w.sample(props[i].Shape)
	key := quoted(props[i].Name)
	p.first, p.back = around(w.write(call(t.Name, "{"+key+":"+value+"}")), written)
	if len(props) > 1 {
		// The same argument in front of another, and behind it, shows what stands between the two.
		other := props[(i+1)%len(props)]
		otherValue, otherWritten := w.sample(other.Shape)
		otherFirst, _ := around(w.write(call(t.Name, "{"+quoted(other.Name)+":"+otherValue+"}")), otherWritten)
		both := w.write(call(t.Name, "{"+key+":"+value+","+quoted(other.Name)+":"+otherValue+"}"))
		rest := strings.TrimPrefix(both, p.first+written)
		between, _ := around(rest, otherWritten)
		n := commonSuffix(between, otherFirst)
		p.close = between[:len(between)-n]
		// What every first argument begins with is not written before a later one.
		front := len(otherFirst) - n
		if front > len(p.first) || otherFirst[:front] != p.first[:front] {
			panic(frameError{"arguments do not follow one another in one way"})
		}
		p.next = p.first[front:]
	}
	if strings.HasSuffix(p.first, `"`) && strings.HasPrefix(p.back, `"`) && written == markText {
		p.first, p.next, p.close, p.back = p.first[:len(p.first)-1], strings.TrimSuffix(p.next, `"`),
			strings.TrimPrefix(p.close, `"`), p.back[1:]
		f.kind = kindLiteral
	} else if w.d.Class == pythonic {
		f.kind = kindLiteral
	}
	return p
}

func pythonOf(written string) string {
	switch written {
	case "true":
		return "True"
	case "null":
		return "None"
	}
	return strings.ReplaceAll(written, `":`, `": `)
}

// between finds out what stands between two calls and behind the last.
func (w calls) between(f *frame, tools []Tool) {
	a, b := call(tools[0].Name, markObject), call(tools[len(tools)-1].Name, markObject)
	if f.kind != kindObject {
		a.Arguments, b.Arguments = "{}", "{}"
	}
	one, two := w.write(a), w.write(b)
	both, err := w.try([]chat.Call{a, b})
	if err != nil {
		return // a message holds one call
	}
	f.many = true
	head := len(commonPrefix(one, both))
	n := commonSuffix(two, both)
	head = min(head, len(both)-n)
	for head > 0 && (!runeStart(one, head) || !runeStart(both, head)) {
		head--
	}
	f.sep, f.skip, f.tail = both[head:len(both)-n], len(two)-n, one[head:]
	for i := range f.calls {
		c := &f.calls[i]
		c.back = w.strip(c.back, f.tail)
		c.bare = w.strip(c.bare, f.tail)
		for j := range c.params {
			c.params[j].back = w.strip(c.params[j].back, f.tail)
		}
	}
}

func (w calls) strip(s, tail string) string {
	if s == "" {
		return s
	}
	if !strings.HasSuffix(s, tail) {
		panic(frameError{"calls do not end in one way"})
	}
	return s[:len(s)-len(tail)]
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (!runeStart(a, n) || !runeStart(b, n)) {
		n--
	}
	return a[:n]
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (!runeStart(a, len(a)-n) || !runeStart(b, len(b)-n)) {
		n--
	}
	return n
}

func runeStart(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

const maxTags = 1000

// tags returns the beginnings of the tags in the texts around values: with them a value would end early.
func (f *frame) tags() []string {
	var list []string
	add := func(s string) {
		for i := 0; i < len(s); i++ {
			if s[i] != '<' && s[i] != ']' || s[i] == ']' && !strings.HasPrefix(s[i:], "]<]") {
				continue
			}
			end := i + strings.IndexAny(s[i+1:]+">", " =>:\"\n") + 1
			if tag := s[i:end]; end > i+1 && !slices.Contains(list, tag) {
				if list = append(list, tag); len(list) > maxTags {
					panic(frameError{"there are too many tags"})
				}
			}
		}
	}
	for i := range f.calls {
		add(f.calls[i].bare)
		add(f.tail)
		add(f.sep)
		for j := range f.calls[i].params {
			p := &f.calls[i].params[j]
			add(p.first)
			add(p.close)
			add(p.back)
		}
	}
	// One that begins with another is found with it.
	return slices.DeleteFunc(list, func(tag string) bool {
		return slices.ContainsFunc(list, func(other string) bool {
			return other != tag && strings.Contains(tag, other)
		})
	})
}
