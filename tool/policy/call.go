package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"wield/chat"
)

// An Action describes a model's call, after it has been read and checked against the schema of the tool.
type Action struct {
	Tool      string
	Arguments string // JSON text, as it would run; "" is {}

	// The facts, which the tool declares. A command is given as Argv, a program and its arguments with no shell
	// between, or as Shell, a line that a shell would read.
	Argv  []string
	Shell string
	Paths []PathUse
	URLs  []string

	Root string // directory that files belong to, absolute
	Dir  string // directory that a command runs in and that relative paths start from; "" is Root
}

// A PathUse is a file or directory that a call would use.
type PathUse struct {
	Path string
	Op   Op
}

// A Verdict is a decision and how it came about.
type Verdict struct {
	Decision chat.Decision
	Rule     string // that decided, as written, or the name of a built-in check
	File     string // where it stands; "" for built-in checks and defaults
	Line     int
	Why      string
	Findings []Finding // everything that was looked at, the deciding one included
}

// A Detail is the detail of a KindPolicy event: what was decided about a call and by which rule.
type Detail struct {
	CallID   string        `json:"call_id,omitempty"`
	Decision chat.Decision `json:"decision"`
	Rule     string        `json:"rule,omitempty"` // as written, with file and line where it came from one
	Why      string        `json:"why,omitempty"`
}

// EventDetail marks a detail of events.
func (*Detail) EventDetail() {}

// Detail returns the verdict as it stands in events.
func (v Verdict) Detail(callID string) *Detail {
	rule := v.Rule
	if v.File != "" {
		rule = fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Rule)
	}
	return &Detail{CallID: callID, Decision: v.Decision, Rule: rule, Why: v.Why}
}

// Subject is a kind of thing that is decided about.
type Subject string

// The kinds of subjects.
const (
	SubjectTool    Subject = "tool"
	SubjectCommand Subject = "command"
	SubjectPath    Subject = "path"
	SubjectHost    Subject = "host"
)

// A Finding judges one subject of a call.
type Finding struct {
	Decision chat.Decision
	Subject  Subject
	Text     string // the subject in its normal form: words without quotes, a path as it resolves
	Node     string // the place in the syntax tree of a command line, "CallExpr 1:4"; else ""
	// of that command line: 1 is the one of the call, 2 one that it hands to a shell, and so on; 0: there is none
	Depth   int
	Rule    string // as in Verdict
	File    string
	Line    int
	Why     string
	Fix     *Rule // what would make it allow; nil if no rule does
	builtin bool
	ofRule  bool
}

// A findingKey is what a finding says, of whatever place.
type findingKey struct {
	decision              chat.Decision
	subject               Subject
	text, rule, file, why string
	line                  int
}

func (f *Finding) key() findingKey {
	return findingKey{f.Decision, f.Subject, f.Text, f.Rule, f.File, f.Why, f.Line}
}

// newOnes returns those of the findings that say what no one before them does.
func newOnes(findings, before []Finding) (fresh []Finding) {
	seen := make(map[findingKey]bool, len(before))
	for i := range before {
		seen[before[i].key()] = true
	}
	for i := range findings {
		if key := findings[i].key(); !seen[key] {
			seen[key] = true
			fresh = append(fresh, findings[i])
		}
	}
	return fresh
}

// decided sets the verdict's own fields from the strictest finding, the first of them if several are equal.
func (v *Verdict) decided() {
	best := -1
	for i, f := range v.Findings {
		if best < 0 || strictness(f.Decision) > strictness(v.Findings[best].Decision) {
			best = i
		}
	}
	f := v.Findings[best]
	v.Decision, v.Rule, v.File, v.Line, v.Why = f.Decision, f.Rule, f.File, f.Line, f.Why
}

// String returns the decision and its reason on one line.
func (v Verdict) String() string {
	where := ""
	if v.File != "" {
		where = fmt.Sprintf(" (%s:%d)", v.File, v.Line)
	}
	return fmt.Sprintf("%s by %s%s: %s", v.Decision, brief(v.Rule), where, v.Why)
}

// brief shortens the text of a rule to what fits on a line. Where the rule stands, the whole of it can be read.
func brief(rule string) string {
	const most = 120
	if utf8.RuneCountInString(rule) <= most {
		return rule
	}
	return string([]rune(rule)[:most-3]) + "..."
}

// Visible writes text so that nothing in it is invisible or moves the cursor: control characters, format characters
// such as those that turn the direction of text, and line separators are shown as escapes. Runs of more than eight
// blanks are counted.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	blanks := 0
	flush := func() {
		if blanks > 8 {
			fmt.Fprintf(&b, "<%d blanks>", blanks)
		} else {
			b.WriteString(strings.Repeat(" ", blanks))
		}
		blanks = 0
	}
	for i, r := range s {
		if r == ' ' {
			blanks++
			continue
		}
		flush()
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\ufffd' && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return b.String()
}

// plain reports whether a text is shown as it is: it is, as a rule.
func plain(s string) bool {
	blanks := 0
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
		if blanks++; s[i] != ' ' {
			blanks = 0
		}
		if blanks > 8 {
			return false
		}
	}
	return true
}
