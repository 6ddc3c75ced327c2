package hosted

import "wield/chat"

// A Recalled replaces a part of an earlier answer; the zero value leaves it as it is.
type Recalled struct {
	Call   *chat.Call
	Result *chat.Result // of the call, or of the first one before that has none
	Drop   bool         // it is left out
}

// Recall replaces the parts of earlier answers that show what ran by calls and results, as the model read them. read
// says what a part of a message stands for. Recall reports false if there is nothing to replace.
func Recall(messages []chat.Message, read func(message, part int) Recalled) (list []chat.Message, changed bool) {
	for i := range messages {
		m := &messages[i]
		if m.Role != chat.RoleAssistant {
			list = append(list, *m)
			continue
		}
		split, ok := recallOne(m, func(part int) Recalled { return read(i, part) })
		if !ok {
			list = append(list, *m)
			continue
		}
		list, changed = append(list, split...), true
	}
	return list, changed
}

// recallOne splits an answer at the calls that it holds as parts. It reports false if it holds none.
func recallOne(m *chat.Message, read func(part int) Recalled) (list []chat.Message, changed bool) {
	var parts []chat.Part
	var calls []chat.Call
	var results []chat.Message
	flush := func() { // what was said so far is an answer of its own
		for _, c := range calls[len(results):] { // cut off
			r := chat.Result{CallID: c.ID, Name: c.Name, Parts: chat.Text("Error: no result is known"), IsError: true}
			results = append(results, r.Message())
		}
		list = append(append(list, chat.Message{Role: m.Role, Parts: parts, Calls: calls}), results...)
		parts, calls, results = nil, nil, nil
	}
	for i := range m.Parts {
		p := read(i)
		if p.Drop {
			changed = true
			continue
		}
		if len(results) > 0 && (p.Result == nil || p.Call != nil) {
			flush()
		}
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
		switch {
		case p.Result != nil && len(calls) > len(results):
			c := &calls[len(results)]
			p.Result.CallID, p.Result.Name = c.ID, c.Name
			results = append(results, p.Result.Message())
		case p.Call == nil:
			parts = append(parts, m.Parts[i])
		}
	}
	if len(calls) > 0 {
		flush()
	}
	if len(list) == 0 && !changed {
		return nil, false
	}
	if len(parts)+len(m.Calls) > 0 || len(list) == 0 && m.Reasoning != "" {
		list = append(list, chat.Message{Role: m.Role, Parts: parts, Calls: m.Calls})
	}
	if len(list) > 0 {
		list[0].Reasoning, list[0].Opaque = m.Reasoning, orderless(m.Opaque)
	}
	return list, true
}

// orderless takes the order of blocks out, which is another one now.
func orderless(all []chat.Extra) (list []chat.Extra) {
	for _, x := range all {
		if x.Protocol != chat.ProtocolAnthropic || x.Key != "blocks" {
			list = append(list, x)
		}
	}
	return list
}
