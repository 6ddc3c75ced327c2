package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema"
)

// examples checks the examples of a rule. No file is looked at for it.
func (r *rule) examples() error {
	for _, want := range []bool{true, false} {
		list, key := r.Match, "match"
		if !want {
			list, key = r.NotMatch, "not_match"
		}
		for _, text := range list {
			got, err := r.fitsExample(text)
			if err != nil {
				return fmt.Errorf("%s: %q: %w", key, text, err)
			}
			if got != want {
				return fmt.Errorf("%s: the rule %s %q", key,
					map[bool]string{true: "matches", false: "does not match"}[got], text)
			}
		}
	}
	return nil
}

// fitsExample reports whether the rule fits an example, in the form that goes with what the rule is about.
func (r *rule) fitsExample(text string) (bool, error) {
	if strings.HasPrefix(text, "{") {
		if err := schema.Check(text); err != nil {
			return false, err
		}
		args, err := readArguments(text)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(r.args, func(c condition) bool { return !c.holds(args, r.Decision) }), nil
	}
	switch r.subject() {
	case SubjectCommand:
		return r.fitsCommandExample(text), nil
	case SubjectPath:
		return r.fitsPathExample(text), nil
	case SubjectHost:
		url := text
		if !strings.Contains(url, "://") {
			url = "http://" + url
		}
		t, err := readTarget(url)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(r.hosts, func(h hostPattern) bool { return h.fits(t) }), nil
	}
	return r.fitsTool(text), nil
}

// fitsCommandExample judges a command line by this rule alone. A rule that allows fits only what it allows with all
// options.
func (r *rule) fitsCommandExample(text string) bool {
	alone := *r
	alone.args, alone.tools = nil, nil
	e := &eval{p: &Policy{def: Definition{Default: chat.DecisionAsk}, rules: []*rule{&alone}, ignored: &ignoreCache{}}}
	e.shell(text, scope{dirs: []string{""}})
	fits := false
	for _, f := range e.findings {
		switch {
		case !f.builtin && f.Rule == r.text:
			fits = true
		case r.Decision == chat.DecisionAllow && f.Rule == "built-in: options":
			return false
		}
	}
	return fits
}

// fitsPathExample matches a path by its text, as if it were there and no link. An operation may stand before it.
func (r *rule) fitsPathExample(text string) bool {
	op, p, ok := strings.Cut(text, " ")
	if !ok || !slices.Contains(ops, Op(op)) {
		op, p = "", text
	}
	if op != "" && !r.fitsOp(Op(op)) {
		return false
	}
	clean := path.Clean(p)
	names := strings.Split(strings.TrimPrefix(clean, "/"), "/")
	if path.IsAbs(clean) {
		return r.fitsAbsolute(names)
	}
	return r.fitsPlace(resolvedPath{names: names, asked: names, abs: "/\x00/" + clean})
}
