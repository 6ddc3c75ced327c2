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
}

// bareForms says which forms without an opener are on.
type bareForms struct{ json, fence, pythonic, function bool }

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
	s.bare = bareForms{
		json:     tools && (on["raw-json"] || on["openai-envelope"] || on["llf-shorthand"]),
		fence:    tools && on["json-fence"],
		pythonic: tools && on["pythonic"],
		function: tools && on["function-style"],
	}
	if tools && len(o.Drop) == 0 && !o.Thinking.Off && (o.Dialect == "" || o.Dialect == "auto") {
		s.automaton = autoAutomaton()
		return s, nil
	}
	for _, t := range o.Drop {
		if t == "" {
			return nil, fmt.Errorf("dialect: an empty token cannot be dropped")
		}
	}
	s.automaton = newAutomaton(on, tools, o)
	return s, nil
}

// An automaton recognises the openers of the dialects that are on. It depends on nothing else of a request.
type automaton struct {
	trie    trie
	closers trie      // of reasoning
	mid     [256]bool // bytes in the middle of a line that need a look
}

// autoAutomaton is the automaton of nearly every request, which is built once.
var autoAutomaton = sync.OnceValue(func() *automaton {
	return newAutomaton(autoEnabled(), true, Options{})
})

// autoEnabled are the dialects that auto turns on.
var autoEnabled = sync.OnceValue(func() map[string]bool {
	on := make(map[string]bool, len(table))
	for i := range table {
		on[table[i].Name] = !table[i].ByName
	}
	return on
})

func newAutomaton(on map[string]bool, tools bool, o Options) *automaton {
	a := new(automaton)
	for i := range table {
		if !tools || !on[table[i].Name] {
			continue
		}
		for _, r := range table[i].openers {
			r.dialect = table[i].Name
			a.trie.add(r)
		}
	}
	for _, r := range commonOpeners {
		if r.use == useThink {
			if o.Thinking.Off {
				continue
			}
			a.closers.add(opener{literal: r.closer, use: useThink})
		}
		a.trie.add(r)
	}
	for _, t := range o.Drop {
		a.trie.add(opener{literal: t, use: useDrop})
	}
	a.mid['\n'], a.mid['\r'], a.mid['`'] = true, true, true
	for b := range a.mid {
		if a.trie.starts(byte(b)) && !isLetter(byte(b)) && b != 0xEF {
			a.mid[b] = true
		}
	}
	return a
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
