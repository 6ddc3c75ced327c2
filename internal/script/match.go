package script

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"wield/chat"
	"wield/internal/shorten"
)

// match returns the first turn whose conditions hold, with its captures. It fails with a 404 that lists the turns that
// came nearest.
func (s *Scenario) match(v *view, state string) (*Turn, map[string]string, error) {
	var misses []miss
	for i := range s.Turns {
		t := &s.Turns[i]
		failed := t.failed(v, state)
		if len(failed) == 0 {
			return t, s.captures(t, v), nil
		}
		misses = append(misses, miss{t, failed})
	}
	return nil, nil, s.unmatched(v, misses)
}

type miss struct {
	turn   *Turn
	failed []string
}

func (s *Scenario) unmatched(v *view, misses []miss) error {
	sort.SliceStable(misses, func(i, j int) bool { return len(misses[i].failed) < len(misses[j].failed) })
	var b strings.Builder
	fmt.Fprintf(&b, "no turn of scenario %s matches: the last message is from %s, turn %d, user said %s", s.Name,
		orDash(string(v.last)), v.turns, shorten.Quoted(v.lastUser()))
	for i, m := range misses {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", len(misses)-i)
			break
		}
		fmt.Fprintf(&b, "; turn %s (%s:%d): %s", m.turn.ID, m.turn.Pos.File, m.turn.Pos.Line,
			strings.Join(m.failed, ", "))
	}
	return &chat.Error{Kind: chat.ErrNotFound, Status: 404, Message: b.String(), Code: "no_matching_turn"}
}

func orDash(s string) string {
	if s == "" {
		return "nobody"
	}
	return s
}

// failed lists the conditions of the turn that do not hold.
func (t *Turn) failed(v *view, state string) []string {
	var list []string
	need := func(ok bool, format string, args ...any) {
		if !ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	w := &t.when
	if w.user != nil {
		need(len(v.users) > 0 && w.user.match(v.lastUser()), "user is not %s", w.user.src)
	}
	if w.userContains != nil {
		need(len(v.users) > 0 && strings.Contains(v.lastUser(), *w.userContains), "user does not contain %q",
			*w.userContains)
	}
	if w.systemContains != nil {
		need(strings.Contains(v.system, *w.systemContains), "system does not contain %q", *w.systemContains)
	}
	if w.turn != nil {
		need(v.turns == *w.turn, "turn is %d, not %d", v.turns, *w.turn)
	}
	if w.last != "" {
		need(v.last == w.last, "last message is from %s, not %s", orDash(string(v.last)), w.last)
	}
	if w.tool != "" {
		need(v.result != nil && v.result.tool == w.tool, "last result is from %s, not from %s", v.resultTool(), w.tool)
	}
	if w.resultContains != nil {
		need(v.result != nil && strings.Contains(v.result.text, *w.resultContains),
			"last result does not contain %q", *w.resultContains)
	}
	for _, name := range w.toolsOffered {
		need(v.offers(name), "tool %s is not offered", name)
	}
	if w.model != nil {
		need(w.model.match(v.req.Model), "model is %q, not %s", v.req.Model, w.model.src)
	}
	if w.temperature != nil {
		need(v.req.Temperature != nil && *v.req.Temperature == *w.temperature, "temperature is not %v", *w.temperature)
	}
	for _, h := range w.header {
		need(h.holds(v.header), "header %s is not %s", h.name, h.pattern.src)
	}
	if t.needState != nil {
		need(state == *t.needState, "state is %q, not %q", state, *t.needState)
	}
	return list
}

func (v *view) resultTool() string {
	if v.result == nil {
		return "no tool"
	}
	return orDash(v.result.tool)
}

func (h *headerCondition) holds(header map[string][]string) bool {
	for name, values := range header {
		if !strings.EqualFold(name, h.name) {
			continue
		}
		for _, v := range values {
			if h.pattern.match(v) {
				return true
			}
		}
	}
	return false
}

// captures collects the groups: those that each user message gives to the first turn that its text matches, later
// messages over earlier ones, and over all of them those of the turn that answers.
func (s *Scenario) captures(t *Turn, v *view) map[string]string {
	found := map[string]string{}
	for _, text := range v.users {
		for i := range s.Turns {
			if u := s.Turns[i].when.user; u != nil && u.captures(text, found) {
				break
			}
		}
	}
	if u := t.when.user; u != nil {
		u.captures(v.lastUser(), found)
	}
	return found
}

// names returns the tools that the scenario speaks of.
func (s *Scenario) names() []string {
	var list []string
	add := func(n string) {
		if n != "" && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		add(t.when.tool)
		for _, n := range t.when.toolsOffered {
			name, _ := cutParameter(n)
			add(name)
		}
		for _, it := range t.reply {
			if it.call != nil && len(it.call.name) == 1 {
				add(it.call.name[0].lit)
			}
		}
	}
	if s.Client != nil {
		for i := range s.Client.Tools {
			add(s.Client.Tools[i].Name)
		}
	}
	return list
}
