package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/testlevel"
	"wield/tool/policy"
)

// everyday is how many lines of a file there are for each that a test judges, unless everything is asked for.
const everyday = 8

// TestWeek judges what people type in a week of work. At least 93 of 100 lines need no question.
func TestWeek(t *testing.T) {
	inOneGoroutine(t)
	decided := judged(t, "week.txt", func(line string, v policy.Verdict) {
		if v.Decision == chat.DecisionDeny {
			t.Logf("%s\n\t%s", line, v)
		}
	})
	count := decided[chat.DecisionAllow] + decided[chat.DecisionAsk] + decided[chat.DecisionDeny]
	t.Logf("%d lines: %v", count, decided)
	if least := 13600 / testlevel.Every(everyday); decided[chat.DecisionAllow]*100 < 93*count || count < least {
		t.Errorf("%d of %d lines need no question, want 93 %% of at least %d", decided[chat.DecisionAllow], count,
			least)
	}
}

// TestWays judges ways to do harm: none is allowed.
func TestWays(t *testing.T) {
	inOneGoroutine(t)
	decided := judged(t, "ways.txt", func(line string, v policy.Verdict) {
		if v.Decision == chat.DecisionAllow {
			t.Errorf("%s is allowed", line)
		}
	})
	count := decided[chat.DecisionAsk] + decided[chat.DecisionDeny]
	t.Logf("%d lines: %v", count, decided)
	if count < 43500/testlevel.Every(everyday) {
		t.Errorf("%d lines: has a part of the file been lost?", count)
	}
}

// inOneGoroutine skips a test of thousands of decisions under the race detector, which has nothing to find in them.
func inOneGoroutine(t *testing.T) {
	t.Helper()
	if testlevel.Race {
		t.Skip("the decisions are made one after the other, and all of them without the race detector")
	}
}

// judged judges every line that a file beside package policy means, under the policy for everyday work.
func judged(t *testing.T, name string, see func(line string, v policy.Verdict)) map[chat.Decision]int {
	t.Helper()
	p, root := commonPolicy(t), workspace(t)
	for _, name := range []string{"package.json", "Makefile"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "tool", "policy", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	decided := map[chat.Decision]int{}
	n := 0
	for template := range strings.Lines(string(text)) {
		if template = strings.TrimSuffix(template, "\n"); strings.HasPrefix(template, "#") {
			continue
		}
		for _, line := range meant(template) {
			if n++; n%testlevel.Every(everyday) > 0 {
				continue
			}
			line = strings.ReplaceAll(line, `\n`, "\n")
			v := p.Decide(policy.Action{Tool: "command_exec", Shell: line, Root: root})
			decided[v.Decision]++
			see(line, v)
		}
	}
	return decided
}

// meant lists the lines that a template means: «a|b» stands for a or b.
func meant(template string) []string {
	before, rest, ok := strings.Cut(template, "«")
	if !ok {
		return []string{template}
	}
	inside, after, _ := strings.Cut(rest, "»")
	var list []string
	for _, text := range oneOf(inside) {
		for _, end := range meant(after) {
			list = append(list, before+text+end)
		}
	}
	return list
}

// oneOf cuts a text at its bars, but for those in quotes, || and pipes, which have blanks around them.
func oneOf(text string) (list []string) {
	from, quote := 0, byte(0)
	at := func(i int) byte {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '|' && !(at(i-1) == ' ' && at(i+1) == ' ') && at(i-1) != '|' && at(i+1) != '|':
			list = append(list, text[from:i])
			from = i + 1
		}
	}
	return append(list, text[from:])
}
