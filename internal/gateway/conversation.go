package gateway

import (
	"container/list"
	"slices"
	"strings"
	"sync"

	"wield/chat"
)

// A conversation holds what the gateway remembers for the client of a passive model. Values are never changed,
// only replaced.
type conversation struct {
	messages []chat.Message // what was said, oldest first, without instructions
	pending  *chat.Call     // the request that waits for its result: only until the next answer
	answered string         // the tool whose result the last turn brought
}

// window limits the messages of a conversation that are remembered: ten turns.
const window = 20

// A resumption tells how a request continues a conversation.
type resumption struct {
	past    conversation      // as it was
	all     []chat.Message    // what the model is to be told
	turn    []chat.Message    // what is to be remembered of it
	ignored []ignoredResult   // results that nobody waits for
	taken   *keptConversation // where past is kept, if the results answer what is pending there; nil: there are none
}

// resume puts together what the model is to be told: the instructions of this request, what was said before,
// and what is new: the results that are awaited and the last user message. The gateway's memory is the
// history, so that what the request says of earlier turns, and of what the assistant said, counts for
// nothing.
func (c conversation) resume(sent []chat.Message, raw []passiveMessage) resumption {
	s := resumption{past: c}
	if len(raw) != len(sent) {
		raw = make([]passiveMessage, len(sent))
	}
	var instructions []chat.Message
	var results, user *chat.Message
	userAt, resultAt := 0, 0
	for i := range sent {
		switch role := raw[i].Role; {
		case role == roleToolResult:
			if why := c.unwanted(results, &raw[i]); why != "" {
				s.ignored = append(s.ignored, ignoredResult{raw[i].Name, why})
				continue
			}
			if results == nil {
				results = &chat.Message{Role: chat.RoleTool, CallID: c.pending.ID, Name: c.pending.Name}
			}
			results.Parts = append(results.Parts, chat.Part{Text: resultText(raw[i].Content)})
			resultAt = i
		case role == string(chat.RoleUser):
			user, userAt = &sent[i], i
		case role == string(chat.RoleSystem), role == string(chat.RoleDeveloper):
			instructions = append(instructions, sent[i])
		}
	}
	if results != nil {
		s.turn = append(s.turn, *results)
	}
	// Some clients send the question again with the result. It has been said already.
	again := results != nil && user != nil && userAt < resultAt && user.Text() == c.lastUser()
	if user != nil && !again {
		s.turn = append(s.turn, *user)
	}
	s.all = slices.Concat(instructions, c.messages, s.turn)
	return s
}

// An ignoredResult is a result that counts for nothing, and why: for the log.
type ignoredResult struct{ name, why string }

// unwanted says why a result is not awaited, "" if it is. results are those of this request that are. Several
// different ones may answer a request, but the same one not twice.
func (c conversation) unwanted(results *chat.Message, m *passiveMessage) string {
	switch {
	case c.pending == nil && c.answered != "" && (c.answered == m.Name || m.Name == ""):
		return "its request has been answered"
	case c.pending == nil:
		return "no request is pending"
	case m.Name != "" && m.Name != c.pending.Name: // without a name it can only be that of the request
		return "another tool's request is pending"
	case results != nil && slices.ContainsFunc(results.Parts,
		func(p chat.Part) bool { return p.Text == resultText(m.Content) }):
		return "it is repeated"
	}
	return ""
}

// lastUser is the text that the user said last.
func (c conversation) lastUser() string {
	for i := range slices.Backward(c.messages) {
		if c.messages[i].Role == chat.RoleUser {
			return c.messages[i].Text()
		}
	}
	return ""
}

// asks reports whether a turn gives a model something to answer.
func asks(turn []chat.Message) bool {
	for i := range turn {
		if turn[i].Role == chat.RoleUser || turn[i].Role == chat.RoleTool {
			return true
		}
	}
	return false
}

// extend returns the conversation after a turn and its answer.
func (c conversation) extend(turn []chat.Message, answer chat.Message) conversation {
	all := slices.Concat(c.messages, turn, []chat.Message{answer})
	if len(all) > window {
		all = all[len(all)-window:]
		if i := slices.IndexFunc(all, func(m chat.Message) bool { return m.Role == chat.RoleUser }); i > 0 {
			all = all[i:] // a result whose request is forgotten would be an orphan
		}
	}
	next := conversation{messages: make([]chat.Message, len(all))}
	for i, m := range all {
		next.messages[i] = detach(m)
	}
	next.answered = resultFor(turn)
	if n := len(answer.Calls); n > 0 {
		next.pending = &next.messages[len(all)-1].Calls[n-1]
	}
	return next
}

// resultFor returns the tool whose result a turn brings, "" if it brings none.
func resultFor(turn []chat.Message) string {
	if len(turn) > 0 && turn[0].Role == chat.RoleTool {
		return strings.Clone(turn[0].Name)
	}
	return ""
}

// detach copies what a message refers to, which else would keep the whole body of its request.
func detach(m chat.Message) chat.Message {
	m.Name = strings.Clone(m.Name)
	m.Reasoning = ""
	m.Opaque = nil
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Text, p.URL, p.Name = strings.Clone(p.Text), strings.Clone(p.URL), strings.Clone(p.Name)
		p.Data, p.Raw = slices.Clone(p.Data), slices.Clone(p.Raw)
	}
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = strings.Clone(m.Calls[i].Arguments)
	}
	return m
}

// size estimates the memory of a conversation.
func (c conversation) size() int {
	n := 0
	for i := range c.messages {
		n += 256
		for j := range c.messages[i].Parts {
			p := &c.messages[i].Parts[j]
			n += len(p.Text) + len(p.URL) + len(p.Data) + len(p.Raw) + 128
		}
		for j := range c.messages[i].Calls {
			n += len(c.messages[i].Calls[j].Arguments) + 128
		}
	}
	return n
}

// A conversationKey names a conversation. Those of different keys have nothing to do with each other,
// whatever their ids.
type conversationKey struct{ holder, model, id string }

// conversations remembers the conversations that were used last. The zero value is ready, and safe for
// concurrent use. Of two exchanges that go on with one conversation at the same time, the one that ends later
// is remembered; but only one of them can answer a request that is pending.
type conversations struct {
	mu    sync.Mutex
	byKey map[conversationKey]*list.Element
	order list.List // of *keptConversation, last used first
	bytes int
}

type keptConversation struct {
	key conversationKey
	conversation
	bytes int
}

// Limits of the memory.
const (
	maxConversations     = 1000
	maxConversationBytes = 64 << 20
)

// resume continues the conversation of a key, which is empty if it is not known. A pending request that a
// result came for is answered from here on, so that the same result sent twice at once counts once. If the
// exchange fails, restore makes it pending again.
func (s *conversations) resume(key conversationKey, sent []chat.Message, raw []passiveMessage) resumption {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return conversation{}.resume(sent, raw)
	}
	s.order.MoveToFront(e)
	k := e.Value.(*keptConversation)
	next := k.resume(sent, raw)
	if name := resultFor(next.turn); name != "" {
		k.pending, k.answered = nil, name
		next.taken = k
	}
	return next
}

// restore makes a request pending again whose results failed, unless the conversation has gone on
// without them.
func (s *conversations) restore(key conversationKey, r resumption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; r.taken != nil && e != nil && e.Value == r.taken {
		r.taken.conversation = r.past
	}
}

// put remembers a conversation, and forgets those that were not used for the longest time if there are too many.
func (s *conversations) put(key conversationKey, c conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.remove(e)
	}
	if s.byKey == nil {
		s.byKey = make(map[conversationKey]*list.Element)
	}
	k := &keptConversation{key: key, conversation: c, bytes: c.size()}
	s.byKey[key] = s.order.PushFront(k)
	s.bytes += k.bytes
	for s.order.Len() > maxConversations || s.bytes > maxConversationBytes {
		s.remove(s.order.Back())
	}
}

func (s *conversations) remove(e *list.Element) {
	k := s.order.Remove(e).(*keptConversation)
	delete(s.byKey, k.key)
	s.bytes -= k.bytes
}
