package exchange

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"wield/chat"
)

// carried are the fields of requests that are carried out before a backend is asked, or that say nothing to one.
var carried = map[chat.Protocol][]string{
	chat.ProtocolOpenAI:    {"stream_options", "n", "tool_execution_mode", "conversation_id", "functions"},
	chat.ProtocolResponses: {"previous_response_id", "conversation", "store", "background", "stream_options"},
	chat.ProtocolAnthropic: {"metadata"},
	chat.ProtocolOllama:    {"keep_alive"},
	chat.ProtocolGemini:    {"candidateCount"},
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

// unsent returns the fields of a request that the server is not sent: those of other protocols, those that it is not
// known to understand, and those that its own protocol has no place for.
func (s *Server) unsent(req *chat.Request) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, x := range req.Extra {
		if !s.knows(x) && !slices.Contains(carried[x.Protocol], x.Key) && string(x.Value) != "null" {
			add(x.Key)
		}
	}
	for _, name := range req.Unread {
		add(name)
	}
	s.unsentInside(req, add)
	for _, x := range settings {
		if slices.Contains(s.o.Lacks, x.name) && x.set(req) {
			add(x.name)
		}
	}
	return names
}

// knows reports whether the server is sent an Extra.
func (s *Server) knows(x chat.Extra) bool {
	return s.o.Knows != nil && x.Protocol == s.o.Speaks && s.o.Knows(x.Key)
}

// unsentInside adds what tools and messages hold that only servers of another protocol understand. The thinking of
// earlier answers is no loss: no other server could read it.
func (s *Server) unsentInside(req *chat.Request, add func(name string)) {
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Hosted != chat.HostedNot && t.Protocol == chat.ProtocolOpenAI && !s.knows(chat.Extra{Protocol: t.Protocol, Key: t.Name}) {
			add("tools=" + t.Name)
		}
		for _, x := range t.Opaque {
			if own := len(t.Raw) > 0 && t.Protocol == s.o.Speaks; !own && !s.knows(x) && !x.Remembers() {
				add("tools." + x.Key)
			}
		}
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		for _, x := range m.Opaque {
			if !s.knows(x) && !x.Remembers() {
				add(messagesOf(x.Protocol) + "." + x.Key)
			}
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			switch {
			case len(p.Raw) == 0 || p.Protocol == s.o.Speaks:
			case p.Kind != chat.PartOpaque:
				for _, key := range besides(p) {
					add(messagesOf(p.Protocol) + ".content." + key)
				}
			case m.Role == chat.RoleAssistant && !strings.HasSuffix(p.Name, "thinking"):
				add(messagesOf(p.Protocol) + ".content=" + p.Name)
			}
		}
	}
}

// messagesOf returns the field of a request that holds its messages.
func messagesOf(p chat.Protocol) string {
	if p == chat.ProtocolResponses {
		return "input"
	}
	return "messages"
}

// besides returns the members of a part's Raw, unless it is the whole part: its text says the same then.
func besides(p *chat.Part) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.Raw, &members) != nil || members["type"] != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(members))
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
