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
			"# a \\\n# b \\\nrm src",
			"ls # a \\\necho ' # b \\\n'; rm src",
			"ls | # a \\\nrm src",
			"cat <<E # a \\\n# b \\\nE\nrm src",
			"bash <<'E'\nls # a \\\nrm src\nE",
		},
		chat.DecisionAsk: {
			"ls #\\\r\nrm src",
			"ls \\\r\nrm src",
			"cat <<E\nE\\\n\nrm src\nE\n",
			"cat <<E\n\\\nE\nrm src\nE\n",
			"echo $(cat <<E\nfoo\nE)\nrm src\nE\n)",
			"cat \"$\\\nHOME/.bashrc\"",
			"cat \"\\\\$\\\n{HOME}/.bashrc\"",
			"echo `echo \\$\\\n{HOME}/.bashrc`",
			"cat $HO\\\n\\\nME/.bashrc",
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
			"# docker run \\\n#   -v x:y \\\n#   img\nls",
			"# note: C:\\x\\\n# second\ngit status",
			"# a \\\n\nls",
			"ls #\\\nls src",
			"ls # a \\\nls # b \\\nls",
			"ls && # and \\\npwd",
			"ls | # pipe \\\nwc -l",
			"for f in a b; do\n # each \\\n echo \"$f\"\ndone",
			"echo '# a \\\n' # b \\\nls",
			"cat <<EOF\nselect '\\$\\\n';\nEOF",
			"x=a; ls $x\\\n/b",
			"x=a; cat <<E\n$x\\\n/b\nE",
			"cat <<END\nEND)\nEND",
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

// TestNestedReadings: however deep command lines stand in one another, no more than a fixed number of bytes is read,
// and what is not read asks.
func TestNestedReadings(t *testing.T) {
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) (int, chat.Decision) {
		e := &eval{p: p, call: Action{Tool: "sh", Shell: text, Root: t.TempDir()}}
		e.facts()
		v := Verdict{Findings: e.findings}
		v.decided()
		return e.bytes, v.Decision
	}
	nest := func(depth, lines int) string {
		text := strings.Repeat("[[ a ]]; ls\nls # x \\\n\n", lines) + "rm src"
		for i := range depth {
			end := strings.Repeat("E", i+1)
			text = "bash <<'" + end + "'\n[[ a ]]\necho `ls # \\\n`\n" + text + "\n" + end + "\n"
		}
		return text
	}
	for _, lines := range []int{10, 100, 1000} {
		for depth := range maxDepth {
			text := nest(depth, lines)
			n, d := read(text)
			if n > maxRead || d == chat.DecisionAllow || depth < 2 && d != chat.DecisionDeny {
				t.Errorf("%d levels, %d bytes: %d bytes read, %s", depth, len(text), n, d)
			}
		}
	}
}

// TestManyLineEnds: the work grows with the length of a command line, and no faster.
func TestManyLineEnds(t *testing.T) {
	p := narrow(t)
	for part, allowed := range map[string]bool{"#\\\n": false, "ls #\\\n": true, "'#' \\\n": false, "$\\\n": false,
		"$(ls #\\\n": false} {
		text := strings.Repeat(part, maxShell/len(part)/8)
		if v := p.Decide(Action{Tool: "sh", Shell: text, Root: t.TempDir()}); v.Decision == chat.DecisionAllow != allowed {
			t.Errorf("%.20q, many times: %.300s", part, v)
		}
	}
}
