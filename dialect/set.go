package dialect

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"wield/schema/shape"
)

// A set is what options compile to. It is never changed and may serve many decoders.
type set struct {
	opts     Options
	names    names
	on       map[string]bool // the dialects by name; never changed
	expected []*Dialect      // those that are named or preferred, the likeliest first
	*automaton
	wholeMessage bool // the dialect reads the whole message, at its end
	bare         bareForms
	bareJSON     string // the dialect of JSON without an opener
	midJSON      bool   // which may also begin in the middle of a line,
	keyedJSON    bool   // and have the name as its key
	blocks       bool   // fenced blocks with the name of a tool are calls
	edits        bool   // those that are plainly edits or reads are, and no others
	forms        bool   // blocks of the forms are calls
	formTools    [len(blockForms)]formTool
	bareName     string // the dialect of a name and an object without an opener
}

// bareForms says which forms without an opener are on.
type bareForms struct{ json, fence, pythonic, function, name bool }

// names reports whether one of them begins with the name of a tool.
func (b *bareForms) names() bool { return b.function || b.name }

func newSet(o Options) (*set, error) {
	on, expected, err := enabled(o)
	if err != nil {
		return nil, err
	}
	if err := o.checkTokens(); err != nil {
		return nil, err
	}
	tools := len(o.Tools) > 0
	s := &set{opts: o, on: on, expected: expected, names: newNames(o.Tools, o.Prefix)}
	if named, _ := Lookup(o.Dialect); named != nil && named.Alone {
		s.wholeMessage = true
		return s, nil
	}
	s.blocks = tools && on["cli-block"]
	s.edits = tools && o.Edits && !o.Only && !s.blocks
	if s.blocks || s.edits {
		s.formTools, s.forms = s.findFormTools()
	}
	s.bareJSON, s.bareName = "raw-json", "name-json"
	if d := firstRow(expected, func(d *Dialect) bool { return d.bareJSON }); d != nil {
		s.bareJSON = d.Name
	}
	if d := firstRow(expected, func(d *Dialect) bool { return d.bareName }); d != nil {
		s.bareName = d.Name
	}
	s.bare = bareForms{
		json:     tools && anyRow(on, func(d *Dialect) bool { return d.bareJSON }),
		fence:    tools && (on["json-fence"] || on["cli-block"]), // what no block holds is a fence of JSON
		pythonic: tools && on["pythonic"],
		function: tools && on["function-style"],
		name:     tools && anyRow(on, func(d *Dialect) bool { return d.bareName }),
	}
	if len(expected) > 0 {
		s.keyedJSON, s.midJSON = expected[0].keyed, s.bare.json && expected[0].midLine
	}
	s.automaton = o.Cache.automaton(s)
	return s, nil
}

// expects reports whether the dialect is the one that is expected most. It alone has the forms that would be too bold elsewhere.
func (s *set) expects(name string) bool { return len(s.expected) > 0 && s.expected[0].Name == name }

// firstRow returns the first of the dialects that is such a one, or nil.
func firstRow(rows []*Dialect, is func(d *Dialect) bool) *Dialect {
	if i := slices.IndexFunc(rows, is); i >= 0 {
		return rows[i]
	}
	return nil
}

// anyRow reports whether one of the dialects that are on is such a one.
func anyRow(on map[string]bool, is func(d *Dialect) bool) bool {
	for i := range table {
		if on[table[i].Name] && is(&table[i]) {
			return true
		}
	}
	return false
}

// An automaton recognises the openers of the dialects that are on. It depends on nothing else of a request.
type automaton struct {
	trie    trie
	closers trie    // of reasoning
	mid     byteSet // bytes in the middle of a line that need a look
}

// plainAutomaton is that of a request without tools.
var plainAutomaton = sync.OnceValue(func() *automaton {
	return newAutomaton(&set{on: autoEnabled()})
})

// autoAutomaton is the automaton of nearly every request, which is built once.
var autoAutomaton = sync.OnceValue(func() *automaton {
	return newAutomaton(&set{on: autoEnabled(), opts: Options{Tools: make([]shape.Tool, 1)}})
})

// autoEnabled are the dialects that auto turns on.
var autoEnabled = sync.OnceValue(func() map[string]bool {
	on := make(map[string]bool, len(table))
	for i := range table {
		on[table[i].Name] = !table[i].ByName
	}
	return on
})

// newAutomaton builds the automaton of a set. Those that are expected claim first what they share with others.
func newAutomaton(s *set) *automaton {
	a := new(automaton)
	a.mid = a.mid.with("\n\r`")
	if s.midJSON {
		a.mid['{'] = 1
	}
	t := &s.opts.Thinking
	if t.Closer != "" && !t.Off {
		a.closers.add(opener{literal: t.Closer, use: useThink})
		if t.Opener != "" && !builtinTags(t.Opener, t.Closer) {
			a.add(opener{literal: t.Opener, use: useThink, closer: t.Closer})
		}
	}
	for _, d := range s.expected {
		if s.on[d.Name] {
			a.addRow(d, s)
		}
	}
	for i := range table {
		if d := &table[i]; s.on[d.Name] && !slices.Contains(s.expected, d) {
			a.addRow(d, s)
		}
	}
	for _, r := range commonOpeners {
		if r.use == useThink {
			if t.Off {
				continue
			}
			a.closers.add(opener{literal: r.closer, use: useThink})
		}
		if r.literal != "" {
			a.add(r)
		}
	}
	for _, token := range s.opts.Drop {
		a.add(opener{literal: token, use: useDrop})
	}
	a.trie.seal()
	a.closers.seal()
	return a
}

// builtinTags reports whether a pair of reasoning tags is read anyway.
func builtinTags(open, close string) bool {
	is := func(o opener) bool { return o.use == useThink && o.literal == open && o.closer == close }
	return slices.ContainsFunc(commonOpeners, is) || slices.ContainsFunc(table, func(d Dialect) bool { return slices.ContainsFunc(d.openers, is) })
}

func (a *automaton) addRow(d *Dialect, s *set) {
	if !s.opts.Thinking.Off {
		for _, c := range d.closers {
			a.closers.add(opener{literal: c, use: useThink})
		}
	}
	for _, o := range d.openers {
		switch {
		case len(s.opts.Tools) == 0 && !o.framing, o.named && !s.expects(d.Name), o.use == useThink && s.opts.Thinking.Off:
			continue
		case o.use == useThink:
			a.closers.add(opener{literal: o.closer, use: useThink})
		}
		o.dialect = d.Name
		a.add(o)
	}
}

func (a *automaton) add(o opener) {
	a.trie.add(o)
	if c := o.literal[0]; !o.lineStart && o.use != useBOM && !isLetter(c) {
		a.mid[c] = 1
	}
}

// enabled returns the names of the dialects that o turns on, and those that it expects.
func enabled(o Options) (map[string]bool, []*Dialect, error) {
	var expected []*Dialect
	for _, name := range o.Prefer {
		d, ok := Lookup(name)
		switch {
		case !ok:
			return nil, nil, unknownDialect(name)
		case d.ByName:
			return nil, nil, fmt.Errorf("dialect: %s can be named, but not preferred: it is on by name only", d.Name)
		case !slices.Contains(expected, d):
			expected = append(expected, d)
		}
	}
	if o.Dialect == "" || o.Dialect == "auto" {
		return autoEnabled(), expected, nil
	}
	named, ok := Lookup(o.Dialect)
	if !ok {
		return nil, nil, unknownDialect(o.Dialect)
	}
	on := make(map[string]bool, len(table))
	on[named.Name] = true
	expected = append([]*Dialect{named}, slices.DeleteFunc(expected, func(d *Dialect) bool { return d == named })...)
	if named.Alone || o.Only {
		return on, expected[:1], nil
	}
	for i := range table {
		if table[i].Safe {
			on[table[i].Name] = true
		}
	}
	expected = slices.DeleteFunc(expected, func(d *Dialect) bool { return !on[d.Name] })
	return on, expected, nil
}

func unknownDialect(name string) error {
	return fmt.Errorf("dialect: unknown dialect %q; known are auto, %s", name, strings.Join(Names(), ", "))
}

// checkTokens reports literals of the options that no text can hold.
func (o *Options) checkTokens() error {
	for _, t := range o.Drop {
		if t == "" {
			return fmt.Errorf("dialect: an empty token cannot be dropped")
		}
	}
	if o.Thinking.Opener != "" && o.Thinking.Closer == "" {
		return fmt.Errorf("dialect: nothing closes the reasoning that %q opens", o.Thinking.Opener)
	}
	return nil
}
