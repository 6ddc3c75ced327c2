package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A FailureReason says why an operation cannot be carried out. It is itself an error, so that errors.Is(err,
// edit.NotFound) works.
type FailureReason string

// The reasons.
const (
	NotFound  FailureReason = "not_found" // no rule finds the search text
	Ambiguous FailureReason = "ambiguous" // it stands in several places
	NoScope   FailureReason = "no_scope"  // a line that must stand before the place is not there
	Empty     FailureReason = "empty"     // there is no search text, and the file is not empty
	Already   FailureReason = "already"   // the text that should come is there
	NoFile    FailureReason = "no_file"   // the file is not there
	Exists    FailureReason = "exists"    // the file is there already
	NotText   FailureReason = "not_text"  // the file is no UTF-8 text
	Stale     FailureReason = "stale"     // the file is not what it was when the edit was made ready
	Unusable  FailureReason = "unusable"  // the path cannot be used, or the file not read
)

// Error returns the reason's name.
func (r FailureReason) Error() string { return string(r) }

// A Failure is an operation, or a hunk of one, that cannot be carried out.
type Failure struct {
	Reason FailureReason
	Path   string
	Line   int    // where it stands in the text of the edit, from 1; 0: in none
	Lines  []int  // of the file: the places it could mean
	Near   string // the lines of the file that come closest, numbered; > marks the first that differs
	Hint   string // what to do
	Err    error  // of the file system
}

// Error tells the model what is there and what to do.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(f.Path + ": ")
	if f.Line > 0 {
		fmt.Fprintf(&b, "the edit on line %d of your text: ", f.Line)
	}
	b.WriteString(messages[f.Reason])
	if f.Err != nil {
		b.WriteString(": " + f.Err.Error())
	}
	if len(f.Lines) > 0 {
		b.WriteString(fmt.Sprintf(" (%d times: on the lines ", len(f.Lines)))
		for i, n := range f.Lines {
			if i == 10 {
				b.WriteString(" ...")
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(itoa(n))
		}
		b.WriteString(")")
	}
	b.WriteString(".")
	if f.Hint != "" {
		b.WriteString(" " + f.Hint)
	}
	if f.Near != "" {
		b.WriteString("\nThe closest lines of the file are:\n" + f.Near)
	}
	return b.String()
}

// Unwrap lets errors.Is see the reason and the cause.
func (f *Failure) Unwrap() []error {
	if f.Err != nil {
		return []error{f.Reason, f.Err}
	}
	return []error{f.Reason}
}

var messages = map[FailureReason]string{
	NotFound:  "search text not found",
	Ambiguous: "search text found several times (ambiguous)",
	NoScope:   "a line that must stand before the change is not in the file",
	Empty:     "there is no search text, and the file is not empty",
	Already: "search text not found, but the text that should replace it is in the file: this edit seems to be " +
		"applied already",
	NoFile:   "there is no such file",
	Exists:   "the file exists already",
	NotText:  "the file is not UTF-8 text and cannot be edited",
	Stale:    "the file has changed since it was read",
	Unusable: "the file cannot be used",
}

// Failures are all failures of a list of operations. None of the operations was carried out.
type Failures struct {
	List []*Failure
	Good int // hunks and operations that would have worked
}

// Error tells all of them.
func (f *Failures) Error() string {
	var b strings.Builder
	for i, one := range f.List {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(one.Error())
	}
	if f.Good > 0 {
		fmt.Fprintf(&b, "\nNothing was written. %s would have worked; send all edits again.",
			counted(f.Good, "other edit"))
	}
	return b.String()
}

// Unwrap lets errors.Is and errors.As see each failure.
func (f *Failures) Unwrap() []error {
	errs := make([]error, len(f.List))
	for i, one := range f.List {
		errs[i] = one
	}
	return errs
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return itoa(n) + " " + what
}

// around counts the lines shown before and behind the closest ones.
const around = 2

// mostShown bounds the lines of a closest place that are shown.
const mostShown = 40

// explain makes a failure of a miss.
func (d *document) explain(path string, h *Hunk, m *miss) *Failure {
	f := &Failure{Reason: m.reason, Path: path, Line: h.Line, Lines: m.places}
	switch m.reason {
	case Ambiguous:
		f.Hint = "Give more of the lines around it, so that it stands in one place only."
	case Empty:
		f.Hint = "Give the lines that the new ones stand next to."
	case NoScope:
		f.Hint = "Copy the line behind @@ from the file."
	case NotFound:
		if h.adds() && d.has(h.replace()) {
			f.Reason = Already
			return f
		}
		f.Hint = d.unknownLine(h)
		f.Near = d.near(h)
	}
	return f
}

// adds reports whether a hunk brings lines. The text that one leaves which only takes lines away says nothing: it
// stands in the file before as well.
func (h *Hunk) adds() bool {
	return slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Kind == Add && strings.TrimSpace(l.Text) != "" })
}

// has reports whether lines stand in the document one behind the other.
func (d *document) has(lines []string) bool {
	return len(whereLines(equalButTrailing)(d, &Hunk{Lines: kept(lines)})) > 0
}

func kept(lines []string) []Line {
	all := make([]Line, len(lines))
	for i, l := range lines {
		all[i] = Line{Keep, l}
	}
	return all
}

// unknownLine names the first line of the search text that stands nowhere in the file.
func (d *document) unknownLine(h *Hunk) string {
	there := make(map[string]bool, len(d.lines))
	for _, l := range d.lines {
		there[strings.TrimSpace(l)] = true
	}
	for i, l := range h.search() {
		if t := strings.TrimSpace(l); t != "" && !there[t] {
			return fmt.Sprintf("Line %d of the search text stands nowhere in the file: %s", i+1, shorten(t))
		}
	}
	return "All lines of the search text are in the file, but not one behind the other."
}

func shorten(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// near shows the place of the file that shares most lines with the search text. It is shown and nothing else: nothing
// is ever put where a text is only similar.
func (d *document) near(h *Hunk) string {
	search := h.search()
	at := map[string][]int{}
	for k, l := range search {
		if t := strings.TrimSpace(l); t != "" {
			at[t] = append(at[t], k)
		}
	}
	votes := map[int]int{} // by the line of the file where the search text would begin
	best, most := 0, 0
	for i, l := range d.lines {
		t := strings.TrimSpace(l)
		weight := 1 + min(len(t), 20) // a brace says little
		for _, k := range at[t] {
			votes[i-k] += weight
			if v := votes[i-k]; v > most || v == most && i-k < best {
				best, most = i-k, v
			}
		}
	}
	if most == 0 {
		if best, most = d.alike(search); most == 0 {
			return ""
		}
	}
	first := -1
	for k, l := range search {
		if i := best + k; i < 0 || i >= len(d.lines) || d.lines[i] != l {
			first = i
			break
		}
	}
	return d.numbered(max(best-around, 0), min(best+len(search)+around, best+mostShown, len(d.lines)), first)
}

// Bounds of the search for words: how long a word is that tells anything, and in how many lines it is looked for.
const (
	tellingWord = 3
	wordLines   = 64
)

// alike returns where the search text would begin for most of its words to stand in the lines that it has them in. It
// is for showing alone, when not even one line of the text is in the file.
func (d *document) alike(search []string) (best, most int) {
	at := map[string][]int{}
	for i, l := range d.lines {
		for _, w := range words(l) {
			if n := len(at[w]); n < wordLines && (n == 0 || at[w][n-1] != i) {
				at[w] = append(at[w], i)
			}
		}
	}
	votes := map[int]int{}
	for k, l := range search {
		for _, w := range words(l) {
			for _, i := range at[w] {
				votes[i-k] += len(w)
				if v := votes[i-k]; v > most || v == most && i-k < best {
					best, most = i-k, v
				}
			}
		}
	}
	return best, most
}

func words(l string) []string {
	all := strings.FieldsFunc(strings.ToLower(l),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return slices.DeleteFunc(all, func(w string) bool { return len(w) < tellingWord })
}

// numbered returns the lines [from, to), counted from 0, with their numbers, counted from 1; > stands before the line
// mark.
func (d *document) numbered(from, to, mark int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		sign := " "
		if i == mark {
			sign = ">"
		}
		fmt.Fprintf(&b, "%s%5d| %s\n", sign, i+1, d.lines[i])
	}
	return strings.TrimSuffix(b.String(), "\n")
}
