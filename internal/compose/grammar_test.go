package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/testlevel"
	"wield/tool/policy"
)

// values of the classes of harmful.txt.
var values = map[string][]string{
	"run":   {"./x", "sh"},
	"write": {"main.go", "../x", ".git/hooks/x"},
	"read":  {"/etc/hosts", "../x"},
	"net":   {"0.0.0.0:9229", "9229"},
}

// around are ways to write a command that change nothing.
var around = []string{"%", "cd src && cd .. && %", "% | head", "timeout 60 %", "nice %", "time %", "if %; then ls; fi",
	"for i in 1; do %; done", "{ %; }", "CI=1 %", "true && % && ls", "echo \"$(%)\""}

// TestGrammar tries every spelling of every harmful option and operand: none is allowed.
func TestGrammar(t *testing.T) {
	inOneGoroutine(t)
	p, root := commonPolicy(t), workspace(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "tool", "policy", "testdata", "harmful.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") || len(parts) != 3 {
			continue
		}
		for _, word := range strings.Fields(parts[2]) {
			for i, command := range spellings(parts[0], parts[1], strings.ReplaceAll(word, "·", "\x01")) {
				if count++; count%testlevel.Every(everyday) > 0 {
					continue
				}
				frame := around[i%len(around)]
				command = strings.ReplaceAll(frame, "%", command)
				if v := p.Decide(policy.Action{Tool: "command_exec", Shell: command,
					Root: root}); v.Decision == chat.DecisionAllow {
					t.Errorf("%s is allowed (%s)", command, parts[0])
				}
			}
		}
	}
	t.Logf("%d commands", count)
	if count < 5000 {
		t.Errorf("%d commands: has a part of the file been lost?", count)
	}
}

// spellings writes a command with an option and each value of its class in every way that some program reads.
func spellings(class, command, word string) (list []string) {
	quoted := func(words ...string) string {
		out := []string{command}
		for _, w := range words {
			for part := range strings.SplitSeq(w, "\x01") {
				out = append(out, "'"+part+"'")
			}
		}
		return strings.Join(out, " ")
	}
	if class == "word" {
		for range around {
			list = append(list, quoted(word))
		}
		return list
	}
	joined := strings.HasSuffix(word, "=") || strings.HasSuffix(word, ":") || strings.HasSuffix(word, ",") ||
		word == "@"
	for _, value := range values[class] {
		switch {
		case joined:
			list = append(list, quoted(word+value), quoted("x.c", word+value), quoted(word+value, "a.txt"))
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "ext::"):
			list = append(list, quoted(word+"="+value), quoted("all", word+"="+value), quoted(word+":="+value))
		default:
			list = append(list, quoted(word, value), quoted(word+"="+value), quoted("a.txt", word, value),
				quoted(word, value, "a.txt"), quoted(word+"="+value, "a.txt"))
			if len(word) == 2 {
				list = append(list, quoted(word+value))
			}
			if strings.HasPrefix(word, "--") && len(word) > 6 {
				list = append(list, quoted(word[:len(word)-1], value), quoted(word[:len(word)-2]+"="+value))
			}
		}
	}
	return list
}

// noOptions are programs that read hardly any words as options.
var noOptions = []string{"echo", "printf", "true", "false", "test", "[", "pwd", "read", "break", "continue", "exit",
	"basename", "dirname", "cd", "expr", "help", ":"}

// TestUnknownAsks gives every program that the policy allows options that nobody knows: each asks.
func TestUnknownAsks(t *testing.T) {
	inOneGoroutine(t)
	p, root := commonPolicy(t), workspace(t)
	n := 0
	for _, r := range p.Rules() {
		if r.Decision != chat.DecisionAllow {
			continue
		}
		for _, pattern := range r.Command {
			for _, command := range alternatives(strings.Fields(pattern)) {
				if slices.Contains(noOptions, strings.Fields(command)[0]) ||
					strings.HasPrefix(command, "node --version") || strings.HasSuffix(command, " --version") ||
					strings.HasPrefix(command, "tar ") {
					// what follows is an archive
					continue
				}
				for _, option := range []string{"--zz-unknown", "--zz-unknown=x", "--zz-unknown=.git/config",
					"--zz-unknown=$(echo x)", "-☃", "-zz:x", "--no-zz", "--zz.unknown=1"} {
					if n++; n%testlevel.Every(everyday) > 0 {
						continue
					}
					if v := p.Decide(policy.Action{Tool: "command_exec", Shell: command + " " + option,
						Root: root}); v.Decision == chat.DecisionAllow {
						t.Errorf("%s %s is allowed", command, option)
					}
				}
			}
		}
	}
}

// alternatives lists the commands that a pattern means.
func alternatives(words []string) []string {
	if len(words) == 0 {
		return []string{""}
	}
	var list []string
	for _, rest := range alternatives(words[1:]) {
		for first := range strings.SplitSeq(words[0], "|") {
			list = append(list, strings.TrimSpace(first+" "+rest))
		}
	}
	return list
}
