package policy

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/internal/testlevel"
)

// A commandCase is a line of testdata/commands.jsonl: a command line, and the mildest decision that is right under
// narrow. A line that is wanted to be allowed is allowed.
type commandCase struct {
	Command string
	Want    chat.Decision
}

func commandCases(t testing.TB) []commandCase {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "commands.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []commandCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c commandCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// narrow allows a handful of programs that look, and denies some that destroy.
func narrow(t testing.TB) *Policy {
	t.Helper()
	p, err := New(Definition{Rules: []Rule{
		{Decision: chat.DecisionAllow,
			Selector: Selector{Command: []string{"ls", "cat", "head", "wc", "echo", "grep", "find", "sed -n", "sort",
				"git status|diff|log|show", "go test"}}, File: "narrow.yaml", Line: 1},
		{Decision: chat.DecisionDeny,
			Selector: Selector{Command: []string{"rm", "dd", "mkfs", "curl", "wget", "nc", "sudo", "su", "chmod",
				"chown"}}, File: "narrow.yaml", Line: 2},
		{Decision: chat.DecisionDeny, Selector: Selector{Path: []string{".env", "secrets/**"}}, File: "narrow.yaml",
			Line: 3},
		{Decision: chat.DecisionDeny, Selector: Selector{Host: []string{"*"}}, File: "narrow.yaml", Line: 4},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCommands(t *testing.T) {
	p, root := narrow(t), t.TempDir()
	cases := commandCases(t)
	if len(cases) < 500 {
		t.Errorf("%d cases: has a part of the file been lost?", len(cases))
	}
	for _, c := range cases {
		command := strings.ReplaceAll(c.Command, "$WS", root)
		v := p.Decide(Action{Tool: "sh", Shell: command, Root: root})
		if strictness(v.Decision) < strictness(c.Want) || c.Want == chat.DecisionAllow && v.Decision != c.Want {
			t.Errorf("%q: %s, want %s", c.Command, v, c.Want)
		}
	}
}

// wrappings change how a command line is written or what stands around it. None of them may make a decision milder.
var wrappings = []struct {
	name string
	wrap func(command string) string
}{
	{"a group", func(c string) string { return "{ " + c + "\n}" }},
	{"a subshell", func(c string) string { return "( " + c + "\n)" }},
	{"a command before", func(c string) string { return "ls && " + c }},
	{"a command after", func(c string) string { return c + "\nls" }},
	{"a negation", func(c string) string { return "! { " + c + "\n}" }},
	{"a condition", func(c string) string { return "if true; then " + c + "\nfi" }},
	{"a loop", func(c string) string { return "for i in 1 2; do " + c + "\ndone" }},
	{"a function", func(c string) string { return "f() { " + c + "\n}; f" }},
	{"a substitution", func(c string) string { return "echo $( " + c + "\n)" }},
	{"a background", func(c string) string { return "{ " + c + "\n} & ls" }},
	{"a pipe", func(c string) string { return "{ " + c + "\n} | cat" }},
	{"blanks", func(c string) string { return "   " + c + "   " }},
	{"a time", func(c string) string { return "time { " + c + "\n}" }},
	{"a shell", func(c string) string { return "sh -c " + quoteShell(c) }},
	{"two shells", func(c string) string { return "bash -c " + quoteShell("sh -c "+quoteShell(c)) }},
	{"an evaluation", func(c string) string { return "eval " + quoteShell(c) }},
}

// programWrappers stand before a simple command.
var programWrappers = []string{"env ", "env A=b ", "env -i -u X ", "nice ", "nice -n 3 ", "nohup ", "timeout 5 ",
	"timeout -k 1 -s INT 5 ", "setsid ", "stdbuf -oL ", "ionice -c2 ", "command ", "builtin ", "exec ", "xargs ",
	"xargs -n 1 -P 2 ", "sudo ", "sudo -u x ", "doas ", "busybox ", "flock l ", "chroot / ", "unshare -r ",
	"watch ", "parallel ", "strace -f ", "find . -exec ", "time "}

// prefixes stand before any command, and only there.
var prefixes = []string{"", "git status; ", "A=b ", "! ", "time -p ", "ls | ", "true && "}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// TestNeverMilder wraps every case in every way.
func TestNeverMilder(t *testing.T) {
	p, root := narrow(t), t.TempDir()
	decide := func(command string) chat.Decision {
		return p.Decide(Action{Tool: "sh", Shell: command, Root: root}).Decision
	}
	for i, c := range commandCases(t) {
		if strings.Contains(c.Command, "<<") || len(c.Command) > 1000 {
			continue // a here-document ends at a line of its own
		}
		command := strings.ReplaceAll(c.Command, "$WS", root)
		plain := decide(command)
		if v := p.Decide(Action{Tool: "sh", Shell: command, Root: root}); v.Rule == "built-in: syntax" {
			continue // what stands around it may mend it
		}
		for k, w := range wrappings {
			if (i+k)%testlevel.Every(3) > 0 {
				continue
			}
			if got := decide(w.wrap(command)); strictness(got) < strictness(plain) {
				t.Errorf("%q is %s, but in %s %s: %q", command, plain, w.name, got, w.wrap(command))
			}
		}
	}
}

// TestWrappersNeverMilder puts programs that run others before simple commands, several deep.
func TestWrappersNeverMilder(t *testing.T) {
	p, root := narrow(t), t.TempDir()
	simple := []string{"ls", "rm x", "rm -rf x", "git push", "cat ../x", "cat .env", "sort -o f f",
		"git log --output=x", "make", "sed -i p f", "find . -delete", "/bin/rm x"}
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom(simple).Draw(t, "command")
		plain := p.Decide(Action{Tool: "sh", Shell: command, Root: root}).Decision
		for _, w := range rapid.SliceOfN(rapid.SampledFrom(programWrappers), 1, 4).Draw(t, "wrappers") {
			if strings.HasPrefix(w, "find") && !strings.HasPrefix(command, "find") {
				command = w + command + " {} \\;"
			} else {
				command = w + command
			}
		}
		command = rapid.SampledFrom(prefixes).Draw(t, "prefix") + command
		if got := p.Decide(Action{Tool: "sh", Shell: command, Root: root}).Decision; strictness(got) < strictness(
			plain) {
			t.Fatalf("%s, and with the wrappers %s: %q", plain, got, command)
		}
	})
}

// TestQuotingNeverMilder writes the words of a command in other ways that the shell reads alike.
func TestQuotingNeverMilder(t *testing.T) {
	p, root := narrow(t), t.TempDir()
	commands := [][]string{{"ls", "-la"}, {"rm", "-rf", "x"}, {"cat", ".env"}, {"cat", "secrets/k"},
		{"git", "log", "--output=x"}, {"git", "push"}, {"sort", "-o", "f"}, {"sudo", "ls"}, {"cat", "/etc/shadow"},
		{"find", ".", "-delete"}, {"chmod", "777", "x"}}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom(commands).Draw(t, "command")
		plain := p.Decide(Action{Tool: "sh", Shell: strings.Join(words, " "), Root: root}).Decision
		written := make([]string, len(words))
		for i, w := range words {
			var b strings.Builder
			for _, c := range []byte(w) {
				b.WriteString(writeByte(c, rapid.IntRange(0, 5).Draw(t, "how")))
			}
			written[i] = b.String()
		}
		command := strings.Join(written, strings.Repeat(" ", rapid.IntRange(1, 3).Draw(t, "blanks")))
		got := p.Decide(Action{Tool: "sh", Shell: command, Root: root}).Decision
		if plain == chat.DecisionAllow && strings.Contains(command, `$'\`) && got == chat.DecisionAsk {
			t.Skip("shells without $'..' read another word")
		}
		if got != plain {
			t.Fatalf("%q is %s, and written as %q %s", words, plain, command, got)
		}
	})
}

// writeByte writes a byte of a word in one of several ways.
func writeByte(c byte, how int) string {
	switch how {
	case 1:
		return `\` + string(c)
	case 2:
		return "'" + string(c) + "'"
	case 3:
		return `"` + string(c) + `"`
	case 4:
		return fmt.Sprintf(`$'\x%02x'`, c)
	case 5:
		return `""` + string(c)
	}
	return string(c)
}

// TestListIsAsStrictAsItsParts joins commands.
func TestListIsAsStrictAsItsParts(t *testing.T) {
	p, root := narrow(t), t.TempDir()
	var parts []string
	for _, c := range commandCases(t) {
		if p.Decide(Action{Tool: "sh", Shell: c.Command, Root: root}).Rule != "built-in: syntax" &&
			!strings.Contains(c.Command, "<<") && len(c.Command) < 200 && !strings.ContainsAny(c.Command, "#\x00") {
			parts = append(parts, strings.ReplaceAll(c.Command, "$WS", root))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(parts).Draw(t, "a"), rapid.SampledFrom(parts).Draw(t, "b")
		if strings.HasSuffix(a, "&") || strings.HasPrefix(a, "cd") || strings.Contains(a, "cd ") ||
			strings.Contains(a, "pushd") {
			t.Skip("it changes where b runs, or cannot stand before an operator")
		}
		op := rapid.SampledFrom([]string{" && ", " || ", "; ", " | ", "\n", " & "}).Draw(t, "op")
		want := slices.MaxFunc([]chat.Decision{
			p.Decide(Action{Tool: "sh", Shell: a, Root: root}).Decision,
			p.Decide(Action{Tool: "sh", Shell: b, Root: root}).Decision,
		}, func(a, b chat.Decision) int { return cmp.Compare(strictness(a), strictness(b)) })
		if got := p.Decide(Action{Tool: "sh", Shell: a + op + b, Root: root}); strictness(got.Decision) < strictness(
			want) && got.Rule != "built-in: syntax" {
			t.Fatalf("%q: %s, want %s", a+op+b, got, want)
		}
	})
}

// FuzzShell checks that no command line breaks the policy, and that what follows a command line on a new line is
// judged.
func FuzzShell(f *testing.F) {
	for _, c := range commandCases(f) {
		f.Add(c.Command)
	}
	p, root := narrow(f), f.TempDir()
	f.Fuzz(func(t *testing.T, command string) {
		v := p.Decide(Action{Tool: "sh", Shell: command, Root: root})
		if !isDecision(v.Decision) || v.Rule == "" || v.Why == "" || len(v.Findings) == 0 {
			t.Fatalf("%q: %+v", command, v)
		}
		for _, find := range v.Findings {
			if strictness(find.Decision) > strictness(v.Decision) {
				t.Fatalf("%q: %s although %+v", command, v.Decision, find)
			}
		}
		if after := p.Decide(Action{Tool: "sh", Shell: "rm x\n" + command,
			Root: root}); after.Decision != chat.DecisionDeny {
			t.Fatalf("rm before %q: %s", command, after)
		}
	})
}

// BenchmarkEveryday judges all harmless commands, and tells the median and the longest of their times; each is the
// least of several.
func BenchmarkEveryday(b *testing.B) {
	p, root := narrow(b), b.TempDir()
	data, err := os.ReadFile(filepath.Join("testdata", "harmless.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		times = times[:0]
		for line := range strings.Lines(string(data)) {
			var c commandCase
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				b.Fatal(err)
			}
			least := time.Hour
			for range 10 {
				began := time.Now()
				p.Decide(Action{Tool: "sh", Shell: c.Command, Root: root})
				least = min(least, time.Since(began))
			}
			times = append(times, least)
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(times[len(times)-1].Microseconds()), "longest-µs")
}

func BenchmarkShell(b *testing.B) {
	p, root := narrow(b), b.TempDir()
	for _, c := range []struct{ name, command string }{
		{"simple", "git status --short"},
		{"list", "cd src && grep -rn 'func main' --include='*.go' . | head -20"},
		{"wrapped", "timeout 5 env A=b sh -c 'rm -rf x; ls'"},
		{"long",
			"find . -name '*.go' -not -path './vendor/*' -exec grep -l 'x' {} + | sort -u > /dev/null 2>&1 && go test -run TestX ./... || echo failed"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(Action{Tool: "sh", Shell: c.command, Root: root})
			}
		})
	}
}

// TestPatterns: the first operand of a program that takes a pattern, an expression or a script is none of its files,
// and every file is one, however the pattern is given. What runs something is seen wherever some version of the program
// would take it for a script.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		command string
		paths   string // in their order
		runs    bool
	}{
		{"grep Sunday hours.md", "hours.md", false},
		{"grep -n Sunday hours.md", "hours.md", false},
		{"grep -rniE foo/bar src lib", "src lib", false},
		{"grep -n -- -x a.txt", "a.txt", false},
		{"grep --line-number a/b c", "c", false},
		{"grep -A 2 a/b c", "c", false},
		{"grep -nA2 a/b c", "c", false},
		{"egrep -q .env x", "x", false},
		{"zgrep -c a/b c.gz", "c.gz", false},
		{"grep -e a/b c", "c", false},
		{"grep -ne a/b c", "c", false},
		{"grep -nea/b c", "c", false},
		{"grep --regexp=a/b c", "c", false},
		{"grep --regexp a/b c", "c", false},
		{"grep --rege=a/b c", "c", false},
		{"grep c --rege a/b", "c", false},
		{"grep c -e a/b", "c", false},
		{"grep c -ne a/b", "c", false},
		{"grep -f a.list c", "a.list c", false},
		{"grep -nf a.list c", "a.list c", false},
		{"grep -fa.list c", "a.list c", false},
		{"grep --file=a.list c", "a.list c", false},
		{"grep --file a.list c", "a.list c", false},
		{"grep --exclude-from=a.list x c", "a.list c", false},
		{"grep c -f a.list", "c a.list", false},
		{"grep -K a/b c", "a/b c", false}, // nobody knows this option
		{"rg -n a/b src", "src", false},
		{"rg -uu -i a/b src", "src", false},
		{"rg -e a/b src", "src", false},
		{"rg --files src", "src", false},
		{"rg -nf a.list src", "a.list src", false},
		{"git grep -n a/b", "", false},
		{"sed -n 1,5p a.txt", "a.txt", false},
		{"sed s/a/b/ a.txt b.txt", "a.txt b.txt", false},
		{"sed -n -e p a.txt", "a.txt", false},
		{"sed -ne p a.txt", "a.txt", false},
		{"sed -f a.sed a.txt", "a.sed a.txt", true}, // a script that nobody has read
		{"sed --expression=p a.txt", "a.txt", false},
		{"sed s/a/id/e a.txt", "a.txt", true},
		{"sed s/a/id/e -e p", "s/a/id/e", true},
		{"sed -- s/a/id/e -e", "s/a/id/e -e", true},
		{"awk {print} a.txt", "a.txt", false},
		{"awk -F: {print} a.txt", "a.txt", false},
		{"awk -f a.awk a.txt", "a.awk a.txt", true},
		{"awk BEGIN{system(\"id\")} -f a.awk", "BEGIN{system(\"id\")} a.awk", true},
		{"find src -name *.go", "src", false},
		{"find src lib -path */a/b -newer c.txt", "src lib c.txt", false},
		{"jq -r .a/b c.json", "c.json", false},
		{"jq -e .a c.json", "c.json", false},
		{"jq -f a.jq c.json", "a.jq c.json", true},
	} {
		var paths []string
		runs := false
		for _, u := range analyse(literal(strings.Fields(tt.command))).uses {
			runs = runs || u.flagged == effectExec
			if (u.kind == usePath || u.kind == useMaybe) && !u.guess {
				paths = append(paths, u.text)
			}
		}
		if got := strings.Join(paths, " "); got != tt.paths || runs != tt.runs {
			t.Errorf("%s: the paths are %q, want %q; something runs: %t, want %t", tt.command, got, tt.paths, runs,
				tt.runs)
		}
	}
}

// TestTee: what tee writes is judged as what a redirection writes, by whatever policy.
func TestTee(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	paths := func(d chat.Decision, op Op, patterns ...string) Rule {
		return Rule{Decision: d, Selector: Selector{Path: patterns, Op: []Op{op}}}
	}
	commands := Rule{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{"echo", "tee"}}}
	tool := Rule{Decision: chat.DecisionAllow, Selector: Selector{Tool: []string{"sh"}}}
	seen := map[chat.Decision]int{}
	for _, def := range []chat.Decision{chat.DecisionAllow, chat.DecisionAsk, chat.DecisionDeny} {
		for _, rules := range [][]Rule{nil, {commands}, {tool},
			{commands, paths(chat.DecisionAllow, OpWrite, "*.go", "d/**", "Makefile")},
			{commands, paths(chat.DecisionAllow, OpRead, "**")}, {tool, paths(chat.DecisionAllow, OpWrite, "**", "/tmp/**")},
			{commands, paths(chat.DecisionAsk, OpWrite, "*.go")}, {paths(chat.DecisionDeny, OpWrite, "*.go", "d/**")}} {
			p, err := New(Definition{Default: def, Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			for _, target := range []string{"main.go", "./main.go", "d/x", "d/main.go", "out.log", "Makefile", "rm", "d",
				".git/config", ".env", "../x", "/tmp/x", "/etc/x", "/dev/null", "/dev/tcp/h/1", "~/x", "$x", "-", "'a b'",
				".github/workflows/x.yml", "conftest.py", "node_modules/x.js"} {
				decide := func(line string) chat.Decision {
					return p.Decide(Action{Tool: "sh", Shell: line, Root: root}).Decision
				}
				want := decide("echo x > " + target)
				seen[want]++
				for _, line := range []string{"echo x >> " + target, "echo x | tee " + target, "echo x | tee -a " + target,
					"echo x | tee -- " + target, "tee " + target + " <<< x"} {
					if got := decide(line); got != want {
						t.Errorf("default %s, %v: %s: %s, > %s: %s", def, rules, line, got, target, want)
					}
				}
			}
		}
	}
	for _, d := range []chat.Decision{chat.DecisionAllow, chat.DecisionAsk, chat.DecisionDeny} {
		if seen[d] < 10 {
			t.Errorf("%s %d times", d, seen[d])
		}
	}
}
