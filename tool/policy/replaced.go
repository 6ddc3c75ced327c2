package policy

import (
	"path"
	"slices"
	"strings"
)

// replaced lists the files that cp and its like overwrite, if they are there: what was in them is lost.
func (e *eval) replaced(a *analysis, uses []use, sc scope) (list []use) {
	letters := ""
	if p := lookUp(a.canonical[0].text); p == nil || !p.moves {
		return nil
	}
	for _, w := range a.canonical[1:] {
		long := strings.HasPrefix(w.text, "--")
		switch {
		case long && w.text != "--" && strings.HasPrefix("--no-clobber", w.text): // as an abbreviation, too
			letters += "n"
		case long && len(w.text) > 3 && strings.HasPrefix("--force", w.text):
			letters += "f"
		case !long && strings.HasPrefix(w.text, "-"):
			letters += w.text[1:]
		}
	}
	if strings.Contains(letters, "n") && !strings.Contains(letters, "f") {
		return nil
	}
	var from []use
	to := -1
	for i, u := range uses {
		switch {
		case u.kind != usePath && u.kind != useMaybe || u.guess:
		case u.operand:
			from = append(from, u)
		case u.op == OpWrite:
			to = i // of -t
		}
	}
	var dest use
	switch {
	case to >= 0:
		dest = uses[to]
	case len(from) < 2:
		return nil
	default:
		dest, from = from[len(from)-1], from[:len(from)-1]
	}
	add := func(text string) {
		u := use{kind: useMaybe, text: text, tilde: dest.tilde, op: OpWrite, flagged: effectWrite,
			spelled: []string{text}, loses: true, output: true}
		if e.isThere(u, sc) && !slices.ContainsFunc(list, func(other use) bool { return other.text == text }) {
			list = append(list, u)
		}
	}
	if !e.isDir(dest.text, sc) {
		if !slices.Contains(freeFiles, dest.text) {
			add(dest.text)
		}
		return list
	}
	for _, u := range from {
		to := strings.TrimSuffix(dest.text, "/") + "/" + path.Base(u.text)
		if !e.isDir(to, sc) || e.isDir(u.text, sc) { // cp -r goes on inside
			add(to)
		}
	}
	return list
}
