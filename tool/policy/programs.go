package policy

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// programs is the table of programs, read once. The file is part of the program, and a test reads it too, so
// that an error in it is found before anybody meets it.
var programs = sync.OnceValue(func() map[string]*program {
	table, _ := tables()
	return table
})

// variables is the table of variables: what their values may be in front of a command.
var variables = sync.OnceValue(func() map[string]kind {
	_, vars := tables()
	return vars
})

var tables = sync.OnceValues(func() (map[string]*program, map[string]kind) {
	table, vars, err := readPrograms(programsText)
	if err != nil {
		panic("policy: programs.txt: " + err.Error())
	}
	return table, vars
})

// A program is an entry of the table. The words are those of programs.txt.
type program struct {
	handling
	style    style
	operands []kind
	last     kind // of the last operand, if it differs
	taken    bool // the operands are those of another entry
	options  map[string]option
	global   map[string]option
	subs     map[string]bool // nil: it has none
	skip     map[string]bool
	bare     effect
	behind   string          // what stands behind --: an entry, or behindRuns; "": operands as any others
	unless   map[string]bool // options without which it does what bare says

	wraps        bool     // runs the command that follows
	before       int      // operands before that command
	asks         bool     // at least ask, whatever it runs
	assigns      bool     // NAME=VALUE in front of the command that follows sets a variable
	scripts      []string // names under which a sub-command that is not here is run or exec of it
	tasks        bool     // a word that names a task is a script of the project, and no program
	joins        bool
	project      bool
	environments bool // what it runs may have the name of an environment and a colon before it
	dashes       bool // a -- behind the program that it runs may be its own
	suffixes     bool // what its options take is not known: any of its words may begin the command
}

// handling says what a program does with files and with its input.
type handling struct {
	edits   bool // writes the files that it is given
	fills   bool // puts a text of the caller's where it is told
	reads   bool // what it reads runs, if it is given nothing else to run
	foreign bool // that is no text of a shell as sh reads it
	loses   bool // what it overwrites is lost
	moves   bool // the last operand is the new place of the others, where it overwrites what is there
	hands   bool // what the project runs is given its operands, and may write them
	runs    bool // what it is given runs, as tests do
}

// An option holds the table's entry for one option.
type option struct {
	kinds    []kind // of its values
	joined   bool   // the value may be missing, and is joined
	effect   effect // of the option itself
	declared bool
	taken    bool // over from another entry
}

// style tells how a program reads options.
type style string

const (
	styleGNU   style = "gnu"
	styleFind  style = "find"
	styleGo    style = "go"
	styleCC    style = "cc"
	stylePlain style = "plain"
	styleTar   style = "tar"
	styleShell style = "shell"
)

// kind tells what a word or the value of an option means.
type kind string

const (
	kindText   kind = "text"
	kindFree   kind = "free" // text, even if it looks like a path or an address
	kindRead   kind = "read"
	kindReadX  kind = "read!" // read, and it changes what runs
	kindList   kind = "list"  // read, and it names further files
	kindWrite  kind = "write"
	kindMake   kind = "make"
	kindDrop   kind = "drop"
	kindCopy   kind = "copy"
	kindDir    kind = "dir"
	kindExec   kind = "exec"
	kindShell  kind = "shell"
	kindScript kind = "script"
	kindRecipe kind = "recipe" // a script that may be the input
	kindJob    kind = "job"    // a file with lines that a shell runs
	kindModule kind = "module"
	kindURL    kind = "url"
	kindHost   kind = "host"
	kindSed    kind = "sed"
	kindAwk    kind = "awk"
	kindRev    kind = "rev"
	kindMaybe  kind = "maybe"
	kindAny    kind = "any"
	kindStamp  kind = "stamp"
	kindConf   kind = "conf"
	kindNamed  kind = "named"
	kindPkg    kind = "package"
	kindOwn    kind = "own"   // the name of what a project builds and runs, but for what goes out
	kindImage  kind = "image" // of containers
	kindFields kind = "fields"
	kindSplit  kind = "split"
	kindData   kind = "data"
	kindDataAt kind = "data@"
	kindFlags  kind = "goflags"
	kindAlias  kind = "alias"
	kindAsk    kind = "ask"
	kindNet    kind = "net"
	kindRange  kind = "range"
	kindRepo   kind = "repo"

	kindRemote  kind = "remote"
	kindArchive kind = "archive"
	kindUnpack  kind = "unpack"
	kindQuery   kind = "query"
	kindPage    kind = "page"
	kindProcs   kind = "procs"

	kindLook      kind = "look"      // a file of which nothing but its name, kind and size is seen
	kindOutput    kind = "output"    // written, if it is something that was built or measured
	kindReport    kind = "report"    // FORM or FORM:FILE, which is an output
	kindTests     kind = "tests"     // a pattern for the names of tests
	kindTask      kind = "task"      // what a project calls something to do
	kindVar       kind = "var"       // the name of a variable of a shell
	kindSeen      kind = "seen"      // text, or a file of that name that is there
	kindTarget    kind = "target"    // a task, a file that is built, or VARIABLE=VALUE
	kindDefine    kind = "define"    // NAME=VALUE of cmake
	kindSubscript kind = "subscript" // the name of a variable, or NAME=VALUE
	kindGlob      kind = "glob"      // names of files whose content is shown
	kindResource  kind = "resource"  // what a cluster is asked about
	kindSource    kind = "source"    // a file that is read, or an address
)

// behindRuns says that what stands behind -- runs, or goes to a program that nobody knows.
const behindRuns = "exec"

// among reports whether text is one of the alternatives of a kind such as auto|always|x*. Several tasks may stand in
// one text, as in lint,py312: each must be one.
func (k kind) among(text string) bool {
	if !slices.Contains(strings.Split(string(k), "|"), string(kindTask)) {
		return k.holds(text)
	}
	for part := range strings.SplitSeq(text, ",") {
		if !k.holds(part) {
			return false
		}
	}
	return true
}

// holds reports whether text is one of the alternatives.
func (k kind) holds(text string) bool {
	if strings.Contains(text, "[-") { // a revision in a filter, which git would read as an option
		return false
	}
	for alternative := range strings.SplitSeq(string(k), "|") {
		if alternative == string(kindTask) {
			if isTask(text) {
				return true
			}
			continue
		}
		if bad, ok := strings.CutPrefix(alternative, "!"); ok {
			if ok, _ := path.Match(bad, strings.ToLower(path.Base(text))); ok {
				return false
			}
			continue
		}
		if ok, _ := path.Match(alternative, text); ok { // checked by readKind
			return true
		}
	}
	return false
}

// lists reports whether the kind lists its values.
func (k kind) lists() bool { return strings.Contains(string(k), "|") }

var kinds = []kind{kindText, kindFree, kindRead, kindReadX, kindList, kindWrite, kindMake, kindDrop, kindCopy,
	kindDir, kindExec, kindShell, kindScript, kindRecipe, kindJob, kindModule, kindURL, kindHost, kindSed, kindAwk,
	kindRev, kindMaybe, kindSplit, kindData, kindDataAt, kindFlags, kindAlias, kindAsk, kindNet, kindRange,
	kindRepo, kindRemote, kindArchive, kindUnpack, kindQuery, kindPage, kindProcs, kindLook, kindOutput, kindReport,
	kindTask, kindVar, kindSeen, kindTarget, kindDefine, kindResource, kindSource, kindGlob, kindSubscript, kindAny,
	kindStamp, kindConf, kindNamed, kindPkg, kindOwn, kindImage, kindFields, kindTests}

// effect tells what an option does beside taking values.
type effect string

const (
	effectNone    effect = ""
	effectExec    effect = "exec"    // runs something else
	effectWrite   effect = "write"   // changes files
	effectRead    effect = "read"    // reads elsewhere
	effectNet     effect = "net"     // talks to other machines
	effectAsk     effect = "ask"     // cannot be judged
	effectCommand effect = "command" // runs the words that follow, up to ; or +
	effectLook    effect = "look"    // a wrapper that only looks, and runs nothing
	effectEdit    effect = "edit"    // writes the files that it would read
	effectRest    effect = "rest"    // runs the words that follow, all of them
	effectUnknown effect = "unknown" // an option that the table does not have
)

var effects = []effect{effectExec, effectWrite, effectRead, effectNet, effectAsk, effectCommand, effectLook,
	effectEdit, effectRest}

// effectTexts say what an effect is, for people.
var effectTexts = map[effect]string{
	effectExec:    "can run other programs",
	effectWrite:   "changes files",
	effectRead:    "reads elsewhere",
	effectNet:     "talks to other machines",
	effectAsk:     "cannot be judged from here",
	effectCommand: "runs another program",
	effectUnknown: "is not known here, and may write files or run programs",
}

// readPrograms reads the table.
func readPrograms(text string) (map[string]*program, map[string]kind, error) {
	table, vars := map[string]*program{}, map[string]kind{}
	var entry *program
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		if words[0] == "program" {
			entry = &program{style: styleGNU, options: map[string]option{}, global: map[string]option{}}
			err = entry.join(table, words[1:])
		} else if words[0] == "variable" {
			err = readVariables(vars, words[1:])
		} else if entry == nil {
			err = fmt.Errorf("%s stands before any program", words[0])
		} else if words[0] == "like" {
			err = entry.like(table[words[1]])
		} else {
			err = entry.directive(words[0], words[1:])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return table, vars, nil
}

// readVariables reads NAME=VALUES.
func readVariables(vars map[string]kind, specs []string) error {
	for _, spec := range specs {
		name, values, _ := strings.Cut(spec, "=")
		k, err := readKind(values)
		if err != nil || vars[name] != "" {
			return fmt.Errorf("%s: %w", spec, err)
		}
		vars[name] = k
	}
	return nil
}

func (p *program) join(table map[string]*program, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no name")
	}
	for _, n := range names {
		if table[n] != nil {
			return fmt.Errorf("a second entry for %s", n)
		}
		table[n] = p
	}
	return nil
}

// like takes over the options and operands of another entry, which has to stand above.
func (p *program) like(other *program) error {
	if other == nil || other == p {
		return fmt.Errorf("like names no entry above")
	}
	p.style, p.operands, p.last, p.behind, p.taken = other.style, other.operands, other.last, other.behind, true
	for name, o := range other.options {
		o.taken = true
		p.options[name] = o
	}
	return nil
}

func (p *program) directive(name string, words []string) error {
	switch name {
	case "style":
		p.style = style(words[0])
		if !slices.Contains([]style{styleGNU, styleFind, styleGo, styleCC, stylePlain, styleTar, styleShell}, p.style) {
			return fmt.Errorf("no style %s", words[0])
		}
	case "operands":
		if p.taken {
			p.operands, p.taken = nil, false
		}
		for _, w := range words {
			k, err := readKind(w)
			if err != nil {
				return err
			}
			p.operands = append(p.operands, k)
		}
	case "last":
		k, err := readKind(words[0])
		p.last = k
		return err
	case "option":
		return readOptions(p.options, words)
	case "letters":
		for _, letter := range strings.Join(words, "") {
			if name := "-" + string(letter); !p.options[name].declared || p.options[name].taken {
				p.options[name] = option{declared: true}
			}
		}
	case "global":
		return readOptions(p.global, words)
	case "sub":
		if p.subs == nil {
			p.subs = map[string]bool{}
		}
		for _, w := range words {
			p.subs[w] = true
		}
	case "skip":
		p.skip = map[string]bool{}
		for _, w := range words {
			p.skip[w] = true
		}
	case "wraps", "wraps!":
		n, err := strconv.Atoi(words[0])
		if err != nil {
			return err
		}
		p.wraps, p.before, p.asks = true, n, name == "wraps!"
	case "tasks":
		p.tasks = true
	case "joins":
		p.joins = true
	case "assigns":
		p.assigns = true
	case "scripts":
		p.scripts = words
	case "project":
		p.project = true
	case "environments":
		p.environments = true
	case "dashes":
		p.dashes = true
	case "edits":
		p.edits = true
	case "fills":
		p.fills = true
	case "reads", "reads!":
		p.reads, p.foreign = true, name == "reads!"
	case "loses":
		p.loses = true
	case "moves":
		p.moves = true
	case "hands":
		p.hands = true
	case "runs":
		p.runs = true
	case "suffixes":
		p.suffixes = true
	case "behind":
		p.behind = words[0]
	case "unless":
		p.unless = map[string]bool{}
		for _, w := range words {
			p.unless[w] = true
		}
	case "bare":
		p.bare = effect(words[0])
		if !slices.Contains(effects, p.bare) {
			return fmt.Errorf("no effect %s", words[0])
		}
	default:
		return fmt.Errorf("no directive %s", name)
	}
	return nil
}

func readKind(w string) (kind, error) {
	k := kind(w)
	if slices.Contains(kinds, k) {
		return k, nil
	}
	if k.lists() {
		for alternative := range strings.SplitSeq(w, "|") {
			if _, err := path.Match(alternative, ""); err != nil {
				return "", fmt.Errorf("%s: %w", w, err)
			}
		}
		return k, nil
	}
	return "", fmt.Errorf("no kind %s", w)
}

func readOptions(to map[string]option, specs []string) error {
	for _, spec := range specs {
		o := option{declared: true}
		name, rest, found := strings.Cut(spec, "=")
		if found {
			name, o.joined = strings.CutSuffix(name, "?")
			for _, w := range strings.Split(rest, "+") {
				k, err := readKind(w)
				if err != nil {
					return fmt.Errorf("%s: %w", spec, err)
				}
				o.kinds = append(o.kinds, k)
			}
		} else if n, e, ok := strings.Cut(spec, "!"); ok {
			name, o.effect = n, effect(e)
			if !slices.Contains(effects, o.effect) {
				return fmt.Errorf("%s: no effect %s", spec, e)
			}
		}
		if !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "+") || len(name) < 2 {
			return fmt.Errorf("%s: no option", spec)
		}
		if old, ok := to[name]; ok && !old.taken {
			return fmt.Errorf("a second %s", name)
		}
		to[name] = o
	}
	return nil
}

// harmless reports whether the option does nothing but take text.
func (o option) harmless() bool {
	return o.effect == effectNone && !slices.ContainsFunc(o.kinds, func(k kind) bool { return k != kindText })
}

// lookUp finds the entry of a program by the last part of its name.
func lookUp(name string) *program {
	table := programs()
	base := baseName(name)
	if p := table[base]; p != nil {
		return p
	}
	// python3.12, gcc-13 and mkfs.ext4 are python3, gcc and mkfs.
	stem := strings.TrimRight(base, "0123456789.")
	stem = strings.TrimRight(stem, "-")
	if p := table[stem]; p != nil {
		return p
	}
	for _, n := range programNames(name) {
		if p := table[n]; p != nil {
			return p
		}
	}
	return nil
}

// find returns what the table says of an option as it is typed, the name it has there, and the value that is
// joined to it. A long name may be shortened.
func (p *program) find(options map[string]option, typed string) (o option, name, value string, joined bool) {
	name, value, joined = strings.Cut(typed, "=")
	if o, ok := options[typed]; ok {
		return o, typed, "", false
	}
	if o, ok := options[name]; ok {
		return o, name, value, joined
	}
	if o, ok := options[number]; ok && len(typed) > 1 && typed[0] == '-' &&
		strings.Trim(typed[1:], "0123456789") == "" {
		return o, typed, "", false
	}
	if p.style == styleGo {
		if short := strings.TrimPrefix(name, "-"); strings.HasPrefix(name, "--") {
			o := options[short]
			return o, short, value, joined
		}
		return option{}, name, value, joined
	}
	if p.style == styleCC {
		return prefixed(options, typed)
	}
	if strings.HasPrefix(name, "--") && len(name) > 2 {
		if full := shortened(options, name); full != "" {
			return options[full], full, value, joined
		}
	}
	return option{}, name, value, joined
}

// prefixed finds the longest option that a word begins with, as compilers read it: the rest of the word is its value.
func prefixed(options map[string]option, typed string) (o option, name, value string, joined bool) {
	for n := len(typed) - 1; n > 1; n-- {
		if o, ok := options[typed[:n]]; ok && len(o.kinds) > 0 {
			return o, typed[:n], strings.TrimPrefix(typed[n:], "="), true
		}
	}
	name, value, joined = strings.Cut(typed, "=")
	return option{}, name, value, joined
}

// number in the table stands for a hyphen and digits, as in head -5.
const number = "-#"

// negated reports whether an option takes back another one that is harmless, as --no-color does.
func (p *program) negated(name string) bool {
	bare, ok := strings.CutPrefix(name, "--no-")
	return ok && p.options["--"+bare].declared && p.options["--"+bare].harmless()
}

// shortened returns the option that a name begins. One that does something goes before one that only takes text.
func shortened(options map[string]option, name string) string {
	best := ""
	for full, o := range options {
		if !strings.HasPrefix(full, name) {
			continue
		}
		better := best == "" || options[best].harmless() && !o.harmless()
		if better || options[best].harmless() == o.harmless() && full < best {
			best = full
		}
	}
	return best
}
