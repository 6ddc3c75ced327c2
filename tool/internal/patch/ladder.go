package patch

import (
	"slices"
	"strings"

	"wield/tool/edit"
)

// The steps, from strict to lenient.
const (
	stepExact    edit.Step = "exact"
	stepLineEnds edit.Step = "line ends"         // the file has other line ends, or a byte order mark
	stepInline   edit.Step = "within a line"     // the text is part of a line
	stepTrailing edit.Step = "trailing blanks"   // blanks at the end of lines differ
	stepIndent   edit.Step = "indentation"       // all lines are shifted alike, or indented with another unit
	stepUnicode  edit.Step = "typographic signs" // quotes, dashes and blanks of another kind
	stepEscapes  edit.Step = "escapes"           // the text was escaped once too often, or not
	stepNumbers  edit.Step = "line numbers"      // the text was copied with line numbers
	stepFence    edit.Step = "code fence"        // the text was copied with the fence around it
	stepElided   edit.Step = "lines left out"    // the text has ... in the place of lines
	stepInsert   edit.Step = "insertion"         // there is nothing to find: the lines are added
	stepWhole    edit.Step = "whole file"        // the file is written as a whole
)

// A placement tells where a hunk goes.
type placement struct {
	step    edit.Step
	splices []splice
}

// A miss says why a hunk has no place.
type miss struct {
	reason FailureReason
	places []int // lines where it could go, from 1
}

// A finder looks for a hunk. It returns all places there are; of several none is taken.
type finder struct {
	step edit.Step
	find func(d *document, h *Hunk) []hunkFit
}

// A hunkFit is a place where a hunk fits: the line where it begins, and its splices.
type hunkFit struct {
	line    int
	splices []splice
}

// ladder holds the rules in their order.
var ladder = []finder{
	{stepExact, whereLines(equal)},
	{stepInline, within},
	{stepTrailing, whereLines(equalButTrailing)},
	{stepIndent, shifted},
	{stepUnicode, whereLines(equalButSigns)},
	{stepEscapes, rewritten(unescape, unescapeHTML, escapeHTML)},
	{stepNumbers, rewritten(withoutNumbers)},
	{stepFence, rewritten(withoutFence)},
	{stepElided, elided},
}

// place finds the one place of a hunk at or behind the line from, if the hunks of its operation are in order, and in
// the whole file otherwise.
func (d *document) place(h *Hunk, ordered bool, from int) (placement, *miss) {
	if len(h.search()) == 0 {
		return d.insert(h, from)
	}
	scope, ok := d.scope(h.Scope, from)
	if !ok {
		return placement{}, &miss{reason: NoScope}
	}
	for _, r := range ladder {
		places := r.find(d, h)
		if h.AtEnd {
			places = slices.DeleteFunc(places, func(f hunkFit) bool {
				return f.splices[len(f.splices)-1].to != len(d.lines)
			})
		}
		if len(h.Scope) > 0 {
			places = slices.DeleteFunc(places, func(f hunkFit) bool { return f.line < scope })
			places = places[:min(1, len(places))] // the first behind its scope is what is meant
		}
		if ordered && len(places) > 1 {
			if later := slices.DeleteFunc(slices.Clone(places), func(f hunkFit) bool { return f.line < from }); len(
				later) > 0 {
				places = later
			}
		}
		switch {
		case len(places) > 1:
			m := &miss{reason: Ambiguous}
			for _, f := range places {
				m.places = append(m.places, f.line+1)
			}
			return placement{}, m
		case len(places) == 1:
			p := placement{step: r.step, splices: places[0].splices}
			if p.step == stepExact && d.otherEnds(p.splices) {
				p.step = stepLineEnds
			}
			return p, nil
		}
	}
	return placement{}, &miss{reason: NotFound}
}

// otherEnds reports whether the lines of splices end in CR LF, or begin behind a byte order mark.
func (d *document) otherEnds(splices []splice) bool {
	for _, s := range splices {
		if s.from == 0 && s.to > 0 && d.mark || slices.Contains(d.ends[s.from:s.to], "\r\n") {
			return true
		}
	}
	return false
}

// scope returns the line behind the lines that must stand before a hunk.
func (d *document) scope(lines []string, from int) (int, bool) {
	for _, want := range lines {
		i := slices.IndexFunc(d.lines[from:], func(l string) bool { return strings.TrimSpace(l) == want })
		if i < 0 {
			i = slices.IndexFunc(d.lines[from:], func(l string) bool { return strings.Contains(l, want) })
		}
		if i < 0 {
			return 0, false
		}
		from += i + 1
	}
	return from, true
}

// insert places a hunk that names no line of the file: behind its scope, at the end if it says so, or into an empty
// file.
func (d *document) insert(h *Hunk, from int) (placement, *miss) {
	at := len(d.lines)
	switch {
	case len(h.Scope) > 0:
		line, ok := d.scope(h.Scope, from)
		if !ok {
			return placement{}, &miss{reason: NoScope}
		}
		at = line
	case h.AtEnd, len(d.lines) == 0:
	default:
		return placement{}, &miss{reason: Empty}
	}
	lines := h.replace()
	return placement{stepInsert, []splice{{from: at, to: at, lines: lines, keep: fresh(len(lines))}}}, nil
}

// fresh returns the keep of n lines that are all new.
func fresh(n int) []int { return slices.Repeat([]int{-1}, n) }

// at makes the splice of a hunk whose search text begins on the line from. Lines that stay keep the file's bytes;
// what comes goes through fit, which reports whether it can.
func (h *Hunk) at(d *document, from int, fit func(string) (string, bool)) (splice, bool) {
	s := splice{from: from, to: from}
	for _, l := range h.Lines {
		switch l.Kind {
		case Keep:
			s.lines, s.keep = append(s.lines, d.lines[s.to]), append(s.keep, s.to)
			s.to++
		case Remove:
			s.to++
		case Add:
			text := l.Text
			if fit != nil {
				var ok bool
				if text, ok = fit(text); !ok {
					return s, false
				}
			}
			s.lines, s.keep = append(s.lines, text), append(s.keep, -1)
		}
	}
	return s, true
}

// whereLines returns a rule that compares line by line.
func whereLines(same func(file, want string) bool) func(*document, *Hunk) []hunkFit {
	return func(d *document, h *Hunk) []hunkFit {
		want := h.search()
		var all []hunkFit
		for i := 0; i+len(want) <= len(d.lines); i++ {
			if slices.EqualFunc(d.lines[i:i+len(want)], want, same) {
				s, _ := h.at(d, i, nil)
				all = append(all, hunkFit{i, []splice{s}})
			}
		}
		return all
	}
}

func equal(file, want string) bool { return file == want }

func equalButTrailing(file, want string) bool {
	return strings.TrimRight(file, " \t\r") == strings.TrimRight(want, " \t\r")
}

func equalButSigns(file, want string) bool {
	return strings.TrimRight(plainSigns.Replace(file), " \t") == strings.TrimRight(plainSigns.Replace(want), " \t")
}

// plainSigns makes typographic signs those of a keyboard.
var plainSigns = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "′", "'", "“", `"`, "”", `"`, "„", `"`, "‟", `"`, "″", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-", "…", "...",
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2007", " ", "\u2009", " ", "\u200a", " ", "\u202f", " ", "\u3000",
	" ", "\u200b", "", "\ufeff", "")

// within finds a text that is part of a line, or of several.
func within(d *document, h *Hunk) []hunkFit {
	search := strings.Join(h.search(), "\n")
	if !h.Inline || strings.TrimSpace(search) == "" {
		return nil
	}
	places := d.inline(search, strings.Join(h.replace(), "\n"))
	if len(places) == 1 && len(h.replace()) > 1 && d.allOf(places[0].splices[0], search) && len(shifted(d, h)) == 1 {
		return nil // a line without what it is indented by: those that come are to be indented like it
	}
	return places
}

// allOf reports whether a text is all of the lines of a splice but for blanks around it.
func (d *document) allOf(s splice, text string) bool {
	return strings.TrimSpace(strings.Join(d.lines[s.from:s.to], "\n")) == strings.TrimSpace(text)
}

// inline finds every place where old stands, and puts with there.
func (d *document) inline(old, with string) []hunkFit {
	whole := strings.Join(d.lines, "\n")
	var all []hunkFit
	line, lineAt := 0, 0 // the line that holds offset at, and where it begins
	for at := 0; ; {
		i := strings.Index(whole[at:], old)
		if i < 0 {
			return all
		}
		i += at
		for lineAt+len(d.lines[line]) < i {
			lineAt += len(d.lines[line]) + 1
			line++
		}
		last := line + strings.Count(old, "\n")
		to := lineAt
		for k := line; k <= last; k++ {
			to += len(d.lines[k]) + 1
		}
		text := whole[lineAt:i] + with + whole[i+len(old):to-1]
		lines := strings.Split(text, "\n")
		all = append(all,
			hunkFit{line,
				[]splice{{from: line, to: last + 1, lines: lines, keep: d.keepEnds(line, last+1, len(lines))}}})
		at = i + len(old)
	}
}

// keepEnds returns the keep of n lines in the place of [from, to): the line ends go with the lines as far as they last.
func (d *document) keepEnds(from, to, n int) []int {
	keep := fresh(n)
	for i := range min(n, to-from) {
		keep[i] = from + i
	}
	return keep
}
