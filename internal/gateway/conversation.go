package gateway

import (
	"bytes"
	"container/list"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"wield/chat"
)

// A conversation is what the gateway remembers for the client of a passive model. Values are never changed, only replaced.
type conversation struct {
	messages []chat.Message // what was said, oldest first, without instructions
	pending  *chat.Call     // the request that waits for its result: only until the next answer
	known    bool           // it is remembered, not made for a new id
}

// window is how many messages of a conversation are remembered: ten turns.
const window = 20

// resume puts together what the model is to be told: the instructions of this request, what was said before, and what is
// new. Results that nobody waits for are passed over without a word. turn is what is to be remembered of it.
//
// In a conversation that is known the gateway's memory counts, and of the request its instructions, results and last user
// message. In any other the request is all there is, and its own history says which results are awaited.
func (c conversation) resume(sent []chat.Message, raw []passiveMessage) (all, turn []chat.Message) {
	if len(raw) != len(sent) {
		raw = make([]passiveMessage, len(sent))
	}
	var instructions []chat.Message
	for _, m := range sent {
		if m.Role == chat.RoleSystem || m.Role == chat.RoleDeveloper {
			instructions = append(instructions, m)
		}
	}
	if c.known {
		turn = c.continued(sent, raw)
	} else {
		turn = replayed(sent, raw)
	}
	return slices.Concat(instructions, c.messages, turn), turn
}

// continued returns what a request adds to a conversation that is known.
func (c conversation) continued(sent []chat.Message, raw []passiveMessage) (turn []chat.Message) {
	var results, user *chat.Message
	userAt, resultAt := 0, 0
	for i := range raw {
		switch raw[i].Role {
		case roleToolResult:
			if c.pending != nil && answers(&raw[i], c.pending) {
				if results == nil {
					m := resultOf(c.pending)
					results = &m
				}
				addResult(results, &raw[i])
				resultAt = i
			}
		case string(chat.RoleUser):
			user, userAt = &sent[i], i
		}
	}
	if results != nil {
		turn = append(turn, *results)
	}
	// Some clients send the question again with the result. It has been said already.
	again := results != nil && user != nil && userAt < resultAt && user.Text() == c.lastUser()
	if user != nil && !again {
		turn = append(turn, *user)
	}
	return turn
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

// replayed returns what a request says of a conversation that is not known.
func replayed(sent []chat.Message, raw []passiveMessage) (turn []chat.Message) {
	var pending *chat.Call
	results := -1 // where in turn the message with the results of pending is
	for i := range raw {
		switch raw[i].Role {
		case string(chat.RoleUser):
			turn = append(turn, sent[i])
		case string(chat.RoleAssistant):
			results = -1
			if pending = requestIn(&sent[i], raw, i); pending != nil {
				turn = append(turn, chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{*pending}})
			} else if len(sent[i].Parts) > 0 {
				turn = append(turn, sent[i])
			}
		case roleToolResult:
			if pending == nil || !answers(&raw[i], pending) {
				continue
			}
			if results < 0 {
				results = len(turn)
				turn = append(turn, resultOf(pending))
			}
			addResult(&turn[results], &raw[i])
		}
	}
	return turn
}

// requestIn returns the request that an assistant's message of a client's history is, or nil. It may stand there as the
// gateway sent it, as the model wrote it, or, since the content beside it is empty, as an empty message before its result.
func requestIn(m *chat.Message, raw []passiveMessage, i int) *chat.Call {
	call := chat.Call{ID: "call_" + newID(""), Arguments: "{}", Complete: true}
	text := m.Text()
	switch r := requestOf(&raw[i], text); {
	case r != nil:
		call.Name = r.Name
		if len(r.Arguments) > 0 {
			call.Arguments = string(r.Arguments)
		}
	case len(m.Calls) == 1:
		call = m.Calls[0]
	case text == "" && i+1 < len(raw) && raw[i+1].Role == roleToolResult && raw[i+1].Name != "":
		call.Name = raw[i+1].Name
	default:
		return nil
	}
	return &call
}

func requestOf(m *passiveMessage, text string) *toolRequest {
	if m.ToolRequest != nil {
		return m.ToolRequest
	}
	var whole struct {
		ToolRequest *toolRequest `json:"tool_request"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(&whole) != nil || dec.More() || whole.ToolRequest == nil || strings.TrimSpace(whole.ToolRequest.Name) == "" {
		return nil
	}
	if args := bytes.TrimSpace(whole.ToolRequest.Arguments); len(args) > 0 && args[0] != '{' {
		return nil
	}
	return whole.ToolRequest
}

// answers reports whether a result is that of call. Not all clients name the tool.
func answers(m *passiveMessage, call *chat.Call) bool { return m.Name == "" || m.Name == call.Name }

// resultOf returns the message that holds the results of call, still empty. Several results become parts of one message.
func resultOf(call *chat.Call) chat.Message {
	return chat.Message{Role: chat.RoleTool, CallID: call.ID, Name: call.Name}
}

func addResult(to *chat.Message, m *passiveMessage) {
	to.Parts = append(to.Parts, chat.Part{Text: resultText(m.Content)})
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
	next := conversation{messages: make([]chat.Message, len(all)), known: true}
	for i, m := range all {
		next.messages[i] = detach(m)
	}
	if n := len(answer.Calls); n > 0 {
		next.pending = &next.messages[len(all)-1].Calls[n-1]
	}
	return next
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

// A conversationKey names a conversation. Those of different keys have nothing to do with each other, whatever their ids.
type conversationKey struct{ holder, model, id string }

// conversations remembers the conversations that were used last. The zero value is ready, and safe for concurrent use. Of two
// exchanges that go on with one conversation at the same time, the one that ends later is remembered.
type conversations struct {
	mu    sync.Mutex
	byKey map[conversationKey]*list.Element
	order list.List // of *kept, last used first
	bytes int
}

type kept struct {
	key conversationKey
	conversation
	bytes int
}

// Limits of the memory.
const (
	maxConversations     = 1000
	maxConversationBytes = 64 << 20
)

// get returns the conversation of a key, which is empty if it is not known.
func (s *conversations) get(key conversationKey) conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return conversation{}
	}
	s.order.MoveToFront(e)
	return e.Value.(*kept).conversation
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
	k := &kept{key: key, conversation: c, bytes: c.size()}
	s.byKey[key] = s.order.PushFront(k)
	s.bytes += k.bytes
	for s.order.Len() > maxConversations || s.bytes > maxConversationBytes {
		s.remove(s.order.Back())
	}
}

func (s *conversations) remove(e *list.Element) {
	k := s.order.Remove(e).(*kept)
	delete(s.byKey, k.key)
	s.bytes -= k.bytes
}
