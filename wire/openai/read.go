package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// A StreamReader turns the data of a stream's frames into events. The zero value is ready for one stream.
//
// Calls are serialised: one call is closed before the next one starts, however the server mixes their deltas. Whether
// the answer holds calls is decided by the calls, not by the finish reason. Calls have the origin function; one that
// the server gave no id is called call_N after its index.
type StreamReader struct {
	out   []chat.Event
	arena arena
	at    int // bytes of text and reasoning so far

	calls calls
	last  frameTemplate

	id, model string
	reason    string // as the server wrote it; empty: none yet
	stop      string
	usage     *chat.Usage
	whole     bool // the chunk is a response's body
	seen      bool // there was a chunk with choices
	done      bool // [DONE] was read
	failed    error
}

// Feed appends the events of one frame's data, which is a chunk or [DONE]. The result does not refer to data. An
// error is a *chat.Error and final.
func (r *StreamReader) Feed(dst []chat.Event, data []byte) ([]chat.Event, error) {
	if r.failed != nil {
		return dst, r.failed
	}
	data = bytes.TrimSpace(data)
	if r.done || len(data) == 0 {
		return dst, nil
	}
	if string(data) == "[DONE]" {
		r.done = true
		return dst, nil
	}
	r.out = dst
	if raw, escaped, ok := r.last.match(data); ok {
		r.text(r.last.kind, r.arena.keep(raw, escaped), nil)
	} else {
		r.last.strings, r.last.other = 0, false
		if r.failed = r.chunk(data); errors.Is(r.failed, chat.ErrProtocol) {
			r.out = r.out[:len(dst)] // what was read of a chunk that is none counts for nothing
		}
		r.last.learn(data, r.out[len(dst):])
	}
	dst, r.out = r.out, nil
	return dst, r.failed
}

// Done reports whether [DONE] was read.
func (r *StreamReader) Done() bool { return r.done }

// Finished reports whether a finish reason was read, after which the stream may end without [DONE].
func (r *StreamReader) Finished() bool { return r.reason != "" }

// Close appends what is left at the end of the stream, Finish last. A stream that broke off before a finish reason or
// [DONE] is a *chat.Error of the kind ErrProtocol.
func (r *StreamReader) Close(dst []chat.Event) ([]chat.Event, error) {
	if r.failed != nil {
		return dst, r.failed
	}
	if !r.done && r.reason == "" {
		r.failed = &chat.Error{Kind: chat.ErrProtocol,
			Message: "the stream ended without a finish reason and without [DONE]"}
		return dst, r.failed
	}
	if !r.seen {
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: "the stream ended without an answer"}
		return dst, r.failed
	}
	r.out = dst
	r.finish()
	dst, r.out = r.out, nil
	return dst, nil
}

// finish emits the end of the answer.
func (r *StreamReader) finish() {
	reason := finishReason(r.reason)
	r.calls.close(r, reason)
	if r.usage != nil {
		r.emit(chat.Event{Kind: chat.KindUsage, Detail: r.usage})
	}
	end := &chat.Finish{Reason: shownReason(reason, r.calls.complete > 0), Model: r.model, ID: r.id, Stop: r.stop}
	r.emit(chat.Event{Kind: chat.KindFinish, Detail: end})
}

func (r *StreamReader) emit(e chat.Event) { r.out = append(r.out, e) }

// DecodeResponse appends the events of a response's body, Finish last. An error is a *chat.Error.
func DecodeResponse(dst []chat.Event, body []byte) ([]chat.Event, error) {
	r := StreamReader{whole: true}
	dst, err := r.Feed(dst, body)
	if err != nil {
		return dst, err
	}
	if !r.seen {
		return dst, &chat.Error{Kind: chat.ErrProtocol, Message: "the answer has no choices: " + jsonbody.Excerpt(body)}
	}
	r.done = true
	return r.Close(dst)
}

// chunk reads one JSON object.
func (r *StreamReader) chunk(data []byte) error {
	s := jsonbody.Scanner{Bytes: data}
	var failure []byte
	var isError bool // as older servers say it: {"object":"error","message":...}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "choices":
			if !s.Null() {
				r.choices(&s)
			}
		case "usage":
			r.readUsage(s.Raw())
		case "error":
			failure = s.Raw()
		case "object":
			isError = string(s.Raw()) == `"error"`
		case "id":
			r.id = sameOrSkip(&s, r.id)
		case "model":
			r.model = sameOrSkip(&s, r.model)
		default:
			s.Skip()
		}
	}
	s.End()
	if s.Err != nil {
		return &chat.Error{Kind: chat.ErrProtocol, Message: s.Err.Error() + ": " + jsonbody.Excerpt(data), Cause: s.Err}
	}
	if failure != nil && string(failure) != "null" || isError {
		return DecodeError(0, nil, data)
	}
	return nil
}

// sameOrSkip reads a string field of no consequence, whatever is there.
func sameOrSkip(s *jsonbody.Scanner, old string) string {
	if s.Peek() == '"' {
		return s.Same(old)
	}
	s.Skip()
	return old
}

// choices reads the first choice and skips all others: wield never asks for several.
func (r *StreamReader) choices(s *jsonbody.Scanner) {
	for s.Enter('['); s.Next(']'); {
		if s.Peek() != '{' {
			s.Skip()
			continue
		}
		r.choice(s)
	}
}

// A delta holds what one chunk adds.
type delta struct {
	text, reasoning, thinking, refusal string
	calls, legacy                      []byte
	logprobs                           json.RawMessage
}

func (r *StreamReader) choice(s *jsonbody.Scanner) {
	var d delta
	var index int64
	var reason string
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "index":
			index, _ = s.Integer()
		case "delta", "message":
			if s.Peek() == '{' {
				r.delta(s, &d)
			} else {
				s.Skip()
			}
		case "text": // of a completion
			d.text = r.content(s, &d)
		case "finish_reason":
			reason = sameOrSkip(s, r.reason)
		case "stop_reason": // of vLLM: the stop sequence, or a token
			r.stop = sameOrSkip(s, r.stop)
		case "logprobs":
			if raw := s.Raw(); len(raw) > 0 && raw[0] == '{' {
				d.logprobs = bytes.Clone(raw)
			}
		default:
			s.Skip()
		}
	}
	if index != 0 || s.Err != nil {
		return
	}
	r.seen = true
	r.show(&d)
	if reason != "" {
		r.reason = reason
		r.last.other = true
	}
	if r.reason != "" {
		r.calls.close(r, finishReason(r.reason))
	}
}

// delta reads the parts of a message that are known, in whatever order they stand.
func (r *StreamReader) delta(s *jsonbody.Scanner, d *delta) {
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "content":
			d.text = r.content(s, d)
		case "reasoning_content":
			d.reasoning = r.content(s, d)
		case "reasoning": // the same under another name; some servers send both
			d.thinking = r.content(s, d)
		case "refusal":
			d.refusal = r.content(s, d)
		case "tool_calls":
			d.calls = s.Raw()
		case "function_call":
			d.legacy = s.Raw()
		default:
			s.Skip()
		}
	}
}

// content reads a string, or the text of a list of parts. Parts that are thoughts go to the reasoning.
func (r *StreamReader) content(s *jsonbody.Scanner, d *delta) string {
	switch s.Peek() {
	case '"':
		raw, escaped := s.Quoted()
		r.last.saw(s.Pos-1-len(raw), len(raw))
		return r.arena.keep(raw, escaped)
	case '[':
		var text strings.Builder
		for s.Enter('['); s.Next(']'); {
			if s.Peek() == '{' {
				r.part(s, d, &text)
			} else {
				s.Skip()
			}
		}
		return text.String()
	}
	s.Skip()
	return ""
}

func (r *StreamReader) part(s *jsonbody.Scanner, d *delta, text *strings.Builder) {
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "text":
			text.WriteString(r.content(s, d))
		case "thinking":
			d.reasoning += r.content(s, d)
		default:
			s.Skip()
		}
	}
}

// show emits what a delta holds: thoughts before text before calls.
func (r *StreamReader) show(d *delta) {
	if d.reasoning == "" {
		d.reasoning = d.thinking
	}
	at := len(r.out)
	r.text(chat.KindReasoning, d.reasoning, nil)
	r.text(chat.KindText, d.text, d.logprobs)
	r.text(chat.KindText, d.refusal, nil)
	if r.whole && (len(d.calls) > 0 || len(d.legacy) > 0) {
		unplace(r.out[at:])
	}
	if len(d.calls) > 0 && d.calls[0] == '[' {
		r.calls.read(r, d.calls)
	}
	if len(d.legacy) > 0 && d.legacy[0] == '{' {
		r.calls.readLegacy(r, d.legacy)
	}
}

// unplace marks what a message says beside calls: the protocol does not tell what came first.
func unplace(said []chat.Event) {
	for i := range said {
		said[i].Flags |= chat.FlagUnplaced
	}
}

func (r *StreamReader) text(kind chat.Kind, text string, logprobs json.RawMessage) {
	if text == "" {
		return
	}
	if kind == chat.KindText {
		r.calls.announce(r)
	}
	e := chat.Event{Kind: kind, At: r.at, End: r.at + len(text), Text: text}
	if logprobs != nil {
		e.Detail = chat.LogProbs(logprobs)
	}
	r.at = e.End
	r.emit(e)
}

// readUsage reads token counts. Servers that send them more than once send sums: the last one stands.
func (r *StreamReader) readUsage(raw []byte) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	u := chat.Usage{Known: true, Requests: 1}
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "prompt_tokens":
			u.In = count(&s)
		case "completion_tokens":
			u.Out = count(&s)
		case "prompt_tokens_details":
			u.Cached = countIn(&s, "cached_tokens")
		case "completion_tokens_details":
			u.Reasoning = countIn(&s, "reasoning_tokens")
		default:
			s.Skip()
		}
	}
	r.usage = &u
	r.last.other = true
}

func count(s *jsonbody.Scanner) int {
	n, _ := s.Integer()
	return max(int(n), 0)
}

func countIn(s *jsonbody.Scanner, name string) (n int) {
	if s.Peek() != '{' {
		s.Skip()
		return 0
	}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == name {
			n = count(s)
		} else {
			s.Skip()
		}
	}
	return n
}

// finishReason translates a server's finish reason. Servers have more words than the protocol; an unknown one is a
// stop.
func finishReason(s string) chat.FinishReason {
	switch s {
	case "length", "max_tokens", "model_length", "max_output_tokens":
		return chat.FinishLength
	case "content_filter", "safety", "refusal":
		return chat.FinishFiltered
	case "tool_calls", "function_call", "tool_use":
		return chat.FinishCalls
	}
	return chat.FinishStop
}

// shownReason applies the rule that the finish reason is tool_calls exactly when there is a complete call.
func shownReason(r chat.FinishReason, calls bool) chat.FinishReason {
	switch {
	case calls:
		return chat.FinishCalls
	case r == chat.FinishCalls || r == chat.FinishPause || r == "":
		return chat.FinishStop
	}
	return r
}

// An arena makes many small strings out of few allocations. A string from it keeps its block alive.
type arena struct {
	block strings.Builder
	size  int
	tmp   []byte
}

const (
	minBlock = 256
	maxBlock = 8 << 10
)

// keep returns the string whose JSON form, without quotes, is raw.
func (a *arena) keep(raw []byte, escaped bool) string {
	if escaped {
		a.tmp = shape.AppendUnquoted(a.tmp[:0], raw)
		raw = a.tmp
	}
	if len(raw) == 0 {
		return ""
	}
	if len(raw) > maxBlock/4 {
		return string(raw)
	}
	if a.block.Cap()-a.block.Len() < len(raw) {
		a.size = min(max(2*a.size, minBlock), maxBlock)
		a.block = strings.Builder{}
		a.block.Grow(max(a.size, len(raw)))
	}
	at := a.block.Len()
	a.block.Write(raw)
	return a.block.String()[at:]
}

// A frameTemplate is the last chunk that brought nothing but text. Most chunks of a stream are that one with another
// text in its place, byte for byte; such a chunk need not be read again. Between the same bytes around it, a string
// that stays a string changes nothing else.
type frameTemplate struct {
	head, tail []byte // up to the text's opening quote, and from its closing one
	kind       chat.Kind

	strings, at, size int  // while a chunk is read: texts that were seen in it, and where the last one is
	other             bool // while a chunk is read: it says something else as well
}

// saw takes each text of a chunk.
func (t *frameTemplate) saw(at, size int) {
	if size > 0 {
		t.strings++
		t.at, t.size = at, size
	}
}

// learn takes a chunk whose only event was its only text.
func (t *frameTemplate) learn(data []byte, events []chat.Event) {
	if t.other || t.strings != 1 || len(events) != 1 || events[0].Detail != nil {
		return
	}
	if k := events[0].Kind; k == chat.KindText || k == chat.KindReasoning {
		t.kind = k
		t.head = append(t.head[:0], data[:t.at]...)
		t.tail = append(t.tail[:0], data[t.at+t.size:]...)
	}
}

// match returns the text of a chunk that is the template with another one.
func (t *frameTemplate) match(data []byte) (raw []byte, escaped, ok bool) {
	if t.kind == 0 || len(data) < len(t.head)+len(t.tail) || !bytes.HasPrefix(data, t.head) ||
		!bytes.HasSuffix(data, t.tail) {
		return nil, false, false
	}
	raw = data[len(t.head) : len(data)-len(t.tail)]
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return nil, false, false
		case '\\':
			escaped = true
			if i++; i == len(raw) {
				return nil, false, false
			}
		}
	}
	return raw, escaped, true
}
