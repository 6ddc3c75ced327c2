package dialect

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
)

// A Source says from which bytes of a text a key or a value of a call's arguments was read.
type Source struct {
	Path string // of the value, as a JSON pointer into the arguments; of a key, that of its value
	Key  bool   // it is a key
	From int    // where it begins in the arguments; of a string or key, behind its quote
	To   int    // where it ends there
	At   int    // where the bytes begin in the text that it was read from; of a file that is named above a block, before the call
	End  int    // where they end; At: it was made up, as what nothing in the text stands for
	Same bool   // they are the same bytes as in the arguments
}

// CallSources are the sources of one call.
type CallSources struct {
	Call    chat.Call // its arguments are as they were sent, so that a key may stand twice
	Sources []Source  // in the order of the arguments
}

// Sources reads a text under o as a decoder does, and returns of each call where in the text its keys and
// values stand. It costs several times as much as reading: it is meant for whoever looks at a call, not for
// whoever runs it.
func Sources(text string, o Options) ([]CallSources, error) {
	d, err := New(o)
	if err != nil {
		return nil, err
	}
	d.call.sources = &sources{text: text}
	d.Reset()
	var calls []CallSources
	var buf []chat.Event
	take := func(events []chat.Event) {
		for i := range events {
			if e := &events[i]; e.Kind == chat.KindCallEnd {
				calls = append(calls, d.call.sources.of(*e.Detail.(*chat.Call)))
			}
		}
	}
	// A byte at a time, since then the decoder can wait for nothing longer than it has to: what it writes is
	// as near to what it read as can be.
	for i := range len(text) {
		buf = d.Feed(buf[:0], text[i:i+1])
		take(buf)
	}
	take(d.Close(buf[:0]))
	return calls, nil
}

// sources records what is written to the arguments of calls, and from which bytes of the text. A decoder has
// one only for Sources.
type sources struct {
	text  string
	at    int // how far the text was used up
	wide  int // if it is more than at: all that is written comes from the bytes up to there
	keyAt int // where the key that is written next begins
	keyTo int // where it ends; 0: where it was read
	n     int // bytes of the open call's arguments so far
	open  []piece
	ended []pieces
}

// A piece is a range of arguments, and of the text that it was written for.
type piece struct {
	from, to int
	at, end  int
	same     bool // byte for byte
}

// pieces are those of a call that ended.
type pieces struct {
	at, end int // the call's, in the text
	list    []piece
}

// begin begins a call whose text was read up to the offset at.
func (s *sources) begin(at int) {
	if s != nil {
		s.at, s.wide, s.keyTo, s.n, s.open = at, 0, 0, 0, nil
	}
}

// from says that what is written next was read from the offset at on.
func (s *sources) from(at int) {
	if s != nil {
		s.at, s.wide = at, 0
	}
}

// within says that all that is written next, up to the next call of from, was made out of the bytes [at, end).
func (s *sources) within(at, end int) {
	if s != nil {
		s.at, s.wide = at, end
	}
}

// before says that what is written next stands before the offset end: where it stands last.
func (s *sources) before(value string, end int) {
	if s == nil {
		return
	}
	if at := strings.LastIndex(s.text[:end], value); at >= 0 {
		s.within(at, at+len(value))
	}
}

// key says that the key which is written next stands in the bytes [at, to).
func (s *sources) key(at, to int) {
	if s != nil {
		s.keyAt, s.keyTo = at, to
	}
}

// add records that text was written to the arguments when the text was read up to end.
func (s *sources) add(text string, end int) {
	if quote := strings.IndexByte(text, '"'); s.keyTo > 0 && quote >= 0 {
		at, to := s.keyAt, s.keyTo
		s.keyTo = 0
		last := quote + 1 + doubleQuote(text[quote+1:])
		s.put(text[:quote+1], at)
		s.from(at)
		s.put(text[quote+1:last], to)
		text = text[last:]
	}
	s.put(text, end)
}

// doubleQuote returns where in s, which begins in a string of JSON, that ends.
func doubleQuote(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(s)
}

func (s *sources) put(text string, end int) {
	if text == "" {
		return
	}
	p := piece{from: s.n, to: s.n + len(text), at: s.at, end: min(max(end, s.at), len(s.text))}
	wide := s.wide > s.at
	if wide {
		p.end = s.wide
	} else {
		s.at = p.end
	}
	s.n = p.to
	if n := len(text); p.end <= len(s.text) && n <= p.end-p.at && !wide && s.text[p.end-n:p.end] == text {
		p.at, p.same = p.end-n, true // what stands before it was for nothing
	}
	if k := len(s.open) - 1; k >= 0 && p.same && s.open[k].same && s.open[k].end == p.at {
		s.open[k].to, s.open[k].end = p.to, p.end
		return
	}
	s.open = append(s.open, p)
}

// finish ends the call of the bytes [at, end).
func (s *sources) finish(at, end int) {
	if s != nil {
		s.ended = append(s.ended, pieces{at, end, s.open})
		s.open = nil
	}
}

// of returns the sources of a call that ended.
func (s *sources) of(c chat.Call) CallSources {
	out := CallSources{Call: c}
	for i := range s.ended {
		if p := &s.ended[i]; p.at == c.At && p.end == c.End {
			w := sourceWalk{text: s.text, args: c.Arguments, pieces: p.list}
			w.value("")
			out.Sources = w.out
		}
	}
	return out
}

// A sourceWalk goes through arguments and finds the pieces that each key and value was written in.
type sourceWalk struct {
	text, args string
	pieces     []piece
	i          int // in args
	k          int // the piece in which i lies, or one before it
	out        []Source
}

func (w *sourceWalk) blanks() {
	for w.i < len(w.args) && chars.IsBlank(w.args[w.i]) {
		w.i++
	}
}

// value takes the value at i. Arguments of a call that is not complete may end anywhere.
func (w *sourceWalk) value(path string) {
	w.blanks()
	if w.i == len(w.args) {
		return
	}
	switch w.args[w.i] {
	case '{', '[':
		w.group(path)
	case '"':
		w.quoted(path, false)
	default:
		from := w.i
		for w.i < len(w.args) && !chars.IsBlank(w.args[w.i]) && strings.IndexByte(",]}:", w.args[w.i]) < 0 {
			w.i++
		}
		if w.i == from {
			w.i++ // no JSON: go on all the same
		}
		w.add(path, false, from, w.i)
	}
}

// group takes an object or array.
func (w *sourceWalk) group(path string) {
	from, own, object := w.i, len(w.out), w.args[w.i] == '{'
	w.add(path, false, from, from+1)
	w.i++
	for n := 0; ; n++ {
		w.blanks()
		if w.i < len(w.args) && w.args[w.i] == ',' {
			w.i++
			w.blanks()
		}
		if w.i == len(w.args) {
			break
		}
		if c := w.args[w.i]; c == '}' || c == ']' {
			w.i++
			break
		}
		inner := path + "/" + strconv.Itoa(n)
		if object {
			inner = w.key(path)
		}
		w.value(inner)
	}
	g := &w.out[own]
	g.To = w.i
	last := w.span(w.i-1, w.i)
	g.At, g.End = min(g.At, last.At), max(g.End, last.End)
	for _, s := range w.out[own+1:] {
		if s.At < s.End {
			g.At, g.End = min(g.At, s.At), max(g.End, s.End)
		}
	}
	g.Same = w.text[g.At:g.End] == w.args[g.From:g.To]
}

// key takes a key and the colon behind it, and returns the path of its value.
func (w *sourceWalk) key(path string) string {
	n := len(w.out)
	from := w.i
	if w.args[w.i] != '"' {
		w.i++
		return path
	}
	w.quoted(path, true)
	name, ok := value.Unquote(strings.Trim(w.args[from:w.i], `"`))
	if !ok {
		name = w.args[from:w.i]
	}
	inner := path + "/" + value.PointerEscapes.Replace(name)
	w.out[n].Path = inner
	w.blanks()
	if w.i < len(w.args) && w.args[w.i] == ':' {
		w.i++
	}
	return inner
}

// quoted takes a string.
func (w *sourceWalk) quoted(path string, key bool) {
	w.i++
	from := w.i
	for w.i < len(w.args) && w.args[w.i] != '"' {
		if w.args[w.i] == '\\' {
			w.i++
		}
		w.i++
	}
	w.i = min(w.i, len(w.args))
	w.add(path, key, from, w.i)
	w.i = min(w.i+1, len(w.args))
}

// add adds the source of the bytes [from, to) of the arguments.
func (w *sourceWalk) add(path string, key bool, from, to int) {
	s := w.span(from, to)
	if from == to { // an empty string stands between its quotes
		a, b := w.span(max(0, from-1), from), w.span(to, min(to+1, len(w.args)))
		s.At = min(a.End, b.At)
		s.End = s.At
	}
	s.Path, s.Key = path, key
	w.tighten(&s, from > 0 && w.args[from-1] == '"')
	s.Same = w.text[s.At:s.End] == w.args[from:to]
	w.out = append(w.out, s)
}

// tighten leaves out what was read with a value and is none of it: blanks, a colon, a bracket, the quotes of
// a string. What is left says the same as the value; if nothing does, only blanks are left out.
func (w *sourceWalk) tighten(s *Source, quoted bool) {
	written := w.args[s.From:s.To]
	raw := w.text[s.At:s.End]
	says := func(t string) bool {
		if t == written {
			return true
		}
		if was, ok := value.Unquote(written); ok && was == t {
			return true
		}
		was, ok := value.Unquote(t) // the arguments stand in a string
		return ok && was == written
	}
	if says(raw) {
		return
	}
	keep := func(t string, lead int) { s.At, s.End = s.At+lead, s.At+lead+len(t) }
	inner := strings.Trim(raw, " \t\r\n")
	lead := len(raw) - len(strings.TrimLeft(raw, " \t\r\n"))
	tight := strings.TrimLeft(inner, ":= \t\r\n")
	from := lead + len(inner) - len(tight)
	tight = strings.TrimRight(tight, ",)]} \t\r\n")
	if says(tight) {
		keep(tight, from)
		return
	}
	for _, before := range sourceQuotes {
		for _, behind := range sourceQuotes {
			if t, ok := strings.CutPrefix(tight, before); ok && quoted {
				if t, ok = strings.CutSuffix(t, behind); ok && says(t) {
					keep(t, from+len(before))
					return
				}
			}
		}
	}
	keep(inner, lead)
}

// sourceQuotes are what may stand at either end of a string.
var sourceQuotes = [...]string{"", `\"`, `"`, "'", "`"}

// span returns where the bytes [from, to) of the arguments stand in the text.
func (w *sourceWalk) span(from, to int) Source {
	s := Source{From: from, To: to, At: -1}
	for w.k > 0 && w.pieces[w.k].from > from {
		w.k--
	}
	for w.k < len(w.pieces)-1 && w.pieces[w.k].to <= from {
		w.k++
	}
	for k := w.k; k < len(w.pieces) && w.pieces[k].from < to; k++ {
		p := w.pieces[k]
		if p.same {
			p.at, p.end = p.at+max(0, from-p.from), p.end-max(0, p.to-to)
		}
		if s.At < 0 {
			s.At, s.End = p.at, p.end
		}
		s.At, s.End = min(s.At, p.at), max(s.End, p.end)
	}
	if s.At < 0 {
		s.At, s.End = 0, 0
	}
	return s
}
