package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A patchReader reads a patch that stands in the text without a fence:
//
//	*** Begin Patch
//	*** Update File: main.go
//	@@
//	-x := 1
//	+x := 2
//	*** End Patch
//
// All of it is one argument. One without its last line is a call that is not complete.
type patchReader struct {
	blockReader
	begun bool // the call was
	first bool // the line is that which begins the patch
	rest  bool // the line is not its last one, whatever follows
}

// newPatch begins behind the words that begin a patch. Where they are shown rather than written, no line of a
// file follows.
func newPatch(d *driver, _ *opener) body {
	r := ready(&d.readers.patch)
	*r = patchReader{first: true}
	r.from, r.lineAt = d.text.candAt, d.text.candAt
	return r
}

// patchForm is the row of the form that has the same text in a fence, or nil if that is not read.
func (d *driver) patchForm() *formTool {
	for k := range d.set.formTools {
		if f := &blockForms[k]; f.strict && f.info == nil && d.set.formTools[k].on {
			return &d.set.formTools[k]
		}
	}
	return nil
}

func (r *patchReader) run(d *driver, i int) (int, verdict) {
	for i < len(d.text.in) {
		end, ended := len(d.text.in), false
		if n := strings.IndexByte(d.text.in[i:], '\n'); n >= 0 {
			end, ended = i+n, true
		}
		switch {
		case !r.begun:
			end, ended = i+1, d.text.in[i] == '\n'
			if ended { // byte by byte: what is refused is refused at the byte that tells
				end = i
			}
			if v := r.begins(d, d.text.at(end), ended); v != more {
				return i, v
			}
		case !r.rest:
			line := d.text.held(r.lineAt, min(d.text.at(end), r.lineAt+maxHeader))
			if last := isLine(patchEnd)(strings.TrimLeft(line, " \t"), ended); last == yes && len(line) < maxHeader {
				return end, r.finish(d, r.lineAt+len(strings.TrimRight(line, " \t\r")))
			} else if last == no || len(line) == maxHeader {
				r.rest = true
			}
		}
		if i = end; ended {
			i++
		}
		if r.begun && (r.rest || ended) {
			r.write(d, d.text.at(i))
		}
		if ended {
			r.first, r.rest, r.lineAt = false, false, d.text.at(i)
		}
	}
	return i, more
}

// begins looks at the first lines up to the offset end, and begins the call when they are those of a patch.
func (r *patchReader) begins(d *driver, end int, ended bool) verdict {
	if end-r.lineAt > maxHeader || d.patchForm() == nil || d.cand.fenced.mark != 0 || d.cand.ctx.fence.mark != 0 ||
		d.text.candAt > d.text.holdAt && !strings.HasSuffix(d.text.held(d.text.holdAt, d.text.candAt), "\n") {
		return refused
	}
	line := d.text.held(r.lineAt, end)
	is := isSectionLine(line, ended)
	if r.first {
		if is = isLine(patchBegin)(line, ended); is == yes {
			return more
		}
	}
	switch is {
	case no:
		return refused
	case yes:
		t := d.patchForm()
		r.begun, r.plan = true, t.plan
		d.call.start(t.tool, d.set.names.tools[t.tool].Name, "", d.text.candAt, d.text.candAt)
	}
	return more
}

// finish ends the call with the text up to the offset end.
func (r *patchReader) finish(d *driver, end int) verdict {
	r.write(d, end)
	d.call.Write(`"}`, end)
	d.call.end(end, true)
	return finished
}

func (r *patchReader) end(d *driver) verdict {
	if !r.begun {
		return refused
	}
	line := d.text.held(r.lineAt, min(d.text.at(0), r.lineAt+maxHeader))
	if len(line) < maxHeader && strings.TrimSpace(line) == patchEnd {
		return r.finish(d, r.lineAt+len(strings.TrimRight(line, " \t\r")))
	}
	r.write(d, d.text.at(0))
	d.call.end(d.text.at(0), false)
	return finished
}

func (*patchReader) plain(*driver) *chars.Set { return nil }
