package bridge

import (
	"slices"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// wholeHistory returns req with a history that a server with function calling can read: every call has its result
// behind it, there is no result without a call, and the arguments of every earlier call are an object. Models
// write broken ones, clients keep them, and servers fail on them with errors that name neither. What can be
// repaired is; the rest is carried as a text in an object. req itself does not change.
func wholeHistory(req *chat.Request) *chat.Request {
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
				m.Calls[j].Arguments = repairedArguments(m.Calls[j].Arguments)
			}
		}
	}
	if copied == nil {
		return req
	}
	return copied
}

// described returns req with words in place of what results hold beside text. req itself does not change.
func described(req *chat.Request) *chat.Request {
	media := func(p chat.Part) bool { return p.Kind != chat.PartText && p.Kind != chat.PartOpaque }
	out := *req
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != chat.RoleTool || !slices.ContainsFunc(m.Parts, media) {
			continue
		}
		if &out.Messages[0] == &req.Messages[0] {
			out.Messages = slices.Clone(req.Messages)
		}
		parts := slices.Clone(m.Parts)
		for j := range parts {
			if media(parts[j]) {
				parts[j] = chat.Part{Kind: chat.PartText,
					Text: "(" + parts[j].Describe() + "; this model cannot see it)"}
			}
		}
		out.Messages[i].Parts = parts
	}
	return &out
}

// maxRepaired limits the arguments that are repaired: that takes many times their memory, and wield runs no call of
// larger ones.
const maxRepaired = 1 << 20

func repairedArguments(raw string) string {
	if len(raw) <= maxRepaired {
		args, _, err := dialect.Arguments(raw, nil, dialect.RepairFull)
		if err == nil && isObject(args) {
			return args
		}
	}
	return string(append(shape.AppendQuoted([]byte(`{"arguments":`), raw), '}'))
}

// paired returns messages in which each call is followed by its result, nil if they are such. Clients cut
// histories in the middle, and stop while calls are under way; servers refuse what is left with errors that
// do not say so. A result that comes late goes where it belongs, one that is missing is said to be, and one
// without a call becomes something that the user says.
func paired(messages []chat.Message) []chat.Message {
	if inOrder(messages) {
		return nil
	}
	out := make([]chat.Message, 0, len(messages)+4)
	index := placesOf(messages)
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
				c := &m.Calls[j]
				if at := index[c.ID].result(i); at >= 0 {
					used[at] = true
					out = append(out, messages[at])
				} else {
					out = append(out, noResult(c))
				}
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

// answered reports whether the results, which are as many as the calls, are theirs, in any order.
func answered(calls []chat.Call, results []chat.Message) bool {
	if slices.ContainsFunc(results, func(m chat.Message) bool { return m.Role != chat.RoleTool }) {
		return false
	}
	n := 0
	for n < len(calls) && calls[n].ID == results[n].CallID {
		n++
	}
	open := make(map[string]int, len(calls)-n) // by id, of those from the first that is not in its place
	for i := n; i < len(calls); i++ {
		open[calls[i].ID]++
		open[results[i].CallID]--
	}
	for _, left := range open {
		if left != 0 {
			return false
		}
	}
	return true
}

// places locate the calls and results of one id, each list in order.
type places struct{ calls, results []int }

func placesOf(messages []chat.Message) map[string]*places {
	index := make(map[string]*places)
	of := func(id string) *places {
		if index[id] == nil {
			index[id] = new(places)
		}
		return index[id]
	}
	for i := range messages {
		m := &messages[i]
		if m.Role == chat.RoleTool {
			p := of(m.CallID)
			p.results = append(p.results, i)
		}
		for j := range m.Calls {
			if p := of(m.Calls[j].ID); len(p.calls) == 0 || p.calls[len(p.calls)-1] != i {
				p.calls = append(p.calls, i)
			}
		}
	}
	return index
}

// result takes the result of a call in the message at, and returns where it is, or -1. It is asked for calls
// in their order. Of a conversation in which an id stands for two calls, a result belongs to the one before
// it.
func (p *places) result(at int) int {
	p.calls, p.results = behind(p.calls, at), behind(p.results, at)
	if len(p.results) == 0 || len(p.calls) > 0 && p.calls[0] < p.results[0] {
		return -1
	}
	i := p.results[0]
	p.results = p.results[1:]
	return i
}

// noResult stands for the result of a call that there is none of.
func noResult(c *chat.Call) chat.Message {
	return chat.Message{Role: chat.RoleTool, CallID: c.ID, Name: c.Name,
		Parts: chat.Text("There is no result of this call."), IsError: true}
}

// behind returns what of a list in order is greater than at.
func behind(list []int, at int) []int {
	for len(list) > 0 && list[0] <= at {
		list = list[1:]
	}
	return list
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
