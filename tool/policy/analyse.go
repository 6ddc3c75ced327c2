package policy

import (
	"slices"
	"strings"
)

// A field is a word of a command after the shell has done its part.
type field struct {
	text  string
	known bool // the text is all of the word. Otherwise it is known only when the command runs
	glob  bool // an unquoted * ? or [ stands in it
	tilde bool // it begins with an unquoted ~
	shown bool // not known, and no more than a text where a program only shows it
	held  bool // a variable or a command gives it, or a part of it
	whole bool // a text of its own, in quotes: no shell makes several words of it

	number bool // what arithmetic gives: digits, whatever they are
}

// literal returns fields that are what they say, as in a call without a shell.
func literal(words []string) []field {
	fields := make([]field, len(words))
	for i, w := range words {
		fields[i] = field{text: w, known: true}
	}
	return fields
}

// A use is something that a command does, as far as the table of programs tells.
type use struct {
	kind    useKind
	text    string
	tilde   bool
	op      Op
	flagged effect    // why a rule that allows has to spell it; "" if it does not
	spelled []string  // words any of which spells it
	operand bool      // a word that is no option, nor the value of one
	guess   bool      // nobody knows whether it is used so
	there   bool      // it is used only if something of that name is there
	output  bool      // what is written is something that was built or measured
	drops   *deletion // what is deleted below it, if it is a directory
	fills   bool      // what is written is a text of the caller's
	loses   bool      // what is there is overwritten; if nothing is, nothing is written
}

// useKind says what the text of a use is.
type useKind string

const (
	useEffect useKind = "effect" // nothing but the effect
	usePath   useKind = "path"
	useMaybe  useKind = "maybe" // a path, if something of that name is there or it looks like one
	useURL    useKind = "url"
	useShell  useKind = "shell"  // a line that a shell reads
	useDir    useKind = "dir"    // a directory that it works in
	useInside useKind = "inside" // a text that may be a command: rules that ask or deny hold in it
)

// An analysis reads a command by the table of programs.
type analysis struct {
	table     bool // the program is in the table
	canonical []field
	uses      []use
	inner     [][]field // commands that it runs
	wraps     bool      // it runs nothing itself
	asks      bool      // what it runs is never known in full
	hidden    []field   // any of these words may begin a command that it runs: rules that deny hold in them
	strange   []field   // of these words nobody knows what they are for: one that a rule denies is asked about
	edits     bool      // the files that it is given are written
	rewrites  bool      // with what the command says
	untabled  bool      // it is a sub-command of which nothing is known
	pattern   bool      // an option has taken the place of the first operand
	reads     bool      // it runs what it reads from its input
	foreign   bool      // in a language that is not judged
	named     bool      // the same, of an input that it names as a file
	unread    bool      // what it runs stands in a file, or an input that no shell reads
	each      bool      // its inner command is run with the files that find or fd finds
}

// analyse looks a command up in the table of programs.
func analyse(words []field) *analysis {
	a := &analysis{canonical: words}
	p := lookUp(words[0].text)
	if p == nil {
		for _, w := range words[1:] {
			a.value(kindMaybe, w, nil)
		}
		a.unknownWords(words[1:])
		return a
	}
	a.table = true
	if slices.ContainsFunc(words[1:], func(w field) bool { return !w.known || !p.skip[w.text] }) || len(words) == 1 {
		a.program(p, baseName(words[0].text), words)
	}
	return a
}

// program goes through the sub-commands first, then through what belongs to the last of them.
func (a *analysis) program(p *program, name string, words []field) {
	rest := words[1:]
	canonical := words[:1:1]
	if q := programs()[name+"."+rest0(rest)]; q != nil && (p.subs == nil || strings.HasPrefix(rest0(rest), "-")) {
		// a word that makes it another program
		p, canonical, name, rest = q, words[:2:2], name+"."+rest[0].text, rest[1:]
	}
	for p.subs != nil {
		kept, left := a.globals(p, rest)
		canonical, rest = append(canonical, kept...), left
		if len(rest) == 0 || p.behind != "" && rest[0].text == "--" {
			break
		}
		rest = script(p, name, rest)
		sub := rest[0]
		if p.wraps && !p.subs[sub.text] {
			break // the program that it runs
		}
		canonical, rest = append(canonical, sub), rest[1:]
		name += "." + sub.text
		if !p.subs[sub.text] {
			a.effect(effectWrite, sub.text)
		}
		next := programs()[name]
		if next == nil {
			if a.untabled = true; !p.subs[sub.text] {
				a.unknownWords(words[1:])
			}
			break
		}
		p = next
	}
	if q := programs()[name+"."+rest0(rest)]; q != nil && p.subs == nil {
		p, canonical, rest = q, append(canonical, rest[0]), rest[1:]
	}
	a.canonical = append(canonical, rest...)
	if p.style == styleTar {
		p, rest = tarStyle(p, rest)
	}
	switch p.style {
	case styleFind:
		a.expression(p, rest)
	case stylePlain:
		a.plain(p, rest)
	case styleShell:
		a.shell(p, rest)
	default:
		a.options(p, rest)
	}
	if a.edits || p.edits {
		a.edited()
	}
	if p.loses && (p.unless == nil || a.without(p)) {
		a.loses()
	}
	a.foreign = a.foreign || p.foreign
	a.reads = a.reads || p.reads && p.style != styleShell && len(a.inner) == 0 &&
		(p.suffixes || !slices.ContainsFunc(a.uses, func(u use) bool { return u.kind == useShell }))
	for i := range a.uses {
		a.uses[i].fills = a.uses[i].fills || p.fills && a.uses[i].op == OpWrite
	}
}

// script puts run or exec before what is the name of a script of the project, or of a program that a package brings.
func script(p *program, name string, rest []field) []field {
	sub := rest[0].text
	if !slices.Contains(p.scripts, name) || !rest[0].known || p.subs[sub] || programs()[name+"."+sub] != nil ||
		strings.HasPrefix(sub, "-") {
		return rest
	}
	if q := programs()[sub]; q != nil && q.skip != nil { // one with a --version of its own is no word of the shell
		return append([]field{{text: "exec", known: true}}, rest...)
	}
	if isTask(sub) && programs()[sub] == nil {
		return append([]field{{text: "run", known: true}}, rest...)
	}
	return rest
}

// isScript reports whether a word is the name of a task, and of no program that one would run.
func isScript(name string) bool {
	q := programs()[name]
	return isTask(name) && (q == nil || q.skip == nil)
}

// rest0 is the first of the words, if it is known.
func rest0(words []field) string {
	if len(words) == 0 || !words[0].known {
		return ""
	}
	return words[0].text
}

// edited adds that the files which a program reads are written as well.
func (a *analysis) edited() {
	for _, u := range a.uses {
		if u.operand && (u.kind == usePath || u.kind == useMaybe && strings.Contains(u.text, "/")) && u.op == OpRead {
			if a.rewrites && !isText(u.text) {
				a.effect(effectWrite, u.text)
			}
			a.uses = append(a.uses, use{kind: usePath, text: u.text, tilde: u.tilde, op: OpWrite})
			if hiddenDir.MatchString(u.text) {
				a.notKnown(u.text, []string{u.text})
			}
		}
	}
}

// hiddenDir is a path through a directory that programs keep their settings in.
var hiddenDir = lazily(`(^|/)\.[^./][^/]*/`)

// runWords are sub-commands with which many programs run the words behind them.
var runWords = []string{"exec", "run", "x", "dlx", "shell", "sh", "ssh", "with", "spawn", "launch"}

// unknownWords is for the words behind a program or an option that the table does not have.
func (a *analysis) unknownWords(words []field) {
	if len(words) > len(a.strange) {
		a.strange = words
	}
	for i, w := range words {
		if w.known && slices.Contains(runWords, w.text) {
			a.hide(words[i+1:])
			return
		}
	}
}

// hide notes that any of the words may begin a command.
func (a *analysis) hide(words []field) {
	if len(words) > len(a.hidden) {
		a.hidden = words
	}
}

// tarStyle puts the hyphen before a first word of letters, which tar takes for options.
func tarStyle(p *program, rest []field) (*program, []field) {
	q := *p
	q.style = styleGNU
	if len(rest) == 0 || !rest[0].known || rest[0].text == "" || rest[0].text[0] == '-' {
		return &q, rest
	}
	letters, words := []field(nil), rest[1:]
	for _, letter := range rest[0].text {
		name := "-" + string(letter)
		letters = append(letters, field{text: name, known: true})
		if o := p.options[name]; len(o.kinds) > 0 && !o.joined && len(words) > 0 {
			letters, words = append(letters, words[0]), words[1:]
		}
	}
	if len(rest)-1-len(words) > 1 { // each takes the next word
		return &q, append(letters, words...)
	}
	rest = slices.Clone(rest)
	rest[0].text = "-" + rest[0].text
	return &q, rest
}

// assignment matches what env and its like read as a variable.
var assignment = lazily(`^[A-Za-z_][A-Za-z0-9_]*=`)

// functionName matches a variable of env with a name that no shell could set.
var functionName = lazily(`^[^-=/][^=/]*[^=/A-Za-z0-9_][^=/]*=`)

// options reads options and operands in any order, as most programs do.
func (a *analysis) options(p *program, words []field) {
	operands, ended, all := 0, false, words
	a.pattern = false
	for len(words) > 0 {
		w := words[0]
		if w.known && w.text == "-" && (p.asks || p.assigns) { // for env: nothing is handed on
			words = words[1:]
			if p.assigns {
				a.effect(effectAsk, "-")
			}
			continue
		}
		if ended || !w.known || len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+' ||
			w.text[0] == '+' && !p.options[w.text].declared {
			if p.wraps && operands >= p.before {
				if p.assigns && w.known && functionName.MatchString(w.text) {
					a.asks = true // env takes any name, shells a function from that of some
					words = words[1:]
					continue
				}
				if (p.asks && !p.joins || p.assigns) && w.known && assignment.MatchString(w.text) {
					if name, value, _ := strings.Cut(w.text, "="); !p.assigns || !harmlessBefore(name, value) {
						a.effect(effectExec, w.text)
					}
					words = words[1:]
					continue
				}
				a.wrapped(p, words)
				return
			}
			k := a.operand(p, operands, w, !slices.ContainsFunc(words[1:], isOperand))
			operands++
			words = words[1:]
			if k == kindModule {
				a.module(p, w, words)
				return
			}
			continue
		}
		if w.text == "--" && p.behind != "" {
			a.behind(p.behind, words[1:])
			return
		}
		if w.text == "--" {
			ended, words = true, words[1:]
			if p.project && !p.wraps { // what the project runs may read options there
				a.options(p, words)
			}
			continue
		}
		n, o := a.oneOption(p, words)
		switch o.effect {
		case effectLook:
			return
		case effectRest:
			a.each = true
			inner := words[n:]
			if value := p.joinedRest(words[0].text); value != "" {
				inner = append(literal([]string{value}), inner...)
			}
			if len(inner) > 1 && isDashes(inner[0]) {
				inner = inner[1:]
			}
			end := slices.IndexFunc(inner, func(w field) bool { return w.text == ";" })
			if end >= 0 { // fd has options, and other commands, behind it
				inner, words = inner[:end], inner[end+1:]
			}
			if len(inner) > 0 {
				a.wrapped(p, inner)
			}
			if end < 0 {
				return
			}
			continue
		}
		if n == 2 && slices.Contains(o.kinds, kindModule) {
			a.module(p, words[1], words[2:])
			return
		}
		words = words[n:]
	}
	switch {
	case p.bare == effectLook: // a wrapper that has nothing to run
	case p.wraps && p.asks:
		a.effect(effectAsk, "")
	case p.bare != effectNone && operands > 0 && a.without(p):
		a.effect(p.bare, texts(all)...)
	case p.bare != effectNone && operands == 0 && p.unless == nil:
		a.effect(p.bare, texts(a.canonical[1:])...)
	case p.bare != effectNone && operands == 0 && a.without(p):
		a.effect(p.bare, texts(all)...)
	}
}

// behind reads the words behind the -- of a program that hands them on.
func (a *analysis) behind(entry string, words []field) {
	if entry != behindRuns { // a second -- is one more that somebody on the way may take
		a.options(programs()[entry], slices.DeleteFunc(slices.Clone(words), isDashes))
		a.edits = a.edits || programs()[entry].edits
		return
	}
	if len(words) > 0 {
		a.effect(effectExec, "--")
		a.inner = append(a.inner, words)
	}
}

// without reports whether none of the options is there without which a program does what it does without operands.
// Behind "--" there are none.
func (a *analysis) without(p *program) bool {
	words := a.canonical[1:]
	if i := slices.IndexFunc(words, isDashes); i >= 0 {
		words = words[:i]
	}
	there := false
	for _, w := range words {
		text := w.text
		if p.style == styleGo {
			text = strings.Replace(text, "--", "-", 1)
		}
		name, value, _ := strings.Cut(text, "=")
		switch {
		case !w.known || !p.unless[text] && !p.unless[name]:
		case !p.unless[text] && isFalse.MatchString(value):
			return true // wherever it stands: mostly the last one holds
		default:
			there = true
		}
	}
	return p.unless != nil && !there
}

// isFalse is a value with which an option is as if it were not there.
var isFalse = lazily(`(?i)^(0|f|false|no|off)$`)

// isDashes reports whether a word ends the options.
func isDashes(w field) bool { return w.known && w.text == "--" }

// isOperand reports whether a word cannot be an option.
func isOperand(w field) bool { return !w.known || !strings.HasPrefix(w.text, "-") }

// module continues with a program that another one runs by its name, with the words that are left.
func (a *analysis) module(runner *program, name field, rest []field) {
	if runner.dashes && slices.ContainsFunc(rest, isDashes) { // see wrapped
		a.module(&program{}, name, slices.DeleteFunc(slices.Clone(rest), isDashes))
	}
	p := programs()["python-m."+name.text]
	if p == nil {
		p = programs()[name.text]
	}
	if p == nil || p.wraps {
		a.options(&program{operands: []kind{kindAny}}, rest)
		return
	}
	canonical := a.canonical
	a.program(p, name.text, append([]field{name}, rest...))
	a.canonical = canonical
}

// operand records what a word that is no option is for, and returns it.
func (a *analysis) operand(p *program, n int, w field, last bool) kind {
	k := kindMaybe
	if len(p.operands) > 0 {
		k = p.operands[min(n, len(p.operands)-1)]
		if n == 0 && len(p.operands) > 1 && slices.Contains(patternKinds, k) && (a.pattern || a.hasPattern(p, k)) {
			if !a.pattern { // some programs read no options behind an operand: then it is what it would be without
				a.value(k, w, []string{w.text})
			}
			k = p.operands[1]
		}
	}
	if last && n > 0 && p.last != "" {
		k = p.last
	}
	before := len(a.uses)
	a.value(k, w, []string{w.text})
	for i := range a.uses[before:] {
		a.uses[before+i].operand = true
	}
	if p.hands && w.known {
		a.handsOn(w)
	}
	if file, _, _ := strings.Cut(w.text, ":"); p.runs && isText(file) { // a name of a test may follow
		a.effect(effectExec, w.text)
	}
	switch {
	case !w.known || p.style == stylePlain || n == 0 && len(p.operands) > 1 || slices.Contains(programKinds, k):
	case k == kindText:
		a.doubted(w, []string{w.text}, false)
	default:
		a.leadsOut(w, true)
	}
	if a.untabled && w.known && k != kindAny {
		a.value(kindAny, w, nil)
	}
	if w.known && noFile(k, w.text) {
		a.uses = append(a.uses, use{kind: useEffect, text: w.text, flagged: effectUnknown, spelled: []string{w.text}})
	}
	return k
}

// handsOn records that a script of the project, of which nobody knows what it does, is given a file that it may write.
func (a *analysis) handsOn(w field) {
	for _, text := range insideOf(w.text) {
		a.uses = append(a.uses, use{kind: useMaybe, text: text, tilde: strings.HasPrefix(text, "~"), op: OpWrite,
			guess: true, fills: true})
	}
}

// notFile matches arguments that name no file: @FILE for further options, |COMMAND, and FORMAT:FILE, which may run.
var notFile = lazily(`^(@|\||[a-z]{2,}:[^:])`)

// noFile reports whether an operand of a kind may be something else than the file that it looks like.
func noFile(k kind, text string) bool {
	switch {
	case k == kindSeen:
		return responseFile.MatchString(text)
	case k.lists():
		return strings.HasPrefix(text, "@") && !strings.Contains(string(k), "@")
	}
	return notFile.MatchString(text) && slices.Contains(fileKinds, k)
}

// responseFile is a file with further options.
var responseFile = lazily(`^@.*\.[a-z]+$`)

// fileKinds are those of which some programs take what has the form of notFile for something else.
var fileKinds = []kind{kindRead, kindMake, kindScript, kindMaybe, kindAny}

// hasPattern reports whether an option may take the place of the first operand, as -e does for grep and sed,
// wherever it stands.
func (a *analysis) hasPattern(p *program, k kind) bool {
	return slices.ContainsFunc(a.canonical[1:], func(w field) bool { return w.known && p.givesPattern(w.text, k) })
}

// givesPattern reports whether a word is an option in place of the first operand: by its name, the beginning
// of a long one, or as one letter of several.
func (p *program) givesPattern(typed string, k kind) bool {
	if name, _, _ := strings.Cut(typed, "="); strings.HasPrefix(name, "--") {
		return len(name) > 2 &&
			slices.ContainsFunc(patternOptions,
				func(o string) bool { return strings.HasPrefix(o, name) && p.replaces(o, k) })
	}
	if !strings.HasPrefix(typed, "-") {
		return false
	}
	for _, letter := range typed[1:] {
		name := "-" + string(letter)
		if slices.Contains(patternOptions, name) && p.replaces(name, k) {
			return true
		}
		if len(p.options[name].kinds) > 0 {
			return false // what is left is its value
		}
	}
	return false
}

// replaces reports whether an option of patternOptions stands in for a first operand of a kind. A script that
// is given in another way comes with the option, as with sed -e; for jq -e is something else.
func (p *program) replaces(name string, k kind) bool {
	o := p.options[name]
	return o.declared && (k == kindText || len(o.kinds) > 0)
}

// patternKinds are those of a first operand that an option may replace.
var patternKinds = []kind{kindText, kindSed, kindAwk, kindQuery}

// patternOptions stand in for the first operand of programs whose first operand is a pattern or a script.
var patternOptions = []string{"-e", "-f", "--regexp", "--file", "--expression", "--files", "--source", "--from-file"}

// plain reads the words of a program that knows hardly any options.
func (a *analysis) plain(p *program, words []field) {
	if len(words) == 0 && p.bare != effectNone {
		a.effect(p.bare, "")
	}
	if len(words) > 0 && words[0].text == "--" && len(p.operands) > 0 && p.operands[0] == kindShell {
		words = words[1:]
	}
	for i, w := range words {
		for name, o := range p.options {
			if w.text == name || i == 0 && strings.HasPrefix(w.text, name) {
				a.effect(o.effect, name, w.text)
				for _, named := range words[i:] {
					lookSeen(a, named, []string{name})
				}
			}
		}
		a.operand(p, i, w, false)
	}
}

// expression reads the words of find: first where to start, then what to look for and what to do.
func (a *analysis) expression(p *program, words []field) {
	if slices.ContainsFunc(words, func(w field) bool { return w.known && w.text == "-delete" }) {
		a.uses = append(a.uses, findDeletes(texts(words))...)
	}
	for len(words) > 0 {
		w := words[0]
		o, ok := p.options[w.text]
		switch {
		case !ok && (!strings.HasPrefix(w.text, "-") && !slices.Contains([]string{"(", ")", "!", ","}, w.text) ||
			!w.known):
			a.value(kindRead, w, nil)
		case o.effect == effectCommand:
			end := 1
			for end < len(words) && words[end].text != ";" &&
				(words[end].text != "+" || end > 1 && words[end-1].text != "{}") {
				end++
			}
			if end == 1 || !onlyLooks(words[1:end]) {
				a.effect(effectCommand, w.text)
				a.each = end > 1 && w.text == "-exec"
			}
			if end > 1 {
				a.inner = append(a.inner, words[1:end])
			}
			words = words[min(end, len(words)-1):]
		case !ok && strings.HasPrefix(w.text, "-") && len(w.text) > 1:
			a.unknown(p, w.text, "", false, words)
		default:
			n := min(1+len(o.kinds), len(words))
			a.option(o, w.text, "", false, words[:n])
			words = words[n-1:]
		}
		words = words[1:]
	}
}

// onlyLooks reports whether a command sees no more of files than their names and sizes, whatever files they are.
func onlyLooks(words []field) bool {
	a := analyse(words)
	return a.table && !a.wraps && len(a.inner) == 0 &&
		!slices.ContainsFunc(words, func(w field) bool { return !w.known }) &&
		!slices.ContainsFunc(a.uses, func(u use) bool {
			return u.flagged != effectNone || u.kind != usePath && u.kind != useMaybe || u.op != OpList
		})
}

// wrapped records the command that a wrapper runs.
func (a *analysis) wrapped(p *program, words []field) {
	if env, program, ok := strings.Cut(rest0(words), ":"); ok && p.environments && env != "" && program != "" {
		words = slices.Concat([]field{{text: program, known: true}}, words[1:])
	}
	if p.tasks && isScript(rest0(words)) {
		a.options(programs()["behind.task"], words)
		return
	}
	if q := programs()[rest0(words)]; p.tasks && p.project && (q == nil || q.skip == nil) { // such as yarn's own env
		a.notKnown(rest0(words), []string{rest0(words)})
	}
	a.wraps, a.asks = true, a.asks || p.asks
	if p.suffixes {
		a.hide(words)
	}
	if p.dashes && slices.ContainsFunc(words, isDashes) { // nobody knows which of them what runs is given
		a.inner = append(a.inner, slices.DeleteFunc(slices.Clone(words), isDashes))
	}
	if !p.joins {
		a.inner = append(a.inner, words)
		return
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = w.text
	}
	a.asks = true
	a.uses = append(a.uses, use{kind: useShell, text: strings.Join(text, " ")})
}

func (a *analysis) effect(e effect, spelled ...string) {
	a.uses = append(a.uses, use{kind: useEffect, flagged: e, spelled: spelled})
}

// value records what a word is for.
func (a *analysis) value(k kind, w field, spelled []string) {
	if !w.known {
		return // asked about by itself
	}
	if k == kindTask || k.lists() {
		a.listed(k, w, spelled)
		return
	}
	do, ok := kindTable[k]
	if !ok {
		return
	}
	if do.plain != nil {
		u := *do.plain
		u.text, u.tilde = w.text, w.tilde
		if u.flagged != effectNone {
			u.spelled = append(slices.Clip(spelled), w.text)
		}
		a.uses = append(a.uses, u)
		if (u.kind == usePath || u.kind == useDir) && u.op == OpRead && remoteSource.MatchString(w.text) {
			a.effect(effectNet, append(slices.Clip(spelled), w.text)...)
		}
	}
	if do.look != nil {
		do.look(a, w, append(slices.Clip(spelled), w.text))
	}
}

// remoteSource matches what a program that takes files may bring from another machine.
var remoteSource = lazily(
	`^[A-Za-z][A-Za-z0-9+.-]*(://|::)|^[a-z]{3,}:[^0-9/]|^(github|gitlab|bitbucket)\.[a-z]+/|^git@`)

// listed looks for a value among those that are known to be harmless.
func (a *analysis) listed(k kind, w field, spelled []string) {
	if k.among(w.text) {
		if strings.Contains(w.text, "/") {
			a.value(kindMaybe, w, nil)
		}
		if len(spelled) > 0 && spelled[0] != w.text && codeFile.MatchString(w.text) {
			a.notKnown(w.text, append(slices.Clip(spelled), w.text))
		}
		return
	}
	a.notKnown(w.text, append(slices.Clip(spelled), w.text))
	a.value(kindAny, w, nil)
	lookExec(a, w, nil)
	lookRecipe(a, w, nil)
}

// shell reads the words of a shell, whose -c has no value: the first operand is the command line then.
func (a *analysis) shell(p *program, words []field) {
	line, runs := false, true
	for len(words) > 0 && words[0].known && len(words[0].text) > 1 && strings.ContainsAny(words[0].text[:1], "-+") {
		w := words[0]
		words = words[1:]
		if w.text == "--" {
			break
		}
		if strings.HasPrefix(w.text, "--") {
			n, _ := a.oneOption(p, append([]field{w}, words...))
			a.named = a.named || inputFile.MatchString(w.text) || n == 2 && inputName.MatchString(words[0].text)
			words = words[n-1:]
			continue
		}
		for _, letter := range w.text[1:] {
			o, ok := p.options[w.text[:1]+string(letter)]
			line, a.reads = line || letter == 'c', a.reads || letter == 's'
			runs = (runs && letter != 'n') || w.text[0] == '+' || letter == 'o'
			switch {
			case !ok:
				a.unknownLetter(p, w.text[:1]+string(letter), 0, []field{w})
			case len(o.kinds) > 0 && len(words) > 0:
				words = words[1:]
			}
			a.does(o.effect, []string{w.text})
		}
	}
	switch {
	case len(words) == 0:
		a.reads = runs
		a.effect(p.bare, texts(a.canonical[1:])...)
	case line:
		a.value(kindShell, words[0], []string{"-c"})
	case !runs: // it is read for its syntax
		a.value(kindRead, words[0], nil)
	default:
		a.named = a.named || inputName.MatchString(words[0].text)
		a.value(kindScript, words[0], []string{words[0].text})
	}
}

// A kindRow says what to make of a value: a use with its text, and a closer look.
type kindRow struct {
	plain *use
	look  func(a *analysis, w field, spelled []string)
}

// kindTable says for every kind what to make of a value. Text is not in it.
var kindTable = map[kind]kindRow{
	kindRead:   {plain: &use{kind: usePath, op: OpRead}},
	kindList:   {plain: &use{kind: usePath, op: OpRead, flagged: effectRead}},
	kindReadX:  {plain: &use{kind: usePath, op: OpRead, flagged: effectExec}},
	kindWrite:  {plain: &use{kind: usePath, op: OpWrite, flagged: effectWrite}},
	kindMake:   {plain: &use{kind: usePath, op: OpWrite}, look: lookMake},
	kindDrop:   {plain: &use{kind: usePath, op: OpWrite, drops: &deletion{}}},
	kindCopy:   {look: lookCopy},
	kindDir:    {plain: &use{kind: useDir, op: OpRead}},
	kindMaybe:  {plain: &use{kind: useMaybe, op: OpRead}, look: lookMaybe},
	kindAny:    {plain: &use{kind: useMaybe, op: OpRead}, look: lookAny},
	kindStamp:  {look: lookStamp},
	kindNamed:  {look: lookNamed},
	kindPkg:    {plain: &use{kind: usePath, op: OpRead}, look: lookPackage},
	kindOwn:    {look: lookOwn},
	kindImage:  {look: lookImage},
	kindFields: {look: lookFields},
	kindConf:   {plain: &use{kind: useEffect, flagged: effectExec}, look: lookConf},
	kindExec:   {plain: &use{kind: useMaybe, op: OpRead, flagged: effectExec}, look: lookExec},
	kindModule: {plain: &use{kind: useEffect, flagged: effectExec}},
	kindScript: {plain: &use{kind: usePath, op: OpRead, flagged: effectExec}},
	kindRecipe: {plain: &use{kind: usePath, op: OpRead, flagged: effectExec}, look: lookRecipe},
	kindJob:    {plain: &use{kind: usePath, op: OpRead, flagged: effectExec}, look: lookJob},
	kindShell:  {plain: &use{kind: useShell, flagged: effectExec}},
	kindURL:    {plain: &use{kind: useURL}},
	kindHost:   {plain: &use{kind: useEffect, flagged: effectNet}},
	kindNet:    {plain: &use{kind: useEffect, flagged: effectNet}},
	kindAsk:    {plain: &use{kind: useMaybe, op: OpRead, flagged: effectAsk}},
	kindRange:  {look: lookRange},

	kindRemote:    {look: lookRemote(OpWrite)},
	kindArchive:   {look: lookRemote(OpWrite)},
	kindUnpack:    {plain: &use{kind: usePath, op: OpRead}, look: lookUnpack},
	kindQuery:     {look: lookQuery},
	kindPage:      {look: lookPage},
	kindProcs:     {look: lookProcs},
	kindLook:      {plain: &use{kind: usePath, op: OpList}},
	kindOutput:    {plain: &use{kind: usePath, op: OpWrite, flagged: effectWrite, output: true}},
	kindReport:    {look: lookReport},
	kindTests:     {plain: &use{kind: useMaybe, op: OpList}, look: lookTests},
	kindSeen:      {plain: &use{kind: useMaybe, op: OpList}, look: lookSeen},
	kindTarget:    {look: lookTarget},
	kindDefine:    {look: lookDefine},
	kindGlob:      {look: lookGlob},
	kindSource:    {look: lookSource},
	kindResource:  {look: lookResource},
	kindSubscript: {plain: &use{kind: useEffect, flagged: effectAsk}, look: lookSeen},
	kindVar:       {look: lookVariable},

	kindRepo:   {plain: &use{kind: useDir, op: OpRead, flagged: effectExec}},
	kindRev:    {plain: &use{kind: useMaybe, op: OpRead}, look: lookRev},
	kindSed:    {look: lookSed},
	kindAwk:    {look: lookAwk},
	kindSplit:  {look: lookSplit},
	kindData:   {look: lookData},
	kindDataAt: {look: lookNamedData},
	kindFlags:  {look: lookFlags},
	kindAlias:  {look: lookAlias},
}
