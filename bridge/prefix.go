package bridge

import (
	"slices"
	"strings"

	"wield/chat"
)

// billing begins a line with which one client opens its instructions. It differs in each request, and so keeps a server
// from finding what it has read of the prompt before. Only the server of that client's maker reads it.
const billing = "x-anthropic-billing-header:"

// counters open lines that count what is left of something, and so change with each request.
var counters = []string{"<total_tokens>", "<budget:token_budget>"}

// steady returns req with instructions that stay the same from request to request: a line about billing goes, and
// counters go behind the last message of the user. req itself does not change.
func (r *run) steady(req *chat.Request) *chat.Request {
	var copied *chat.Request
	var behind []string
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != chat.RoleSystem && m.Role != chat.RoleDeveloper {
			continue
		}
		for j := range m.Parts {
			text, moved, changed := steadyText(m.Parts[j].Text)
			if m.Parts[j].Kind != chat.PartText || !changed {
				continue
			}
			if copied == nil {
				c := *req
				c.Messages = slices.Clone(req.Messages)
				copied = &c
			}
			dst := &copied.Messages[i]
			if &dst.Parts[0] == &m.Parts[0] {
				dst.Parts = slices.Clone(m.Parts)
			}
			dst.Parts[j].Text = text
			behind = append(behind, moved...)
		}
		if copied != nil {
			dst := &copied.Messages[i]
			if empty := func(p chat.Part) bool { return p.Kind == chat.PartText && p.Text == "" }; slices.ContainsFunc(
				dst.Parts, empty) {
				dst.Parts = slices.DeleteFunc(slices.Clone(dst.Parts), empty)
			}
		}
	}
	if copied == nil {
		return req
	}
	r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteSteady, Path: "system"})
	for i := len(copied.Messages) - 1; i >= 0 && len(behind) > 0; i-- {
		if m := &copied.Messages[i]; m.Role == chat.RoleUser {
			m.Parts = append(slices.Clone(m.Parts), chat.Part{Text: strings.Join(behind, "\n")})
			break
		}
	}
	return copied
}

// steadyText takes out of instructions the lines that change with each request, and returns those of them that are to
// be said elsewhere.
func steadyText(text string) (rest string, moved []string, changed bool) {
	found := strings.HasPrefix(text, billing)
	for _, c := range counters {
		found = found || strings.Contains(text, c)
	}
	if !found {
		return text, nil, false
	}
	var b strings.Builder
	first := true
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case first && strings.HasPrefix(bare, billing):
			changed = true
		case slices.ContainsFunc(counters, func(c string) bool { return strings.HasPrefix(bare, c) }):
			moved, changed = append(moved, bare), true
		default:
			b.WriteString(line)
		}
		first = false
	}
	if !changed {
		return text, nil, false
	}
	return strings.TrimLeft(b.String(), "\n"), moved, true
}
