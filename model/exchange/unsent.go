package exchange

import (
	"slices"

	"wield/chat"
)

// carried are the fields of requests that are carried out before a backend is asked, or that say nothing to one.
var carried = map[chat.Protocol][]string{
	chat.ProtocolOpenAI:    {"stream_options", "n", "tool_execution_mode", "conversation_id", "functions"},
	chat.ProtocolResponses: {"previous_response_id", "conversation", "store", "background", "stream_options"},
	chat.ProtocolAnthropic: {"metadata"},
	chat.ProtocolOllama:    {"keep_alive"},
}

// settings are the fields of a request that not every protocol has a place for, by the names that users know.
var settings = []struct {
	name string
	set  func(*chat.Request) bool
}{
	{"seed", func(r *chat.Request) bool { return r.Seed != nil }},
	{"logprobs", func(r *chat.Request) bool { return r.LogProbs }},
	{"temperature", func(r *chat.Request) bool { return r.Temperature != nil }},
	{"top_p", func(r *chat.Request) bool { return r.TopP != nil }},
	{"max_tokens", func(r *chat.Request) bool { return r.MaxTokens > 0 }},
	{"reasoning_effort", func(r *chat.Request) bool { return r.Effort != "" }},
	{"user", func(r *chat.Request) bool { return r.User != "" }},
	{"parallel_tool_calls", func(r *chat.Request) bool { return r.Parallel != nil && !*r.Parallel && len(r.Tools) > 0 }},
}

// unsent returns the fields of a request that the server is not sent: those of other protocols, those that it is not known to
// understand, and those that its own protocol has no place for.
func (s *Server) unsent(req *chat.Request) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	lost := func(all []chat.Extra) {
		for _, x := range all {
			if s.o.Knows != nil && x.Protocol == s.o.Speaks && s.o.Knows(x.Key) || slices.Contains(carried[x.Protocol], x.Key) {
				continue
			}
			if string(x.Value) != "null" {
				add(x.Key)
			}
		}
	}
	lost(req.Extra)
	for _, x := range settings {
		if slices.Contains(s.o.Lacks, x.name) && x.set(req) {
			add(x.name)
		}
	}
	return names
}

// tell says what the server was not sent, in front of its first event.
func (x *exchange) tell() bool {
	x.told = true
	for _, name := range x.s.unsent(x.req) {
		note := &chat.NoteDetail{Kind: chat.NoteUnsent, Path: name}
		if !x.yield(chat.Event{Kind: chat.KindNote, Detail: note}, nil) {
			x.gone = true
			return false
		}
	}
	return true
}
