package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// A set holds compiled options. It is never changed and may serve many decoders.
type set struct {
	*rules
	opts      Options
	names     names
	edits     bool       // blocks that are plainly edits or reads are calls, and no others
	formTools []formTool // of the block forms that are read; nil: none is
}

// rules hold compiled options, tools apart: a request with other tools has the same ones. They are never changed.
type rules struct {
	on       map[string]bool // the dialects by name
	expected []*Dialect      // those that are named or preferred, the likeliest first
	// the dialect reads the whole message: what is no call is read as if there were no tools
	wholeMessage bool
	bare         bareForms
	bareJSON     string // the dialect of JSON without an opener
	midJSON      bool   // which may also begin in the middle of a line,
	keyedJSON    bool   // and have the name as its key
	spaced       bool   // white space before a call is content
	blocks       bool   // fenced blocks with the name of a tool are calls
	bareName     string // the dialect of a name and an object without an opener
	automaton
}

// bareForms says which forms without an opener are on.
type bareForms struct{ json, fence, pythonic, function, name bool }

// names reports whether one of them begins with the name of a tool.
func (b *bareForms) names() bool { return b.function || b.name }

func newSet(o Options) (*set, error) {
	r, err := o.Cache.rules(&o)
	if err != nil {
		return nil, err
	}
	s := &set{rules: r, opts: o, names: newNames(o.Tools, o.Prefix)}
	if r.wholeMessage {
		s.opts.Tools = nil
	}
	if s.edits = o.Edits && len(o.Tools) > 0 && !o.Only && !r.blocks && !r.wholeMessage; s.blocks || s.edits {
		s.formTools = s.findFormTools()
	}
	return s, nil
}

func newRules(o *Options) (*rules, error) {
	on, expected, err := enabled(o)
	if err != nil {
		return nil, err
	}
	if err := o.checkTokens(); err != nil {
		return nil, err
	}
	r := &rules{on: on, expected: expected}
	if named, _ := Lookup(o.Dialect); o.Own == nil && named != nil && named.Alone {
		r.wholeMessage = true
		r.on, r.expected = autoEnabled(), expected[:0]
		o = &Options{Thinking: o.Thinking, Drop: o.Drop}
		for _, c := range named.openers {
			r.add(c)
		}
	}
	r.bareJSON, r.bareName = "raw-json", "name-json"
	if d := firstRow(expected, func(d *Dialect) bool { return d.bareJSON }); d != nil {
		r.bareJSON = d.Name
	}
	if d := firstRow(expected, func(d *Dialect) bool { return d.bareName }); d != nil {
		r.bareName = d.Name
	}
	if len(o.Tools) > 0 {
		r.blocks = on["cli-block"]
		r.bare = bareForms{
			json:     anyRow(on, func(d *Dialect) bool { return d.bareJSON }),
			fence:    on["json-fence"] || on["cli-block"], // what no block holds is a fence of JSON
			pythonic: on["pythonic"],
			function: on["function-style"],
			name:     anyRow(on, func(d *Dialect) bool { return d.bareName }),
		}
	}
	if len(expected) > 0 {
		r.keyedJSON, r.midJSON, r.spaced = expected[0].keyed, r.bare.json && expected[0].midLine, expected[0].spaced
	}
	r.build(o)
	return r, nil
}

// expects reports whether the dialect is the one that is expected most. It alone has the forms that would be
// too bold elsewhere.
func (r *rules) expects(name string) bool { return len(r.expected) > 0 && r.expected[0].Name == name }

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
	closers trie      // of reasoning
	mid     chars.Set // bytes in the middle of a line that need a look
}

// plainRules are those of a request without tools.
var plainRules = sync.OnceValues(func() (*rules, error) { return newRules(new(Options)) })

// autoRules are those of nearly every request.
var autoRules = sync.OnceValues(func() (*rules, error) { return newRules(&Options{Tools: make([]shape.Tool, 1)}) })

// autoEnabled are the dialects that auto turns on.
var autoEnabled = sync.OnceValue(func() map[string]bool {
	on := make(map[string]bool, len(table))
	for i := range table {
		on[table[i].Name] = !table[i].ByName
	}
	return on
})

// build builds the automaton. Those that are expected claim first what they share with others.
func (r *rules) build(o *Options) {
	r.mid = r.mid.With("\n\r`")
	if r.midJSON {
		r.mid['{'] = 1
	}
	t := &o.Thinking
	if t.Closer != "" && !t.Off {
		r.closers.add(opener{literal: t.Closer, use: useThink})
		if t.Opener != "" && !builtinTags(t.Opener, t.Closer) {
			r.add(opener{literal: t.Opener, use: useThink, closer: t.Closer})
		}
	}
	for _, d := range r.expected {
		if r.on[d.Name] {
			r.addRow(d, o)
		}
	}
	for i := range table {
		if d := &table[i]; r.on[d.Name] && !slices.Contains(r.expected, d) {
			r.addRow(d, o)
		}
	}
	for _, c := range commonOpeners {
		if c.use == useThink {
			if t.Off {
				continue
			}
			r.closers.add(opener{literal: c.closer, use: useThink})
		}
		if c.literal != "" {
			r.add(c)
		}
	}
	if len(o.Tools) > 0 {
		for _, literal := range o.Headers.Others {
			r.add(opener{literal: literal, use: useTurn, mark: markOther})
		}
		for _, literal := range o.Headers.Own {
			r.add(opener{literal: literal, use: useTurn, mark: markOwn})
		}
		for _, c := range turnOpeners() {
			r.add(c)
		}
	}
	for _, token := range o.Drop {
		r.add(opener{literal: token, use: useDrop})
	}
	r.trie.seal()
	r.closers.seal()
}

// builtinTags reports whether a pair of reasoning tags is read anyway.
func builtinTags(open, close string) bool {
	is := func(o opener) bool { return o.use == useThink && o.literal == open && o.closer == close }
	return slices.ContainsFunc(commonOpeners, is) ||
		slices.ContainsFunc(table, func(d Dialect) bool { return slices.ContainsFunc(d.openers, is) })
}

func (r *rules) addRow(d *Dialect, opts *Options) {
	if !opts.Thinking.Off {
		for _, c := range d.closers {
			r.closers.add(opener{literal: c, use: useThink})
		}
	}
	for _, o := range d.openers {
		switch {
		case len(opts.Tools) == 0 && !o.framing, o.named && !r.expects(d.Name), o.use == useThink && opts.Thinking.Off:
			continue
		case o.use == useThink:
			r.closers.add(opener{literal: o.closer, use: useThink})
		}
		o.dialect = d.Name
		r.add(o)
	}
}

func (a *automaton) add(o opener) {
	a.trie.add(o)
	if c := o.literal[0]; !o.lineStart && o.use != useBOM && !chars.IsLetter(c) {
		a.mid[c] = 1
	}
}

// enabled returns the names of the dialects that o turns on, and those that it expects.
func enabled(o *Options) (map[string]bool, []*Dialect, error) {
	on, expected, err := enabledInTable(o)
	if err != nil || o.Own == nil {
		return on, expected, err
	}
	if o.Only && (o.Dialect == "" || o.Dialect == "auto") {
		return map[string]bool{o.Own.Name: true}, []*Dialect{o.Own}, nil
	}
	on = maps.Clone(on)
	on[o.Own.Name] = true
	return on, append([]*Dialect{o.Own}, expected...), nil
}

func enabledInTable(o *Options) (map[string]bool, []*Dialect, error) {
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
	for _, h := range append(slices.Clip(o.Headers.Others), o.Headers.Own...) {
		if strings.TrimSpace(h) == "" {
			return fmt.Errorf("dialect: an empty header cannot begin a turn")
		}
	}
	if o.Thinking.Opener != "" && o.Thinking.Closer == "" {
		return fmt.Errorf("dialect: nothing closes the reasoning that %q opens", o.Thinking.Opener)
	}
	return nil
}
