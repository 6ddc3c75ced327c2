package policy

import (
	"strings"
	"testing"

	"wield/chat"
)

// TestLineEnds: a backslash before a newline hides no command from a rule, wherever it stands. What bash and dash make
// of each line was tried out.
func TestLineEnds(t *testing.T) {
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for want, lines := range map[chat.Decision][]string{
		chat.DecisionDeny: {
			"ls #\\\nrm -rf src",
			"ls # x \\\nrm src",
			"ls '#' #\\\nrm src",
			"ls #\\\\\nrm src",
			"ls #\\\n#\\\nrm src",
			"ls # \"\\\nrm src",
			"ls ${#a} ${a#b} #\\\nrm src",
			"echo $(ls #\\\nrm src)",
			"echo `ls #\\\nrm src`",
			"echo `ls #\\\\\nrm src`",
			"echo \"$(ls #\\\nrm src)\"",
			"echo \"${a:-$(ls #\\\nrm src)}\"",
			"echo <(ls #\\\nrm src)",
			"cat <<E\n$(ls #\\\nrm src)\nE\n",
			"if ls #\\\nrm src\nthen ls; fi",
			"a=(x #\\\nrm\n)\nrm src",
			"ls | cat #\\\nrm src",
			"(ls) #\\\nrm src",
			"{ ls; } #\\\nrm src",
			"sh -c 'ls #\\\nrm src'",
			"echo \"$\\\n(rm src)\"",
			"echo $\\\n(rm src)",
			"cat <<E\n$\\\n(rm src)\nE\n",
			"cat <<'E'\nfoo \\\nE\nrm src\n",
			"cat <<-E\n\t\\\n\tE\nrm src\nE\n",
			"cat <<E #\\\nE\nrm src\nE\n",
			"[[ a == b #\\\nrm src ]]",
		},
		chat.DecisionAsk: {
			"ls #\\\r\nrm src",
			"ls \\\r\nrm src",
			"cat <<E\nE\\\n\nrm src\nE\n",
			"cat <<E\n\\\nE\nrm src\nE\n",
			"echo $(cat <<E\nfoo\nE)\nrm src\nE\n)",
			"cat \"$\\\nHOME/.bashrc\"",
			"cat \"$\\\n{HOME}/.bashrc\"",
			"d=src; de=keys; cat $d\\\ne/a",
		},
		chat.DecisionAllow: {
			"ls \\\n  src",
			"ls # list\nls src",
			"ls '#' \\\n src",
			"ls a#b \\\n src",
			"ls \"#\" \\\n src",
			"ls $# \\\n src",
			"a=x; echo ${#a} ${a#x} \\\n src",
			"ls a\\\nb",
			"ls 'a#\\\nb'",
			"x=a; ls \"$x\" \\\n src",
			"x=a; ls $x\\\n src",
			"grep 'a$\\\nb' src",
			"cat <<E\n# a \\\nb\nE\n",
			"cat <<'E'\n# $a\\\nb\nE\n",
			"cat <<E\nfoo \\\nbar\nE\n",
			"cat <<\\E\nfoo\nE\n",
			"echo \"$(cat <<'E'\nfoo (a)\nE\n)\"",
		},
	} {
		for _, line := range lines {
			if v := p.Decide(Action{Tool: "sh", Shell: line, Root: t.TempDir()}); v.Decision != want {
				t.Errorf("%q: %s, want %s", line, v, want)
			}
		}
	}
}

// TestManyLineEnds: the work grows with the length of a command line, and no faster.
func TestManyLineEnds(t *testing.T) {
	p := narrow(t)
	for _, part := range []string{"#\\\n", "ls #\\\n", "'#' \\\n", "$\\\n", "$(ls #\\\n"} {
		text := strings.Repeat(part, maxShell/len(part))
		if v := p.Decide(Action{Tool: "sh", Shell: text, Root: t.TempDir()}); v.Decision == chat.DecisionAllow {
			t.Errorf("%.20q, many times: %.300s", part, v)
		}
	}
}
