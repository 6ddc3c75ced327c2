package policy

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wield/chat"
)

// The parser and the shells do not agree about every backslash before a newline. What stands here finds those places,
// and has the line judged as the shells read it.

// lineEnds judges a command line once more where shells end or join lines that the parser does not.
func (e *eval) lineEnds(text string, file *syntax.File, as syntax.LangVariant, sc scope, from int) {
	if !strings.Contains(text, "\\\n") {
		return
	}
	lines, why := strings.SplitAfter(text, "\n"), ""
	ends := endsInName
	if strings.Contains(text, "`") { // where \$ is a $ of what stands between
		ends = endsInSign
	}
	within, at := places(text, file), 0
	for i, line := range lines {
		start := at
		at += len(line)
		cut, goesOn := strings.CutSuffix(line, "\\\n")
		if !goesOn {
			continue
		}
		comment := false
		for n := range cut {
			comment = comment || cut[n] == '#' && within[start+n] == placeOther
		}
		switch {
		case comment:
			why, lines[i] = "a backslash at the end of a comment: shells run the next line", cut+" \n"
		case within[at-2] != placeQuoted && ends.MatchString(cut) && i+1 < len(lines) &&
			(strings.HasSuffix(cut, "$") && !blankFirst.MatchString(lines[i+1]) || nameFirst.MatchString(lines[i+1])):
			why, lines[i] = "an expansion that goes on in the next line", cut
		}
	}
	if why != "" {
		e.builtin(chat.DecisionAsk, SubjectCommand, text, "", "undecidable", why, nil)
		e.again(strings.Join(lines, ""), as, sc, from)
	}
}

// endsInName matches a line that ends in the sign of an expansion, or in the name behind it, and endsInSign one where a
// backslash before the sign changes nothing.
var (
	endsInName = lazily(`(^|[^\\])(\\\\)*\$\w*$`)
	endsInSign = lazily(`\$\w*$`)
	blankFirst = lazily(`^[ \t\n]`)
	nameFirst  = lazily(`^(\w|\\\n)`)
)

// commentEnds matches a line that may end in a comment with a backslash at its end.
var commentEnds = lazily(`(^|[\s;&|()])#.*\\\n$`)

// readAs reads a command line and returns it as it was read. Shells end a comment with its line, and the parser takes a
// backslash there for one that joins the next: where the parser itself says that a comment ends so, that is left out.
func (e *eval) readAs(text string, as syntax.LangVariant) (file *syntax.File, read string, err error) {
	lines, cut := strings.SplitAfter(text, "\n"), map[int]bool{}
	for i, line := range lines {
		if commentEnds.MatchString(line) {
			cut[i] = true
		}
	}
	for tries := 0; len(cut) > 0 && tries < 3; tries++ {
		without := slices.Clone(lines)
		for i := range cut {
			without[i] = strings.TrimSuffix(lines[i], "\\\n") + " \n"
		}
		read = strings.Join(without, "")
		if file, err = e.parse(read, as); err != nil {
			break
		}
		found := map[int]bool{}
		for _, i := range comments(file) {
			found[i] = strings.HasSuffix(lines[i], "\\\n")
		}
		maps.DeleteFunc(found, func(_ int, ends bool) bool { return !ends })
		if maps.Equal(cut, found) {
			return file, read, nil
		}
		cut = found
	}
	file, err = e.parse(text, as)
	return file, text, err
}

// comments lists the lines that end in a comment for every shell. In what stands in an expansion or a here-document,
// some shells take the backslash out first.
func comments(file *syntax.File) (lines []int) {
	texts := map[*syntax.Word]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			lines = append(lines, int(n.Hash.Line())-1)
		case *syntax.Redirect:
			texts[n.Hdoc] = true
		case *syntax.Word:
			return !texts[n]
		case *syntax.CmdSubst:
			return !n.Backquotes
		case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.TestClause:
			return false
		}
		return true
	})
	return lines
}

// A place says what a byte of a command line belongs to.
type place byte

const (
	placeOther  place = iota // a # here may begin a comment
	placeText                // a word
	placeQuoted              // a text in which a backslash is nothing but that
)

// places finds the texts of a command line.
func places(text string, file *syntax.File) []place {
	found := make([]place, len(text))
	paint := func(from, to uint, p place) {
		for i := from; i < min(to, uint(len(found))); i++ {
			if found[i] == placeOther {
				found[i] = p
			}
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Hdoc != nil && quotes.MatchString(text[n.Word.Pos().Offset():n.Word.End().Offset()]) {
				paint(n.Hdoc.Pos().Offset(), n.Hdoc.End().Offset(), placeQuoted)
			}
		case *syntax.SglQuoted:
			paint(n.Pos().Offset(), n.End().Offset(), placeQuoted)
		case *syntax.Lit:
			paint(n.Pos().Offset(), n.End().Offset(), placeText)
		case *syntax.ParamExp: // ${#a}, ${a#b}, ${a##b}
			if n.Length && n.Param != nil {
				paint(n.Pos().Offset(), n.Param.Pos().Offset(), placeText)
			}
			if n.Exp != nil && n.Exp.Word != nil {
				paint(n.Exp.Word.Pos().Offset()-2, n.Exp.Word.Pos().Offset(), placeText)
			}
		}
		return true
	})
	return found
}

// quotes finds what makes the text of a here-document a literal one, if its delimiter holds it.
var quotes = lazily(`['"\\]`)

// hereEnd asks about a here-document that a shell may end before the parser does: at a delimiter that is cut by a
// backslash and a newline, or that ends a substitution as well.
func (e *eval) hereEnd(r *syntax.Redirect) {
	from, to := r.Hdoc.Pos().Offset(), r.Hdoc.End().Offset()
	if from > to || to > uint(len(e.source)) {
		return
	}
	closes := ""
	if before := e.source[:r.Pos().Offset()]; strings.ContainsAny(before, "(`") || strings.Contains(before, "${") {
		closes = ")}`"
	}
	word, body := e.sourceOf(r.Word), e.source[from:to]
	body = body[:strings.LastIndexByte(body, '\n')+1] // the delimiter follows
	joined := strings.ReplaceAll(body, "\\\n", "")
	if quotes.MatchString(word) {
		joined = ""
	}
	delimiter := quotes.regexp().ReplaceAllString(word, "")
	ends := func(line string) bool {
		if r.Op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		rest, ok := strings.CutPrefix(line, delimiter)
		return ok && line != "" && (rest == "" || strings.ContainsAny(rest[:1], closes))
	}
	if slices.ContainsFunc(strings.Split(body, "\n"), ends) || slices.ContainsFunc(strings.Split(joined, "\n"), ends) {
		e.undecidable(r, "some shells end the here-document before others do")
	}
}
