package policy

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// These look closer at values that have a syntax of their own.

// lookMaybe finds the path in NAME=PATH.
func lookMaybe(a *analysis, w field, _ []string) {
	if _, after, ok := strings.Cut(w.text, "="); ok && after != "" {
		a.uses = append(a.uses, use{kind: useMaybe, text: after, tilde: after[0] == '~', op: OpRead})
	}
}

// lookAny finds the paths in NAME=PATH and NAME:PATH, and takes what it finds for files that may be written.
func lookAny(a *analysis, w field, _ []string) {
	lookMaybe(a, w, nil)
	for _, text := range insideOf(w.text) {
		a.uses = append(a.uses, use{kind: useMaybe, text: text, tilde: strings.HasPrefix(text, "~"), op: OpWrite,
			guess: true})
	}
}

// insideOf lists a text, and what is behind the first and the last of the signs that part a name from a value.
func insideOf(text string) []string {
	list := []string{text}
	first, last := strings.IndexAny(text, "=:,"), strings.LastIndexAny(text, "=:,")
	if first >= 0 && text[first+1:] != "" {
		list = append(list, text[first+1:])
	}
	if last > first && text[last+1:] != "" {
		list = append(list, text[last+1:])
	}
	return list
}

// lookRecipe is for a script that may be the input.
func lookRecipe(a *analysis, w field, _ []string) {
	a.unread = a.unread || inputName.MatchString(w.text)
}

// lookJob is for a file, or an input, with lines that a shell runs.
func lookJob(a *analysis, w field, _ []string) {
	a.named = inputName.MatchString(w.text)
	a.unread = !a.named
}

// lookExec is for what is run: a rule that denies holds in it.
func lookExec(a *analysis, w field, _ []string) {
	for _, text := range insideOf(w.text) {
		if hasEnding.MatchString(text) && !strings.Contains(text, " ") {
			continue
		}
		a.uses = append(a.uses, use{kind: useInside, text: strings.TrimLeft(text, "! ")})
		if bare := unlist.Replace(text); bare != text {
			a.uses = append(a.uses, use{kind: useInside, text: bare})
		}
	}
}

// unlist takes the signs of a list or a text away, which several programs write their settings with.
var unlist = strings.NewReplacer("[", " ", "]", " ", `"`, " ", "'", " ", ",", " ", "!", " ")

// lookConf is for a setting of git, as NAME=VALUE: many are commands, those behind a ! among them.
func lookConf(a *analysis, w field, spelled []string) {
	lookExec(a, w, spelled)
}

// lookNamed is for what goes by a name, unless it is a file, whose code runs.
func lookNamed(a *analysis, w field, spelled []string) {
	if strings.ContainsAny(w.text, "/\\") || strings.HasPrefix(w.text, ".") || strings.HasPrefix(w.text, "file:") {
		a.effect(effectExec, spelled...)
	}
}

// lookPackage tells a package of the project from PACKAGE@VERSION, which another machine gives out.
func lookPackage(a *analysis, w field, spelled []string) {
	if strings.Contains(w.text, "@") {
		a.effect(effectNet, spelled...)
	}
	if strings.HasPrefix(w.text, "/dev/") {
		a.effect(effectExec, spelled...)
	}
	if goesOut(path.Base(w.text)) {
		a.effect(effectExec, spelled...)
	}
}

// lookOwn is for the name of a program of the project, which asks if it says that what it does goes out.
func lookOwn(a *analysis, w field, spelled []string) {
	if goesOut(w.text) {
		a.effect(effectExec, spelled...)
	}
	a.doubted(w, spelled, true)
}

// lookMake is for what is made. What is renamed or linked takes the place of a device, into which others only write.
func lookMake(a *analysis, w field, spelled []string) {
	if name := baseName(a.canonical[0].text); (name == "mv" || name == "ln") && slices.Contains(freeFiles, w.text) {
		a.effect(effectWrite, spelled...)
	}
}

// imageName is an image by its name alone, or one of a registry that everybody knows; localImage is a file.
var (
	imageName = lazily(`^((docker|registry|podman|oci-registry):(//)?)?` +
		`((docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|mcr\.microsoft\.com|public\.ecr\.aws)/)?` +
		`[a-z0-9_-]+(/[a-z0-9._-]+)*(:[A-Za-z0-9._-]+)?(@sha256:[0-9a-f]+)?$`)
	localImage = lazily(`^((dir|file|docker-archive|oci-archive|oci-dir|sbom):)?(\.\.?/[^:@]*|/[^:@]*|[^:@/]+|[^:@/.]+/[^:@]*)$`)
)

// shownFields is a template with fields and parts of them; hiddenFields are those with an environment in them, or all.
var (
	shownFields = lazily(`^([^{]|\{\{-? *(json |println |len |upper |lower |else|end|if |with |range |\$\w+(, *\$\w+)? *:= *)*` +
		`(\$?[A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+|\$\w+)? *-?\}\})*$`)
	hiddenFields = lazily(`(?i)^[^{]*$|\.env\b|\.createcommand\b|(config|spec|tasktemplate) *-?\}\}|[^\w}]\. *-?\}\}`)
)

func lookFields(a *analysis, w field, spelled []string) {
	if !shownFields.MatchString(w.text) || hiddenFields.MatchString(w.text) {
		a.effect(effectRead, spelled...)
	}
}

// lookImage tells an image from a file, and asks about one of another machine.
func lookImage(a *analysis, w field, spelled []string) {
	switch _, file, _ := strings.Cut(w.text, ":"); {
	case strings.Contains(w.text, "localhost/"):
		a.effect(effectNet, spelled...)
	case imageName.MatchString(w.text):
	case localImage.MatchString(w.text):
		a.uses = append(a.uses, use{kind: usePath, text: first(file, w.text), tilde: w.tilde, op: OpRead})
	default:
		a.effect(effectNet, spelled...)
	}
}

// resourceName is a kind of resource of a cluster, or one resource by its kind and name.
var resourceName = lazily(`^[a-z][a-z0-9.-]*(/[a-z0-9.-]+)?$`)

// lookResource is for a list of kinds of resources. Secrets are shown as they are, whatever they are called.
func lookResource(a *analysis, w field, spelled []string) {
	for part := range strings.SplitSeq(w.text, ",") {
		if !resourceName.MatchString(part) || strings.Contains(part, "secret") {
			a.notKnown(w.text, spelled)
			return
		}
	}
}

// lookStamp is for the time that date shows, +FORMAT, or sets.
func lookStamp(a *analysis, w field, spelled []string) {
	if !strings.HasPrefix(w.text, "+") {
		a.effect(effectWrite, spelled...)
	}
}

// lookReport finds the file in FORM:FILE.
func lookReport(a *analysis, w field, spelled []string) {
	form, file, ok := strings.Cut(w.text, ":")
	if !plainName.MatchString(form) {
		a.notKnown(w.text, spelled)
	}
	if ok && file != "" {
		a.uses = append(a.uses, use{kind: usePath, text: file, tilde: file[0] == '~', op: OpWrite,
			flagged: effectWrite, output: true, spelled: spelled})
	}
}

// lookTests is for a pattern of the names of tests. What it names runs, whatever it is called.
func lookTests(a *analysis, w field, spelled []string) {
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	name := strings.TrimRightFunc(w.text, isSign)
	if isText("." + name[strings.LastIndexFunc(name, isSign)+1:]) {
		a.effect(effectExec, spelled...)
	}
	a.leadsOut(w, false)
}

// plainName is the name of a form, a plug-in or a variable, and no path.
var plainName = lazily(`^[A-Za-z0-9_][A-Za-z0-9_.,-]*$`)

// lookVariable is for the name of a variable, whose subscript a shell works out, commands and all.
func lookVariable(a *analysis, w field, spelled []string) {
	lookSeen(a, w, spelled)
	if !harmlessVariable(w.text) {
		a.effect(effectExec, spelled...)
	}
}

// variableName is one that programs hardly take orders from: those are in capitals, but for a few.
var variableName = lazily(`^[a-z][a-z0-9_]*$`)

// orderVariables are names in small letters that shells and programs take orders from.
var orderVariables = lazily(
	`^(path|cdpath|fpath|manpath|module_path|mailpath|argv|status|options|functions|aliases|commands|[a-z]*_proxy|npm_.*|pip_.*|git_.*|ld_.*)$`)

func harmlessVariable(name string) bool {
	return variableName.MatchString(name) && !orderVariables.MatchString(name)
}

// stage is the number between the colons of :0:PATH, a file as the index of git has it.
var stage = lazily(`^[0-3]:`)

// lookRev finds the path in REVISION:PATH, :PATH, :STAGE:PATH and in :(magic)PATH.
func lookRev(a *analysis, w field, _ []string) {
	before, after, ok := strings.Cut(w.text, ":")
	if strings.HasPrefix(before, "+") && !strings.HasPrefix(after, "refs/remotes/") {
		a.notKnown(w.text, []string{w.text}) // a branch of one's own, set to whatever the other has
	}
	if len(a.canonical) > 1 && a.canonical[1].text == "fetch" && before != "" && mainBranch.MatchString(after) {
		a.notKnown(w.text, []string{w.text})
	}
	if before == "" {
		after = stage.ReplaceAllString(after, "")
	}
	if !ok || after == "" || strings.HasPrefix(after, "//") {
		return
	}
	if _, p, ok := strings.Cut(after, ")"); ok && strings.HasPrefix(after, "(") {
		after = p
	}
	a.uses = append(a.uses, use{kind: useMaybe, text: strings.TrimLeft(after, "!^/"), op: OpRead})
}

// mainBranch is one that others build on.
var mainBranch = lazily(`^(refs/heads/|heads/)?(main|master|trunk|develop|release.*)$`)

// lookRange finds the path in START,END:PATH and :FUNCTION:PATH, of which git tells the history of some lines.
func lookRange(a *analysis, w field, _ []string) {
	if i := strings.LastIndexByte(w.text, ':'); i >= 0 && w.text[i+1:] != "" {
		a.uses = append(a.uses, use{kind: usePath, text: w.text[i+1:], op: OpRead})
	}
}

// lookTarget is for what make and its like build: a task, a file that is built, or a variable that is known
// to be harmless.
func lookTarget(a *analysis, w field, spelled []string) {
	name, value, ok := strings.Cut(w.text, "=")
	if !ok {
		if !isTask(w.text) && !builtTarget.MatchString(w.text) && strings.Trim(w.text, "0123456789") != "" {
			a.notKnown(w.text, append(spelled, w.text))
			lookAny(a, w, nil)
		}
		return
	}
	name = strings.TrimRight(name, ":?+") // what stands before != is run
	if !harmlessSetting(name, value) {
		a.effect(effectExec, append(spelled, name)...)
		a.uses = append(a.uses, use{kind: useInside, text: value})
	}
	lookAny(a, w, nil)
}

// builtTarget is a file that compilers make.
var builtTarget = lazily(
	`^[A-Za-z0-9_/-]+\.(o|a|so|d|exe|obj|wasm|pdf|html)$|^(build|bin|out|dist|target)/[A-Za-z0-9_-]+$`)

// makeVariables name programs that make runs, or where it finds them.
var makeVariables = lazily(`^(SHELL|\.SHELLFLAGS|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|MAKE|VPATH|[A-Z_]*PATH|` +
	`(HOST)?(CC|CXX|CPP|LD|AR|AS|NM|RANLIB|STRIP|OBJCOPY|RM|CP|MV|LN|MKDIR|INSTALL|SH|BASH|SED|AWK|GREP|GO|PYTHON3?|NODE|NPM|CARGO|RUSTC|PERL|DOCKER|CURL)|` +
	`[A-Z_]*(CMD|COMMAND|RUNNER|RUN|LAUNCHER|WRAPPER|SHELL|PROGRAM|TOOL|BIN|COMPILER|LINKER))$`)

var (
	settingName  = lazily(`^[A-Za-z][A-Z0-9_]*$`)
	settingValue = lazily(`^([0-9]{0,6}|y|n|yes|no|on|off|true|false)$`)
	// namedSettings choose what is built or tested, and are no programs.
	namedSettings = lazily(
		`^(BUILD_?TYPE|BUILD|CONFIG|CONFIGURATION|MODE|TARGET|ARCH|GOOS|GOARCH|CGO_ENABLED|OS|PLATFORM|VERSION|NODE_ENV|PROFILE|PREFIX|COUNT|LOG_?LEVEL|VARIANT|TESTS?|PKGS?|PACKAGES?|FILTER)$`)
	namedValue   = lazily(`^[A-Za-z0-9_][A-Za-z0-9_.+%-]*$`)
	pathSettings = lazily(`^(TESTS?|PKGS?|PACKAGES?)$`)
	pathValue    = lazily(`^(\./)?[A-Za-z0-9_][A-Za-z0-9_./:-]*$`)
	flagSettings = lazily(
		`^(CFLAGS|CXXFLAGS|CPPFLAGS|GO_?FLAGS|(GO_?)?TEST_?(FLAGS|ARGS|OPTS)|(PY)?TEST_?(ARGS|FLAGS)|ARGS)$`)
	flagsValue = lazily(
		`^(\s*(-O[0-3sgz]?|-g[0-3]?|-W[a-z0-9-]+|-Werror=[a-z0-9-]+|-std=[a-z0-9+]+|-D[A-Za-z_0-9]+(=[A-Za-z0-9_.]*)?|-fsanitize=[a-z,]+|-fPIC|-pedantic|-m(32|64)|-march=[a-z0-9-]+|-pg|-vv?|-q|-x|-s|-race|-short|-count=[0-9]+|-run=\w+|-mod=(mod|readonly|vendor)|-tags=[a-z0-9,_]+))*\s*$`)
)

// harmlessSetting reports whether a variable of make, or one in front of a program that builds, is known to
// run nothing.
func harmlessSetting(name, value string) bool {
	switch {
	case strings.Contains(strings.TrimSuffix(value, "/..."), "..") || makeVariables.MatchString(name):
		return false
	case namedSettings.MatchString(name) && namedValue.MatchString(value), pathSettings.MatchString(name) &&
		pathValue.MatchString(value):
		return true
	case flagSettings.MatchString(name) && flagsValue.MatchString(value):
		return true
	}
	return settingName.MatchString(name) && settingValue.MatchString(value)
}

// harmlessDefine are settings of cmake that choose what is built.
var harmlessDefine = lazily(
	`^(CMAKE_(BUILD_TYPE|C_STANDARD|CXX_STANDARD|EXPORT_COMPILE_COMMANDS|VERBOSE_MAKEFILE|POSITION_INDEPENDENT_CODE|INTERPROCEDURAL_OPTIMIZATION|OSX_ARCHITECTURES|OSX_DEPLOYMENT_TARGET|CXX_EXTENSIONS|COLOR_MAKEFILE|UNITY_BUILD|COMPILE_WARNING_AS_ERROR)(:[A-Z]+)?=[A-Za-z0-9_.;-]*|` +
		`CMAKE_(C|CXX)_COMPILER(:[A-Z]+)?=(gcc|g\+\+|clang|clang\+\+|cc|c\+\+)(-[0-9]+)?|` +
		`CMAKE_(C|CXX)_FLAGS(_[A-Z]+)?(:[A-Z]+)?= *((-W[a-z][a-z0-9=+-]*|-O[0-3sgz]|-g[0-9]?|-pedantic|` +
		`-std=[a-z0-9+]+|-fsanitize=[a-z,]+|-fno-[a-z-]+|-fPIC|-march=[a-z0-9-]+|--coverage) *)+|` +
		`([A-BD-Z][A-Z0-9_]*|C[A-LN-Z][A-Z0-9_]*)(:BOOL)?=(ON|OFF|TRUE|FALSE|YES|NO|on|off|true|false|0|1))$`)

// lookDefine is for NAME=VALUE of cmake, whose settings name compilers and files that it runs.
func lookDefine(a *analysis, w field, spelled []string) {
	if !harmlessDefine.MatchString(w.text) {
		name, value, _ := strings.Cut(w.text, "=")
		a.effect(effectExec, append(spelled, name)...)
		a.uses = append(a.uses, use{kind: useInside, text: value})
	}
	lookAny(a, w, nil)
}

// lookSeen is for words of which a shell's test may work out a subscript, and the commands in it.
func lookSeen(a *analysis, w field, spelled []string) {
	if strings.Contains(w.text, "$(") || strings.Contains(w.text, "`") {
		a.effect(effectExec, spelled...)
		a.uses = append(a.uses, use{kind: useInside, text: ": " + w.text}) // a word with a bracket begins no command
	}
	if strings.Contains(w.text, "://") {
		a.uses = append(a.uses, use{kind: useURL, text: w.text})
	}
	if strings.HasPrefix(w.text, "npm:") || strings.HasPrefix(w.text, "jsr:") { // packages of a registry
		a.effect(effectNet, spelled...)
	}
}

// lookGlob finds keys among the names of files that a search is limited to.
func lookGlob(a *analysis, w field, spelled []string) {
	if !strings.HasPrefix(w.text, "!") && sensitivePattern(foldNames(strings.Split(w.text, "/"))) != "" {
		a.effect(effectRead, spelled...)
	}
}

// hostPath is a place at another machine, written without a scheme.
var hostPath = lazily(`^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}/`)

// lookSource tells an address from a file.
func lookSource(a *analysis, w field, spelled []string) {
	if strings.Contains(w.text, "://") || hostPort.MatchString(w.text) || hostPath.MatchString(w.text) {
		a.effect(effectNet, spelled...)
		a.uses = append(a.uses, use{kind: useURL, text: w.text})
		return
	}
	a.uses = append(a.uses, use{kind: usePath, text: w.text, tilde: w.tilde, op: OpRead})
}

var hostPort = lazily(`^[A-Za-z0-9.-]*:[0-9]+`)

// lookCopy finds the files that dd reads and writes.
func lookCopy(a *analysis, w field, spelled []string) {
	a.effect(effectExec, spelled...)
	name, file, _ := strings.Cut(w.text, "=")
	op, ok := map[string]Op{"if": OpRead, "of": OpWrite}[name]
	if ok {
		a.uses = append(a.uses, use{kind: usePath, text: file, tilde: strings.HasPrefix(file, "~"), op: op})
	}
}

// lookSplit is for a text that a wrapper cuts into words and runs.
func lookSplit(a *analysis, w field, spelled []string) {
	a.asks = true
	a.uses = append(a.uses, use{kind: useShell, text: w.text, flagged: effectExec, spelled: spelled})
}

// lookNamedData finds the file in NAME@FILE, as curl encodes data.
func lookNamedData(a *analysis, w field, _ []string) {
	if _, file, ok := strings.Cut(w.text, "@"); ok {
		a.uses = append(a.uses, use{kind: usePath, text: file, tilde: strings.HasPrefix(file, "~"), op: OpRead})
	}
}

// lookData finds the file in @FILE and NAME=@FILE.
func lookData(a *analysis, w field, _ []string) {
	for _, sign := range []string{"@", "<"} {
		if _, file, ok := strings.Cut(w.text, sign); ok &&
			(strings.HasPrefix(w.text, sign) || strings.Contains(w.text, "="+sign)) {
			a.uses = append(a.uses, use{kind: usePath, text: file, tilde: strings.HasPrefix(file, "~"), op: OpRead})
			return
		}
	}
	a.uses = append(a.uses, use{kind: useMaybe, text: w.text, tilde: w.tilde, op: OpRead}) // a file of cookies, say
}

// plainFlags are those of Go's compiler and linker that only change what is built.
var plainFlags = lazily(
	`^([A-Za-z0-9_./]+=)?(\s*(-s|-w|-N|-l|-m|-m=[0-9]|-B|-c=[0-9]+|-race|-d=checkptr(=[0-9])?|-X(=|\s+)('[\w./-]+=[^']*'|[\w./-]+=[^'"\s]*)))*\s*$`)

// lookFlags looks at the flags that go passes on.
func lookFlags(a *analysis, w field, spelled []string) {
	if !plainFlags.MatchString(w.text) {
		a.effect(effectExec, spelled...)
	}
}

// lookAlias looks at NAME=COMMAND.
func lookAlias(a *analysis, w field, spelled []string) {
	a.effect(effectExec, spelled...)
	if _, command, ok := strings.Cut(w.text, "="); ok {
		a.uses = append(a.uses, use{kind: useShell, text: command})
	}
}

// riskyAwk matches whatever an awk program runs commands, writes files or loads code with, in quotes too.
var riskyAwk = lazily(`system|getline|\|&|@|ENVIRON|ARGV|SYMTAB|FUNCTAB|PROCINFO|close|fflush|extension`)

// printsTo finds a > or a | behind a print, which alone write to files and programs, and what hides one.
var printsTo = lazily(`(?s)print.*(>([^=]|$)|\|([^|]|$))|\\\n`)

func lookAwk(a *analysis, w field, spelled []string) {
	if riskyAwk.MatchString(w.text) || printsTo.MatchString(w.text) {
		a.effect(effectExec, spelled...)
	}
}

// lookSed reads a script of sed as far as it is one of the forms that only edit the text that goes through.
func lookSed(a *analysis, w field, spelled []string) {
	s := sedScript{rest: w.text}
	for s.ok() && s.rest != "" {
		s.command()
	}
	for _, file := range s.reads {
		a.uses = append(a.uses, use{kind: usePath, text: file, op: OpRead})
	}
	for _, file := range s.writes {
		a.uses = append(a.uses, use{kind: usePath, text: file, op: OpWrite, flagged: effectWrite, spelled: spelled})
	}
	for _, line := range s.runs {
		a.uses = append(a.uses, use{kind: useInside, text: line})
	}
	if s.bad {
		a.effect(effectExec, spelled...)
	}
	a.rewrites = a.rewrites || s.rewrites
}

// A sedScript holds the rest of a script, and what it was found to use.
type sedScript struct {
	rest          string
	bad           bool // it runs commands, or nobody knows
	rewrites      bool // it puts lines of its own into the text, or leaves none
	reads, writes []string
	runs          []string
}

// allLines are addresses of sed that all lines have.
var allLines = []string{"", "1,$", "0~1", "1~1", "/./", "/.*/", "/^/", "/$/", "//"}

func (s *sedScript) ok() bool { return !s.bad }

// command reads one command with its addresses.
func (s *sedScript) command() {
	s.rest = strings.TrimLeft(s.rest, " \t\n;{}")
	start := s.rest
	for range 2 {
		s.address()
		s.rest = strings.TrimLeft(s.rest, " \t")
		if !strings.HasPrefix(s.rest, ",") {
			break
		}
		s.rest = strings.TrimLeft(s.rest[1:], " \t+~")
	}
	s.rest = strings.TrimLeft(s.rest, " \t!")
	if s.rest == "" || s.bad {
		return
	}
	address, c := strings.TrimRight(start[:len(start)-len(s.rest)], " \t"), s.rest[0]
	s.rewrites = s.rewrites || c == 'a' || c == 'i' || c == 'c' || c == 'd' && slices.Contains(allLines, address)
	s.rest = s.rest[1:]
	switch c {
	case '{', '}', ';', '\n', '#':
		if c == '#' {
			s.line()
		}
	case 'p', 'P', 'd', 'D', 'n', 'N', 'g', 'G', 'h', 'H', 'x', '=', 'z', 'F':
	case 'q', 'Q', 'l', 'L':
		s.rest = strings.TrimLeft(s.rest, " 0123456789")
	case 'a', 'i', 'c':
		// A backslash lets the text go on on the next line, which is then no command; what is text and what is not must
		// not be mistaken.
		s.bad = strings.HasSuffix(s.line(), "\\")
	case ':', 'b', 't', 'T', 'v': // some versions end a label at a semicolon, some do not
		s.rest = strings.TrimLeft(s.rest, " ")
		s.rest = strings.TrimLeftFunc(s.rest, func(r rune) bool { return !strings.ContainsRune(";\n} ", r) })
	case 'r', 'R':
		s.reads = append(s.reads, s.line())
	case 'w', 'W':
		s.writes = append(s.writes, s.line())
	case 's':
		s.part(2)
		s.flags()
	case 'y':
		s.part(2)
	case 'e':
		s.runs, s.bad = append(s.runs, s.line()), true
	default: // what is not here is not known
		s.bad = true
	}
}

// address reads a line number, $, or a pattern between slashes.
func (s *sedScript) address() {
	switch {
	case s.rest == "":
	case s.rest[0] == '/':
		s.rest = s.rest[1:]
		s.until('/')
		s.rest = strings.TrimLeft(s.rest, "IM")
	case s.rest[0] == '\\' && len(s.rest) > 1:
		c := s.rest[1]
		s.rest = s.rest[2:]
		s.until(c)
		s.rest = strings.TrimLeft(s.rest, "IM")
	default:
		s.rest = strings.TrimLeft(s.rest, "0123456789$~")
	}
}

// until goes behind the next c that no backslash stands before. Versions differ on whether a c in brackets counts, so
// that it must not stand there.
func (s *sedScript) until(c byte) {
	open := -1
	for i := 0; i < len(s.rest); i++ {
		switch b := s.rest[i]; {
		case b == '\\':
			i++
		case b == c:
			s.bad = open >= 0
			s.rest = s.rest[i+1:]
			return
		case b == '[' && open < 0:
			open = i
		case b == ']' && open >= 0 && i > open+1 && s.rest[open+1:i] != "^":
			open = -1
		}
	}
	s.bad = true
}

// part reads n parts that the next character separates, as in s/a/b/.
func (s *sedScript) part(n int) {
	if s.rest == "" || s.rest[0] == '\\' || s.rest[0] == '\n' {
		s.bad = true
		return
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	for range n {
		s.until(c)
	}
}

// flags reads what stands behind s/a/b/.
func (s *sedScript) flags() {
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case strings.IndexByte("gpiIMm0123456789", c) >= 0:
			s.rest = s.rest[1:]
		case c == 'w':
			s.rest = s.rest[1:]
			s.writes = append(s.writes, s.line())
		case strings.IndexByte(" \t;\n}", c) >= 0:
			return
		default: // e runs the result
			s.bad = true
			return
		}
	}
}

// line takes the rest of the line.
func (s *sedScript) line() string {
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	return strings.TrimSpace(line)
}

// lookRemote tells a file from HOST:FILE, for which another machine is asked.
func lookRemote(op Op) func(*analysis, field, []string) {
	return func(a *analysis, w field, _ []string) {
		if before, _, ok := strings.Cut(w.text, ":"); ok && !strings.Contains(before, "/") {
			a.effect(effectNet, w.text)
			return
		}
		a.uses = append(a.uses, use{kind: usePath, text: w.text, tilde: w.tilde, op: op})
	}
}

// onlyLists are the options with which an archive is looked at and nothing is unpacked.
var onlyLists = lazily(`^-[a-zA-Z]*[ltpZvz]`)

// lookUnpack is for an archive that is unpacked where the program is, under whatever names are in it.
func lookUnpack(a *analysis, _ field, spelled []string) {
	if !slices.ContainsFunc(a.canonical[1:], func(w field) bool { return w.known && onlyLists.MatchString(w.text) }) {
		a.effect(effectWrite, spelled...)
	}
}

// riskyQuery matches whatever a program of jq or yq reads files with, or runs another one.
var riskyQuery = lazily(`(^|[^.\w"])(import|include|(str)?load\w*|system|eval|\w*env|envsubst|ENV)\b`)

func lookQuery(a *analysis, w field, spelled []string) {
	if riskyQuery.MatchString(w.text) {
		a.effect(effectRead, spelled...)
	}
}

// startsAt is a command of a pager that goes to a line or to a text.
var startsAt = lazily(`^\+([0-9]*[gGF]?|/[A-Za-z0-9_ .:()-]*)$`)

// lookPage tells a file from +COMMAND, which a pager carries out when it begins.
func lookPage(a *analysis, w field, spelled []string) {
	if strings.HasPrefix(w.text, "+") {
		if !startsAt.MatchString(w.text) {
			a.effect(effectExec, spelled...)
		}
		return
	}
	a.uses = append(a.uses, use{kind: usePath, text: w.text, tilde: w.tilde, op: OpRead})
}

// lookProcs finds the letter e among those of ps, which shows the environment of programs, where keys are.
func lookProcs(a *analysis, w field, spelled []string) {
	if strings.Contains(strings.ToLower(w.text), "e") {
		a.effect(effectRead, spelled...)
	}
}
