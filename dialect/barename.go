package dialect

import (
	"bytes"
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
)

// A nameReader reads a call that nothing announces: a declared name, then a JSON object. It is what is left
// of the dialects with the name first when a server has taken the special tokens out, and what instructed
// models write by themselves.
//
// Where the name stands alone on its line, or the object right behind it, the colon behind the first key
// shows that it is a call. Behind a space it may still be a sentence about the tool: then it counts only if
// nothing follows the object on its line.
type nameReader struct {
	state  nameState
	at     int // where the call begins
	nameAt int
	blanks int
	name   string
	id     string
	tool   int
	kind   bool // the word function stands before the name, as in DeepSeek's calls: a fence may follow
	mark   bool // three angle brackets stand before it
	glued  bool // it ends the line above, behind a sentence: see gluedName
	spaced bool // nothing but blanks of one line stand between name and object
	gap    bool // blanks stand behind the object
	fence  int
	objAt  int // where the object begins
	to     int // where it ends
	skip   *value.Reader
	call   *headerReader // reads the object once the call is known to be one
}

type nameState uint8

const (
	nName   nameState = iota // in the name
	nBefore                  // behind it
	nKey                     // in the object, up to the colon behind the first key
	nObject                  // in an object that counts only with what follows it
	nLine                    // behind that object
)

// newName returns a reader of a bare call whose name begins at the offset at, or, if that is negative, at the
// next byte.
func newName(d *driver, at int) *nameReader {
	r := ready(&d.readers.name)
	*r = nameReader{at: d.callAt(), nameAt: at}
	return r
}

// newNameKind returns a reader behind the word that stands before the name.
func newNameKind(d *driver, _ *opener) body {
	r := newName(d, d.cand.elem.nameAt)
	r.kind = true
	return r
}

// newNameMark returns a reader behind the mark that stands before the name.
func newNameMark(d *driver, _ *opener) body {
	r := newName(d, -1)
	r.mark = true
	return r
}

// gluedName returns a reader of the object at i if the name of a tool ends the line above, right behind a sentence
// or its blank: the text that holds it went out.
func (d *Decoder) gluedName(i int) *nameReader {
	if d.set.opts.Repair != RepairFull {
		return nil
	}
	d.text.candAt = d.text.at(i)
	if c := d.text.lastByte(d.text.candAt); !isNameByte(c) && !chars.IsBlank(c) {
		return nil
	}
	var buf [maxBefore]byte
	before := d.lastText(buf[:])
	line := bytes.TrimRight(before, " \t\r\n")
	if !bytes.Contains(before[len(line):], []byte("\n")) {
		return nil
	}
	for k := len(line) - 1; k > 0 && isNameByte(line[k]); k-- {
		at := k - 1
		if line[at] == ' ' && at > 0 {
			at--
		}
		if !strings.ContainsRune(".!?:", rune(line[at])) {
			continue
		}
		name := string(line[k:])
		if tool, _, ok := d.set.names.resolve(name); ok {
			r := newName(&d.driver, d.text.candAt)
			r.at, r.name, r.tool, r.glued, r.state = d.text.candAt, name, tool, true, nBefore
			return r
		}
	}
	return nil
}

func (r *nameReader) run(d *driver, i int) (int, verdict) {
	if r.call != nil {
		return r.call.run(d, i)
	}
	for i < len(d.text.in) {
		var v verdict
		switch r.state {
		case nName:
			i, v = r.readName(d, i)
		case nBefore:
			i, v = r.before(d, i)
		case nKey:
			i, v = r.readKey(d, i)
		case nObject:
			i, v = r.readObject(d, i)
		default:
			i, v = r.readLine(d, i)
		}
		if v != more || r.call != nil {
			return i, v
		}
	}
	return i, more
}

// readName reads to the end of the name.
func (r *nameReader) readName(d *driver, i int) (int, verdict) {
	if r.nameAt < 0 {
		r.nameAt = d.text.at(i)
	}
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		if chars.IsWord(c) || c == '.' || c == '-' || c == ':' || c == '\\' {
			if d.text.at(i)-r.nameAt >= maxHeader {
				return i, refused
			}
			continue
		}
		if c != '{' && !chars.IsBlank(c) {
			return i, refused
		}
		word := d.text.held(r.nameAt, d.text.at(i))
		if r.mark && word == "all" && c == '\n' && d.set.expects("name-json") {
			d.cand.tokenEnd = d.text.at(i) + 1 // it announces text
			return i + 1, refused
		}
		if !r.resolve(d, word) {
			return i, refused
		}
		r.state, r.spaced = nBefore, c != '{'
		return i, more
	}
	return i, more
}

// resolve looks up a name, with what the families that write it write around it: a counter behind, the word
// function before.
func (r *nameReader) resolve(d *driver, word string) bool {
	name, _ := unescapeName(word)
	known := func() (ok bool) { r.tool, _, ok = d.set.names.resolve(name); return ok }
	if r.name = name; known() {
		return true
	}
	if k := strings.LastIndexByte(name, ':'); k > 0 && k+1 < len(name) && chars.Digits(name[k+1:]) {
		r.id, name = name, name[:k]
	}
	if bare, ok := strings.CutPrefix(name, "function"); ok && r.kind {
		name = strings.TrimPrefix(bare, "s.")
	}
	r.name = name
	return known()
}

// before reads the blanks between the name and the object.
func (r *nameReader) before(d *driver, i int) (int, verdict) {
	switch c := d.text.in[i]; {
	case chars.IsBlank(c):
		if r.blanks++; r.blanks > maxBlank {
			return i, refused
		}
		r.spaced = r.spaced && c != '\n'
		return i + 1, more
	case c == '{':
		r.objAt, r.state = d.text.at(i), nKey
		r.skip = d.skipped()
		return i, more
	case c == '`' && r.kind && r.fence == 0 && !r.spaced:
		n, marks, m := fenceLine(d.text.in[i:])
		switch m {
		case no:
			return i + n, refused
		case maybe:
			return d.await(i, "", nil)
		}
		r.fence = marks
		return i + n, more
	}
	return i, refused
}

// readKey reads to the colon behind the first key.
func (r *nameReader) readKey(d *driver, i int) (int, verdict) {
	r.skip.At(d.text.at(0), 1)
	for i < len(d.text.in) {
		end := min(len(d.text.in), d.text.index(r.objAt+maxHeader))
		if end <= i {
			return i, refused
		}
		if k := strings.IndexByte(d.text.in[i:end], ':'); k >= 0 {
			end = i + k + 1
		}
		var p value.Progress
		i, p = r.skip.Run(d.text.in[:end], i)
		switch {
		case p == value.Failed:
			return i, refused
		case p == value.Done:
			r.to, r.state = d.text.at(i), nLine
			return i, more
		case !r.skip.BehindColon(): // no colon, or one in the key
			continue
		case !r.plausible(d, d.text.held(r.objAt+1, d.text.at(i)-1)):
			if !r.glued {
				return i, refused
			}
			d.body = newCallReader(d, nil, false)
			d.call.dialect = d.set.bareJSON
			if _, v := d.runHeld(d.body, d.text.held(r.objAt, d.text.at(i)), r.objAt); v != more {
				return i, v
			}
			return d.body.run(d, i)
		case r.spaced && d.cand.fenced.mark == 0 && !d.cand.ctx.fence.carrier:
			r.state = nObject
			return i, more
		}
		return r.open(d, i, d.text.at(i))
	}
	return i, more
}

// plausible reports whether key, the text before the colon, is that of arguments. A key without quotes must
// be one that the tool declares: other things in braces look like it.
func (r *nameReader) plausible(d *driver, key string) bool {
	key = strings.TrimSpace(key)
	if r.glued {
		key = strings.Trim(key, "\"'")
	} else if key == "" || key[0] == '"' || key[0] == '\'' {
		return true
	}
	args := d.set.names.tools[r.tool].Args
	if args == nil {
		return false
	}
	_, ok := args.Prop(key)
	return ok
}

// readObject reads the object. Once it is long it is a call for certain, and streams.
func (r *nameReader) readObject(d *driver, i int) (int, verdict) {
	limit := min(len(d.text.in), d.text.index(r.objAt+maxAlone))
	if i >= limit {
		return r.open(d, i, d.text.at(i))
	}
	r.skip.At(d.text.at(0), 1)
	i, p := r.skip.Run(d.text.in[:limit], i)
	switch p {
	case value.Failed:
		return i, refused
	case value.Done:
		r.to, r.state = d.text.at(i), nLine
	}
	return i, more
}

// readLine reads what follows an object whose call it decides about: the end of the line, or of what the call
// stands in.
func (r *nameReader) readLine(d *driver, i int) (int, verdict) {
	switch c := d.text.in[i]; {
	case c == ' ' || c == '\t' || c == '\r':
		r.gap = true
		return i + 1, more
	case c == '\n', c == ';', c == '<' && d.set.trie.starts(c), c == d.cand.fenced.mark && c != 0,
		c == '`' && r.fence > 0:
		return r.open(d, i, d.text.at(i))
	case !r.spaced && !r.gap && d.set.names.first[c]:
		return r.open(d, i, d.text.at(i)) // nothing between two calls
	}
	return i, refused
}

// open opens the call and reads the object as far as it was held, to the offset to. The input was read up to i.
func (r *nameReader) open(d *driver, i, to int) (int, verdict) {
	d.call.dialect = d.set.bareName
	d.text.stash(d.text.at(i))
	d.call.start(r.tool, r.name, r.id, r.at, r.objAt)
	h := newHeader(d, &nameForm, hArgs)
	h.at, h.name, h.known, h.got, h.fence = r.at, r.name, true, 1, r.fence
	h.args = d.arguments(d.call.tool.Args)
	r.call = h
	j, v := d.runHeld(h, d.text.held(r.objAt, to), r.objAt)
	if v == finished && r.objAt+j < d.text.at(i) {
		return d.backTo(r.objAt+j, i)
	}
	return i, v
}

// end decides what an end of the text means.
func (r *nameReader) end(d *driver) verdict {
	if r.call != nil {
		return r.call.end(d)
	}
	if r.state != nLine {
		return refused
	}
	_, v := r.open(d, 0, r.to)
	if v == more {
		return r.call.end(d)
	}
	return v
}

func (r *nameReader) plain(d *driver) *chars.Set {
	if r.call != nil {
		return r.call.plain(d)
	}
	return nil
}
