package patch

import (
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// A document is the text of a file, taken apart so that what is not edited comes out as it went in.
type document struct {
	mark  bool // it begins with a byte order mark
	lines []string
	ends  []string // the line ends: "\n", "\r\n", or "" behind the last line
}

// newDocument takes a text apart.
func newDocument(text string) *document {
	d := &document{}
	text, d.mark = strings.CutPrefix(text, byteOrderMark)
	for text != "" {
		line, rest, found := strings.Cut(text, "\n")
		end := ""
		if found {
			end = "\n"
			if cut, ok := strings.CutSuffix(line, "\r"); ok {
				line, end = cut, "\r\n"
			}
		}
		d.lines, d.ends = append(d.lines, line), append(d.ends, end)
		text = rest
	}
	return d
}

// String puts the text together.
func (d *document) String() string {
	var b strings.Builder
	if d.mark {
		b.WriteString(byteOrderMark)
	}
	for i, l := range d.lines {
		b.WriteString(l)
		b.WriteString(d.ends[i])
	}
	return b.String()
}

// end returns the line end that most lines have.
func (d *document) end() string {
	n := 0
	for _, e := range d.ends {
		switch e {
		case "\r\n":
			n++
		case "\n":
			n--
		}
	}
	if n > 0 {
		return "\r\n"
	}
	return "\n"
}

// closed reports whether the last line has an end. An empty text counts as one that does.
func (d *document) closed() bool { return len(d.ends) == 0 || d.ends[len(d.ends)-1] != "" }

// A splice puts lines in the place of the lines [from, to). Of a line that is kept, keep holds its index in the
// document, of a new one -1.
type splice struct {
	from, to int
	lines    []string
	keep     []int
}

// apply carries out splices, which are in order and apart from one another.
func (d *document) apply(splices []splice) *document {
	out := &document{mark: d.mark}
	end, at := d.end(), 0
	for _, s := range splices {
		out.lines, out.ends = append(out.lines, d.lines[at:s.from]...), append(out.ends, d.ends[at:s.from]...)
		for i, l := range s.lines {
			out.lines = append(out.lines, l)
			if k := s.keep[i]; k >= 0 {
				out.ends = append(out.ends, d.ends[k])
			} else {
				out.ends = append(out.ends, end)
			}
		}
		at = s.to
	}
	out.lines, out.ends = append(out.lines, d.lines[at:]...), append(out.ends, d.ends[at:]...)
	for i := range out.ends {
		switch last := i == len(out.ends)-1; {
		case !last && out.ends[i] == "":
			out.ends[i] = end
		case last && !d.closed():
			out.ends[i] = ""
		case last && out.ends[i] == "":
			out.ends[i] = end
		}
	}
	return out
}

// isText reports whether content is text that can be edited without damage: UTF-8 without zero bytes.
func isText(content []byte) bool {
	return utf8.Valid(content) && !strings.Contains(string(content), "\x00")
}
