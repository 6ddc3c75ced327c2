package script

import (
	"fmt"
	"strings"

	"wield/dialect"
)

// A Finding is something that a scenario may say but hardly means.
type Finding struct {
	Pos     Pos
	Message string
}

// String returns the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.Pos.File, f.Pos.Line, f.Pos.Col, f.Message)
}

// Lint looks for turns that no request reaches, references that nothing defines, targets where the protocol has none,
// dialects that are unknown, and states that nothing sets. A scenario without a finding may still be wrong.
func Lint(s *Scenario) []Finding {
	var list []Finding
	add := func(p Pos, format string, args ...any) {
		list = append(list, Finding{p, fmt.Sprintf(format, args...)})
	}
	lintOrder(s, add)
	defined := map[string]bool{"user": true, "model": true, "turn": true, "result": true}
	states := map[string]bool{"": true}
	for i := range s.Turns {
		for _, g := range s.Turns[i].when.user.groups() {
			defined[g] = true
		}
		if st := s.Turns[i].setState; st != nil {
			states[*st] = true
		}
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		if t.needState != nil && !states[*t.needState] {
			add(t.Pos, "turn %s needs the state %q, which no turn sets", t.ID, *t.needState)
		}
		for j := range t.reply {
			lintItem(s, &t.reply[j], defined, add)
		}
	}
	return list
}

// lintOrder finds turns behind one whose conditions are part of their own.
func lintOrder(s *Scenario, add func(Pos, string, ...any)) {
	for i := range s.Turns {
		for j := range s.Turns[:i] {
			if s.Turns[j].covers(&s.Turns[i]) {
				add(s.Turns[i].Pos, "turn %s is never reached: turn %s before it matches whatever it matches",
					s.Turns[i].ID, s.Turns[j].ID)
				break
			}
		}
	}
}

// covers reports whether each condition of t is one of u, so that t matches whenever u does.
func (t *Turn) covers(u *Turn) bool {
	mine, theirs := t.conditions(), u.conditions()
	for name, value := range mine {
		if other, ok := theirs[name]; !ok || other != value {
			return false
		}
	}
	return true
}

// conditions lists the conditions as text.
func (t *Turn) conditions() map[string]string {
	list := map[string]string{}
	w := &t.when
	str := func(name string, p *string) {
		if p != nil {
			list[name] = *p
		}
	}
	pat := func(name string, p *pattern) {
		if p != nil {
			list[name] = p.src
		}
	}
	pat("user", w.user)
	pat("model", w.model)
	str("user_contains", w.userContains)
	str("system_contains", w.systemContains)
	str("result_contains", w.resultContains)
	str("need_state", t.needState)
	if w.turn != nil {
		list["turn"] = fmt.Sprint(*w.turn)
	}
	if w.last != "" {
		list["last"] = string(w.last)
	}
	if w.tool != "" {
		list["tool"] = w.tool
	}
	for _, n := range w.toolsOffered {
		list["tools_offered "+n] = "yes"
	}
	if w.temperature != nil {
		list["temperature"] = fmt.Sprint(*w.temperature)
	}
	for _, h := range w.header {
		list["header "+strings.ToLower(h.name)] = h.pattern.src
	}
	return list
}

func lintItem(s *Scenario, it *item, defined map[string]bool, add func(Pos, string, ...any)) {
	refs := append(it.text.refs(), it.think.refs()...)
	if c := it.call; c != nil {
		refs = append(append(append(refs, c.name.refs()...), c.args.refs()...), c.id.refs()...)
		if _, ok := dialect.Lookup(c.dialect); c.dialect != "" && !ok {
			add(it.pos, "unknown dialect %q", c.dialect)
		}
	}
	for _, ref := range refs {
		if name, _, _ := strings.Cut(ref, "."); !defined[name] {
			add(it.pos, "${%s} is defined by no group of any turn", ref)
		} else if name != "result" && name != ref {
			add(it.pos, "${%s}: only result has paths", ref)
		}
	}
	if it.kind == itemTarget && s.Speaks != SpeaksLumo {
		add(it.pos, "target items need speaks: lumo, but this scenario speaks %s", s.Speaks)
	}
}
