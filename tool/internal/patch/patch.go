package patch

import (
	"strconv"
	"strings"
)

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	endOfFile  = "*** End of File"
	moveTo     = "*** Move to: "
)

// patchSections are the lines that begin the section of a file.
var patchSections = []struct {
	mark string
	kind Kind
}{
	{"*** Add File: ", Create},
	{"*** Delete File: ", Delete},
	{"*** Update File: ", Update},
}

// section returns what a line of a patch begins.
func section(l string) (kind Kind, path string, ok bool) {
	for _, s := range patchSections {
		if path, ok := strings.CutPrefix(l, s.mark); ok {
			return s.kind, strings.TrimSpace(path), true
		}
	}
	return "", "", false
}

// parsePatch reads SyntaxPatch.
func parsePatch(text string) ([]Op, error) {
	r := patchReader{lines: splitLines(text)}
	for r.i < len(r.lines) && strings.TrimSpace(r.lines[r.i]) != beginPatch {
		r.i++
	}
	if r.i == len(r.lines) {
		return nil, r.fail("the patch has no line " + beginPatch)
	}
	r.i++
	for {
		if r.i >= len(r.lines) {
			return nil, r.fail("the patch has no line " + endPatch)
		}
		l := r.lines[r.i]
		if strings.TrimSpace(l) == endPatch {
			break
		}
		if strings.TrimSpace(l) == "" {
			r.i++
			continue
		}
		kind, path, ok := section(l)
		switch {
		case !ok:
			return nil, r.fail("a section must begin with *** Add File: , *** Update File: or *** Delete File: ")
		case path == "":
			return nil, r.fail("the section names no file")
		}
		op := Op{Kind: kind, Path: path, Line: r.i + 1, Ordered: kind == Update}
		r.i++
		if err := r.section(&op); err != nil {
			return nil, err
		}
		r.ops = append(r.ops, op)
	}
	if len(r.ops) == 0 {
		return nil, r.fail("the patch is empty")
	}
	return r.ops, nil
}

// A patchReader reads a patch line by line.
type patchReader struct {
	lines []string
	i     int
	ops   []Op
}

func (r *patchReader) fail(msg string) error {
	return &SyntaxError{SyntaxPatch, min(r.i+1, max(len(r.lines), 1)), msg}
}

// more reports whether the next line belongs to the section.
func (r *patchReader) more() bool {
	if r.i >= len(r.lines) {
		return false
	}
	l := r.lines[r.i]
	_, _, begins := section(l)
	return !begins && strings.TrimSpace(l) != endPatch
}

func (r *patchReader) section(op *Op) error {
	switch op.Kind {
	case Delete:
		return nil
	case Create:
		return r.added(op)
	}
	if r.more() {
		if to, ok := strings.CutPrefix(r.lines[r.i], moveTo); ok {
			op.To = strings.TrimSpace(to)
			r.i++
		}
	}
	for r.more() {
		h, err := r.hunk()
		if err != nil {
			return err
		}
		if len(h.Lines) > 0 {
			op.Hunks = append(op.Hunks, h)
		}
	}
	if len(op.Hunks) == 0 && op.To == "" {
		return r.fail("the section of " + op.Path + " changes nothing")
	}
	return nil
}

// added reads the content of a new file.
func (r *patchReader) added(op *Op) error {
	op.New = true
	var content []string
	for ; r.more(); r.i++ {
		l, ok := strings.CutPrefix(r.lines[r.i], "+")
		if !ok {
			if strings.TrimSpace(r.lines[r.i]) == "" {
				continue // between two sections
			}
			return r.fail("every line of a new file begins with +")
		}
		content = append(content, l)
	}
	op.Content = joinLines(content)
	return nil
}

// hunk reads lines that begin with a blank, - or +, and before them any number of lines "@@ scope".
func (r *patchReader) hunk() (Hunk, error) {
	h := Hunk{Line: r.i + 1}
	for r.more() && strings.HasPrefix(r.lines[r.i], "@@") {
		if scope := strings.TrimSpace(strings.Trim(strings.TrimSpace(r.lines[r.i]), "@")); scope != "" {
			h.Scope = append(h.Scope, scope)
		}
		r.i++
	}
	for ; r.more() && !strings.HasPrefix(r.lines[r.i], "@@"); r.i++ {
		l := r.lines[r.i]
		switch {
		case strings.TrimSpace(l) == endOfFile:
			h.AtEnd = true
			r.i++
			return h, nil
		case l == "": // a blank line whose blank was lost
			h.Lines = append(h.Lines, Line{Keep, ""})
		case l[0] == ' ' || l[0] == '-' || l[0] == '+':
			h.Lines = append(h.Lines, Line{LineKind(l[0]), l[1:]})
		default:
			return h, r.fail("every line of a change begins with a blank, - or +")
		}
	}
	h.trimBlank()
	return h, nil
}

// trimBlank removes blank context lines at the end that only part one section from the next.
func (h *Hunk) trimBlank() {
	for n := len(h.Lines); n > 0 && h.Lines[n-1] == (Line{Keep, ""}); n-- {
		h.Lines = h.Lines[:n-1]
	}
}

// parseUnified reads SyntaxUnified. How many lines a hunk has is seen from the lines themselves.
func parseUnified(text string) ([]Op, error) {
	lines := splitLines(text)
	fail := func(i int, msg string) error { return &SyntaxError{SyntaxUnified, min(i+1, max(1, len(lines))), msg} }
	var ops []Op
	var op *Op
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ") {
			made, err := unifiedOp(l, lines[i+1], i+1)
			if err != nil {
				return nil, err
			}
			ops = append(ops, made)
			op = &ops[len(ops)-1]
			i++
			continue
		}
		if !strings.HasPrefix(l, "@@") {
			continue // git's lines about modes and indexes, and text
		}
		if op == nil {
			return nil, fail(i, "a hunk stands before the lines --- and +++ that name its file")
		}
		h, end := unifiedHunk(lines, i)
		if len(h.Lines) == 0 {
			return nil, fail(i, "the hunk is empty")
		}
		i = end - 1
		if op.Kind == Create {
			op.Content += joinLines(h.replace())
			if end > 0 && strings.HasPrefix(lines[end-1], `\`) {
				op.Content = strings.TrimSuffix(op.Content, "\n")
			}
		} else if op.Kind == Update {
			op.Hunks = append(op.Hunks, h)
		}
	}
	for _, op := range ops {
		if op.Kind == Update && len(op.Hunks) == 0 && op.To == "" {
			return nil, fail(op.Line-1, "there is no hunk for "+op.Path)
		}
	}
	if len(ops) == 0 {
		return nil, fail(0, "the diff has no lines --- and +++")
	}
	return ops, nil
}

// unifiedOp makes the operation that the two lines with names mean.
func unifiedOp(from, to string, line int) (Op, error) {
	old, new := unifiedName(from, "a/"), unifiedName(to, "b/")
	op := Op{Kind: Update, Path: old, Line: line, Ordered: true}
	switch {
	case old == "" && new == "":
		return op, &SyntaxError{SyntaxUnified, line, "the lines --- and +++ name no file"}
	case old == "":
		op.Kind, op.Path, op.New = Create, new, true
	case new == "":
		op.Kind = Delete
	case old != new:
		op.To = new
	}
	return op, nil
}

// unifiedName returns the path in a line --- or +++; "" is /dev/null.
func unifiedName(l, prefix string) string {
	name, _, _ := strings.Cut(l[4:], "\t")
	name = unquotePath(strings.TrimSpace(name))
	if name == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(name, prefix)
}

// unifiedHunk reads the hunk whose line @@ is lines[i], and returns the line behind it.
func unifiedHunk(lines []string, i int) (Hunk, int) {
	h := Hunk{Line: i + 1}
	k := i + 1
	for ; k < len(lines); k++ {
		l := lines[k]
		switch {
		case l == "":
			h.Lines = append(h.Lines, Line{Keep, ""})
		case strings.HasPrefix(l, `\`): // \ No newline at end of file
		case strings.HasPrefix(l, "--- ") && k+1 < len(lines) && strings.HasPrefix(lines[k+1], "+++ "):
			h.trimBlank()
			return h, k
		case l[0] == ' ' || l[0] == '-' || l[0] == '+':
			h.Lines = append(h.Lines, Line{LineKind(l[0]), l[1:]})
		default:
			h.trimBlank()
			return h, k
		}
	}
	h.trimBlank()
	return h, k
}

func itoa(n int) string { return strconv.Itoa(n) }
