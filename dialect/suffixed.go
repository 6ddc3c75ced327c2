package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A suffixReader reads the rest of an opener that holds a suffix of the model's choosing, and of the tag that
// opens the first call, and then gives way to the reader of the form with that suffix.
type suffixReader struct {
	brief
	suffix []byte
	first  string // the tag that opens a call; "": the suffix is not read yet
}

func newSuffixed(*driver, *opener) body { return new(suffixReader) }

func (r *suffixReader) run(d *driver, i int) (int, verdict) {
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		switch {
		case r.first == "" && c == '>':
			if len(r.suffix) == 0 {
				return i, refused
			}
			r.first = suffixTags(string(r.suffix)).CallOpen
		case r.first == "":
			if !chars.IsWord(c) && c != '-' && c != '.' || len(r.suffix) >= maxBlank {
				return i, refused
			}
			r.suffix = append(r.suffix, c)
		case chars.IsBlank(c):
			if len(r.suffix) >= maxHeader {
				return i, refused
			}
		default:
			s := d.text.in[i:]
			switch agrees(s, r.first) {
			case no:
				return i + common(r.first, s), refused
			case maybe:
				return d.await(i, r.first[len(s):], nil)
			}
			f := suffixTags(string(r.suffix))
			d.body = newTagged(d, f,
				&opener{use: useSection, closer: strings.Replace(f.CallClose, "call:", "calls:", 1)})
			return d.body.run(d, i+len(r.first))
		}
	}
	return i, more
}

// newHorizon returns a reader of what stands in K2 Horizon's element for a call, which is told by its first byte.
func newHorizon(_ *driver, o *opener) body { return &horizonReader{section: o} }

type horizonReader struct {
	brief
	section *opener
	blanks  int
}

// horizonCall is the element of one call, if that is JSON.
var horizonCall = opener{use: useSection, closer: "</ifm|tool_call>", section: section{json: "k2-horizon"}}

func (r *horizonReader) run(d *driver, i int) (int, verdict) {
	for ; i < len(d.text.in); i++ {
		switch c := d.text.in[i]; {
		case chars.IsBlank(c):
			if r.blanks++; r.blanks > maxHeader {
				return i, refused
			}
			continue
		case c == '{':
			d.body = newCallReader(d, &horizonCall, false)
		default:
			d.body = newTagged(d, &horizonTags, r.section)
		}
		return d.body.run(d, i)
	}
	return i, more
}
