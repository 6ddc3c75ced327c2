package prompt

import (
	"slices"

	"wield/chat"
)

// Keep returns messages in an order that the rules of a model's template allow. No text is lost: what a template has no
// role for stands in a neighbouring message. messages is not changed.
func Keep(messages []chat.Message, rules chat.Rules) []chat.Message {
	if rules == (chat.Rules{}) {
		return messages
	}
	var system []chat.Message
	out := make([]chat.Message, 0, len(messages)+1)
	for _, m := range messages {
		switch {
		case m.Role == chat.RoleSystem || m.Role == chat.RoleDeveloper:
			m.Role = chat.RoleSystem
			if rules.NoSystem || rules.SystemFirst || rules.Alternate {
				system = append(system, m)
				continue
			}
		case m.Role == chat.RoleTool && rules.NoTool:
			m.Role, m.CallID = chat.RoleUser, ""
		}
		out = append(out, m)
	}
	if rules.Alternate {
		out = alternate(out)
	}
	if len(system) > 0 {
		out = lead(out, merge(system), rules)
	}
	if (rules.NeedsUser || rules.UserFirst) &&
		!slices.ContainsFunc(out, func(m chat.Message) bool { return m.Role == chat.RoleUser }) {
		out = append(out, chat.Message{Role: chat.RoleUser, Parts: chat.Text("(Go on.)")})
	}
	return out
}

// lead puts the system's text in front: as a message of its own, or, where there is no such role, into the first
// message of the user.
func lead(messages []chat.Message, system chat.Message, rules chat.Rules) []chat.Message {
	if !rules.NoSystem {
		return slices.Insert(messages, 0, system)
	}
	system.Role = chat.RoleUser
	i := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role == chat.RoleUser })
	if i < 0 {
		return slices.Insert(messages, 0, system)
	}
	messages[i] = merge([]chat.Message{system, messages[i]})
	return messages
}
