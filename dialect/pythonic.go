package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
)

// A pyReader reads function calls: one, or a list of them, bare or each in quotes.
//
// In a list, a section or a fence, a call whose first argument has a keyword is a call at once. One with
// positional arguments, or without any, looks like prose about a function for longer, and so does every call
// on a line without anything around it: they are read to the closing parenthesis, and count only if nothing
// but the end of the line, a comment or another call follows.
type pyReader struct {
	list    bool
	quote   byte   // each call of the list stands in these
	braces  bool   // and in braces, which make no sense there
	braceAt int    // where the last of them begin
	section bool   // an opener stands before it
	closer  string // of that section, if it has one: its calls are calls at once, in a list or one a line

	state pyState
	at    int // where the text of the call begins
	pyName
	argsAt int // behind the opening parenthesis
	argsTo int // before the closing one
	word   []byte
	wordAt int
	val    *value.Reader
	object bool // the only argument is the arguments object
	first  bool // the first argument has a keyword
	n      int  // positional arguments so far
	keyed  bool // an argument had a keyword
	paren  parens
	got    int
	nested bool // the call stands in a list in the list
	// where what belongs to the last call of the list ends: what follows is text unless a call or the end does
	behind int
}

// A pyName is the name of the call that is read.
type pyName struct {
	nameAt int
	name   string
	tool   int
	known  bool
	guess  bool // only the last part of the tool's name: the first argument must be one of the tool's
}

type pyState uint8

const (
	pArgs    pyState = iota // behind the opening parenthesis: is it a call?
	pWord                   // in what may be the first keyword
	pEqual                  // behind the equals sign that may end it
	pHeld                   // in arguments that are read once the call is confirmed
	pConfirm                // behind the closing parenthesis of such a call
	pComma                  // behind a comma there
	pTicked                 // behind the back-tick that ends such a call in a list
	pLink                   // behind the bracket that ends such a list
	pArg                    // where an argument begins
	pKeyword                // in a keyword, or a name that is a value
	pValue                  // in a value
	pAfter                  // behind a value
	pWrapped                // behind a keyword that may stand for all arguments
	pClose                  // behind the object that is the only argument
	pNext                   // behind a call of a list
	pEnd                    // behind the list
	pIndex                  // in an index behind it, or behind one of its calls, which says nothing
	pElement                // where a call of a list begins
	pName                   // in its name
	pCloser                 // behind the calls of a section
	pSkip                   // in the arguments of an undeclared tool
)

// call goes on as a list of function calls, each in quotes and braces: the key so far is the name of a tool,
// and a parenthesis stands behind it at i.
func (r *callReader) call(d *driver, i int) bool {
	inList := len(r.stack) == 2 && r.stack[0].array
	if !inList || !r.first || r.explicit || r.midLine || !d.set.bare.pythonic || d.set.opts.Repair != RepairFull {
		return false
	}
	e := element{list: true, quote: r.quote, nameAt: d.text.at(i) - len(r.key)}
	name, _ := unescapeName(string(r.key))
	if _, ok := d.function(name, true); !ok {
		return false
	}
	d.call.dialect = "pythonic"
	p := newPythonic(d, &e)
	p.braces, p.braceAt = true, e.nameAt-len(d.text.held(d.text.candAt, e.nameAt))+
		strings.LastIndexByte(d.text.held(d.text.candAt, e.nameAt), '{')
	d.body = p
	return true
}

// newPythonic returns a reader that goes on at the parenthesis behind a declared name.
func newPythonic(d *driver, e *element) *pyReader {
	r := ready(&d.readers.python)
	*r = pyReader{list: e.list, nested: e.nested, quote: e.quote, section: e.opener != nil,
		pyName: pyName{nameAt: e.nameAt}, at: d.callAt(), word: r.word[:0]}
	if e.opener != nil {
		r.closer = e.opener.closer
	}
	return r
}

func (r *pyReader) run(d *driver, i int) (int, verdict) {
	if r.argsAt == 0 && r.state == pArgs {
		r.named(d, i)
		if i++; !r.known {
			r.state = pSkip
		}
	}
	for i < len(d.text.in) {
		c := d.text.in[i]
		v := more
		switch r.state {
		case pValue:
			i, v = r.readValue(d, d.text.in, i, d.text.at(0), 1)
		case pHeld:
			i, v = r.hold(d, i)
		case pSkip:
			if i = r.paren.run(d.text.in, i, len(d.text.in)); i < len(d.text.in) {
				i++
				r.got++
				d.call.reject(chat.ReasonUnknownTool, r.name, "no tool of this name is declared", r.at, d.text.at(i))
				r.state, r.behind = pNext, d.text.at(i)
			}
		case pConfirm, pComma:
			i, v = r.confirm(d, c, i)
		case pTicked, pLink:
			i, v = r.ticked(d, c, i)
		case pName:
			i, v = r.readName(d, c, i)
		case pWord, pKeyword:
			i, v = r.readWord(d, c, i)
		default:
			if r.state == pEnd {
				return r.ended(d, c, i)
			}
			if chars.IsBlank(c) && r.state != pEqual {
				i++
				break
			}
			i, v = r.punctuation(d, c, i)
		}
		if v != more {
			return i, v
		}
	}
	return i, more
}

// named takes the name that ends before the parenthesis at i.
func (r *pyReader) named(d *driver, i int) {
	r.name, _ = unescapeName(d.text.held(r.nameAt, d.text.at(i)))
	r.tool, r.known = d.function(r.name, r.list)
	r.guess = r.known && d.shortened(r.name, r.tool)
	r.argsAt = d.text.at(i) + 1
	r.state, r.word, r.paren, r.n, r.object = pArgs, r.word[:0], parens{}, 0, false
	r.first = false
	r.keyed = false
}

// function returns the index of the tool that is called by that name. In a list the name may have that of a
// module before it.
func (d *driver) function(name string, list bool) (tool int, ok bool) {
	tool, _, ok = d.set.names.resolve(name)
	if !ok && list && d.set.opts.Repair == RepairFull {
		if tool, ok = d.set.names.resolveRest(name); !ok {
			return d.set.names.resolveLast(name)
		}
	}
	return tool, ok
}

// shortened reports whether name is only the last part of the tool's.
func (d *driver) shortened(name string, tool int) bool {
	return len(name) < len(d.set.opts.Prefix+d.set.names.tools[tool].Name)
}

// punctuation reads a byte between the parts of a call.
func (r *pyReader) punctuation(d *driver, c byte, i int) (int, verdict) {
	if r.guess && (r.state == pArgs && !chars.IsWord(c) || r.state == pEqual && !r.declares(d)) {
		return r.notMeant(d, i)
	}
	switch r.state {
	case pArgs:
		switch {
		case r.quote == '`':
			r.state = pHeld
			return i, more
		case c == '{':
			return r.beginObject(d, i)
		case r.closer != "":
			r.start(d, i)
			r.state = pArg
			return i, more
		case chars.IsWord(c):
			r.state, r.wordAt = pWord, d.text.at(i)
			return i, more
		}
		r.state = pHeld
		return i, more
	case pEqual:
		if c == '=' {
			r.state = pHeld
			return i, more
		}
		if r.alone(d) {
			r.state, r.first = pHeld, true
			return i, more
		}
		r.start(d, i)
		r.keyword(d, i)
		return i, more
	case pArg:
		switch {
		case c == ')':
			return r.endArgs(d, i+1)
		case chars.IsWord(c):
			r.state, r.word, r.wordAt = pKeyword, r.word[:0], d.text.at(i)
			if j := wordStop.Index(d.text.in, i); j < len(d.text.in) && d.text.in[j] == '=' && j-i < maxHeader {
				r.word = append(r.word, d.text.in[i:j]...)
				r.keyword(d, j+1)
				return j + 1, more
			}
			return i, more
		}
		return r.positional(d, i)
	case pAfter:
		switch c {
		case ',':
			r.state = pArg
			return i + 1, more
		case ')':
			return r.endArgs(d, i+1)
		}
		return r.fail(d, i, "a comma or a closing parenthesis is missing")
	case pWrapped:
		return r.wrapped(d, c, i)
	case pClose:
		if c != ')' {
			return r.fail(d, i, "a closing parenthesis is missing")
		}
		return r.endCall(d, i+1)
	case pNext:
		return r.next(d, c, i)
	case pIndex:
		return r.index(d, c, i)
	case pCloser:
		return r.readCloser(d, i)
	case pElement:
		switch {
		case c == ']' && r.got > 0 && r.list:
			return r.endList(d, i)
		case c == '[' && r.list && !r.nested && d.set.opts.Repair == RepairFull:
			r.nested = true
			return i + 1, more
		case (c == '\'' || c == '"' || c == '`') && r.quote != 0:
			r.quote = c
			return i + 1, more
		case c == '{' && r.braces:
			r.braceAt = d.text.at(i)
			return i + 1, more
		case chars.IsWord(c):
			r.state, r.nameAt, r.at = pName, d.text.at(i), d.text.at(i)
			return i, more
		}
		return r.leave(d, i)
	}
	return r.fail(d, i, "nothing may stand here")
}

// declares reports whether the word that was read is an argument of the tool.
func (r *pyReader) declares(d *driver) bool {
	args := d.set.names.tools[r.tool].Args
	if args == nil {
		return false
	}
	key, _ := unescapeName(string(r.word))
	_, ok := args.Prop(key)
	return ok
}

// notMeant goes on where a name was no tool's: see guess.
func (r *pyReader) notMeant(d *driver, i int) (int, verdict) {
	if !d.text.confirmed {
		return i, refused
	}
	r.known, r.state = false, pSkip
	return i, more
}

// readWord reads what may be a keyword.
func (r *pyReader) readWord(d *driver, c byte, i int) (int, verdict) {
	j := min(wordStop.Index(d.text.in, i), i+maxHeader+1-len(r.word))
	switch {
	case j > i:
		r.word = append(r.word, d.text.in[i:j]...)
		return j, more
	case !wordStop.Has(c) && r.state == pWord:
		return r.leave(d, i)
	case !wordStop.Has(c):
		return r.fail(d, i, "the keyword is too long")
	case chars.IsBlank(c) && c != '\n':
		return i + 1, more
	case c == '=' && r.state == pWord:
		r.state = pEqual
		return i + 1, more
	case c == '=':
		r.keyword(d, i+1)
		return i + 1, more
	case r.state == pWord && r.guess:
		return r.notMeant(d, i)
	case r.state == pWord:
		r.state = pHeld
		return i, more
	}
	word := string(r.word)
	j, v := r.positional(d, i)
	if v != more {
		return j, v
	}
	if _, v = r.readValue(d, word, 0, d.text.at(i), 0); v != more {
		return i, v
	}
	return i, more
}

// start opens the call.
func (r *pyReader) start(d *driver, i int) {
	d.call.start(r.tool, r.name, "", r.at, d.text.at(i))
	r.got++
	r.noteBraces(d)
	r.val = d.object(d.call.tool.Args, true)
	r.val.Inner = true
	r.val.Quoted = r.quote != 0 && r.quote != '`'
	r.val.At(d.text.at(i), 0)
}

// noteBraces records that the call stands in braces or back-ticks.
func (r *pyReader) noteBraces(d *driver) {
	switch {
	case r.braces:
		d.call.Note(chat.NoteDetail{Kind: note.Envelope, Before: "{", At: r.braceAt, End: r.braceAt + 1})
	case r.quote == '`':
		d.call.Note(chat.NoteDetail{Kind: note.Envelope, Before: "`", At: r.nameAt - 1, End: r.nameAt})
	}
}

// keyword begins the argument named by the word before i.
func (r *pyReader) keyword(d *driver, i int) {
	key := r.wordText(d)
	if strings.IndexByte(key, '\\') >= 0 {
		key = strings.ReplaceAll(key, `\_`, "_")
	}
	if !r.keyed && r.n == 0 && r.wraps(d, key) {
		r.state = pWrapped
		return
	}
	r.keyed = true
	r.key(d, key, i)
}

// wordText returns the word that was read. It is held, so that it need not be copied.
func (r *pyReader) wordText(d *driver) string {
	if end := r.wordAt + len(r.word); d.text.holding && end <= d.text.end() && r.wordAt >= d.text.holdAt {
		if s := d.text.held(r.wordAt, end); s == string(r.word) {
			return s
		}
	}
	return string(r.word)
}

// wraps reports whether an object behind the keyword is that of all arguments.
func (r *pyReader) wraps(d *driver, key string) bool {
	args := d.call.tool.Args
	if k, _ := meaning([]byte(key)); k.class != keyArguments || d.set.opts.Repair != RepairFull || args == nil ||
		len(args.Props) == 0 {
		return false
	}
	_, declared := args.Prop(key)
	return !declared
}

// wrapped reads the byte behind such a keyword.
func (r *pyReader) wrapped(d *driver, c byte, i int) (int, verdict) {
	key := string(r.word)
	if c != '{' {
		r.keyed = true
		r.key(d, key, i)
		return i, more
	}
	d.call.Note(chat.NoteDetail{Kind: note.Envelope, Before: key, At: r.wordAt, End: d.text.at(i)})
	r.val.ReadAll()
	r.state = pValue
	return i, more
}

func (r *pyReader) key(d *driver, key string, i int) {
	r.state = pValue
	r.val.Key(key, d.text.at(i))
}

// positional begins an argument that gets its name from the order of the schema.
func (r *pyReader) positional(d *driver, i int) (int, verdict) {
	s := d.call.tool.Args
	if r.keyed {
		return r.fail(d, i, "an argument without a name behind one that has one")
	}
	if s == nil || r.n >= len(s.Props) {
		return r.fail(d, i, "an argument without a name, for which the schema has none left")
	}
	key := s.Props[r.n].Name
	r.n++
	r.key(d, key, i)
	d.call.Note(chat.NoteDetail{Kind: chat.NotePositional, After: key, At: d.text.at(i), End: d.text.at(i)})
	return i, more
}

// readValue lets the value machine read in, whose offset i is at base+i*step of the text.
func (r *pyReader) readValue(d *driver, in string, i, base, step int) (int, verdict) {
	r.val.At(base, step)
	if step == 1 {
		if n := r.val.WholeText(in, i); n > 0 {
			r.state = pAfter
			return i + n, more
		}
	}
	j, p := r.val.Run(in, i)
	switch p {
	case value.Failed:
		return r.fail(d, j, r.val.Err)
	case value.Done:
		r.state = pClose
	case value.Paused:
		r.state = pAfter
		if next := r.val.Next; next != "" {
			r.word, r.wordAt, r.state = append(r.word[:0], next...), base+(j-len(next))*step, pKeyword
			r.val.Next = ""
		}
	}
	return j, more
}

// beginObject begins an object that is the only argument, and so the arguments.
func (r *pyReader) beginObject(d *driver, i int) (int, verdict) {
	d.call.start(r.tool, r.name, "", r.at, d.text.at(i))
	r.got++
	r.noteBraces(d)
	r.val = d.object(d.call.tool.Args, true)
	r.val.ReadAll()
	r.val.Quoted = r.quote != 0
	r.object, r.state = true, pValue
	return i, more
}

// endArgs ends arguments with names behind the parenthesis that ends before i.
func (r *pyReader) endArgs(d *driver, i int) (int, verdict) {
	r.val.At(d.text.at(i), 0)
	r.val.CloseObject()
	return r.endCall(d, i)
}

func (r *pyReader) endCall(d *driver, i int) (int, verdict) {
	d.call.end(d.text.at(i), true)
	r.behind = d.text.at(i)
	if !r.list && r.closer == "" {
		return i, finished
	}
	r.state = pNext
	return i, more
}

// confirm decides about a call whose arguments were not read yet, by what follows it.
func (r *pyReader) confirm(d *driver, c byte, i int) (int, verdict) {
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		return i + 1, more
	case r.braces && c == r.quote:
		return i + 1, more
	case r.quote == '`':
		if r.state = pTicked; c == '`' {
			return i + 1, more
		}
		return r.leave(d, i)
	case r.list:
		if c == ',' || c == ']' || c == r.quote && r.quote != 0 || c == '}' && r.braces || c == '\n' {
			return r.settle(d, i)
		}
		return r.leave(d, i)
	case r.state == pComma:
		if c == '\n' || c == '\\' || d.set.names.first[c] { // a back-slash goes on on the next line
			return r.settle(d, i)
		}
		return r.leave(d, i)
	case c == ',' || c == ';':
		r.state = pComma
		return i + 1, more
	case c == '\n', c == '#', c == d.cand.fenced.mark && c != 0, r.section && c == '<':
		return r.settle(d, i)
	}
	return r.leave(d, i)
}

// ticked decides about a list of calls in back-ticks: it has to be all that stands on its lines, since in a sentence,
// or as the text of a link, it is code that is talked about.
func (r *pyReader) ticked(d *driver, c byte, i int) (int, verdict) {
	switch {
	case c == '\n' && r.state == pLink:
		if j, v := r.settle(d, i); v != more {
			return j, v
		}
		return i, finished
	case chars.IsBlank(c):
		return i + 1, more
	case c == ']' && r.state == pTicked:
		r.state = pLink
		return i + 1, more
	case c == ',' && r.state == pTicked:
		return r.settle(d, i)
	}
	return r.leave(d, i)
}

// alone reports whether the call stands on a line of its own, with nothing around it that marks it as one.
func (r *pyReader) alone(d *driver) bool {
	return !r.list && !r.section && d.cand.fenced.mark == 0 && !d.cand.ctx.fence.carrier
}

// hold reads arguments up to the closing parenthesis. With a keyword it is a call for certain once it is long, or has a
// string over several lines: then it streams.
func (r *pyReader) hold(d *driver, i int) (int, verdict) {
	limit := min(len(d.text.in), i+maxHeader) // no further than what shows that it is prose
	if r.first {
		limit = min(len(d.text.in), d.text.index(r.argsAt+maxAlone))
	}
	i = r.paren.run(d.text.in, i, limit)
	n := d.text.at(i) - r.argsAt
	switch {
	case r.first && (r.paren.open || n >= maxAlone):
		return r.readHeld(d, i, d.text.at(i))
	case !r.first && r.paren.stray(n):
		d.cand.rescan = true
		return r.leave(d, i)
	case i < limit:
		r.argsTo, r.state = d.text.at(i), pConfirm
		i++
	}
	return i, more
}

// readHeld opens a call that is confirmed now, and reads what was held of its arguments, up to the offset to.
func (r *pyReader) readHeld(d *driver, i, to int) (int, verdict) {
	d.text.stash(d.text.at(i))
	r.start(d, d.text.index(r.argsAt))
	r.state = pArg
	j, v := d.runHeld(r, d.text.held(r.argsAt, to), r.argsAt)
	if v == finished && r.argsAt+j < to {
		return d.backTo(r.argsAt+j, i)
	}
	return i, v
}

// settle reads the arguments of a call whose closing parenthesis was read, and which is one by what follows it.
func (r *pyReader) settle(d *driver, i int) (int, verdict) {
	if r.signs(d) {
		return r.leave(d, i)
	}
	i, v := r.readHeld(d, i, r.argsTo+1)
	if v == more && d.call.open {
		return r.fail(d, i, "the arguments cannot be read")
	}
	if v == more && (r.braces || r.quote == '`') {
		r.behind = d.text.at(i)
	}
	return i, v
}

// next reads what follows a call of a list.
func (r *pyReader) next(d *driver, c byte, i int) (int, verdict) {
	switch {
	case c == r.quote && r.quote != 0, c == '\\' && r.quote != 0, c == '}' && r.braces:
		r.behind = d.text.at(i) + 1
		return i + 1, more
	case c == ',' || c == ';' || c == '+' && r.list && d.set.opts.Repair == RepairFull:
		r.state = pElement
		return i + 1, more
	case c == ']' && r.list:
		return r.endList(d, i)
	case c == '[' && r.list && d.set.opts.Repair == RepairFull && d.text.at(i) == r.behind:
		r.state = pIndex
		return i + 1, more
	case !r.list && chars.IsWord(c): // one call a line
		r.state = pElement
		return i, more
	case r.closer != "" && c == r.closer[0]:
		r.state = pCloser
		return i, more
	}
	return r.leave(d, i)
}

// endList ends the list with the bracket at i.
func (r *pyReader) endList(d *driver, i int) (int, verdict) {
	switch {
	case r.nested:
		r.nested, r.state = false, pNext
	case r.closer != "":
		r.state = pCloser
	case d.set.opts.Repair == RepairFull:
		r.state, r.behind, r.list = pEnd, d.text.at(i)+1, false
	default:
		return i + 1, finished
	}
	return i + 1, more
}

// ended reads the byte behind the list.
func (r *pyReader) ended(d *driver, c byte, i int) (int, verdict) {
	if c == '[' && d.text.at(i) == r.behind {
		r.state = pIndex
		return i + 1, more
	}
	return i, finished
}

// index reads an index behind the list, or one of its calls.
func (r *pyReader) index(d *driver, c byte, i int) (int, verdict) {
	switch {
	case chars.IsDigit(c) && d.text.at(i)-r.behind < maxBlank:
		return i + 1, more
	case c != ']' || d.text.at(i) == r.behind+1:
		return r.leave(d, i)
	}
	r.behind = d.text.at(i) + 1
	if r.list {
		r.state = pNext
		return i + 1, more
	}
	return i + 1, finished
}

// readCloser reads the end of the section.
func (r *pyReader) readCloser(d *driver, i int) (int, verdict) {
	s, at := d.text.in[i:], d.text.at(i)
	switch agrees(s, r.closer) {
	case yes:
		return i + len(r.closer), finished
	case maybe:
		return d.await(i, r.closer[len(s):], nil)
	}
	if r.got > 0 && r.known {
		d.call.Note(chat.NoteDetail{Kind: note.MissingMarkup, After: r.closer, At: at, End: at})
	}
	return d.backTo(at, i+common(r.closer, s))
}

// leave ends a list that continues with something that is no call before i: that is text, with what parts it
// from the last call.
func (r *pyReader) leave(d *driver, i int) (int, verdict) {
	if !d.text.confirmed {
		return i, refused
	}
	if d.cand.rescan = false; d.text.at(i)-r.behind > maxHeader {
		d.plain = d.text.at(i) // else lists in lists would be read again and again
	}
	return d.backTo(r.behind, i)
}

// readName reads the name of a further call of a list.
func (r *pyReader) readName(d *driver, c byte, i int) (int, verdict) {
	switch {
	case c == '(':
		r.named(d, i)
		if !r.known {
			r.state = pSkip
		}
		return i + 1, more
	case isNameByte(c) && d.text.at(i)-r.nameAt < maxHeader:
		for i++; i < len(d.text.in) && isNameByte(d.text.in[i]) && d.text.at(i)-r.nameAt < maxHeader; {
			i++
		}
		return i, more
	}
	return r.leave(d, i)
}

func (r *pyReader) fail(d *driver, i int, why string) (int, verdict) {
	if !d.call.open {
		return r.leave(d, i)
	}
	d.call.reject(chat.ReasonMalformed, "", why, r.at, d.text.at(i))
	return i, broken
}

// end decides what an end of the text means.
func (r *pyReader) end(d *driver) verdict {
	switch {
	case r.state == pConfirm && r.quote != '`' || r.state == pComma || r.state == pLink:
		if _, v := r.settle(d, 0); v != more {
			return v
		}
		return finished
	case d.call.open:
		d.call.end(d.text.at(0), false)
		return finished
	case d.text.confirmed && r.unread():
		_, v := r.leave(d, 0)
		return v
	case d.text.confirmed:
		return finished
	}
	return refused
}

// unread reports whether something is being read that is no call yet.
func (r *pyReader) unread() bool {
	switch r.state {
	case pNext, pElement, pCloser, pEnd:
		return false
	}
	return true
}

func (r *pyReader) plain(*driver) *chars.Set {
	if r.state == pValue {
		return r.val.Plain()
	}
	return nil
}
