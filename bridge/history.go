package bridge

import (
	"encoding/json"
	"slices"

	"wield/chat"
	"wield/dialect"
)

// mended returns req with a history that a server with function calling can read: the arguments of every earlier call are an
// object. Models write broken ones, clients keep them, and servers fail on them with errors that name neither. What can be
// repaired is; the rest is carried as a text in an object. req itself does not change.
func mended(req *chat.Request) *chat.Request {
	broken := func(c chat.Call) bool { return !isObject(c.Arguments) }
	var copied *chat.Request
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
