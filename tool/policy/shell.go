package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wield/chat"
)

const (
	maxShell = 64 << 10  // bytes of one command line
	maxRead  = 512 << 10 // bytes of all that a call is read as: each command line in another one is read several times
	maxDepth = 8         // command lines in command lines
	maxWords = 4096      // of one command, after braces
	maxDirs  = 4         // directories that a command may run in, as far as is known
	maxWork  = 20000     // words that are judged in one call, with the names that patterns stand for
)

// affords counts work before it is done: in words, or what takes as long. Beyond the limit of the call it asks, and
// nothing more is judged.
func (e *eval) affords(work int, text, node string) bool {
	if e.work += work; e.work <= maxWork {
		return true
	}
	if n := len(e.findings); n == 0 || e.findings[n-1].Why != errTooMuch {
		e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "limit", errTooMuch, nil)
	}
	return false
}

const errTooMuch = "the command line has too many commands, turns of loops or names of files to judge them all"

// A scope holds what is known of where a command runs.
type scope struct {
	dirs []string // that it may run in; nil: not known
}

// shell judges a command line.
func (e *eval) shell(text string, sc scope) {
	e.depth++
	e.lines++
	outer, vars, sets := e.source, e.vars, len(e.sets)
	e.source, e.vars = text, nil // a shell of its own has none of the variables
	defer func() { e.depth--; e.lines--; e.source, e.vars, e.sets = outer, vars, e.sets[:sets] }()
	refuse := func(d chat.Decision, check, why string) {
		e.builtin(d, SubjectCommand, text, "", check, why, nil)
	}
	switch {
	case e.depth > maxDepth:
		refuse(chat.DecisionDeny, "limit", "too many command lines in command lines")
		return
	case len(text) > maxShell:
		refuse(chat.DecisionDeny, "limit", fmt.Sprintf("a command line of more than %d KiB", maxShell>>10))
		return
	case strings.Contains(text, "\x00"):
		refuse(chat.DecisionDeny, "characters", "a NUL byte, which no command can carry")
		return
	}
	if r, bad := oddCharacter(text); bad {
		refuse(chat.DecisionAsk, "characters", fmt.Sprintf("the character %U cannot be seen or changes how others "+
			"are seen", r))
	}
	file, read, err := e.readAs(text, syntax.LangBash)
	e.source = read
	if err != nil {
		refuse(e.p.unjudged(), "syntax", "the command line cannot be read: "+strings.TrimPrefix(err.Error(), ":"))
	} else if len(file.Stmts) == 0 {
		refuse(e.p.unjudged(), "syntax", "the command line is empty")
	}
	if file != nil { // a shell runs what stands before the place that it cannot read
		before := len(e.findings)
		e.stmts(file.Stmts, sc)
		switch silent := len(file.Stmts) > 0 && len(e.findings) == before; {
		case silent && onlySets(file):
			// it does no more, as nothing follows
			e.command([]field{{text: "true", known: true}}, sc, nodeName(file.Stmts[0]))
		case silent:
			refuse(e.p.unjudged(), "syntax", "there is nothing in the command line that could be judged")
		}
		e.lineEnds(read, file, syntax.LangBash, sc, before)
		if otherwise.MatchString(text) {
			e.posix(text, sc, before)
		}
	}
}

// onlySets reports whether a command line does nothing but set variables.
func onlySets(file *syntax.File) bool {
	return !slices.ContainsFunc(file.Stmts, func(s *syntax.Stmt) bool {
		_, declares := s.Cmd.(*syntax.DeclClause)
		call, _ := s.Cmd.(*syntax.CallExpr)
		return len(s.Redirs) > 0 || s.Negated || s.Background || s.Coprocess ||
			!declares && (call == nil || len(call.Args) > 0)
	})
}

// errTooLong says that a call has used up what may be read of it.
var errTooLong = errors.New("too many command lines in command lines to read them all")

// parse reads a command line, as far as the limit of the call allows it.
func (e *eval) parse(text string, as syntax.LangVariant) (*syntax.File, error) {
	if e.bytes+len(text) > maxRead {
		e.builtin(chat.DecisionAsk, SubjectCommand, text, "", "limit", errTooLong.Error(), nil)
		return nil, errTooLong
	}
	e.bytes += len(text)
	return readShell(text, as)
}

// maxNegations limits the superfluous ! of a command line that are left out.
const maxNegations = 16

// readShell reads a command line. Shells take several ! before a command, which the parser does not: all but the last
// are left out.
func readShell(text string, as syntax.LangVariant) (file *syntax.File, err error) {
	for range maxNegations {
		file, err = syntax.NewParser(syntax.Variant(as), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
		var wrong syntax.ParseError
		if !errors.As(err, &wrong) || wrong.Text != "cannot negate a command multiple times" {
			break
		}
		at := wrong.Pos.Offset()
		text = text[:at] + " " + text[at+1:]
	}
	return file, err
}

// otherwise finds what a plain POSIX shell, such as the /bin/sh of Debian, cuts into other commands than bash
// does: $'..' has no escapes there, and what stands in [[ ]], (( )) or $[ ] is commands and words like any
// other. See endsAt for &>.
var otherwise = lazily(`\$'|\[\[|\(\(|\$\[|\bfunction\b|\bcoproc\b|\bselect\b`)

// posix judges a command line once more, as a shell without the extensions of bash reads it: nobody knows
// which shell it will be. What cannot be read in that way was judged in the other one. What comes out as
// before is told once; from is where the findings of the first reading begin.
func (e *eval) posix(text string, sc scope, from int) {
	e.plainShell = true
	defer func() { e.plainShell = false }()
	if file, read := e.again(text, syntax.LangPOSIX, sc, from); file != nil {
		e.lineEnds(read, file, syntax.LangPOSIX, sc, from)
	}
}

// again judges another reading of a command line.
func (e *eval) again(text string, as syntax.LangVariant, sc scope, from int) (*syntax.File, string) {
	file, read, _ := e.readAs(text, as)
	if file == nil {
		return nil, ""
	}
	outer := e.source
	e.source, e.vars = read, nil
	defer func() { e.source = outer }()
	n := len(e.findings)
	e.stmts(file.Stmts, sc)
	e.findings = append(e.findings[:n], newOnes(e.findings[n:], e.findings[from:n])...)
	return file, read
}

// oddCharacter finds a character that is not shown as it is.
func oddCharacter(text string) (rune, bool) {
	for _, r := range text {
		if r != '\n' && r != '\t' && hidden(r) {
			return r, true
		}
	}
	return 0, false
}

// undecidable adds the finding that a node makes it impossible to know what would run.
func (e *eval) undecidable(n syntax.Node, why string) {
	e.builtin(chat.DecisionAsk, SubjectCommand, e.sourceOf(n), nodeName(n), "undecidable", why, nil)
}

// maxShown limits the part of a command line that a finding shows.
const maxShown = 400

// sourceOf is the text of a node.
func (e *eval) sourceOf(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(e.source)) {
		return ""
	}
	if to-from > maxShown {
		return strings.ToValidUTF8(e.source[from:from+maxShown], "") + " .."
	}
	return e.source[from:to]
}

// nodeName is the type of a node and its place.
func nodeName(n syntax.Node) string {
	name := "CallExpr" // by far the most
	if _, ok := n.(*syntax.CallExpr); !ok {
		name = strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax.")
	}
	return name + " " + strconv.Itoa(int(n.Pos().Line())) + ":" + strconv.Itoa(int(n.Pos().Col()))
}

// stmts judges statements that run one after the other, and returns where the next one would run.
func (e *eval) stmts(list []*syntax.Stmt, sc scope) scope {
	for _, s := range list {
		_, sc = e.stmt(s, sc)
	}
	return sc
}

// stmt judges a statement, and returns where the next one runs if it succeeds, and where if nobody knows
// whether it does.
func (e *eval) stmt(s *syntax.Stmt, sc scope) (success, after scope) {
	in, fed := e.input, e.fed
	e.input = nil
	work := 1
	if _, joins := s.Cmd.(*syntax.BinaryCmd); !joins { // whose parts are statements: a && b && c holds a && b
		work += int(s.End().Offset()-s.Pos().Offset()) / 32
	}
	if !e.affords(work, e.sourceOf(s), nodeName(s)) {
		return scope{}, scope{}
	}
	for _, r := range s.Redirs {
		if r.Op != syntax.RdrOut && r.Op != syntax.AppOut && r.Op != syntax.DplOut {
			in = nil
		}
		e.redirect(r, sc)
	}
	if e.fed = feeds(s.Redirs, fed); len(s.Redirs) > 0 && !onlyExec(s) {
		defer func() { e.fed = fed }()
	}
	if s.Coprocess || s.Disown {
		e.undecidable(s, "it goes on after the command line ends")
	}
	if s.Cmd == nil {
		return sc, sc
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		e.endsAt(c, s.Redirs, sc)
		e.input = in
	}
	if after, ok := e.readLoop(s, in, sc); ok {
		return after, after
	}
	if s.Background {
		e.branch(func() scope { return second(e.cmd(s.Cmd, sc)) })
		return sc, sc
	}
	run := func() scope {
		success, after = e.cmd(s.Cmd, sc)
		return after
	}
	if len(s.Redirs) > 0 { // it does not run if one of them fails
		e.branch(run)
	} else {
		run()
	}
	if s.Negated {
		return after, after
	}
	return success, after
}

// maybe judges a statement that may not run, or runs in a shell of its own: what it sets is not known behind it.
func (e *eval) maybe(s *syntax.Stmt, sc scope) (success, after scope) {
	e.branch(func() scope {
		success, after = e.stmt(s, sc)
		return after
	})
	return success, after
}

func second(_, after scope) scope { return after }

// cmd judges a command of any form.
func (e *eval) cmd(c syntax.Command, sc scope) (success, after scope) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return e.simpleCommand(c, sc)
	case *syntax.BinaryCmd:
		return e.binary(c, sc)
	case *syntax.Block:
		out := e.stmts(c.Stmts, sc)
		return out, out
	case *syntax.Subshell:
		e.branch(func() scope { return e.stmts(c.Stmts, sc) })
		return sc, sc
	case *syntax.IfClause:
		out := e.ifClause(c, sc)
		return out, out
	case *syntax.WhileClause:
		out := e.loop(sc, func(sc scope) scope { return e.stmts(c.Do, e.stmts(c.Cond, sc)) })
		return out, out
	case *syntax.ForClause:
		if out, ok := e.forClause(c, sc); ok {
			return out, out
		}
	case *syntax.CaseClause:
		out := e.caseClause(c, sc)
		return out, out
	case *syntax.TestClause:
		if e.testClause(c, sc) {
			return sc, sc
		}
	case *syntax.DeclClause:
		if e.declares(c, sc) {
			return sc, sc
		}
	case *syntax.TimeClause:
		e.command([]field{{text: "time", known: true}}, sc, nodeName(c))
		if c.Stmt == nil {
			return sc, sc
		}
		if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 &&
			strings.HasPrefix(call.Args[0].Lit(), "-") {
			time := &syntax.Word{
				Parts: []syntax.WordPart{&syntax.Lit{Value: "time", ValuePos: c.Pos(), ValueEnd: c.Pos()}}}
			// the program of that name, where time is no word of the shell
			call.Args = append([]*syntax.Word{time}, call.Args...)
		}
		return e.stmt(c.Stmt, sc)
	}
	after = scope{dirs: sc.dirs}
	e.undecidable(c, compoundWhy(c))
	switch c.(type) {
	case *syntax.DeclClause, *syntax.LetClause, *syntax.TestClause, *syntax.ArithmCmd:
		e.subscripts(c, sc)
	}
	if co, ok := c.(*syntax.CoprocClause); ok && co.Name != nil {
		e.unnamed(co, sc)
	}
	if e.inside(c, sc) {
		after.dirs = nil
	}
	return after, after
}

// subscripts judges the commands in quoted words that the shell works out once more, as it does with the name
// of a variable.
func (e *eval) subscripts(n syntax.Node, sc scope) {
	syntax.Walk(n, func(m syntax.Node) bool {
		if q, ok := m.(*syntax.SglQuoted); ok && strings.ContainsAny(q.Value, "$`") {
			e.within(": "+q.Value, sc, nodeName(q))
		}
		return true
	})
}

// unnamed judges a coprocess as if it had no name: a shell takes the first word for one only before a compound command,
// the parser before a pipe as well, so that the program in coproc rm x | ls would be a mere name.
func (e *eval) unnamed(c *syntax.CoprocClause, sc scope) {
	from, to := c.Name.Pos().Offset(), c.End().Offset()
	if from < to && to <= uint(len(e.source)) {
		e.shell(e.source[from:to], sc)
	}
}

// compoundWhy says why a command is undecidable.
func compoundWhy(c syntax.Command) string {
	switch c.(type) {
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause:
		return "whether and how often it runs is known only at run time"
	case *syntax.FuncDecl:
		return "a function gives a name another meaning"
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		return "arithmetic and tests of the shell can run commands in a subscript"
	case *syntax.DeclClause:
		return "a variable changes what later commands do"
	}
	return "this form of command cannot be judged"
}

// inside judges all statements below a node as if each began where the node does. It reports whether one of them goes
// to another directory.
func (e *eval) inside(n syntax.Node, sc scope) (moves bool) {
	syntax.Walk(n, func(m syntax.Node) bool {
		switch m := m.(type) {
		case *syntax.Stmt:
			_, out := e.stmt(m, sc)
			if !slices.Equal(out.dirs, sc.dirs) {
				moves = true
				sc.dirs = nil
			}
			return false
		case *syntax.Word:
			if m != n {
				e.word(m, sc)
				return false
			}
		}
		return true
	})
	return moves
}

func (e *eval) binary(c *syntax.BinaryCmd, sc scope) (success, after scope) {
	switch c.Op {
	case syntax.AndStmt:
		okX, anyX := e.stmt(c.X, sc)
		okY, anyY := e.maybe(c.Y, okX)
		return okY, either(anyX, anyY)
	case syntax.OrStmt:
		okX, anyX := e.stmt(c.X, sc)
		okY, anyY := e.maybe(c.Y, anyX)
		return either(okX, okY), either(okX, anyY)
	default: // the sides of a pipe run in shells of their own
		stages, fed := append(pipeline(c.X), pipeline(c.Y)...), e.fed
		for i, s := range stages {
			if e.input = listed(stages[:i]); i > 0 {
				e.fed = prints(stages[:i])
			}
			e.maybe(s, sc)
		}
		e.input, e.fed = nil, fed
		return sc, sc
	}
}

// either is the scope of a command that runs after one of two others.
func either(a, b scope) scope {
	if a.dirs == nil || b.dirs == nil {
		return scope{}
	}
	dirs := slices.Clone(a.dirs)
	for _, d := range b.dirs {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	if len(dirs) > maxDirs {
		return scope{}
	}
	return scope{dirs: dirs}
}

// endsAt judges the words behind a &> as a command of their own, which they are for a shell that takes the & for the
// end of one.
func (e *eval) endsAt(c *syntax.CallExpr, redirects []*syntax.Redirect, sc scope) {
	for _, r := range redirects {
		if r.Op != syntax.RdrAll && r.Op != syntax.AppAll {
			continue
		}
		at := slices.IndexFunc(c.Args, func(w *syntax.Word) bool { return w.Pos().After(r.Pos()) })
		if at > 0 {
			e.undecidable(r, "words behind &>, which some shells take for a command of their own")
			e.simpleCommand(&syntax.CallExpr{Args: c.Args[at:]}, sc)
		}
	}
}

// simpleCommand judges a simple command.
func (e *eval) simpleCommand(c *syntax.CallExpr, sc scope) (success, after scope) {
	in := e.input
	e.input = nil
	for _, a := range c.Assigns {
		e.assign(a, len(c.Args) > 0, sc)
	}
	var words []field
	for i, w := range c.Args {
		if names := e.namesFrom(w, sc); i > 0 && names != nil {
			words = append(words, names...)
		} else {
			words = append(words, e.word(w, sc)...)
		}
		if len(words) > maxWords {
			e.builtin(chat.DecisionDeny, SubjectCommand, e.sourceOf(c), nodeName(c), "limit",
				fmt.Sprintf("a command of more than %d words", maxWords), nil)
			return scope{}, scope{}
		}
	}
	if len(words) == 0 {
		return sc, sc
	}
	e.input = in
	e.command(words, sc, nodeName(c))
	return moved(words, sc)
}

// moved returns where later commands run.
func moved(words []field, sc scope) (success, after scope) {
	if !words[0].known || !slices.Contains(movers, words[0].text) {
		return sc, sc
	}
	if words[0].text != "cd" && words[0].text != "pushd" || len(words) != 2 || !words[1].known || words[1].glob ||
		words[1].tilde || strings.HasPrefix(words[1].text, "-") || sc.dirs == nil {
		return scope{}, scope{}
	}
	for _, d := range sc.dirs {
		success.dirs = append(success.dirs, joinDir(d, words[1].text))
	}
	return success, either(sc, success)
}

// movers change the directory that later commands run in.
var movers = []string{"cd", "pushd", "popd", "command", "builtin", "eval", "source", ".", "exec"}

func joinDir(dir, sub string) string {
	if strings.HasPrefix(sub, "/") || dir == "" {
		return sub
	}
	return dir + "/" + sub
}

// freeFiles may be written and read by anything.
var freeFiles = []string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"}

// redirect judges where a command reads from or writes to.
func (e *eval) redirect(r *syntax.Redirect, sc scope) {
	if r.Hdoc != nil {
		e.hereEnd(r)
		e.parts(r.Hdoc.Parts, sc, true)
	}
	var op Op
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.WordHdoc:
		e.word(r.Word, sc)
		return
	case syntax.DplIn, syntax.DplOut:
		if lit := r.Word.Lit(); lit != "" && strings.Trim(lit, "0123456789") == "" || lit == "-" {
			return
		}
		op = OpWrite
	case syntax.RdrIn:
		op = OpRead
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		op = OpWrite
	default: // <> reads and writes; others are of other shells
		op = OpWrite
		e.undecidable(r, "a redirection of a rare form")
	}
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		e.undecidable(r, "a redirection that sets a variable")
	}
	to := e.word(r.Word, sc)
	if len(to) != 1 {
		e.undecidable(r, "a redirection to several words, which is one file for some shells")
	}
	for _, f := range to {
		switch {
		case !f.known || f.glob:
			e.undecidable(r, "the target is known only at run time")
		case slices.Contains(freeFiles, f.text):
		case strings.HasPrefix(f.text, "/dev/tcp/") || strings.HasPrefix(f.text, "/dev/udp/"):
			e.builtin(chat.DecisionDeny, SubjectHost, f.text, nodeName(r), "network",
				"a connection in the form of a file", nil)
		default:
			u := use{kind: usePath, text: f.text, tilde: f.tilde, op: op, fills: true}
			if op == OpWrite {
				u.flagged = effectWrite
			}
			if allowed, at := e.usePath(u, sc, nodeName(r)); !allowed && u.flagged != effectNone {
				e.builtin(chat.DecisionAsk, SubjectPath, "write "+f.text, nodeName(r), "redirection",
					"the redirection writes a file, and no rule allows to write that path", allowPath(at, OpWrite))
			}
		}
	}
}
