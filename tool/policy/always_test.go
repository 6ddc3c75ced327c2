package policy

import (
	"strings"
	"testing"

	"wield/chat"
)

func TestAlways(t *testing.T) {
	p, root := narrow(t), t.TempDir()
	for _, c := range []struct {
		call Action
		want string // "" if no rule would have been enough
	}{
		{Action{Tool: "sh", Shell: "make test"}, `allow: {tool: [sh], command: ["make test"]}`},
		{Action{Tool: "sh", Shell: "uniq f | tail -3"},
			"allow: {tool: [sh], command: [uniq]}\nallow: {tool: [sh], command: [tail]}"},
		{Action{Tool: "sh", Shell: "git push origin main"}, `allow: {tool: [sh], command: ["git push origin main"]}`},
		{Action{Tool: "sh", Shell: "git branch"}, `allow: {tool: [sh], command: ["git branch"]}`},
		{Action{Tool: "sh", Shell: "git log --output=x"}, `allow: {tool: [sh], command: ["git log --output=x"]}`},
		{Action{Tool: "sh", Shell: "own build 'a b' -x"}, `allow: {tool: [sh], command: ["own build 'a b' -x"]}`},
		{Action{Tool: "sh", Shell: "touch a b"}, `allow: {tool: [sh], command: ["touch a b"]}`},
		{Action{Tool: "sh", Shell: "echo x > notes.txt"}, `allow: {tool: [sh], path: [notes.txt], op: [write]}`},
		{Action{Tool: "sh", Shell: "cat /usr/share/x"}, `allow: {tool: [sh], path: ["/usr/share/x"], op: [read]}`},
		{Action{Tool: "sh", Argv: []string{"make", "a; b"}}, `allow: {tool: [sh], command: ["make 'a; b'"]}`},
		{Action{Tool: "files", Paths: []PathUse{{Path: "a/b.txt", Op: OpWrite}}},
			`allow: {tool: [files], path: [a/b.txt], op: [write]}`},
		{Action{Tool: "mail", Arguments: `{"to":"anna","urgent":true}`},
			`allow: {tool: [mail], args: {"*": {in: [anna, "true"]}, to: {in: [anna]}, urgent: {in: ["true"]}}}`},
		{Action{Tool: "clock"}, `allow: {tool: [clock]}`},
		{Action{Tool: "sh", Shell: "ls"}, ""},   // allowed
		{Action{Tool: "sh", Shell: "rm x"}, ""}, // denied
		{Action{Tool: "sh", Shell: "$x"}, ""},   // no rule could say it
		{Action{Tool: "sh", Shell: "ls; make $x"}, ""},
		{Action{Tool: "sh", Shell: "sudo make"}, ""},
		{Action{Tool: "sh", Shell: "xargs make"}, ""},
		{Action{Tool: "sh", Shell: "A=b make"}, ""},
		{Action{Tool: "sh", Shell: "make; rm x"}, ""},
		{Action{Tool: "sh", Shell: "ls \u200b"}, ""},
	} {
		c.call.Root = root
		got := p.Always(c.call)
		if strings.ReplaceAll(got, `["make"]`, "[make]") != strings.ReplaceAll(c.want, `["make"]`, "[make]") {
			t.Errorf("%+v:\n\t%s\nwant\n\t%s", c.call, got, c.want)
		}
		if got == "" {
			continue
		}
		with, err := p.With(p.Propose(c.call)...)
		if err != nil {
			t.Fatal(err)
		}
		if v := with.Decide(c.call); v.Decision != chat.DecisionAllow {
			t.Errorf("%+v: the rule %s does not allow it: %s", c.call, got, v)
		}
	}
}

// TestAlways_arg104 checks that what a person allowed for good covers no more than that.
func TestAlways_arg104(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct{ once, later string }{
		{"git diff", "git diff --output=/etc/x"},
		{"git diff", "git diff --output=x"},
		{"git diff", "git difftool"},
		{"git diff", "git -c core.pager=x diff"},
		{"sort f", "sort -o f f"},
		{"find . -name x", "find . -delete"},
		{"git push origin main", "git push origin main2"},
		{"git push origin main", "git push --force origin main"},
		{"touch a", "touch b"},
		{"own build", "own build --plugin x"},
		{"echo x > a", "echo x > b"},
		{"cat a", "cat ../a"},
	} {
		p, err := New(Definition{})
		if err != nil {
			t.Fatal(err)
		}
		rules := p.Propose(Action{Tool: "sh", Shell: c.once, Root: root})
		if len(rules) == 0 {
			t.Errorf("%s: no rule", c.once)
			continue
		}
		with, err := p.With(rules...)
		if err != nil {
			t.Fatal(err)
		}
		if v := with.Decide(Action{Tool: "sh", Shell: c.later, Root: root}); v.Decision == chat.DecisionAllow {
			t.Errorf("%s for %s allows %s", rules, c.once, c.later)
		}
		if v := with.Decide(Action{Tool: "other", Shell: c.once, Root: root}); v.Decision == chat.DecisionAllow {
			t.Errorf("%s allows another tool", rules)
		}
	}
	p, err := New(Definition{})
	if err != nil {
		t.Fatal(err)
	}
	with, err := p.With(p.Propose(Action{Tool: "mail", Arguments: `{"to":"anna"}`})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`{"to":"bob"}`, `{"to":"anna","bcc":"bob"}`, `{}`} {
		if v := with.Decide(Action{Tool: "mail", Arguments: arguments}); v.Decision == chat.DecisionAllow {
			t.Errorf("the rule for one mail allows %s", arguments)
		}
	}
}

// TestVisible_arg103 checks that nothing in what a person is shown is hidden.
func TestVisible_arg103(t *testing.T) {
	for text, want := range map[string]string{
		"ls":                                 "ls",
		"ls\n; rm x":                         `ls\n; rm x`,
		"ls" + strings.Repeat(" ", 30) + "x": "ls<30 blanks>x",
		"a\u202eb\u200bc\x1b[2K\x00\x7f":     `a\u{202e}b\u{200b}c\x1b[2K\x00\x7f`,
		"a\xffb":                             `a\xffb`,
		"grüße":                              "grüße",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestBrief: what fits on a line is shown whole, and characters are not cut.
func TestBrief(t *testing.T) {
	fits := strings.Repeat("ü", 120)
	if got := brief(fits); got != fits {
		t.Errorf("120 characters become %q", got)
	}
	if got, want := brief(fits+"x"), strings.Repeat("ü", 117)+"..."; got != want {
		t.Errorf("121 characters become %q", got)
	}
}

func TestRules(t *testing.T) {
	for text, r := range map[string]Rule{
		"names its program in full": {Decision: "allow", Selector: Selector{Command: []string{"git*"}}},
		"about different things": {Decision: "deny",
			Selector: Selector{Command: []string{"a"}, Path: []string{"b"}}},
		"says nothing": {Decision: "deny"},
		"no operation": {Decision: "deny", Selector: Selector{Op: []Op{"append"}}},
		"op is about paths": {Decision: "deny",
			Selector: Selector{Op: []Op{"read"}, Host: []string{"*"}}},
		"a decision is":           {Decision: "maybe", Selector: Selector{Tool: []string{"a"}}},
		"goes down":               {Decision: "deny", Selector: Selector{Path: []string{"a/../b"}}},
		"alone between slashes":   {Decision: "deny", Selector: Selector{Path: []string{"a**/b"}}},
		"nothing is expanded":     {Decision: "deny", Selector: Selector{Path: []string{"~/x"}}},
		"not a URL":               {Decision: "deny", Selector: Selector{Host: []string{"http://x"}}},
		"the port is":             {Decision: "deny", Selector: Selector{Host: []string{"x:99999"}}},
		"a quote is not closed":   {Decision: "deny", Selector: Selector{Command: []string{"git 'a"}}},
		"an alternative is empty": {Decision: "deny", Selector: Selector{Command: []string{"git a||b"}}},
		"no condition": {Decision: "deny",
			Selector: Selector{Args: map[string]Predicate{"a": {}}}},
		"error parsing regexp": {Decision: "deny",
			Selector: Selector{Args: map[string]Predicate{"a": {Pattern: "("}}}},
		`match: the rule does not match "b"`: {Decision: "deny", Selector: Selector{Tool: []string{"a"}},
			Match: []string{"b"}},
		`not_match: the rule matches "ls; rm x"`: {Decision: "deny", Selector: Selector{Command: []string{"rm"}},
			NotMatch: []string{"ls; rm x"}, File: "f.yaml", Line: 7},
	} {
		_, err := New(Definition{Rules: []Rule{r}})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want %q", r, err, text)
		}
		if r.File != "" && !strings.HasPrefix(err.Error(), "f.yaml:7: deny: {command: [rm]}: ") {
			t.Errorf("the place is missing: %v", err)
		}
	}
}

func TestArguments(t *testing.T) {
	three, yes, no := 3, true, false
	for _, c := range []struct {
		decision  chat.Decision
		predicate map[string]Predicate
		arguments string
		fits      bool
	}{
		{"allow", map[string]Predicate{"a": {In: []string{"x", "5", "true"}}}, `{"a":"x"}`, true},
		{"allow", map[string]Predicate{"a": {In: []string{"x", "5", "true"}}}, `{"a":5}`, true},
		{"allow", map[string]Predicate{"a": {In: []string{"x", "5", "true"}}}, `{"a":5.0}`, false},
		{"allow", map[string]Predicate{"a": {In: []string{"x"}}}, `{}`, false},
		{"allow", map[string]Predicate{"a": {NotIn: []string{"x"}}}, `{"a":"y"}`, true},
		{"allow", map[string]Predicate{"a": {NotIn: []string{"x"}}}, `{}`, false},
		{"deny", map[string]Predicate{"a": {NotIn: []string{"x"}}}, `{"a":"x"}`, false},
		{"allow", map[string]Predicate{"a": {Pattern: "[a-z]+"}}, `{"a":"ab"}`, true},
		{"allow", map[string]Predicate{"a": {Pattern: "[a-z]+"}}, `{"a":"ab\nX"}`, false},
		{"allow", map[string]Predicate{"a": {Pattern: "a|b"}}, `{"a":"ax"}`, false},
		{"allow", map[string]Predicate{"a": {Max: &three}}, `{"a":3}`, true},
		{"allow", map[string]Predicate{"a": {Max: &three}}, `{"a":3.0000000000000000001}`, false},
		{"allow", map[string]Predicate{"a": {Max: &three}}, `{"a":"3"}`, false},
		{"allow", map[string]Predicate{"a": {Min: &three}}, `{"a":1e300}`, true},
		{"allow", map[string]Predicate{"a": {Present: &yes}}, `{"a":null}`, true},
		{"allow", map[string]Predicate{"a": {Present: &no}}, `{"b":1}`, true},
		{"allow", map[string]Predicate{"a": {Present: &no}}, `{"a":1}`, false},
		{"allow", map[string]Predicate{"o.a": {In: []string{"x"}}}, `{"o":{"a":"x"}}`, true},
		{"allow", map[string]Predicate{"l.*.a": {In: []string{"x"}}}, `{"l":[{"a":"x"},{"a":"x"}]}`, true},
		{"allow", map[string]Predicate{"l.*.a": {In: []string{"x"}}}, `{"l":[{"a":"x"},{"a":"y"}]}`, false},
		{"deny", map[string]Predicate{"l.*.a": {In: []string{"x"}}}, `{"l":[{"a":"y"},{"a":"x"}]}`, true},
		{"allow", map[string]Predicate{"l.*": {In: []string{"x"}}}, `{"l":[]}`, false},
	} {
		p, err := New(Definition{Default: "ask",
			Rules: []Rule{{Decision: c.decision, Selector: Selector{Args: c.predicate}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Decide(Action{Tool: "t", Arguments: c.arguments}).Decision == c.decision; got != c.fits {
			t.Errorf("%v of %s: fits %t, want %t", c.predicate, c.arguments, got, c.fits)
		}
	}
}

// TestPredicateText: a predicate reads as it stands in a file.
func TestPredicateText(t *testing.T) {
	low, high, yes, no := -1, 3, true, false
	for want, p := range map[string]Predicate{
		"{}":                              {},
		`{in: [x, "5"], not_in: ["a b"]}`: {In: []string{"x", "5"}, NotIn: []string{"a b"}},
		`{pattern: "a\\d"}`:               {Pattern: `a\d`},
		"{min: -1, max: 3}":               {Min: &low, Max: &high},
		"{max: 3, present: true}":         {Max: &high, Present: &yes},
		"{present: false}":                {Present: &no},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestHides(t *testing.T) {
	p, err := New(Definition{Rules: []Rule{
		{Decision: "deny", Selector: Selector{Tool: []string{"mail", "db_*"}}},
		{Decision: "deny", Selector: Selector{Tool: []string{"sh"}, Command: []string{"rm"}}},
		{Decision: "ask", Selector: Selector{Tool: []string{"web"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{"mail": true, "db_write": true, "sh": false, "web": false, "clock": false} {
		if got := p.Hides(tool); got != want {
			t.Errorf("%s: %t", tool, got)
		}
	}
}
