package dialect

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// A literalReader reads a call of a form. What it reads it hands to a value machine as JSON.
type literalReader struct {
	form *form.Literal

	state literalState
	at    int
	from  int // where the name begins
	name  string
	tool  int
	known bool
	val   *value.Reader
	open  []byte // the brackets that are open
	word  []byte // a key, or a bare value
	quote byte
	comma bool // a comma was read that the value machine does not know of yet
	out   []byte
	ended bool
}

type literalState uint8

const (
	gName    literalState = iota // in the name
	gKey                         // where a key begins, or the object ends
	gKeyWord                     // in a key
	gKeyText                     // in a key between tokens
	gColon                       // behind a key
	gValue                       // where a value begins
	gText                        // in a string between tokens
	gQuoted                      // in a string in quotes
	gWord                        // in a bare value
	gAfter                       // behind a value
	gCloser                      // behind the object
)

// literalBody returns the constructor of readers of the form f.
func literalBody(f *form.Literal) func(d *driver, o *opener) body {
	return func(d *driver, _ *opener) body {
		r := ready(&d.readers.literal)
		*r = literalReader{form: f, at: d.text.candAt, from: -1, open: r.open[:0], word: r.word[:0], out: r.out[:0]}
		return r
	}
}

func (r *literalReader) run(d *driver, i int) (int, verdict) {
	for i < len(d.text.in) {
		var v verdict
		switch r.state {
		case gName:
			i, v = r.readName(d, i)
		case gText:
			i, v = r.readText(d, i)
		case gKeyText:
			i, v = r.readKeyText(d, i)
		default:
			i, v = r.readByte(d, d.text.in[i], i)
		}
		if v != more {
			return i, v
		}
	}
	return i, more
}

// readName reads the name up to the brace behind it.
func (r *literalReader) readName(d *driver, i int) (int, verdict) {
	if r.from < 0 {
		r.from = d.text.at(i)
		if d.text.patient(i) && literalNameStop.None(d.text.in[i:]) {
			d.text.await(i, "", &literalNameStop)
			return i, left
		}
	}
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		switch {
		case c == '{':
			r.name = strings.TrimSpace(d.text.held(r.from, d.text.at(i)))
			if r.name == "" {
				return i, refused
			}
			r.begin(d, i)
			return i + 1, more
		case !isNameByte(c) && c != ':' && c != ' ' || d.text.at(i)-r.from >= maxHeader:
			return i, refused
		}
	}
	return i, more
}

// begin opens the call at the brace at i.
func (r *literalReader) begin(d *driver, i int) {
	r.tool, _, r.known = d.set.names.resolve(r.name)
	if r.known {
		d.call.start(r.tool, r.name, "", r.at, d.text.at(i))
		r.val = d.object(d.call.tool.Args, false)
	} else {
		r.val = d.object(nil, false)
		r.val.Discard = true
	}
	r.open = append(r.open, '}')
	r.state = gKey
	r.val.At(d.text.at(i)+1, 0)
	r.val.OpenObject()
	r.val.ReadAll()
}

// write hands JSON to the value machine; the input was read up to i.
func (r *literalReader) write(d *driver, s string, i int) verdict {
	r.val.At(d.text.at(i), 0)
	if r.comma {
		r.comma = false
		r.val.Run(",", 0)
	}
	if _, p := r.val.Run(s, 0); p == value.Failed {
		_, v := r.fail(d, i, r.val.Err)
		return v
	}
	return more
}

// readByte reads a byte outside of strings between tokens.
func (r *literalReader) readByte(d *driver, c byte, i int) (int, verdict) {
	if r.state == gQuoted {
		return r.readQuoted(d, c, i)
	}
	if chars.IsBlank(c) && r.state != gWord && r.state != gKeyWord {
		return i + 1, more
	}
	switch r.state {
	case gKey:
		switch {
		case c == '}':
			return r.closeBracket(d, c, i)
		case c == r.form.Token[0]:
			return r.beginToken(d, i, r.form.Token)
		case c == '"':
			r.state = gKeyWord
			return i + 1, more
		}
		j := wordStop.Index(d.text.in, i)
		if j == len(d.text.in) && d.text.patient(i) {
			d.text.await(i, "", &wordStop)
			return i, left
		}
		if r.state, r.word = gKeyWord, r.word[:0]; j-i < maxHeader {
			r.word, i = append(r.word, d.text.in[i:j]...), j
		}
		return i, more
	case gKeyWord:
		switch {
		case c == ':':
			return i, r.key(d, strings.Trim(strings.TrimSpace(string(r.word)), `"`), i)
		case len(r.word) >= maxHeader || c == '{' || c == '}' || c == ',':
			return r.fail(d, i, "a colon is missing")
		}
		r.word = append(r.word, c)
		return i + 1, more
	case gColon:
		if c != ':' {
			return r.fail(d, i, "a colon is missing")
		}
		r.state = gValue
		return i + 1, more
	case gValue:
		return r.value(d, c, i)
	case gWord:
		if c != ',' && c != '}' && c != ']' {
			r.word = append(r.word, c)
			return i + 1, more
		}
		r.state = gAfter
		out := r.scalar()
		if r.val.At(d.text.at(i), 0); r.val.WriteScalar(out) {
			return i, more
		}
		return i, r.write(d, out, i)
	case gAfter:
		switch {
		case c == ',':
			r.state = gValue
			if r.open[len(r.open)-1] == '}' {
				r.state = gKey
			}
			if r.comma = r.state == gKey; r.comma {
				return i + 1, more
			}
			return i + 1, r.write(d, ",", i+1)
		case c == r.open[len(r.open)-1]:
			return r.closeBracket(d, c, i)
		}
		return r.fail(d, i, "a comma or a closing bracket is missing")
	}
	if c == r.form.Closer[0] { // gCloser
		return r.beginToken(d, i, r.form.Closer)
	}
	return r.fail(d, i, "the end of the call is missing")
}

// value begins a value.
func (r *literalReader) value(d *driver, c byte, i int) (int, verdict) {
	switch c {
	case r.form.Token[0]:
		return r.beginToken(d, i, r.form.Token)
	case '{', '[':
		if len(r.open) >= value.MaxDepth {
			return r.fail(d, i, "nested too deeply")
		}
		r.open = append(r.open, c+2) // the bracket that closes it
		if r.state = gValue; c == '{' {
			r.state = gKey
		}
		return i + 1, r.write(d, string(c), i+1)
	case '"', '\'', '`':
		r.state, r.quote, r.word = gQuoted, c, r.word[:0]
		return i + 1, r.write(d, `"`, i+1)
	case ']':
		if r.open[len(r.open)-1] == c {
			return r.closeBracket(d, c, i)
		}
	case ',', '}':
		return r.fail(d, i, "a value is missing")
	}
	r.state, r.word = gWord, r.word[:0]
	return i, more
}

// closeBracket ends the innermost object or list.
func (r *literalReader) closeBracket(d *driver, c byte, i int) (int, verdict) {
	r.open = r.open[:len(r.open)-1]
	if r.state = gAfter; len(r.open) == 0 {
		r.state, r.ended = gCloser, true
	}
	return i + 1, r.write(d, string(c), i+1)
}

// beginToken reads the token before a string, or the end of the call, whose first byte stands at i.
func (r *literalReader) beginToken(d *driver, i int, token string) (int, verdict) {
	s := d.text.in[i:]
	switch agrees(s, token) {
	case yes:
		return r.token(d, i+len(token))
	case maybe:
		return d.await(i, token[len(s):], nil)
	}
	n := common(token, s)
	switch from := d.text.at(i); {
	case r.state == gValue:
		r.word, r.state = append(r.word[:0], s[:n]...), gWord
		return i + n, more
	case r.state == gCloser && r.known && d.call.open && d.set.opts.Repair == RepairFull:
		// another token ends it
		d.call.Note(chat.NoteDetail{Kind: note.MissingMarkup, After: token, At: from, End: from})
		d.call.end(from, true)
		return d.backTo(from, i+n)
	}
	return r.fail(d, i+n, "no key, value or end")
}

// token goes on behind a whole token, or the closer, that ends before i.
func (r *literalReader) token(d *driver, i int) (int, verdict) {
	switch r.state {
	case gCloser:
		return r.finish(d, i)
	case gKey:
		r.state, r.word = gKeyText, r.word[:0]
		return i, more
	}
	r.state = gText
	if r.val.At(d.text.at(i), 0); r.val.OpensText() {
		return i, more
	}
	return i, r.write(d, `"`, i)
}

// endText ends a string before i, behind its token.
func (r *literalReader) endText(d *driver, i int) verdict {
	r.state = gAfter
	if r.val.InText() {
		r.val.At(d.text.at(i), 0)
		r.val.EndText()
		return more
	}
	return r.write(d, `"`, i)
}

// key writes a key that ends before i.
func (r *literalReader) key(d *driver, key string, i int) verdict {
	r.state, r.word = gColon, r.word[:0]
	r.comma = false
	if !r.val.Key(key, d.text.at(i)) {
		_, v := r.fail(d, i, r.val.Err)
		return v
	}
	return more
}

// readKeyText reads a key between tokens.
func (r *literalReader) readKeyText(d *driver, i int) (int, verdict) {
	s, token := d.text.in[i:], r.form.Token
	n := strings.Index(s, token)
	switch {
	case n > maxHeader || n < 0 && len(s) > maxHeader:
		return r.fail(d, i+maxHeader, "the key is too long")
	case n < 0:
		return d.await(i, "", nil)
	}
	i += n + len(token)
	r.word = append(r.word[:0], s[:n+len(token)]...)
	return i, r.key(d, s[:n], i)
}

// readText reads a string up to the token that ends it.
func (r *literalReader) readText(d *driver, i int) (int, verdict) {
	token, from, in := r.form.Token, i, d.text.in
	for {
		n := strings.IndexByte(in[i:], token[0])
		if n < 0 {
			return len(in), r.text(d, in[from:], len(in))
		}
		i += n
		ends := agrees(in[i:], token)
		if ends == no {
			i++
			continue
		}
		if v := r.text(d, in[from:i], i); v != more {
			return i, v
		}
		if ends == maybe {
			return d.await(i, token[len(in)-i:], nil)
		}
		return i + len(token), r.endText(d, i+len(token))
	}
}

// text writes a part of a string; the input was read up to i.
func (r *literalReader) text(d *driver, s string, i int) verdict {
	if s == "" {
		return more
	}
	if r.val.InText() {
		d.call.WriteText(s, d.text.at(i))
		return more
	}
	r.out = value.AppendEscaped(r.out[:0], s)
	return r.write(d, string(r.out), i)
}

// readQuoted reads a string in quotes. In double quotes it has the escapes of JSON, in others none.
func (r *literalReader) readQuoted(d *driver, c byte, i int) (int, verdict) {
	if c == r.quote && (c != '"' || r.val.StringOpen()) {
		r.state = gAfter
		if v := r.text(d, string(r.word), i); v != more {
			return i, v
		}
		return i + 1, r.write(d, `"`, i+1)
	}
	if r.quote == '"' {
		return i + 1, r.write(d, d.text.in[i:i+1], i+1)
	}
	r.word = append(r.word, c)
	return i + 1, more
}

// scalar returns the JSON of a bare value: a number or a word of JSON, else a string.
func (r *literalReader) scalar() string {
	s := strings.TrimSpace(string(r.word))
	if json.Valid([]byte(s)) && s[0] != '"' {
		return s
	}
	switch strings.ToLower(s) {
	case "true", "false", "null":
		return strings.ToLower(s)
	}
	return string(shape.AppendQuoted(nil, s))
}

// finish ends the call behind its closer, which ends before i.
func (r *literalReader) finish(d *driver, i int) (int, verdict) {
	if !r.known {
		d.call.reject(chat.ReasonUnknownTool, r.name, "no tool of this name is declared", r.at, d.text.at(i))
	} else {
		d.call.end(d.text.at(i), true)
	}
	return i, finished
}

func (r *literalReader) fail(d *driver, i int, why string) (int, verdict) {
	if !d.call.open {
		return i, refused
	}
	d.call.reject(chat.ReasonMalformed, r.name, why, r.at, d.text.at(i))
	return i, broken
}

// end decides what an end of the text means. Without its closer a call is not complete, even if its object is.
func (r *literalReader) end(d *driver) verdict {
	if !d.call.open {
		return refused
	}
	d.call.end(d.text.at(0), false)
	return finished
}

func (r *literalReader) plain(*driver) *chars.Set {
	if r.state == gText && r.val.InText() {
		return &literalStop
	}
	return nil
}
