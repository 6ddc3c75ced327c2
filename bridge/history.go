package bridge

import (
	"encoding/json"
	"slices"

	"wield/chat"
	"wield/dialect"
)

// mended returns req with a history that a server with function calling can read: every call has its result behind it, there is
// no result without a call, and the arguments of every earlier call are an object. Models write broken ones, clients keep them, and servers fail on them with errors that name neither. What can be
// repaired is; the rest is carried as a text in an object. req itself does not change.
func mended(req *chat.Request) *chat.Request {
	broken := func(c chat.Call) bool { return !isObject(c.Arguments) }
	var copied *chat.Request
	if messages := paired(req.Messages); messages != nil {
		r := *req
		r.Messages = messages
		copied, req = &r, &r
	}
	for i := range req.Messages {
		if !slices.ContainsFunc(req.Messages[i].Calls, broken) {
			continue
		}
		if copied == nil {
			r := *req
			r.Messages = slices.Clone(r.Messages)
			copied = &r
		}
		m := &copied.Messages[i]
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			if broken(m.Calls[j]) {
				m.Calls[j].Arguments = mendedArguments(m.Calls[j].Arguments)
			}
		}
	}
	if copied == nil {
		return req
	}
	return copied
}

func mendedArguments(raw string) string {
	if args, _, err := dialect.Arguments(raw, nil, dialect.RepairFull); err == nil && isObject(args) {
		return args
	}
	b, err := json.Marshal(struct {
		Arguments string `json:"arguments"`
	}{raw})
	if err != nil {
		return "{}" // a string can always be written
	}
	return string(b)
}

// paired returns messages in which each call is followed by its result, nil if they are such. Clients cut histories in the
// middle, and stop while calls are under way; servers refuse what is left with errors that do not say so. A result that comes
// late goes where it belongs, one that is missing is said to be, and one without a call becomes something that the user says.
func paired(messages []chat.Message) []chat.Message {
	if inOrder(messages) {
		return nil
	}
	out := make([]chat.Message, 0, len(messages)+4)
	used := make([]bool, len(messages)) // results that stand behind their calls already
	for i := range messages {
		m := messages[i]
		switch {
		case used[i]:
		case m.Role == chat.RoleTool:
			out = append(out, orphan(m))
		default:
			out = append(out, m)
			for j := range m.Calls {
				out = append(out, resultOf(&m.Calls[j], messages, used, i+1))
			}
		}
	}
	return out
}

// inOrder reports whether each call is followed by its result, and each result belongs to one.
func inOrder(messages []chat.Message) bool {
	for i := 0; i < len(messages); {
		calls := messages[i].Calls
		if messages[i].Role == chat.RoleTool {
			return false
		}
		i++
		if len(calls) > len(messages)-i || !answered(calls, messages[i:i+len(calls)]) {
			return false
		}
		i += len(calls)
	}
	return true
}

// answered reports whether the results are those of the calls, one for each, in any order.
func answered(calls []chat.Call, results []chat.Message) bool {
	for i := range calls {
		id, n := calls[i].ID, 0
		for j := range calls {
			if calls[j].ID == id {
				n++
			}
		}
		for j := range results {
			if results[j].Role == chat.RoleTool && results[j].CallID == id {
				n--
			}
		}
		if n != 0 {
			return false
		}
	}
	return true
}

// resultOf returns the result of a call among the messages from one on, or what stands for it. Of a conversation in which an id
// stands for two calls, a result belongs to the one before it.
func resultOf(c *chat.Call, messages []chat.Message, used []bool, from int) chat.Message {
	for i := from; i < len(messages); i++ {
		m := &messages[i]
		if m.Role == chat.RoleTool && m.CallID == c.ID && !used[i] {
			used[i] = true
			return *m
		}
		if slices.ContainsFunc(m.Calls, func(other chat.Call) bool { return other.ID == c.ID }) {
			break
		}
	}
	return chat.Message{Role: chat.RoleTool, CallID: c.ID, Name: c.Name, Parts: chat.Text("There is no result of this call."), IsError: true}
}

// orphan makes of a result without a call something that the user says.
func orphan(m chat.Message) chat.Message {
	of := m.Name
	if of == "" {
		of = "a call"
	}
	parts := append(chat.Text("Result of "+of+" ("+m.CallID+"), which is not part of this conversation:"), m.Parts...)
	return chat.Message{Role: chat.RoleUser, Parts: parts}
}
