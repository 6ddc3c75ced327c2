package gemini

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// ResponseOptions describe an answer.
type ResponseOptions struct {
	ID     string
	Model  string // as the client knows it
	Choice int    // number of the candidate, of several for one request
	Word   bool   // the text is a JSON text, of which the client gets what it says
}

// text returns a text of the answer as the client gets it.
func (o *ResponseOptions) text(said string, thought bool) string {
	word := ""
	if o.Word && !thought && json.Unmarshal([]byte(said), &word) == nil {
		return word
	}
	return said
}

// finishReasons are the words for why an answer ended. A call is no reason of its own in this protocol.
var finishReasons = map[chat.FinishReason]string{chat.FinishLength: "MAX_TOKENS", chat.FinishFiltered: "SAFETY"}

func finishReason(r chat.FinishReason) string {
	if word := finishReasons[r]; word != "" {
		return word
	}
	return "STOP"
}

// A responseBase is shared by a whole answer and a stream.
type responseBase struct {
	o     ResponseOptions
	usage *chat.Usage
	told  []chat.Extra // members of the candidate that tell what tools of the server did
}

// served returns the part in which a server of this protocol tells of a tool that it ran; nil: it is none. Other
// members are kept for the candidate.
func (a *responseBase) served(e chat.Event) []byte {
	opaque, _ := e.Detail.(chat.Opaque)
	for _, x := range opaque {
		switch {
		case x.Protocol != chat.ProtocolGemini:
		case x.Key == "part":
			return x.Value
		default:
			a.told = append(slices.DeleteFunc(a.told, func(y chat.Extra) bool { return y.Key == x.Key }), x)
		}
	}
	return nil
}

// append appends a response with these parts, and the reason for its end unless that is empty.
func (a *responseBase) append(dst, parts []byte, reason string) []byte {
	dst = append(dst, `{"candidates":[`...)
	dst = a.appendCandidate(dst, parts, reason)
	return a.appendRest(append(dst, ']'), reason != "")
}

func (a *responseBase) appendCandidate(dst, parts []byte, reason string) []byte {
	dst = append(dst, `{"content":{"parts":[`...)
	dst = append(dst, parts...)
	dst = append(dst, `],"role":"model"}`...)
	if reason != "" {
		dst = append(append(append(dst, `,"finishReason":"`...), reason...), '"')
		for _, x := range a.told {
			dst = append(append(shape.AppendQuoted(append(dst, ','), x.Key), ':'), x.Value...)
		}
	}
	return append(strconv.AppendInt(append(dst, `,"index":`...), int64(a.o.Choice), 10), '}')
}

// appendRest appends what follows the candidates.
func (a *responseBase) appendRest(dst []byte, last bool) []byte {
	if u := a.usage; u != nil && u.Known && last {
		dst = append(dst, `,"usageMetadata":{"promptTokenCount":`...)
		dst = strconv.AppendInt(dst, int64(u.In), 10)
		dst = append(dst, `,"candidatesTokenCount":`...)
		dst = strconv.AppendInt(dst, int64(u.Out-u.Reasoning), 10)
		if u.Reasoning > 0 {
			dst = strconv.AppendInt(append(dst, `,"thoughtsTokenCount":`...), int64(u.Reasoning), 10)
		}
		if u.Cached > 0 {
			dst = strconv.AppendInt(append(dst, `,"cachedContentTokenCount":`...), int64(u.Cached), 10)
		}
		dst = strconv.AppendInt(append(dst, `,"totalTokenCount":`...), int64(u.In)+int64(u.Out), 10)
		dst = append(dst, '}')
	}
	dst = shape.AppendQuoted(append(dst, `,"modelVersion":`...), a.o.Model)
	dst = shape.AppendQuoted(append(dst, `,"responseId":`...), a.o.ID)
	return append(dst, '}')
}

func appendText(dst []byte, text string, thought bool) []byte {
	dst = shape.AppendQuoted(append(dst, `{"text":`...), text)
	if thought {
		dst = append(dst, `,"thought":true`...)
	}
	return append(dst, '}')
}

func appendCall(dst []byte, c *chat.Call) []byte {
	dst = append(dst, `{"functionCall":{`...)
	if c.ID != "" {
		dst = append(shape.AppendQuoted(append(dst, `"id":`...), c.ID), ',')
	}
	dst = shape.AppendQuoted(append(dst, `"name":`...), c.Name)
	args := c.Arguments
	if !json.Valid([]byte(args)) || !strings.HasPrefix(strings.TrimSpace(args), "{") {
		args = "{}"
	}
	return append(jsonbody.AppendCompact(append(dst, `,"args":`...), []byte(args)), "}}"...)
}

// A Response collects the events of one answer into a body. Text of KindRejected events is shown when they are marked
// FlagSpent.
type Response struct {
	responseBase
	parts   []byte
	text    strings.Builder // of the part under way
	thought bool            // it is a thought
	reason  chat.FinishReason
}

// NewResponse returns a collector for one answer.
func NewResponse(o ResponseOptions) *Response { return &Response{responseBase: responseBase{o: o}} }

// Add takes in one event.
func (r *Response) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		r.say(e.Text, false)
	case chat.KindReasoning:
		r.say(e.Text, true)
	case chat.KindCallEnd:
		if c := e.Detail.(*chat.Call); c.Complete {
			r.close()
			r.parts = appendCall(r.next(), c)
		} else {
			r.say(c.Arguments, false)
		}
	case chat.KindRejected:
		if shown(e) {
			r.say(e.Detail.(*chat.RejectedDetail).Raw, false)
		}
	case chat.KindNativeCall, chat.KindNativeResult:
		if part := r.served(e); part != nil {
			r.close()
			r.parts = append(r.next(), part...)
		}
	case chat.KindUsage:
		r.usage = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		r.reason = e.Detail.(*chat.Finish).Reason
	}
}

// shown reports whether a rejected attempt stands in the text: when nothing will be done about it any more.
func shown(e chat.Event) bool {
	return e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete
}

func (r *Response) next() []byte {
	if len(r.parts) > 0 {
		return append(r.parts, ',')
	}
	return r.parts
}

func (r *Response) say(text string, thought bool) {
	if r.thought != thought {
		r.close()
		r.thought = thought
	}
	r.text.WriteString(text)
}

func (r *Response) close() {
	if r.text.Len() > 0 {
		r.parts = appendText(r.next(), r.o.text(r.text.String(), r.thought), r.thought)
		r.text.Reset()
	}
}

// Append appends the body. It is to be called once the stream has ended.
func (r *Response) Append(dst []byte) []byte {
	r.close()
	return r.append(dst, r.parts, finishReason(r.reason))
}

// AppendChoices appends the body of several candidates for one request.
func AppendChoices(dst []byte, all ...*Response) []byte {
	dst = append(dst, `{"candidates":[`...)
	sum := responseBase{o: all[0].o, usage: &chat.Usage{}}
	for i, r := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		r.close()
		dst = r.appendCandidate(dst, r.parts, finishReason(r.reason))
		if r.usage != nil {
			sum.usage.Add(*r.usage)
		}
	}
	return sum.appendRest(append(dst, ']'), true)
}

// A StreamWriter turns the events of one answer into the frames of a stream: responses, each with what it adds. A call
// is a part of its own, whole.
type StreamWriter struct {
	responseBase
	rest  jsonbody.RuneTail
	word  string // the text so far, of an answer that is one
	ended bool
}

// NewStreamWriter returns a writer for one answer.
func NewStreamWriter(o ResponseOptions) *StreamWriter {
	return &StreamWriter{responseBase: responseBase{o: o}}
}

// Append appends the frames that e makes, none for the kinds that the protocol does not show.
func (w *StreamWriter) Append(dst []byte, e chat.Event) []byte {
	switch {
	case w.ended:
	case e.Kind == chat.KindText, e.Kind == chat.KindReasoning:
		text := w.rest.Take(e.Text)
		if w.o.Word && e.Kind == chat.KindText {
			w.word += text
			return dst
		}
		if text != "" {
			return w.frame(dst, appendText(nil, text, e.Kind == chat.KindReasoning), "")
		}
	case e.Kind == chat.KindCallEnd && e.Detail.(*chat.Call).Complete:
		return w.frame(dst, appendCall(nil, e.Detail.(*chat.Call)), "")
	case e.Kind == chat.KindRejected && shown(e):
		return w.frame(dst, appendText(nil, e.Detail.(*chat.RejectedDetail).Raw, false), "")
	case e.Kind == chat.KindNativeCall, e.Kind == chat.KindNativeResult:
		if part := w.served(e); part != nil {
			return w.frame(dst, part, "")
		}
	case e.Kind == chat.KindUsage:
		w.usage = e.Detail.(*chat.Usage)
	case e.Kind == chat.KindFinish:
		w.ended = true
		return w.frame(dst, appendText(nil, w.o.text(w.word, false), false),
			finishReason(e.Detail.(*chat.Finish).Reason))
	}
	return dst
}

// AppendPart is Append for a candidate beside others that are not done.
func (w *StreamWriter) AppendPart(dst []byte, e chat.Event) []byte { return w.Append(dst, e) }

func (w *StreamWriter) frame(dst, parts []byte, reason string) []byte {
	return append(w.append(append(dst, "data: "...), parts, reason), "\r\n\r\n"...)
}

// AppendError appends the frame that ends a stream which failed after it had begun.
func (w *StreamWriter) AppendError(dst []byte, err *chat.Error) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	return append(AppendError(append(dst, "data: "...), err), "\r\n\r\n"...)
}

// kinds says how each class of errors looks on the wire.
var kinds = map[chat.ErrorKind]struct {
	code   int
	status string
}{
	chat.ErrAuth:          {401, "UNAUTHENTICATED"},
	chat.ErrBadRequest:    {400, "INVALID_ARGUMENT"},
	chat.ErrNotFound:      {404, "NOT_FOUND"},
	chat.ErrRateLimit:     {429, "RESOURCE_EXHAUSTED"},
	chat.ErrContextLength: {400, "INVALID_ARGUMENT"},
	chat.ErrFiltered:      {400, "FAILED_PRECONDITION"},
	chat.ErrOverloaded:    {503, "UNAVAILABLE"},
	chat.ErrTimeout:       {504, "DEADLINE_EXCEEDED"},
	chat.ErrCanceled:      {499, "CANCELLED"},
	chat.ErrProtocol:      {502, "UNAVAILABLE"},
	chat.ErrUnavailable:   {502, "UNAVAILABLE"},
}

// Status returns the HTTP status that a server answers an error of this kind with.
func Status(kind chat.ErrorKind) int {
	if k, ok := kinds[kind]; ok {
		return k.code
	}
	return 500
}

// AppendError appends the body of an error answer. The protocol has no place for the field that is to blame: the
// message names it.
func AppendError(dst []byte, e *chat.Error) []byte {
	k, ok := kinds[e.Kind]
	if !ok {
		k.code, k.status = 500, "INTERNAL"
	}
	message := e.Message
	if message == "" {
		message = e.Error()
	}
	dst = strconv.AppendInt(append(dst, `{"error":{"code":`...), int64(k.code), 10)
	dst = shape.AppendQuoted(append(dst, `,"message":`...), message)
	return append(append(append(dst, `,"status":"`...), k.status...), `"}}`...)
}

// AppendModel appends a model as a list of them has it.
func AppendModel(dst []byte, name string) []byte {
	dst = shape.AppendQuoted(append(dst, `{"name":`...), "models/"+name)
	dst = shape.AppendQuoted(append(dst, `,"displayName":`...), name)
	return append(dst, `,"supportedGenerationMethods":["generateContent","countTokens"]}`...)
}

// AppendModels appends the list of models of these names.
func AppendModels(dst []byte, names []string) []byte {
	dst = append(dst, `{"models":[`...)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendModel(dst, name)
	}
	return append(dst, "]}"...)
}
