package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
)

// A pathPattern is a pattern of a rule, cut at its slashes.
type pathPattern struct {
	segments  []string
	folded    []string // in lower case
	absolute  bool
	sensitive bool // the pattern itself names what is refused unless a rule names it
}

func compilePath(text string) (pathPattern, error) {
	var p pathPattern
	rest := text
	if strings.HasPrefix(rest, "~") || strings.Contains(rest, "$") {
		return p, fmt.Errorf("path %q: nothing is expanded in a pattern: write it out", text)
	}
	rest, p.absolute = strings.CutPrefix(rest, "/")
	if strings.HasSuffix(rest, "/") {
		rest += "**"
	}
	for _, s := range strings.Split(strings.TrimPrefix(rest, "./"), "/") {
		switch {
		case s == "" && rest != "":
			continue
		case s == ".." || s == "":
			return p, fmt.Errorf("path %q: a pattern begins at the root and goes down", text)
		case s != "**" && strings.Contains(s, "**"):
			return p, fmt.Errorf("path %q: ** stands for whole directories, alone between slashes", text)
		}
		if _, err := path.Match(s, ""); err != nil {
			return p, fmt.Errorf("path %q: %w", text, err)
		}
		p.segments = append(p.segments, s)
		p.folded = append(p.folded, strings.ToLower(s))
	}
	p.sensitive = sensitiveName(p.folded) != ""
	return p, nil
}

// fits matches a path that is cut at its slashes; fold ignores case.
func (p pathPattern) fits(segments []string, fold bool) bool {
	pattern := p.segments
	if fold {
		pattern = p.folded
	}
	return matchSegments(pattern, segments, matches)
}

// matches reports whether a name fits a pattern; nothing fits a malformed one.
func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// matchSegments matches names with names, by fits for two of them; ** goes back to the last one of its kind alone, so
// that the work is bounded by the product of the lengths.
func matchSegments(pattern, names []string, fits func(pattern, name string) bool) bool {
	i, j := 0, 0
	star, from := -1, 0
	for j < len(names) {
		if i < len(pattern) {
			if pattern[i] == "**" {
				star, from = i, j
				i++
				continue
			}
			if fits(pattern[i], names[j]) {
				i++
				j++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		i, j = star+1, from
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}

// A hostPattern is a name, a suffix of names, or a range of addresses, with or without a port.
type hostPattern struct {
	any    bool
	name   string // exact, in lower case
	suffix string // ".example.com"
	prefix netip.Prefix
	port   string // "" is one of the usual ports, "*" any
}

func compileHost(text string) (hostPattern, error) {
	h := hostPattern{}
	rest := strings.ToLower(text)
	bad := func(what string) (hostPattern, error) {
		return h, fmt.Errorf("host %q: %s", text, what)
	}
	if strings.Contains(rest, "://") || strings.ContainsAny(rest, "@?# ") {
		return bad("write a host or HOST:PORT, not a URL")
	}
	if pre, err := netip.ParsePrefix(rest); err == nil {
		h.prefix = pre.Masked()
		return h, nil
	}
	if a, err := netip.ParseAddr(rest); err == nil {
		h.prefix = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		return h, nil
	}
	if host, port, ok := cutPort(rest); ok {
		if port != "*" {
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return bad("the port is a number from 1 to 65535, or *")
			}
		}
		rest, h.port = strings.Trim(host, "[]"), port
		if a, err := netip.ParseAddr(rest); err == nil {
			h.prefix = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
			return h, nil
		}
	}
	suffix, wild := strings.CutPrefix(rest, "*")
	switch {
	case rest == "*":
		h.any = true
	case wild && strings.HasPrefix(suffix, ".") && len(suffix) > 1 && !strings.ContainsAny(suffix, "*/"):
		h.suffix = suffix
	case rest == "" || strings.ContainsAny(rest, "*/:"):
		return bad("write a name, *.NAME, an address, a range such as 10.0.0.0/8, or *")
	default:
		h.name = strings.TrimSuffix(rest, ".")
	}
	return h, nil
}

func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.Contains(s[:i], ":") && !strings.HasSuffix(s[:i], "]") {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// fits reports whether the pattern names the host.
func (h hostPattern) fits(t target) bool {
	if h.port != "" && h.port != "*" && h.port != t.port {
		return false
	}
	if h.port == "" && !t.usualPort() {
		return false
	}
	switch {
	case h.any:
		return true
	case h.prefix.IsValid():
		return t.addr.IsValid() && h.prefix.Contains(t.addr)
	case h.suffix != "":
		return strings.HasSuffix(t.host, h.suffix)
	}
	return h.name == t.host
}

// A commandPattern is the beginning of a command, word by word.
type commandPattern struct {
	words []wordPattern
	open  bool // a last word * stood behind
	asks  bool // it allows any program to say what it is: two words, of which the second is --version or --help
}

// A wordPattern is a word of a command pattern: one of several texts.
type wordPattern []string

func compileCommand(text string, d chat.Decision) (commandPattern, error) {
	var c commandPattern
	words, err := splitWords(text)
	if err != nil {
		return c, fmt.Errorf("command %q: %w", text, err)
	}
	if n := len(words); n > 1 && words[n-1] == (word{text: "*"}) {
		c.open, words = true, words[:n-1]
	}
	if len(words) == 0 {
		return c, fmt.Errorf("command %q: a command begins with the name of a program", text)
	}
	for i, w := range words {
		alternatives := wordPattern{w.text}
		if !w.quoted {
			alternatives = strings.Split(w.text, "|")
		}
		for k, a := range alternatives {
			if a == "" && !w.quoted {
				return c, fmt.Errorf("command %q: an alternative is empty", text)
			}
			literal := w.quoted || a == "[" || a == "[["
			wild := !literal && strings.ContainsAny(a, "*?[")
			if wild {
				if _, err := path.Match(a, ""); err != nil {
					return c, fmt.Errorf("command %q: %w", text, err)
				}
			}
			if i == 0 && wild && d == chat.DecisionAllow {
				if c.asks = asksOnly(words); c.asks {
					continue
				}
				return c, fmt.Errorf("command %q: a rule that allows names its program in full, since %q fits "+
					"programs of any origin", text, a)
			}
			if literal {
				alternatives[k] = quoteGlob(a)
			}
		}
		c.words = append(c.words, alternatives)
	}
	return c, nil
}

// asksOnly reports whether a pattern is about programs that are asked for their version or their options, and nothing
// else.
func asksOnly(words []word) bool {
	return len(words) == 2 && !slices.ContainsFunc(strings.Split(words[1].text, "|"), func(option string) bool {
		return option != "--version" && option != "--help"
	})
}

var globQuoter = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func quoteGlob(s string) string { return globQuoter.Replace(s) }

// fits reports whether one of the alternatives is the word.
func (w wordPattern) fits(text string) bool {
	for _, a := range w {
		if a == text {
			return true
		}
		if strings.ContainsAny(a, `*?[\`) {
			if ok, _ := path.Match(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00")); ok {
				return true
			}
		}
	}
	return false
}

// option reports whether the word names an option.
func (w wordPattern) option() bool { return strings.HasPrefix(w[0], "-") && len(w[0]) > 1 }

// A word is a word of a rule, as it is written.
type word struct {
	text   string
	quoted bool
}

// splitWords cuts text at its blanks, but for those in quotes.
func splitWords(text string) ([]word, error) {
	var words []word
	var b strings.Builder
	in, quoted, quote := false, false, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in, quoted = r, true, true
		case r == ' ' || r == '\t':
			if in {
				words = append(words, word{b.String(), quoted})
			}
			b.Reset()
			in, quoted = false, false
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if in {
		words = append(words, word{b.String(), quoted})
	}
	return words, nil
}

// quoteWord writes a word so that splitWords and wordPattern read it back as itself.
func quoteWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\"'|*?[\\") {
		return s
	}
	if !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "" // no rule can say it
}

// begins reports whether the words of a command are those of the pattern, exactly and from the left.
func (c commandPattern) begins(words []string) bool {
	if len(words) < len(c.words) || c.asks && (len(words) != 2 || strings.Contains(words[0], "/")) {
		return false
	}
	for i, w := range c.words {
		if !w.fits(words[i]) {
			return false
		}
	}
	return true
}

// later reports whether the pattern ends with an option which stands further behind in the command, where it
// cannot be the value of another one.
func (c commandPattern) later(words []string) bool {
	n := len(c.words) - 1
	if n < 1 || !c.words[n].option() || c.open || !(commandPattern{words: c.words[:n]}).begins(words) {
		return false
	}
	for i := n; i < len(words) && words[i] != "--"; i++ {
		if c.words[n].fits(words[i]) && !strings.HasPrefix(words[i-1], "-") {
			return true
		}
	}
	return false
}

// undone reports whether a command takes an option of the pattern back, or gives it another value: mostly the last one
// holds.
func (c commandPattern) undone(words []string) bool {
	return slices.ContainsFunc(c.words[1:], func(w wordPattern) bool {
		if !w.option() {
			return false
		}
		given := map[string]int{}
		for _, text := range c.before(words) {
			name, _, _ := strings.Cut(text, "=")
			if slices.ContainsFunc(w, func(a string) bool { return opposite(a, name) }) {
				return true
			}
			if slices.ContainsFunc(w, func(a string) bool {
				a, _, _ = strings.Cut(a, "=")
				return strings.HasPrefix(a, "-") && a == name
			}) {
				if given[name]++; given[name] > 1 {
					return true
				}
			}
		}
		return false
	})
}

// before lists the words up to a program that the pattern names behind -m, which has options of its own.
func (c commandPattern) before(words []string) []string {
	for i, w := range c.words {
		if o := programs()[baseName(words[0])]; i > 0 && o != nil &&
			slices.Contains(o.options[w[0]].kinds, kindModule) {
			return words[:i+1]
		}
	}
	return words
}

// opposite reports whether one option takes another one back.
func opposite(option, name string) bool {
	option, _, _ = strings.Cut(option, "=")
	a, b := strings.TrimLeft(option, "-"), strings.TrimLeft(name, "-")
	return len(name) > len(b) && len(option) > len(a) && (b == "no-"+a || a == "no-"+b)
}

// spells reports whether a word of the pattern is the text, as a rule that allows an option has to. A word that stands
// for any text, such as *, spells nothing, and the -m of python says nothing about one of the module.
func (c commandPattern) spells(text string) bool {
	if text == "-m" && slices.ContainsFunc(c.words[0], func(a string) bool { return strings.HasPrefix(a, "python") }) {
		return false
	}
	return slices.ContainsFunc(c.words[1:], func(w wordPattern) bool {
		return slices.ContainsFunc(w, func(a string) bool {
			return !strings.ContainsAny(a[:min(1, len(a))], "*?[") && wordPattern{a}.fits(text)
		})
	})
}

// A command is the words of a command as rules that ask or deny see them.
type command struct {
	words []string
	names []string // of the program: its last name in lower case, and that without its ending
	clean string   // the path of the program, if it is one
}

// commandOf looks at the name of the program once for all rules: RM, /bin/rm, rm.exe and mkfs.ext4 are rm and mkfs.
func commandOf(words []string) command {
	c := command{words: words}
	if len(words) == 0 {
		return c
	}
	c.names = programNames(words[0])
	if strings.Contains(words[0], "/") {
		c.clean = path.Clean(words[0])
	}
	return c
}

// programNames lists the names by which rules that ask or deny know a program.
func programNames(name string) []string {
	base := baseName(name)
	if gnu, ok := strings.CutPrefix(base, "g"); ok && slices.Contains(gnuTools, gnu) {
		return []string{base, gnu}
	}
	if stem, _, ok := strings.Cut(base, "."); ok && stem != "" {
		return []string{base, stem}
	}
	return []string{base}
}

// gnuTools are programs that have a g in front of their names where the system has others of that name.
var gnuTools = []string{"rm", "rmdir", "mv", "cp", "ln", "dd", "chmod", "chown", "chgrp", "kill", "shred", "truncate",
	"unlink", "install", "tee", "mkfifo", "mknod", "sed", "find", "xargs", "tar"}

// reaches reports whether the pattern fits a command in the way of rules that ask or deny: the program by its
// last name and without regard to case, options between the words skipped, an option of the pattern found
// anywhere.
func (c commandPattern) reaches(cmd command) bool {
	if len(cmd.words) == 0 || !c.words[0].program(cmd) {
		return false
	}
	return reaches(c.words[1:], cmd.words[1:])
}

// program reports whether the word names the program.
func (w wordPattern) program(cmd command) bool {
	for _, n := range cmd.names {
		if w.fits(n) {
			return true
		}
	}
	return slices.ContainsFunc(w, func(a string) bool {
		return strings.EqualFold(a, cmd.names[0]) || cmd.clean != "" && a == cmd.clean
	})
}

func baseName(name string) string {
	name = strings.TrimSpace(strings.ReplaceAll(name, `\`, "/"))
	return strings.ToLower(path.Base(path.Clean(name)))
}

func reaches(pattern []wordPattern, words []string) bool {
	if len(pattern) == 0 {
		return true
	}
	if pattern[0].option() {
		return slices.ContainsFunc(words, pattern[0].namesOption) && reaches(pattern[1:], words)
	}
	for i := 0; i < len(words); i++ {
		if pattern[0].fits(words[i]) || pattern[0].fits(strings.ToLower(words[i])) {
			if reaches(pattern[1:], words[i+1:]) {
				return true
			}
		}
		// What stands between may be options and their values, nothing else.
		if !strings.HasPrefix(words[i], "-") &&
			!(i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=")) {
			return false
		}
	}
	return false
}

// namesOption reports whether a word of a command is the option, also joined with its value, in a cluster, or
// shortened.
func (w wordPattern) namesOption(text string) bool {
	for _, a := range w {
		switch {
		case a == text:
			return true
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(text, "=")
			if len(name) > 2 && strings.HasPrefix(a, name) {
				return true
			}
		case len(a) == 2 && len(text) > 1 && text[0] == '-' && text[1] != '-':
			if strings.Contains(text[1:], a[1:]) {
				return true
			}
		}
	}
	return false
}
