package policy

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What is known of variables: those that the command line sets itself, and a few that are only looked at.

// maxRounds limits how often a loop is judged until what is known no longer changes.
const maxRounds = 8

// shownVariables are of no use to anybody but to be shown.
var shownVariables = []string{"HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "TERM", "HOSTNAME",
	"GOPATH", "GOROOT", "GOBIN", "JAVA_HOME", "VIRTUAL_ENV", "NODE_ENV", "CI", "RANDOM", "SECONDS", "LINENO", "COLUMNS"}

// ownVariables are names in capitals that scripts use for themselves.
var ownVariables = lazily(
	`^(VERSION|COMMIT|BRANCH|DATE|NOW|COUNT|FILES?|DIRS?|NAME|RESULT|STATUS|RC|TOTAL|START|END|LINE|PKG|[A-Z])$`)

// expanded returns what an expansion stands for, as far as that is known, and judges the commands in it. What
// is neither known nor shown is undecidable.
func (e *eval) expanded(p syntax.WordPart, sc scope) field {
	switch p := p.(type) {
	case *syntax.ParamExp:
		if f, ok := e.variable(p); ok {
			return f
		}
		if e.trimmed(p, sc) {
			return field{shown: true}
		}
	case *syntax.ArithmExp:
		if e.sum(p) {
			return field{shown: true, number: true}
		}
	case *syntax.CmdSubst:
		if text, ok := plainOutputs[strings.Join(literals(onlyCall(p)), " ")]; ok {
			e.stmts(p.Stmts, sc)
			return field{text: text, known: true, number: isDigits(text)}
		}
		if text, ok := e.document(p, sc); ok {
			return field{text: text, known: true}
		}
		bare := slices.ContainsFunc(p.Stmts, func(s *syntax.Stmt) bool { return s.Cmd == nil }) // $(<file) is the file
		if len(p.Stmts) > 0 && !bare && !p.TempFile && !p.ReplyVar {
			e.expansion(p, sc)
			return field{shown: true}
		}
	}
	if p, ok := p.(*syntax.ProcSubst); ok && (p.Op == syntax.CmdIn || p.Op == syntax.CmdOut) {
		if outer := e.fed; p.Op == syntax.CmdOut {
			e.fed = &feed{piped: true}
			defer func() { e.fed = outer }()
		}
		e.expansion(p, sc)
		return field{text: "/dev/stdin", known: true, held: true} // a file that nobody else has
	}
	e.undecidable(p, expansionWhy(p))
	e.expansion(p, sc)
	return field{}
}

// trimmed reports whether an expansion is what a known variable holds, cut, replaced or given a value to be
// shown, and judges the commands in it.
func (e *eval) trimmed(p *syntax.ParamExp, sc scope) bool {
	if p.Param == nil || p.Excl || p.Width || p.Index != nil || !e.plainSlice(p.Slice) || p.Names != 0 {
		return false
	}
	plain := *p
	plain.Length, plain.Slice, plain.Repl, plain.Exp = false, nil, nil, nil
	if _, ok := e.variable(&plain); !ok {
		return false
	}
	if p.Exp != nil && !slices.Contains(textExpansions, p.Exp.Op) {
		return false
	}
	e.inside(p, sc)
	return true
}

// textExpansions are those that give a text and set nothing.
var textExpansions = []syntax.ParExpOperator{syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset,
	syntax.DefaultUnsetOrNull, syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix,
	syntax.RemLargeSuffix, syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll}

// plainOutputs are commands that give a number or a revision, and what stands for it.
var plainOutputs = map[string]string{
	"nproc": "1", "git rev-parse HEAD": "0000000", "git rev-parse --short HEAD": "0000000",
	"git rev-parse --verify HEAD": "0000000",
}

// literals returns the words of a command as they stand there; those that are more than a text are empty.
func literals(c *syntax.CallExpr) (words []string) {
	if c == nil {
		return nil
	}
	for _, w := range c.Args {
		words = append(words, w.Lit())
	}
	return words
}

// onlyCall is the one simple command of a substitution; nil if there is another one.
func onlyCall(p *syntax.CmdSubst) *syntax.CallExpr {
	if len(p.Stmts) != 1 || p.Stmts[0].Background || p.Stmts[0].Negated || p.TempFile || p.ReplyVar {
		return nil
	}
	c, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 {
		return nil
	}
	return c
}

// plainSum is arithmetic of numbers and names that cannot fail: a shell leaves out the rest of a line that fails, and
// what it would have set.
var plainSum = lazily(`^(\$[A-Za-z_]|[/%] *[1-9]|[A-Za-z0-9_ +*()<>-])+$`)

// joinedSum finds operators that set a variable or may fail, and a value behind a digit: 0$n is 08, which does.
var joinedSum = lazily(`\+\+|--|\*\*|[A-Za-z0-9_]\$`)

// sum reports whether nothing stands in arithmetic that a shell works out but variables that hold numbers.
func (e *eval) sum(n syntax.Node) bool {
	text := e.sourceOf(n)
	if inner, ok := strings.CutPrefix(text, "$(("); ok {
		text = "((" + inner
	}
	if !plainSum.MatchString(text) || joinedSum.MatchString(text) {
		return false
	}
	names := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" $+*/%()<>-", r) })
	return !slices.ContainsFunc(names, func(name string) bool { return !isDigits(name) && !e.vars[name].number })
}

// isDigits reports whether a text is a number that all shells read alike: 08 is none for some.
func isDigits(text string) bool {
	return text == "0" || strings.Trim(text, "0123456789") == "" && text != "" && text[0] != '0'
}

// plainSlice reports whether the bounds of ${x:0:7} are numbers, and no length is negative, with which it fails.
func (e *eval) plainSlice(s *syntax.Slice) bool {
	return s == nil || (s.Offset == nil || e.sum(s.Offset)) && (s.Length == nil || isDigits(e.sourceOf(s.Length)))
}

// document returns the text of $(cat <<'X' ..), which people give to git commit -m.
func (e *eval) document(p *syntax.CmdSubst, sc scope) (string, bool) {
	c := onlyCall(p)
	if c == nil || len(c.Args) != 1 || c.Args[0].Lit() != "cat" || len(p.Stmts[0].Redirs) != 1 {
		return "", false
	}
	r := p.Stmts[0].Redirs[0]
	if r.Hdoc == nil || r.Op != syntax.Hdoc {
		return "", false
	}
	f := e.parts(r.Hdoc.Parts, sc, true)
	e.command([]field{{text: "cat", known: true}}, sc, nodeName(c))
	return strings.TrimRight(f.text, "\n"), f.known && !strings.Contains(f.text, "\\")
}

// variable returns what is known of a variable that is looked at without any change.
func (e *eval) variable(p *syntax.ParamExp) (field, bool) {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil ||
		p.Names != 0 || p.Exp != nil {
		return field{}, false
	}
	name := p.Param.Value
	if f, ok := e.vars[name]; ok {
		return f, true
	}
	if name == "?" || name == "#" {
		return field{text: "0", known: true, number: true}, true
	}
	return field{shown: true}, slices.Contains(shownVariables, name)
}

// A setting is a value that a variable got; without a name: nothing is known of any from here on.
type setting struct {
	name  string
	value field
}

// set notes what a variable holds from here on. The name of a file is no number: another one may be there by then.
func (e *eval) set(name string, f field) {
	if e.vars == nil {
		e.vars = map[string]field{}
	}
	f = field{text: f.text, known: f.known && !f.glob && !f.tilde && !e.trapped, shown: true,
		number: (f.number || f.known && !f.held && isDigits(f.text)) && !e.trapped}
	e.vars[name] = f
	e.sets = append(e.sets, setting{name, f})
}

func (e *eval) forgetAll() {
	e.vars = nil
	e.sets = append(e.sets, setting{})
}

// setters are programs of the shell that set variables, to what is not known.
var setters = []string{"read", "unset", "getopts", "mapfile", "readarray", "wait", "eval", "source", ".", "export",
	"declare", "typeset", "readonly", "local", "let", "trap", "printf"}

// forget takes back what is known of variables where a program may set them. read sets those that it names to a text.
// What a trap may set, it sets at any time.
func (e *eval) forget(words []field) {
	if !slices.Contains(setters, words[0].text) ||
		words[0].text == "printf" && len(words) > 1 && words[1].known && !strings.HasPrefix(words[1].text, "-") {
		return
	}
	e.trapped = e.trapped || words[0].text == "trap" && (len(words) != 3 || words[2].text != "EXIT")
	e.forgetAll()
	for _, w := range words[1:] {
		if words[0].text == "read" && w.known && harmlessVariable(w.text) {
			e.set(w.text, field{})
		}
	}
}

// assign judges a variable that is set, for one command or for what follows.
func (e *eval) assign(a *syntax.Assign, before bool, sc scope) {
	changes := func() {
		e.undecidable(a, "a variable in front of a command, or for later ones, changes what runs")
	}
	if a.Name == nil || a.Append || a.Naked || a.Index != nil || a.Array != nil {
		e.inside(a, sc)
		changes()
		return
	}
	f := field{known: true}
	if a.Value != nil {
		fields := e.word(a.Value, sc)
		if len(fields) != 1 {
			changes()
			return
		}
		f = fields[0]
	}
	name := a.Name.Value
	switch {
	case before && f.known && harmlessBefore(name, f.text):
	case !before && (harmlessVariable(name) || ownVariables.MatchString(name)):
		e.set(name, f)
	default:
		changes()
	}
}

// harmlessBefore reports whether the table of programs knows the value of a variable in front of a command to
// be harmless.
func harmlessBefore(name, value string) bool {
	k := variables()[name]
	return k.lists() && k.among(value) && !strings.Contains(value, "..")
}

// shows reports whether a program does no more with a word of which nothing is known than to show it, or to look at it.
func shows(words []field, i int) bool {
	switch words[0].text {
	case "echo", "true", "false", ":":
		return i > 0
	case "basename", "dirname":
		return i > 0 && words[i].whole
	case "printf":
		return i > 1
	case "[[": // no shell makes several words of one there, and testWords has looked at what is worked out
		return i > 0
	case "test", "[":
		return words[i].whole &&
			!slices.ContainsFunc(words, func(w field) bool { return w.known && worksOut.MatchString(w.text) })
	}
	return false
}

// worksOut finds the signs of a test with which some shells work out a word, and what could be one.
var worksOut = lazily("^-(v|R|eq|ne|lt|le|gt|ge)$|[$`(]")

// ifClause judges all branches, and returns where what follows runs.
func (e *eval) ifClause(c *syntax.IfClause, sc scope) scope {
	if len(c.Cond) > 0 {
		sc = e.stmts(c.Cond, sc)
	}
	then := e.branch(func() scope { return e.stmts(c.Then, sc) })
	if c.Else == nil {
		return either(then, sc)
	}
	return either(then, e.branch(func() scope { return e.ifClause(c.Else, sc) }))
}

// caseClause judges all branches, and returns where what follows runs.
func (e *eval) caseClause(c *syntax.CaseClause, sc scope) scope {
	e.word(c.Word, sc)
	out := sc
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			e.word(p, sc)
		}
		from := out // a branch may go on into the next one
		out = either(out, e.branch(func() scope { return e.stmts(item.Stmts, from) }))
	}
	return out
}

// textTests are the tests of [[ ]] in which no word is worked out.
var textTests = []syntax.BinTestOperator{syntax.TsReMatch, syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch,
	syntax.TsBefore, syntax.TsAfter, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno}

// numberTests are those in which each word is a sum.
var numberTests = []syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss,
	syntax.TsGtr}

// testClause judges [[ ]]; ok is false if a word of it may be worked out.
func (e *eval) testClause(c *syntax.TestClause, sc scope) (ok bool) {
	var words []*syntax.Word
	if words, ok = testWords(c.X, nil); !ok {
		return false
	}
	fields := []field{{text: "[[", known: true}}
	for _, w := range words {
		f := e.parts(w.Parts, sc, false)
		f.glob = false // it is no name of files here
		fields = append(fields, f)
	}
	e.command(fields, sc, nodeName(c))
	return true
}

// testWords lists the words of a test; ok is false if one of them may be worked out.
func testWords(x syntax.TestExpr, words []*syntax.Word) (_ []*syntax.Word, ok bool) {
	switch x := x.(type) {
	case *syntax.Word:
		return append(words, x), true
	case *syntax.ParenTest:
		return testWords(x.X, words)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar || x.Op == syntax.TsOptSet {
			return nil, false
		}
		return testWords(x.X, words)
	case *syntax.BinaryTest:
		if slices.Contains(numberTests, x.Op) {
			return words, isNumber(x.X) && isNumber(x.Y)
		}
		if x.Op != syntax.AndTest && x.Op != syntax.OrTest && !slices.Contains(textTests, x.Op) {
			return nil, false
		}
		if words, ok = testWords(x.X, words); !ok {
			return nil, false
		}
		return testWords(x.Y, words)
	}
	return nil, false
}

// isNumber reports whether a word of a test is digits, or $# or $?.
func isNumber(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return false
	}
	if p, ok := w.Parts[0].(*syntax.ParamExp); ok {
		return p.Short && (p.Param.Value == "#" || p.Param.Value == "?")
	}
	return isDigits(w.Lit())
}

// declares judges export without options: variables for all that follows. ok is false for any other form: outside of a
// function, local sets nothing, and what is readonly stays as it is.
func (e *eval) declares(c *syntax.DeclClause, sc scope) (ok bool) {
	if c.Variant.Value != "export" || len(c.Args) == 0 {
		return false
	}
	for _, a := range c.Args {
		if a.Name == nil || a.Naked || a.Append || a.Index != nil || a.Array != nil || a.Value == nil {
			return false
		}
	}
	for _, a := range c.Args {
		e.assign(a, true, sc)
	}
	return true
}

// branch judges what may run or not, or end at any place in it: what it sets on its way is not known behind it.
func (e *eval) branch(run func() scope) scope {
	vars, from, fed := map[string]field{}, len(e.sets), e.fed
	maps.Copy(vars, e.vars)
	out := run()
	if e.fed != fed { // by exec
		e.fed = &feed{}
	}
	for _, s := range e.sets[from:] {
		if old, ok := vars[s.name]; s.name == "" {
			clear(vars)
		} else if !ok || old != s.value {
			vars[s.name] = field{shown: true, number: old.number && s.value.number}
		}
	}
	e.vars = vars
	return out
}

// loop judges a body that runs any number of times, until it changes nothing more of what is known. Where it goes to
// another directory, nobody knows where it runs.
func (e *eval) loop(sc scope, body func(sc scope) scope) scope {
	once := func(sc scope) scope { return e.branch(func() scope { return body(sc) }) }
	out := sc
	var before map[string]field
	for n := 0; n == 0 || !maps.Equal(before, e.vars); n++ {
		if n == maxRounds {
			e.forgetAll()
			once(scope{})
			return scope{}
		}
		before = maps.Clone(e.vars)
		out = once(sc)
	}
	if slices.Equal(out.dirs, sc.dirs) {
		return sc
	}
	once(out)
	once(scope{})
	return scope{}
}

// forClause judges the body of a loop once for every word, if the words are known. ok is false if the loop is of
// another form.
func (e *eval) forClause(c *syntax.ForClause, sc scope) (out scope, ok bool) {
	over, isWords := c.Loop.(*syntax.WordIter)
	if !isWords || c.Select || !harmlessVariable(over.Name.Value) {
		return sc, false
	}
	var values []field
	for _, w := range over.Items {
		if names := e.namesFrom(w, sc); names != nil {
			values = append(values, names...)
			continue
		}
		for _, f := range e.word(w, sc) {
			values = append(values, e.namesOf(f, sc)...)
		}
		if len(values) > maxWork {
			break
		}
	}
	if !over.InPos.IsValid() || slices.ContainsFunc(values, func(f field) bool { return !f.known }) {
		values = []field{{}}
	}
	return e.turnsOf(over.Name.Value, values, c.Do, sc), true
}

// turnsOf judges the body of a loop once for every value of its variable. Where there is none now, there may be some by
// then.
func (e *eval) turnsOf(name string, values []field, body []*syntax.Stmt, sc scope) scope {
	if len(values) == 0 {
		values = []field{{}}
	}
	from := len(e.findings)
	for _, v := range values {
		first := len(e.findings)
		sc = e.loop(sc, func(sc scope) scope {
			e.set(name, v)
			return e.stmts(body, sc)
		})
		e.dedupe(from, first)
		if e.work > maxWork { // which asks
			break
		}
	}
	e.set(name, field{})
	return sc
}

// namesFrom returns the names that a substitution such as $(git ls-files) prints now, and judges the commands in it;
// nil: it is another word, or nobody knows.
func (e *eval) namesFrom(w *syntax.Word, sc scope) []field {
	if len(w.Parts) != 1 {
		return nil
	}
	p, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || len(p.Stmts) != 1 || p.TempFile || p.ReplyVar {
		return nil
	}
	names := e.names(listed(pipeline(p.Stmts[0])), sc)
	if names != nil {
		e.expansion(p, sc)
	}
	return names
}

// readLoop judges while read -r NAME over names of files that are known. ok is false if the loop is another one.
func (e *eval) readLoop(s *syntax.Stmt, in *listing, sc scope) (after scope, ok bool) {
	c, isLoop := s.Cmd.(*syntax.WhileClause)
	if !isLoop || c.Until || len(c.Cond) != 1 || s.Negated || s.Background {
		return sc, false
	}
	call, isCall := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !isCall || len(c.Cond[0].Redirs) > 0 || c.Cond[0].Negated || len(call.Assigns) > 1 || len(call.Args) < 2 ||
		len(call.Args) > 3 || call.Args[0].Lit() != "read" || len(call.Args) == 3 && call.Args[1].Lit() != "-r" ||
		len(call.Assigns) == 1 && (call.Assigns[0].Name.Value != "IFS" || call.Assigns[0].Value != nil) {
		return sc, false
	}
	name := call.Args[len(call.Args)-1].Lit()
	for _, r := range s.Redirs {
		if r.Op == syntax.RdrIn && r.N == nil && len(r.Word.Parts) == 1 {
			if p, ok := r.Word.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn && len(p.Stmts) == 1 {
				in = listed(pipeline(p.Stmts[0]))
			}
		}
	}
	values := e.names(in, sc)
	if values == nil || !harmlessVariable(name) {
		return sc, false
	}
	e.command(literal([]string{"read", name}), sc, nodeName(call))
	return e.turnsOf(name, values, c.Do, sc), true
}

// namesOf returns the names that a pattern stands for, or what is no pattern as it is. One that cannot be told is a
// word that is not known.
func (e *eval) namesOf(f field, sc scope) []field {
	if !f.known || !f.glob {
		return []field{f}
	}
	names, why := e.files1(f, sc)
	if why != "" {
		return []field{{}}
	}
	for i := range names {
		names[i].held = true
	}
	return names
}

// dedupe takes findings back that were told since from, before first.
func (e *eval) dedupe(from, first int) {
	e.findings = append(e.findings[:first], newOnes(e.findings[first:], e.findings[from:first])...)
}
