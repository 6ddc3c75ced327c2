package exchange

import (
	"fmt"
	"slices"
	"strings"

	"wield/chat"
)

// carried are the fields of requests that are carried out before a backend is asked, or that say nothing to one.
var carried = map[chat.Protocol][]string{
	chat.ProtocolOpenAI:    {"n", "tool_execution_mode", "conversation_id", "functions"},
	chat.ProtocolResponses: {"previous_response_id", "conversation", "store", "background", "stream_options"},
	chat.ProtocolAnthropic: {"metadata"},
	chat.ProtocolOllama:    {"keep_alive"},
	chat.ProtocolGemini:    {"candidateCount", "responseMimeType"},
}

// settings are the fields of a request that not every protocol has a place for, by the names that users know.
var settings = []struct {
	name string
	set  func(*chat.Request) bool
}{
	{"seed", func(r *chat.Request) bool { return r.Seed != nil }},
	{"logprobs", func(r *chat.Request) bool { return r.LogProbs }},
	{"temperature", func(r *chat.Request) bool { return r.Temperature != nil }},
	{"temperature above 1", func(r *chat.Request) bool { return r.Temperature != nil && *r.Temperature > 1 }},
	{"top_p", func(r *chat.Request) bool { return r.TopP != nil }},
	{"max_tokens", func(r *chat.Request) bool { return r.MaxTokens > 0 }},
	{"reasoning_effort", func(r *chat.Request) bool { return r.Effort != "" }},
	{"user", func(r *chat.Request) bool { return r.User != "" }},
	{"messages.name", func(r *chat.Request) bool {
		return slices.ContainsFunc(r.Messages,
			func(m chat.Message) bool { return m.Name != "" && m.Role != chat.RoleTool })
	}},
	{"messages.content.detail", func(r *chat.Request) bool {
		detailed := func(p chat.Part) bool { return p.Detail != "" && p.Detail != "auto" }
		return slices.ContainsFunc(r.Messages,
			func(m chat.Message) bool { return slices.ContainsFunc(m.Parts, detailed) })
	}},
	{"tools.strict", func(r *chat.Request) bool {
		return slices.ContainsFunc(r.Tools, func(t chat.Tool) bool { return t.Strict != nil && *t.Strict })
	}},
	{"parallel_tool_calls", func(r *chat.Request) bool {
		return r.Parallel != nil && !*r.Parallel && len(r.Tools) > 0
	}},
}

// nothing are values of fields that say nothing.
var nothing = []string{"null", "{}", "[]", `{"edits":[]}`}

// effort reports whether an Extra is a wish that is part of the vocabulary as well.
func effort(x chat.Extra) bool {
	return x.Protocol == chat.ProtocolOllama && x.Key == "think" && string(x.Value) != "false"
}

// unsent returns the fields of a request that the server is not sent: those of other protocols, those that it is not
// known to understand, and those that its own protocol has no place for. Clients make up names: after maxUnsent the
// others are counted.
func (s *Server) unsent(req *chat.Request) (names []string, more int) {
	seen := map[string]bool{}
	add := func(name string) {
		switch {
		case seen[name]:
			return
		case len(names) == maxUnsent:
			more++
		default:
			names = append(names, name)
		}
		seen[name] = true
	}
	for _, x := range settings { // first, since an answer depends on them
		if slices.Contains(s.o.Lacks, x.name) && x.set(req) {
			add(x.name)
		}
	}
	for _, x := range req.Extra {
		if !s.knows(x) && !slices.Contains(carried[x.Protocol], x.Key) && !slices.Contains(nothing, string(x.Value)) &&
			!effort(x) {
			for _, name := range x.Fields() {
				add(name)
			}
		}
	}
	for _, name := range req.Unread {
		add(name)
	}
	s.unsentInside(req, add)
	if req.TopLogProbs > 0 && !req.LogProbs && s.o.Speaks != chat.ProtocolResponses {
		add("top_logprobs")
	}
	return names, more
}

// maxUnsent limits the fields that are named.
const maxUnsent = 64

// knows reports whether the server is sent an Extra.
func (s *Server) knows(x chat.Extra) bool {
	return s.o.Knows != nil && x.Protocol == s.o.Speaks && s.o.Knows(x.Key)
}

// unsentInside adds what tools and messages hold that only servers of another protocol understand. The thinking of
// earlier answers is no loss: no other server could read it.
func (s *Server) unsentInside(req *chat.Request, add func(name string)) {
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Hosted != chat.HostedNot && t.Protocol == chat.ProtocolOpenAI &&
			!s.knows(chat.Extra{Protocol: t.Protocol, Key: t.Name}) {
			add("tools=" + t.Name)
		}
		for _, x := range t.Opaque {
			own := len(t.Raw) > 0 && t.Protocol == s.o.Speaks || x.Protocol == s.o.Speaks && x.Remembers()
			for _, name := range x.Fields() {
				if !own && !s.knows(x) {
					add("tools." + name)
				}
			}
		}
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		for _, x := range m.Opaque {
			for _, name := range x.Fields() {
				if !s.knows(chat.Extra{Protocol: x.Protocol, Key: strings.TrimPrefix(name, "content.")}) {
					add(messagesOf(x.Protocol) + "." + name)
				}
			}
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			switch {
			case len(p.Raw) == 0 || p.Kind == chat.PartOpaque && p.Protocol == s.o.Speaks:
			case p.Kind != chat.PartOpaque:
				for _, key := range p.Besides(s.o.Speaks) {
					if !s.knows(chat.Extra{Protocol: p.Protocol, Key: key}) {
						add(messagesOf(p.Protocol) + ".content." + key)
					}
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

// tell says what the server was not sent, in front of its first event.
func (x *roundTrip) tell() bool {
	x.told = true
	names, more := x.s.unsent(x.req)
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more fields", more))
	}
	for _, name := range names {
		note := &chat.NoteDetail{Kind: chat.NoteUnsent, Path: name}
		if !x.yield(chat.Event{Kind: chat.KindNote, Detail: note}, nil) {
			x.gone = true
			return false
		}
	}
	return true
}
