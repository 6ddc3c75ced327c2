package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestOutline(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"ls", "CallExpr[ls]"},
		{"ls -l | wc -l", "BinaryCmd|[ls -l | wc -l] .CallExpr[ls -l] .CallExpr[wc -l]"},
		{"a && b > x", "BinaryCmd&&[a && b > x] .CallExpr[a] .CallExpr[b] .Redirect>[> x]"},
		{`echo "$(rm x)"`, `CallExpr[echo "$(rm x)"] .CmdSubst[$(rm x)] ..CallExpr[rm x]`},
		{"for f in *; do cat $f; done",
			"ForClause[for f in *; do cat $f; done] .WordIter[f in *] .CallExpr[cat $f] ..ParamExp[$f]"},
		{"é=1 ünder", "CallExpr[é=1 ünder]"},
		{"ls; echo 'open", "error CallExpr[ls]"},
		{"", ""},
	} {
		parts, cut, err := Outline(c.line)
		var got []string
		if err != nil {
			got = append(got, "error")
		}
		for _, p := range parts {
			got = append(got, strings.Repeat(".", p.Depth)+p.Kind+p.Op+"["+c.line[p.From:p.To]+"]")
		}
		if s := strings.Join(got, " "); s != c.want || cut {
			t.Errorf("%q: %s, want %s", c.line, s, c.want)
		}
	}
}

// What is asked about is found among the parts by its node.
func TestOutlineNodes(t *testing.T) {
	p, err := New(Definition{Name: "p", Default: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"make all | tee log", "cd sub && (make; ls) > x", "x=$(id) make $x",
		"while true; do curl $u; done", "if a; then b; fi"} {
		parts, _, err := Outline(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Decide(Action{Tool: "t", Shell: line, Root: t.TempDir()}).Findings {
			if f.Node != "" && f.Depth == 1 &&
				!slices.ContainsFunc(parts, func(p Part) bool { return p.Node == f.Node }) {
				t.Errorf("%s: no part is %s", line, f.Node)
			}
		}
	}
}

func TestOutlineBounds(t *testing.T) {
	if parts, cut, err := Outline(strings.Repeat("a;", 2*maxParts)); len(parts) != maxParts || !cut || err != nil {
		t.Errorf("%d parts, cut %v, %v", len(parts), cut, err)
	}
	if parts, cut, err := Outline(strings.Repeat("a", maxShell+1)); parts != nil || !cut || err == nil {
		t.Errorf("%d parts, cut %v, %v", len(parts), cut, err)
	}
}

// Whatever is written, parts lie within the line and within the parts that they stand in, each behind those before it.
func TestOutlineNesting(t *testing.T) {
	lines := []string{"a; b & c || d", "cat <<x | sed s/a/b/ > y\n$(date) ${z:-`w`}\nx\n",
		"f() { rm \"$1\"; }; f <(ls) 2>&1", "case $x in a) b;; *) c;; esac", "((i++)); [[ -f $a && $b =~ c ]]",
		"a=(1 $(b)) export c=d", "time ! { ls; } >&2 | (cd x && make)", "until a; do select b in c; do d; done; done",
		"\xff\xfe é\u202e; ls $'\\x41'", "let a=1 b=2; declare -x c=$(d)"}
	for _, line := range lines {
		for end := range len(line) + 1 { // and every beginning of it
			parts, _, _ := Outline(line[:end])
			var open []Part
			for _, p := range parts {
				if p.Depth > len(open) || p.Depth < 0 || p.From < 0 || p.To > end || p.From >= p.To {
					t.Fatalf("%q: %+v", line[:end], p)
				}
				open = append(open[:p.Depth], p)
			}
		}
	}
}
