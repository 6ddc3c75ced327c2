package lumo

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"wield/chat"
	"wield/wire/jsonbody"
)

// A streamReader turns the data of a stream's frames into events, whichever version they are of. The zero
// value is ready for one stream.
//
// Frames that cannot be read, and those of kinds that are not known, are passed over. Native calls and results have the
// origin native. Text that is marked as encrypted is left out: it must not be taken for words.
type streamReader struct {
	out     []chat.Event
	at      int // bytes of text and reasoning so far
	natives natives
	title   strings.Builder

	model  string
	reason chat.FinishReason
	usage  *chat.Usage
	frames int // that were read
	secret int // pieces that were encrypted
	shown  bool
	done   bool
	ended  bool // there was a reason to finish
	failed error
	unread []byte // the beginning of the first frame that could not be read
}

// A frame is one JSON object of a stream, of either version.
type frame struct {
	// Of the first version.
	Type      string `json:"type"`
	Target    string `json:"target"`
	Content   string `json:"content"`
	Encrypted bool   `json:"encrypted"`
	Message   string `json:"message"`

	// Of the second one.
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   string      `json:"content"`
			Encrypted bool        `json:"encrypted"`
			Thought   string      `json:"reasoning_content"`
			Reasoning string      `json:"reasoning"`
			Target    string      `json:"target"`
			Calls     []callDelta `json:"tool_calls"`
		} `json:"delta"`
		Reason string `json:"finish_reason"`
	} `json:"choices"`
	Call *struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Encrypted bool            `json:"encrypted"`
	} `json:"tool_call"`
	Result *struct {
		CallID    string `json:"call_id"`
		Content   string `json:"content"`
		Encrypted bool   `json:"encrypted"`
	} `json:"tool_result"`
	Usage *struct {
		In  int `json:"prompt_tokens"`
		Out int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// Feed appends the events of one frame's data. The result does not refer to data. An error is a *chat.Error and final.
func (r *streamReader) Feed(dst []chat.Event, data []byte) ([]chat.Event, error) {
	data = bytes.TrimSpace(data)
	if r.failed != nil || r.done || len(data) == 0 {
		return dst, r.failed
	}
	if string(data) == "[DONE]" {
		r.done = true
		return dst, nil
	}
	var f frame
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &f); err != nil && !errors.As(err, &wrong) {
		// a field of another type is as good as none
		if r.unread == nil {
			r.unread = bytes.Clone(data[:min(len(data), 200)])
		}
		return dst, nil
	}
	r.frames++
	r.out = dst
	if f.Type != "" {
		r.failed = r.first(&f)
	} else {
		r.failed = r.second(&f, data)
	}
	dst, r.out = r.out, nil
	return dst, r.failed
}

func (r *streamReader) emit(e chat.Event) {
	e.At, e.End = r.at, r.at+e.End
	r.at = e.End
	r.out = append(r.out, e)
}

// first reads a frame of the first version.
func (r *streamReader) first(f *frame) error {
	switch f.Type {
	case "token_data":
		r.piece(f.Target, f.Content, f.Encrypted)
	case "done":
		r.done = true
	case "harmful":
		r.done, r.reason = true, chat.FinishFiltered
	case "error", "timeout", "rejected":
		return failure(f.Type, f.Message)
	}
	return nil
}

// second reads a frame of the second version.
func (r *streamReader) second(f *frame, data []byte) error {
	if len(f.Error) > 0 && string(f.Error) != "null" {
		return decodeFailure(f.Error, data)
	}
	if f.Model != "" {
		r.model = f.Model
	}
	for i := range f.Choices {
		c := &f.Choices[i]
		if c.Index != 0 {
			continue
		}
		r.choice(f, i)
	}
	if c := f.Call; c != nil && !r.encrypted(c.Encrypted) {
		r.natives.settle(r)
		r.natives.whole(r, c.ID, c.Name, arguments(c.Arguments))
	}
	if res := f.Result; res != nil && !r.encrypted(res.Encrypted) {
		r.natives.settle(r)
		r.natives.result(r, res.CallID, res.Content)
	}
	if u := f.Usage; u != nil {
		r.usage = &chat.Usage{Known: true, Requests: 1, In: max(u.In, 0), Out: max(u.Out, 0)}
	}
	return nil
}

// finishReasons translate the reasons of the second version; an unknown one is a stop.
var finishReasons = map[string]chat.FinishReason{"length": chat.FinishLength, "content_filter": chat.FinishFiltered}

func (r *streamReader) choice(f *frame, i int) {
	c := &f.Choices[i]
	d := &c.Delta
	if d.Reasoning != "" && d.Thought == "" {
		d.Thought = d.Reasoning
	}
	target := d.Target
	if target == "" {
		target = f.Target
	}
	r.piece("reasoning", d.Thought, d.Encrypted)
	r.piece(target, d.Content, d.Encrypted)
	for j := range d.Calls {
		r.natives.delta(r, &d.Calls[j])
	}
	if c.Reason != "" {
		r.natives.settle(r)
		r.ended, r.reason = true, finishReasons[c.Reason]
	}
}

// encrypted takes note of what nobody here can read.
func (r *streamReader) encrypted(is bool) bool {
	if is {
		r.secret++
	}
	return is
}

// piece takes in a piece of the text of a target. Without one it is the message.
func (r *streamReader) piece(target, text string, encrypted bool) {
	if text == "" || r.encrypted(encrypted) {
		return
	}
	switch target {
	case "message", "":
		r.text(chat.KindText, text)
	case "reasoning":
		r.text(chat.KindReasoning, text)
	case "tool_call":
		r.natives.text(r, text)
	case "tool_result":
		r.natives.resultText(r, text)
	case "title":
		r.title.WriteString(text)
	}
}

func (r *streamReader) text(kind chat.Kind, text string) {
	r.natives.settle(r)
	r.shown = true
	r.emit(chat.Event{Kind: kind, End: len(text), Text: text})
}

// Done reports whether the stream has ended by what the protocol ends streams with.
func (r *streamReader) Done() bool { return r.done }

// Finished reports whether a finish reason was read, after which the stream may end without more.
func (r *streamReader) Finished() bool { return r.done || r.ended }

// Title returns the title of the conversation, if the stream had one.
func (r *streamReader) Title() string {
	if r.title.Len() == 0 {
		return ""
	}
	return shortTitle(r.title.String())
}

// Close appends what is left at the end of the stream, Finish last. A stream that broke off is a *chat.Error
// of the kind ErrProtocol, and so is one of which a part cannot be read because it is encrypted.
func (r *streamReader) Close(dst []chat.Event) ([]chat.Event, error) {
	if r.failed != nil {
		return dst, r.failed
	}
	r.out = dst
	if r.Finished() {
		r.natives.close(r)
	}
	dst, r.out = r.out, nil
	switch {
	case !r.Finished() && r.frames == 0 && r.unread != nil:
		r.failed = &chat.Error{Kind: chat.ErrProtocol,
			Message: "the answer cannot be read: " + jsonbody.Excerpt(r.unread)}
	case !r.Finished():
		r.failed = &chat.Error{Kind: chat.ErrProtocol,
			Message: "the stream ended without a sign that the answer is whole"}
	case r.secret > 0 && !r.shown:
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: "the answer is encrypted, and was not asked to be"}
	case r.secret > 0:
		r.failed = &chat.Error{Kind: chat.ErrProtocol,
			Message: "a part of the answer is encrypted, and was not asked to be: what could be read is not all of it"}
	}
	if r.failed != nil {
		return dst, r.failed
	}
	if r.usage != nil {
		dst = append(dst, chat.Event{Kind: chat.KindUsage, Detail: r.usage})
	}
	reason := r.reason
	if reason == "" {
		reason = chat.FinishStop
	}
	return append(dst, chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: r.model}}), nil
}

// decodeResponse reads an answer that is one JSON object. The protocol has none but errors.
func decodeResponse(dst []chat.Event, body []byte) ([]chat.Event, error) {
	return dst, decodeError(0, nil, body)
}

// titleMost limits the characters of a title.
const titleMost = 100

// shortTitle makes a title presentable: without quotation marks around it, and not too long.
func shortTitle(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`))
	if s == "" {
		return "Untitled Conversation"
	}
	if runes := []rune(s); len(runes) > titleMost {
		return string(runes[:titleMost-3]) + "..."
	}
	return s
}
