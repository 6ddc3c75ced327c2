package gateway

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"wield/chat"
	"wield/internal/shorten"
	"wield/wire/jsonbody"
	"wield/wire/openai"
)

// roleToolResult is the role of a message that answers a tool request.
const roleToolResult = "tool_result"

// maxConversationID limits what is kept as a key.
const maxConversationID = 128

// A passiveMessage holds the fields of a passive model's message beyond the OpenAI protocol.
type passiveMessage struct {
	Role    string          `json:"role"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
}

// A toolRequest is the one call that an answer of a passive model can be.
type toolRequest struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// peekModel returns the model that a body names, or "" if it does not.
func peekModel(body []byte) string {
	var peek struct {
		Model string `json:"model"`
	}
	json.Unmarshal(body, &peek) // whatever is wrong is found when the body is decoded
	return peek.Model
}

// completePassive answers for a passive model. The satellite, as the client is called there, decides everything:
// nothing is run here, and no model is asked a second time. What the gateway adds is the memory that the protocol
// expects of it: the conversation, and whether a request waits for its result.
func (x *exchange) completePassive(body []byte) *failure {
	req, extra, f := decodePassive(body)
	if f != nil {
		return f
	}
	m, f := x.find(req.Model)
	if f != nil {
		return f
	}
	key := conversationKey{holder: x.holder.keyName(), model: m.Name, id: extra.conversation}
	if key.id == "" && m.FromUser && req.User != "" {
		key.id = x.g.threads.fromUser(key, req.User)
	}
	if key.id == "" {
		key.id = "conv_" + rand.Text()
	}
	resumed := x.g.conversations.resume(key, req.Messages, extra.messages)
	answered := false
	defer func() {
		if !answered {
			x.g.conversations.restore(key, resumed)
		}
	}()
	x.logIgnored(resumed.ignored)
	req.Messages, req.Conversation = resumed.all, key.id
	if !asks(resumed.turn) {
		return badField("messages", codeUserTurn,
			"no user message was given, and no result of a tool request that waits for one")
	}
	a := &passiveAnswer{id: newID("chatcmpl-"), created: x.start.Unix(), model: m.Name, conversation: key.id}
	if req.Stream {
		f = x.stream(m.Model, req, &passiveStream{answer: a})
	} else {
		f = x.whole(m.Model, req, a)
	}
	if answered = f == nil; answered {
		x.g.conversations.put(key, resumed.past.extend(resumed.turn, a.message()))
	}
	return f
}

// logIgnored says of each result that counts for nothing that it does not. The client is told nothing: it is no error.
func (x *exchange) logIgnored(list []ignoredResult) {
	for _, r := range list {
		x.g.opts.Log.LogAttrs(x.r.Context(), slog.LevelInfo, "a tool result is ignored",
			slog.String("request", x.id), slog.String("model", x.model), slog.String("tool", shorten.Quoted(r.name)),
			slog.String("why", r.why))
	}
}

// passiveExtra holds the fields that the OpenAI protocol does not have.
type passiveExtra struct {
	conversation string
	messages     []passiveMessage // one for each message of the request
}

// decodePassive reads a request to a passive model. It is the OpenAI protocol's, with the key conversation_id and
// with messages of the role tool_result, whose content may be any JSON. What the assistant said is the gateway's to
// know, so that such messages are passed over like those of roles that are not known, whatever they hold.
func decodePassive(body []byte) (*chat.Request, passiveExtra, *failure) {
	var extra passiveExtra
	var fields map[string]json.RawMessage
	var raw []json.RawMessage
	if json.Unmarshal(body, &fields) == nil && json.Unmarshal(fields["messages"], &raw) == nil {
		extra.take(raw)
		if id := fields["conversation_id"]; id != nil && json.Unmarshal(id, &extra.conversation) != nil {
			return nil, extra, badField("conversation_id", jsonbody.CodeInvalidType,
				"conversation_id: this must be a string")
		}
		delete(fields, "conversation_id")
		if text, err := json.Marshal(raw); err == nil && len(raw) > 0 {
			fields["messages"] = text
			if text, err := json.Marshal(fields); err == nil {
				body = text
			}
		}
	}
	if len(extra.conversation) > maxConversationID {
		return nil, extra, badField("conversation_id", jsonbody.CodeInvalidValue,
			"conversation_id is longer than "+strconv.Itoa(maxConversationID)+" bytes")
	}
	req, err := openai.DecodeRequest(body)
	if err != nil {
		return nil, extra, &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	if openai.Choices(req) > 1 {
		return nil, extra, oneAnswer()
	}
	return req, extra, nil
}

// take takes the messages. One of a role of its own leaves a message in its place, so that errors name the right one.
func (x *passiveExtra) take(raw []json.RawMessage) {
	x.messages = make([]passiveMessage, len(raw))
	for i, r := range raw {
		if json.Unmarshal(r, &x.messages[i]) == nil && !plainRole(x.messages[i].Role) {
			raw[i] = json.RawMessage(`{"role":"user","content":""}`)
		}
	}
}

// plainRole reports whether a message of this role counts, and means the same in both protocols.
func plainRole(role string) bool {
	switch chat.Role(role) {
	case chat.RoleSystem, chat.RoleDeveloper, chat.RoleUser:
		return true
	}
	return false
}

// resultText returns the content of a tool_result as it goes to the model: a string as it is, anything else as its
// JSON.
func resultText(content json.RawMessage) string {
	var s string
	if len(content) == 0 || json.Unmarshal(content, &s) == nil {
		return s
	}
	return string(content)
}
