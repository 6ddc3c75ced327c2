package patch

import (
	"slices"
	"strings"
)

// A Part of a text of edits can be refused without the rest: a group or a hunk, or all that becomes of a file.
type Part struct {
	Op   Op  // what it does, if it stands alone
	Line int // where it begins in the text, from 1

	at lineRange
	// all that is about its file, which goes with its last part; of groups, which need no section, their own lines
	section lineRange
	op      int // which operation of the text it belongs to
}

// A lineRange is the lines [from, to) of a text, from 0.
type lineRange struct{ from, to int }

// Parts returns the parts of a text, in its order. A text that is read by nobody has an error.
func Parts(text string) ([]Part, error) {
	ops, err := Parse(text)
	if err != nil {
		return nil, err
	}
	lines := splitLines(text)
	syntax := Detect(text)
	var all []Part
	for k := range ops {
		op := &ops[k]
		from, to := op.Line-1, len(lines)
		if k+1 < len(ops) {
			to = ops[k+1].Line - 1
		}
		if syntax == SyntaxPatch {
			to = min(to, lastLine(lines, endPatch))
		}
		parts := hunkParts(op, to)
		if parts == nil {
			parts = []Part{{Op: *op, Line: op.Line, at: lineRange{from, to}}}
		}
		for i := range parts {
			p := &parts[i]
			p.op, p.section = k, lineRange{from, to}
			if syntax == SyntaxBlocks || syntax == SyntaxAider {
				p.at.to = groupEnd(syntax, lines, p.at)
				p.section = p.at
			}
		}
		all = append(all, parts...)
	}
	return all, nil
}

// hunkParts returns the hunks of an operation that can stand alone, which ends before the line to; nil: it is one part.
func hunkParts(op *Op, to int) []Part {
	if op.Kind != Update || op.To != "" {
		return nil
	}
	var parts []Part
	for i, h := range op.Hunks {
		one := *op
		one.Hunks = op.Hunks[i : i+1]
		p := Part{Op: one, Line: h.Line, at: lineRange{h.Line - 1, to}}
		if i+1 < len(op.Hunks) {
			p.at.to = op.Hunks[i+1].Line - 1
		}
		parts = append(parts, p)
	}
	return parts
}

// groupEnd returns the line behind the group that the lines at begin with.
func groupEnd(syntax Syntax, lines []string, at lineRange) int {
	if g, err := readGroup(syntax, lines, at.from); err == nil {
		return g.end
	}
	return at.to // not reached: the text was read
}

// lastLine returns the number of the last line that says just this.
func lastLine(lines []string, text string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) == text {
			return i
		}
	}
	return len(lines)
}

// Without returns the text without some of its parts, given by their index. Where nothing of it is left it returns "".
func Without(text string, parts []Part, refused []int) string {
	keep := map[int]int{} // by operation: parts that stay
	for i, p := range parts {
		if !slices.Contains(refused, i) {
			keep[p.op]++
		}
	}
	if len(keep) == 0 {
		return ""
	}
	lines := strings.SplitAfter(text, "\n")
	gone := make([]bool, len(lines))
	for _, i := range refused {
		at := parts[i].at
		if keep[parts[i].op] == 0 {
			at = parts[i].section
		}
		for k := at.from; k < min(at.to, len(gone)); k++ {
			gone[k] = true
		}
	}
	var out strings.Builder
	for k, l := range lines {
		if !gone[k] {
			out.WriteString(l)
		}
	}
	return out.String()
}
