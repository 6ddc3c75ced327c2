package gateway

import (
	"container/list"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"

	"wield/chat"
)

// A thread is a conversation of a client that keeps the history itself and sends all of it each time. Which requests
// belong together is seen from the messages that they begin with: those of users and the results of tools, since
// clients change what they send back of the assistant's words. Messages themselves are not kept, only what tells them
// apart.
type thread struct {
	key   conversationKey
	chain []historyHash // of its messages; each depends on those before it
}

// A historyHash tells a message apart, and all before it.
type historyHash [16]byte

// threads remembers the threads that were used last. The zero value is ready, and safe for concurrent use.
type threads struct {
	mu     sync.Mutex
	secret []byte
	byKey  map[conversationKey]*list.Element
	byMark map[threadMark]*list.Element // of the last message of a thread and of those before it
	order  list.List                    // of *thread, last used first
	marks  int
}

// A threadMark is a mark of a holder's conversation with a model.
type threadMark struct {
	holder, model string
	mark          historyHash
}

const (
	maxThreads     = 1000
	maxThreadMarks = 200_000
)

// recognise finds out which conversation a request continues, and says so in a header.
func (x *exchange) recognise(m *Model, req *chat.Request) {
	if !m.Match && !m.FromUser {
		return
	}
	s := &x.g.threads
	key := conversationKey{holder: x.holder.keyName(), model: m.Name, id: req.Conversation}
	if key.id == "" && m.FromUser && req.User != "" {
		key.id = s.fromUser(key, req.User)
	}
	chain := s.chain(req.Messages)
	switch {
	case key.id == "" && !m.Match:
		return
	case key.id == "":
		key.id = s.find(key, chain)
	case m.Match && !s.continues(key, chain):
		x.g.opts.Metrics.InvalidContinuation(m.Name)
		x.g.opts.Log.LogAttrs(x.r.Context(), slog.LevelWarn, "a request contradicts the conversation that it names",
			slog.String("request", x.id), slog.String("model", m.Name), slog.String("conversation", key.id))
	}
	if m.Match {
		s.put(key, chain)
	}
	req.Conversation, x.thread = key.id, key.id
	x.set("X-Wield-Conversation", key.id)
}

// fromUser returns the conversation of a user: the same as long as the service runs.
func (s *threads) fromUser(key conversationKey, user string) string {
	h := hmac.New(sha256.New, s.own())
	for _, part := range []string{key.holder, key.model, user} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // a UUID of version 8
	b := hex.AppendEncode(nil, u)
	return string(b[:8]) + "-" + string(b[8:12]) + "-" + string(b[12:16]) + "-" + string(b[16:20]) + "-" +
		string(b[20:])
}

// own returns a secret that is made when it is first needed.
func (s *threads) own() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		s.secret = make([]byte, 32)
		_, _ = rand.Read(s.secret) // never fails
	}
	return s.secret
}

// chain returns the marks of the messages that tell a conversation apart. A result is told by the call it answers.
func (s *threads) chain(messages []chat.Message) []historyHash {
	h := hmac.New(sha256.New, s.own())
	var chain []historyHash
	for i := range messages {
		m := &messages[i]
		if m.Role != chat.RoleUser && m.Role != chat.RoleTool {
			continue
		}
		h.Reset()
		if len(chain) > 0 {
			h.Write(chain[len(chain)-1][:])
		}
		h.Write([]byte(m.Role))
		h.Write([]byte{0})
		if m.CallID != "" {
			h.Write([]byte(m.CallID))
		} else {
			for j := range m.Parts {
				p := &m.Parts[j]
				h.Write([]byte{byte(p.Kind)})
				h.Write([]byte(p.Text))
				h.Write([]byte(p.URL))
				h.Write(p.Data)
			}
		}
		chain = append(chain, historyHash(h.Sum(nil)[:16]))
	}
	return chain
}

// find returns the id of the thread that a chain continues: the one whose last message stands farthest back in it. A
// chain that leaves a thread before its end is a branch, and a conversation of its own, like one that begins with its
// only message.
func (s *threads) find(key conversationKey, chain []historyHash) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(chain) - 1; i >= 0 && len(chain) > 1; i-- {
		e := s.byMark[threadMark{key.holder, key.model, chain[i]}]
		if e == nil {
			continue
		}
		if t := e.Value.(*thread); t.chain[len(t.chain)-1] == chain[i] {
			return t.key.id
		}
		break
	}
	return newID("conv_")
}

// continues reports whether a chain continues what was said in the thread of this key, or says the last of it again.
// A thread that is not known can be gone on with by anything.
func (s *threads) continues(key conversationKey, chain []historyHash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return true
	}
	past := e.Value.(*thread).chain
	return len(past) == 0 || len(chain) >= len(past) && chain[len(past)-1] == past[len(past)-1]
}

// put remembers what a thread is now, and forgets those that were not used for the longest time if there are too many.
func (s *threads) put(key conversationKey, chain []historyHash) {
	if len(chain) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.remove(e)
	}
	if s.byKey == nil {
		s.byKey, s.byMark = make(map[conversationKey]*list.Element), make(map[threadMark]*list.Element)
	}
	e := s.order.PushFront(&thread{key, chain})
	s.byKey[key] = e
	s.marks += len(chain)
	for _, m := range chain {
		s.byMark[threadMark{key.holder, key.model, m}] = e
	}
	for s.order.Len() > maxThreads || s.marks > maxThreadMarks && s.order.Len() > 1 {
		s.remove(s.order.Back())
	}
}

func (s *threads) remove(e *list.Element) {
	t := s.order.Remove(e).(*thread)
	delete(s.byKey, t.key)
	s.marks -= len(t.chain)
	for _, m := range t.chain {
		if k := (threadMark{t.key.holder, t.key.model, m}); s.byMark[k] == e {
			delete(s.byMark, k)
		}
	}
}
