package responses

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// A StreamWriter turns the events of one answer into the events of a stream: the response as it begins, each item
// from its opening to its end under one id and index, and one event with the whole response last. All are numbered.
// Text of KindRejected events is shown when they are marked FlagSpent, and not otherwise.
type StreamWriter struct {
	object
	open     openItem
	queued   bool
	started  bool
	ended    bool
	sequence int
	around   string // what a delta of the open item has before it, but for the sequence number
	status   string // of the response, once it has ended
	lack     string
	err      *chat.Error
}

// NewStreamWriter returns a writer for one answer.
func NewStreamWriter(o ResponseOptions) *StreamWriter {
	return &StreamWriter{object: newObject(o), status: statusRunning}
}

// Append appends the frames that e makes, none for the kinds that the protocol does not show. KindFinish writes the
// end of the stream; nothing may follow it.
func (w *StreamWriter) Append(dst []byte, e chat.Event) []byte {
	if w.ended {
		return dst
	}
	switch e.Kind {
	case chat.KindText:
		var logprobs []byte
		if probs, ok := e.Detail.(chat.LogProbs); ok {
			logprobs = addLogProbs(probs)
		}
		return w.show(dst, messageKind, e.Text, logprobs)
	case chat.KindReasoning:
		return w.sealed(w.show(dst, thoughtKind, e.Text, nil), sealedOf(e))
	case chat.KindCallStart:
		return w.call(dst, e.ID, e.Name)
	case chat.KindCallArgs:
		return w.callArgs(dst, e.Text)
	case chat.KindCallEnd:
		return w.callEnd(dst, e.Detail.(*chat.Call))
	case chat.KindRejected:
		return w.rejected(dst, e)
	case chat.KindUsage:
		w.usage = e.Detail.(*chat.Usage)
	case chat.KindNativeCall, chat.KindNativeResult:
		return w.nativeItems(dst, e)
	case chat.KindFinish:
		return w.finish(w.nativeItems(dst, e), e.Detail.(*chat.Finish).Reason)
	}
	return dst
}

// event appends the beginning of an event.
func (w *StreamWriter) event(dst []byte, name string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	dst = append(dst, `","sequence_number":`...)
	dst = strconv.AppendInt(dst, int64(w.sequence), 10)
	w.sequence++
	return dst
}

// whole appends an event that holds the response.
func (w *StreamWriter) whole(dst []byte, name string) []byte {
	dst = w.event(dst, name)
	dst = append(dst, `,"response":`...)
	dst = w.object.append(dst, w.status, w.lack, w.err)
	return append(dst, "}\n\n"...)
}

// start appends the events with which every stream begins.
func (w *StreamWriter) start(dst []byte) []byte {
	if w.started {
		return dst
	}
	w.started, w.status = true, statusRunning
	if !w.queued {
		dst = w.whole(dst, "response.created")
	}
	return w.whole(dst, "response.in_progress")
}

// Queue appends the events of a response that nobody works on yet. n is the number of the first of them.
func (w *StreamWriter) Queue(dst []byte, n int) []byte {
	w.queued, w.status, w.sequence = true, statusQueued, n
	dst = w.whole(dst, "response.created")
	return w.whole(dst, "response.queued")
}

// Start appends the event that says that the response is worked on, if that was not said before.
func (w *StreamWriter) Start(dst []byte) []byte { return w.start(dst) }

// Cancel appends the event that ends a stream whose response nobody wants any more. What was done of it stays.
func (w *StreamWriter) Cancel(dst []byte) []byte {
	if w.ended {
		return dst
	}
	dst = w.start(dst)
	w.ended = true
	if w.open.kind != nil {
		w.end(&w.open, statusIncomplete)
	}
	w.status = statusCancelled
	return w.whole(dst, "response.cancelled")
}

// Next returns the number that the next event gets.
func (w *StreamWriter) Next() int { return w.sequence }

// item appends an event that holds the open item.
func (w *StreamWriter) item(dst []byte, name, status string) []byte {
	dst = w.event(dst, name)
	dst = w.index(dst)
	dst = append(dst, `,"item":`...)
	dst = w.appendItem(dst, &w.open, status)
	return append(dst, "}\n\n"...)
}

func (w *StreamWriter) index(dst []byte) []byte {
	dst = append(dst, `,"output_index":`...)
	return strconv.AppendInt(dst, int64(w.begun-1), 10)
}

// of appends which item, and which part of it, an event is about.
func (w *StreamWriter) of(dst []byte) []byte {
	dst = append(dst, `,"item_id":`...)
	dst = shape.AppendQuoted(dst, w.open.id)
	dst = w.index(dst)
	return append(dst, w.open.kind.place...)
}

// begin opens an item, and closes the one before it.
func (w *StreamWriter) begin(dst []byte, kind *itemKind) []byte {
	dst = w.close(w.start(dst), statusCompleted)
	w.open = w.object.begin(kind)
	w.around = string(w.of(nil))
	return dst
}

// show adds text to a message or to reasoning.
func (w *StreamWriter) show(dst []byte, kind *itemKind, text string, logprobs []byte) []byte {
	if w.open.kind != kind {
		if text == "" {
			return dst
		}
		dst = w.begin(dst, kind)
		dst = w.item(dst, "response.output_item.added", statusRunning)
		dst = w.part(dst, kind.added, "")
	}
	return w.delta(dst, text, logprobs)
}

// sealed ends reasoning with what only the server can read of it.
func (w *StreamWriter) sealed(dst, content []byte) []byte {
	if content == nil {
		return dst
	}
	if w.open.kind != thoughtKind {
		dst = w.begin(dst, thoughtKind)
		dst = w.item(dst, "response.output_item.added", statusRunning)
		w.open.sealed = content
		dst = w.item(dst, "response.output_item.done", statusCompleted)
		w.end(&w.open, statusCompleted)
		return dst
	}
	w.open.sealed = content
	return w.close(dst, statusCompleted)
}

// part appends an event that holds the part of the open item.
func (w *StreamWriter) part(dst []byte, name, text string) []byte {
	dst = w.event(dst, name)
	dst = append(dst, w.around...)
	dst = append(dst, `,"part":`...)
	dst = w.open.appendPart(dst, text)
	return append(dst, "}\n\n"...)
}

// delta adds to the text of the open item, and appends the event for it.
func (w *StreamWriter) delta(dst []byte, text string, logprobs []byte) []byte {
	w.open.addLogProbs(logprobs)
	if text = w.open.rest.Take(text); text == "" {
		return dst
	}
	return w.deltaEvent(dst, text, logprobs)
}

func (w *StreamWriter) deltaEvent(dst []byte, text string, logprobs []byte) []byte {
	w.open.text = append(w.open.text, text...)
	dst = w.event(dst, w.open.kind.delta)
	dst = append(dst, w.around...)
	dst = append(dst, `,"delta":`...)
	dst = shape.AppendQuoted(dst, text)
	if w.open.kind == messageKind {
		dst = append(dst, `,"logprobs":[`...)
		dst = append(dst, logprobs...)
		dst = append(dst, ']')
	}
	return append(dst, "}\n\n"...)
}

// close ends the open item, if there is one.
func (w *StreamWriter) close(dst []byte, status string) []byte {
	if w.open.kind == nil {
		return dst
	}
	if w.open.rest.Pending() {
		dst = w.deltaEvent(dst, w.open.rest.Flush(), nil)
	}
	kind, text := w.open.kind, string(w.open.text)
	if kind.done != "" {
		dst = w.event(dst, kind.done)
		dst = append(dst, w.around...)
		dst = append(dst, kind.key...)
		dst = shape.AppendQuoted(dst, text)
		if kind == messageKind {
			dst = append(dst, `,"logprobs":[`...)
			dst = append(dst, w.open.logprobs...)
			dst = append(dst, ']')
		}
		dst = append(dst, "}\n\n"...)
	}
	if kind.part != "" {
		dst = w.part(dst, kind.partDone, text)
	}
	dst = w.item(dst, "response.output_item.done", status)
	w.end(&w.open, status)
	return dst
}

// call opens a call.
func (w *StreamWriter) call(dst []byte, id, name string) []byte {
	dst = w.begin(dst, w.callKind(name))
	w.open.callID, w.open.name = w.callID(id), name
	return w.item(dst, "response.output_item.added", statusRunning)
}

// callArgs adds to the arguments of the open call. Those of forms other than a function's and a custom tool's are
// shown at its end.
func (w *StreamWriter) callArgs(dst []byte, args string) []byte {
	switch k := w.open.kind; {
	case k == customKind:
		return w.delta(dst, w.open.input.Add(args), nil)
	case k == callKind:
		return w.delta(dst, args, nil)
	case k.isCall():
		w.open.text = append(w.open.text, args...)
	}
	return dst
}

// callEnd closes the open call. What is missing of the arguments is sent, since clients fail on a call with empty ones.
func (w *StreamWriter) callEnd(dst []byte, c *chat.Call) []byte {
	if !w.open.kind.isCall() {
		if !c.Complete {
			return dst
		}
		dst = w.call(dst, c.ID, c.Name)
	}
	if !c.Complete {
		return w.close(dst, statusIncomplete)
	}
	switch k := w.open.kind; {
	case k == customKind:
		if rest, ok := strings.CutPrefix(freeform.Input(c.Arguments), string(w.open.text)); ok && rest != "" {
			w.open.rest = jsonbody.RuneTail{}
			dst = w.deltaEvent(dst, rest, nil)
		}
	case len(w.open.text) > 0 || w.open.rest.Pending():
	case k == callKind:
		dst = w.deltaEvent(dst, orEmptyObject(c.Arguments), nil)
	default:
		w.open.text = append(w.open.text, c.Arguments...)
	}
	return w.close(dst, statusCompleted)
}

// rejected shows the text of an attempt at a call, unless part of it is on the wire as a call.
func (w *StreamWriter) rejected(dst []byte, e chat.Event) []byte {
	switch {
	case w.open.kind.isCall():
		return w.close(dst, statusIncomplete)
	case !shown(e):
		return dst
	}
	return w.show(dst, messageKind, e.Detail.(*chat.RejectedDetail).Raw, nil)
}

// finish appends the end of the stream.
func (w *StreamWriter) finish(dst []byte, reason chat.FinishReason) []byte {
	w.ended = true
	status, lack := ended(reason)
	dst = w.close(w.start(dst), status)
	if w.emptyAnswer(status) {
		dst = w.begin(dst, messageKind)
		dst = w.item(dst, "response.output_item.added", statusRunning)
		dst = w.part(dst, messageKind.added, "")
		dst = w.close(dst, status)
	}
	w.status, w.lack = status, lack
	return w.whole(dst, "response."+status)
}

// AppendError appends the events that end a stream which failed after it had begun. The item under way is not closed
// with events of its own, so that no client takes it for a whole one.
func (w *StreamWriter) AppendError(dst []byte, err *chat.Error) []byte {
	if w.ended {
		return dst
	}
	dst = w.start(dst)
	w.ended = true
	if w.open.kind != nil {
		w.end(&w.open, statusIncomplete)
	}
	w.status, w.err = statusFailed, err
	dst = appendErrorEvent(w.event(dst, "error"), err)
	return w.whole(dst, "response.failed")
}

// AppendBroken appends the event, of number n, that ends a stream which tells of a response no further. What becomes
// of that is not said.
func AppendBroken(dst []byte, n int, err *chat.Error) []byte {
	w := StreamWriter{sequence: n}
	return appendErrorEvent(w.event(dst, "error"), err)
}

// appendErrorEvent appends what an event of an error has behind its number.
func appendErrorEvent(dst []byte, err *chat.Error) []byte {
	dst = append(dst, `,"code":`...)
	dst = shape.AppendQuoted(dst, failureCode(err))
	dst = append(dst, `,"message":`...)
	dst = shape.AppendQuoted(dst, messageOf(err))
	dst = append(dst, `,"param":`...)
	if err.Param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = shape.AppendQuoted(dst, err.Param)
	}
	return append(dst, "}\n\n"...)
}

// Result appends the response as it stands. After the stream's end it is what the last event held.
func (w *StreamWriter) Result(dst []byte) []byte {
	return w.object.append(dst, w.status, w.lack, w.err)
}
