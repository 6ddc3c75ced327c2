package policy

import (
	"path"
	"slices"
	"strings"

	"wield/chat"
)

// The table says what most options and operands are. What stands here doubts it: a word that has the form of a path, an
// address or a program asks, even where a text is expected.

// optionValue records the value of an option. What is joined to a letter in the form NAME:VALUE may be an option of
// another name.
func (a *analysis) optionValue(k kind, w field, spelled []string) {
	a.value(k, w, spelled)
	switch {
	case !w.known || slices.Contains(patterns, spelled[0]) || slices.Contains(programKinds, k):
	case k == kindText:
		a.doubted(w, spelled, true)
	default:
		a.leadsOut(w, true)
	}
	if len(spelled) > 1 && k != kindText && longName.MatchString(strings.TrimPrefix(spelled[1], "-")) &&
		spelled[0] != spelled[1] {
		a.notKnown(spelled[1], spelled)
	}
}

// patterns are options whose value is a pattern or an expression everywhere.
var patterns = []string{"-e", "--regexp", "--expression"}

// longName is NAME:VALUE, as some programs write their options.
var longName = lazily(`^[A-Za-z]{3,}:`)

// behindOptional records that some versions of a program take the word behind an option for its value, although it is
// not joined.
func (a *analysis) behindOptional(o option, words []field) {
	if o.joined && len(words) > 1 && words[1].known && !strings.HasPrefix(words[1].text, "-") &&
		slices.Contains(riskyKinds, o.kinds[0]) {
		a.value(o.kinds[0], words[1], []string{words[0].text})
	}
}

// riskyKinds are those of values that are written or run.
var riskyKinds = []kind{kindWrite, kindMake, kindOutput, kindReport, kindExec, kindScript, kindReadX}

// doubted looks at a text that has the form of a path or an address: the table may not know all that a program does
// with it.
func (a *analysis) doubted(w field, spelled []string, ofOption bool) {
	if address.MatchString(w.text) {
		a.effect(effectNet, append(slices.Clip(spelled), w.text)...)
	}
	a.leadsOut(w, false)
	if file, ok := strings.CutPrefix(w.text, "@"); ok {
		a.uses = append(a.uses, use{kind: useMaybe, text: file, tilde: strings.HasPrefix(file, "~"), op: OpRead})
	}
	if ofOption && codeFile.MatchString(w.text) {
		a.notKnown(w.text, append(slices.Clip(spelled), w.text))
	}
	if !ofOption || strings.ContainsAny(w.text, " \t\n") {
		return
	}
	for _, part := range partsOf(w.text) {
		if strings.ContainsAny(part, "./") {
			a.uses = append(a.uses, use{kind: useMaybe, text: part, op: OpWrite, guess: true, there: true})
		}
	}
}

// codeFile is a file that a program may load and run.
var codeFile = lazily(`^[A-Za-z0-9_./-]*[A-Za-z0-9_]\.([cm]?[jt]sx?|py|rb|lua|php|pl|sh|so|dll|dylib|jar|exs?)$`)

// leadsOut finds the paths in a word that lead out of the root, wherever they stand in it. judged says that the word as
// a whole has been judged.
func (a *analysis) leadsOut(w field, judged bool) {
	if strings.ContainsAny(w.text, " \t\n") {
		return
	}
	for _, part := range partsOf(w.text) {
		if part == w.text && judged {
			continue
		}
		if strings.HasPrefix(path.Clean(part), "../") || part == ".." || part[0] == '/' ||
			strings.HasPrefix(part, "~/") {
			a.uses = append(a.uses, use{kind: useMaybe, text: part, tilde: part[0] == '~', op: OpRead, there: true})
		}
	}
}

// partsOf cuts a word at the signs that names and values are parted with.
func partsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("=:,;@", r) })
}

// programKinds are those of texts that are programs, and judged as such.
var programKinds = []kind{kindFree, kindSed, kindAwk, kindQuery, kindShell, kindSplit, kindRev, kindGlob, kindURL,
	kindRange}

// address matches words that begin as an address does, alone or behind a name.
var address = lazily(`(^|=)[a-z][a-z0-9+.-]*://`)

// strange asks about a command with words of which nobody knows what they are for, if one of them names a command that
// a rule denies.
func (e *eval) strange(words []field, sc scope, node string) {
	for i, w := range words {
		name, _, joined := strings.Cut(w.text, "=")
		if i > 0 && isProse(words[i-1].text) || joined && isProse(name) {
			continue
		}
		for _, text := range valuesOf(w) {
			line := strings.Fields(strings.TrimLeft(text, "!"))
			if len(line) == 1 {
				line = append(line, texts(words[i+1:])...)
			}
			if len(line) > 0 && !hasEnding.MatchString(line[0]) && e.denies(line) || isSetting(text) && e.deniedIn(text) != "" ||
				e.depth < maxDepth && strings.ContainsAny(text, "\"'\\$") && e.deniesLine(text, sc) {
				e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "operand", "nothing is known of what "+
					Visible(w.text)+" is for, and a rule denies a command of that name", nil)
				return
			}
		}
	}
}

// isProse reports whether an option takes a text for people.
func isProse(option string) bool { return slices.Contains(proseOptions, option) }

var proseOptions = []string{"--title", "--body", "--message", "--notes", "--description", "--subject", "--comment"}

// isSetting reports whether a text is written as JSON or as a list.
func isSetting(text string) bool { return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") }

// deniesLine reports whether a rule denies, or may deny, a command of a text whose quotes a shell would take away.
func (e *eval) deniesLine(text string, sc scope) bool {
	return slices.ContainsFunc(e.probe(text, sc), func(f Finding) bool {
		return !f.ofRule || f.Decision == chat.DecisionDeny
	})
}

// valuesOf lists what a word of an unknown form may hold: itself, or what is joined to an option, by = or to a letter.
func valuesOf(w field) []string {
	switch _, value, ok := strings.Cut(w.text, "="); {
	case !w.known || len(w.text) < 2:
		return nil
	case w.text[0] != '-' && w.text[0] != '+':
		return []string{w.text, value}
	case ok:
		return []string{value, w.text[2:]}
	case w.text[1] == w.text[0]:
		return nil
	}
	if letters, rest, ok := strings.Cut(w.text, " "); ok && len(letters) > 3 { // one of several letters: -lc'rm x'
		return []string{w.text[2:], letters[3:] + " " + rest}
	}
	return []string{w.text[2:]}
}

// mentions asks about a command that no rule names, if a text that it runs, or may run, has the name of a command in it
// that a rule denies: a program in another language starts others by their names.
func (e *eval) mentions(a *analysis, words []field, node string) {
	var list []string
	for _, u := range a.uses {
		if slices.Contains([]effect{effectExec, effectUnknown, effectAsk}, u.flagged) {
			list = append(append(list, u.text), u.spelled...)
		}
	}
	list = append(list, texts(a.strange)...)
	for _, w := range words[1:] { // a variable of a text that runs
		if len(list) > 0 && w.known && strings.Contains(w.text, "=") {
			list = append(list, w.text)
		}
	}
	denied := ""
	for _, text := range list {
		denied = first(denied, e.deniedIn(text))
	}
	if f := e.fed; denied == "" && f != nil && f.known &&
		(len(list) > 0 || !a.table || slices.Contains(commandReaders, baseName(words[0].text))) {
		if f.denied == nil { // many commands may have one input
			name := e.deniedIn(f.text)
			f.denied = &name
		}
		denied = *f.denied
	}
	if denied != "" {
		e.builtin(chat.DecisionAsk, SubjectCommand, denied, node, "operand", words[0].text+
			" may run what is named in its text, and a rule denies "+Visible(denied), nil)
	}
}

// commandReaders run commands that stand in their input beside what else they read.
var commandReaders = strings.Fields(`bc dc psql mysql mariadb sqlite3 duckdb ftp sftp gnuplot m4 mail mailx`)

// deniedIn returns the first name in a text that begins a command which a rule denies; "" if there is none.
func (e *eval) deniedIn(text string) string {
	line := nameInside.FindAllString(text, -1)
	for i, name := range line {
		if name[0] != '-' && !hasEnding.MatchString(name) && e.denies(line[i:min(i+maxLine, len(line))]) {
			return name
		}
	}
	return ""
}

// maxLine limits the words of a command inside a text.
const maxLine = 16

// nameInside is what may be the name of a program or an option in a text; hasEnding is rather a file than a program.
var (
	nameInside = lazily(`-{0,2}[A-Za-z0-9_/][A-Za-z0-9_./+-]*`)
	hasEnding  = lazily(`\.(txt|md|org|rst|html|css|[a-z]*js|[jt]sx|py|rb|ts|go|rs|java|c|h|sh|json|yaml|yml)$`)
)
