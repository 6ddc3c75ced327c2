package dialect

import (
	"fmt"
	"strings"
	"sync"
)

// A set is what options compile to. It is never changed and may serve many decoders.
type set struct {
	opts  Options
	names names
	on    map[string]bool // the dialects by name; never changed
	*automaton
	wholeMessage bool // the dialect reads the whole message, at its end
	bare         bareForms
	bareJSON     string // the dialect of JSON without an opener
	midJSON      bool   // which may also begin in the middle of a line,
	keyedJSON    bool   // and have the name as its key
	bareName     string // the dialect of a name and an object without an opener
}

// bareForms says which forms without an opener are on.
type bareForms struct{ json, fence, pythonic, function, name bool }

// names reports whether one of them begins with the name of a tool.
func (b *bareForms) names() bool { return b.function || b.name }

func newSet(o Options) (*set, error) {
	on, err := enabled(o)
	if err != nil {
		return nil, err
	}
	tools := len(o.Tools) > 0
	s := &set{opts: o, on: on, names: newNames(o.Tools, o.Prefix), wholeMessage: on["tool-request"]}
	if s.wholeMessage {
		return s, nil
	}
	named, _ := Lookup(o.Dialect)
	s.bareJSON, s.bareName = "raw-json", "name-json"
	if named != nil && named.bareJSON {
		s.bareJSON, s.keyedJSON = named.Name, named.keyed
	}
	if named != nil && named.bareName {
		s.bareName = named.Name
	}
	s.bare = bareForms{
		json:     tools && anyRow(on, func(d *Dialect) bool { return d.bareJSON }),
		fence:    tools && on["json-fence"],
		pythonic: tools && on["pythonic"],
		function: tools && on["function-style"],
		name:     tools && anyRow(on, func(d *Dialect) bool { return d.bareName }),
	}
	if tools && len(o.Drop) == 0 && !o.Thinking.Off && (o.Dialect == "" || o.Dialect == "auto") {
		s.automaton = autoAutomaton()
		return s, nil
	}
	if len(o.Tools) == 0 && len(o.Drop) == 0 && !o.Thinking.Off && (o.Dialect == "" || o.Dialect == "auto") {
		s.automaton = plainAutomaton()
		return s, nil
	}
	for _, t := range o.Drop {
		if t == "" {
			return nil, fmt.Errorf("dialect: an empty token cannot be dropped")
		}
	}
	s.automaton = newAutomaton(on, named, tools, o)
	if s.midJSON = s.bare.json && named != nil && named.midLine; s.midJSON {
		s.mid['{'] = 1
	}
	return s, nil
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
	return newAutomaton(autoEnabled(), nil, false, Options{})
})

// autoAutomaton is the automaton of nearly every request, which is built once.
var autoAutomaton = sync.OnceValue(func() *automaton {
	return newAutomaton(autoEnabled(), nil, true, Options{})
})

// autoEnabled are the dialects that auto turns on.
var autoEnabled = sync.OnceValue(func() map[string]bool {
	on := make(map[string]bool, len(table))
	for i := range table {
		on[table[i].Name] = !table[i].ByName
	}
	return on
})

func newAutomaton(on map[string]bool, named *Dialect, tools bool, o Options) *automaton {
	a := new(automaton)
	a.mid = a.mid.with("\n\r`")
	if named != nil { // it claims first what it shares with others
		a.addRow(named, true, tools, o)
	}
	for i := range table {
		if on[table[i].Name] && &table[i] != named {
			a.addRow(&table[i], false, tools, o)
		}
	}
	for _, r := range commonOpeners {
		if r.use == useThink {
			if o.Thinking.Off {
				continue
			}
			a.closers.add(opener{literal: r.closer, use: useThink})
		}
		if r.literal != "" {
			a.add(r)
		}
	}
	for _, t := range o.Drop {
		a.add(opener{literal: t, use: useDrop})
	}
	return a
}

func (a *automaton) addRow(d *Dialect, named, tools bool, by Options) {
	if !by.Thinking.Off {
		for _, c := range d.closers {
			a.closers.add(opener{literal: c, use: useThink})
		}
	}
	for _, o := range d.openers {
		switch {
		case !tools && !o.framing, o.named && !named, o.use == useThink && by.Thinking.Off:
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

// enabled returns the names of the dialects that o turns on.
func enabled(o Options) (map[string]bool, error) {
	if o.Dialect == "" || o.Dialect == "auto" {
		return autoEnabled(), nil
	}
	on := make(map[string]bool, len(table))
	named, ok := Lookup(o.Dialect)
	if !ok {
		return nil, fmt.Errorf("dialect: unknown dialect %q; known are auto, %s", o.Dialect, strings.Join(Names(), ", "))
	}
	on[named.Name] = true
	if named.ByName || o.Only {
		return on, nil
	}
	for i := range table {
		if table[i].Safe {
			on[table[i].Name] = true
		}
	}
	return on, nil
}
