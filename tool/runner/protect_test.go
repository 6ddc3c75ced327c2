package runner

import "testing"

// TestOnlyGit: what a line runs beside git is found behind a backslash at the end of a line too.
func TestOnlyGit(t *testing.T) {
	for line, want := range map[string]bool{
		"git status":                               true,
		"git commit -m 'a #1' \\\n  -m b":          true,
		"git status # x\ngit log":                  true,
		"git commit -F - <<'E'\n# a\nE":            true,
		"git status; ls":                           false,
		"git status #\\\nls":                       false,
		"git status # a\n#\\\nls":                  false,
		"git log $(git status #\\\nls)":            false,
		"git status \\\r\nls":                      false,
		"git log \"$\\\n(ls)\"":                    false,
		"git commit -F - <<E\nE\\\n\nls\nE\n":      false,
		"(git status #\\\nls\n)":                   false,
		"git log || {\n# a\n#\\\nls\ngit log\n}\n": false,
	} {
		if got := onlyGit([]string{"sh", "-c", line}); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}
