package bridge

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/prompt"
	"wield/schema"
	"wield/schema/shape"
)

// A form describes the text that the client wants. The zero value is any text.
type form struct {
	want     *chat.Format // nil: any text
	schema   *schema.Schema
	shape    *shape.Shape
	onlyTold bool // the backend takes no tool for it
}

// codeInvalidFormat is the [chat.Error] code for a Format whose schema is none.
const codeInvalidFormat = "invalid_response_format"

// codeFormatMismatch is the [chat.Error] code for an answer that does not have the form, with [Options.Strict].
const codeFormatMismatch = "format_mismatch"

// prepareForm settles what the client wants. An answer that has to be a call has no other form.
func (r *run) prepareForm() error {
	f := r.req.Format
	r.form = form{}
	if f == nil || f.Kind == chat.FormatText || r.o.Passive || r.required() {
		return nil
	}
	r.form.want = f
	if what := tooLarge(f.Schema); what != "" {
		return &chat.Error{Kind: chat.ErrBadRequest, Code: codeInvalidFormat, Param: "response_format",
			Message: "the schemas of the form that is asked for " + what + ": ask for a simpler one"}
	}
	if f.Kind != chat.FormatSchema || len(f.Schema) == 0 {
		return nil
	}
	s, err := r.o.Schemas.Compile(f.Schema)
	if err != nil {
		var skipped []string
		if s, skipped = withoutPatterns(r.o.Schemas, f.Schema, err); s == nil {
			return r.formatError(err)
		}
		r.noteSkipped(skipped)
	}
	r.form.schema, r.form.shape = s, r.o.Schemas.Shape(f.Schema)
	return nil
}

// noteSkipped reports places of the schema that the answer is not held to.
func (r *run) noteSkipped(places []string) {
	if r.o.Log != nil {
		r.o.Log.LogAttrs(r.ctx, slog.LevelWarn,
			"an answer is not held to patterns that need backtracking, or references that lead nowhere",
			slog.Any("places", places))
	}
	for _, place := range places {
		if !constraints[r.o.Constraint].can && strings.HasSuffix(place, refEnd) {
			// else the backend is sent it as it is
			r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteUnsent, Path: "response_format", Before: place})
		}
	}
}

// formatError says what is wrong with the schema of the form, and where.
func (r *run) formatError(err error) error {
	return &chat.Error{Kind: chat.ErrBadRequest, Code: codeInvalidFormat, Param: "response_format", Cause: err,
		Message: "the form that is asked for holds no JSON Schema: " + listProblems(err)}
}

// formed returns req with the form that the backend is held to, and tells the model of the client's form
// where it has to be told.
func (r *run) formed(req *chat.Request) *chat.Request {
	f := r.form.want
	if f == nil && r.constrained == nil && req.Format == nil {
		return req
	}
	out := *req
	out.Format = r.constrained
	if r.asTool() {
		out.Tools = []chat.Tool{{Name: answerTool, Description: "Give the answer.", Parameters: f.Schema}}
		out.Choice = chat.Choice{Mode: chat.ChoiceNamed, Name: answerTool}
	}
	if f == nil || r.constrained == f && !constraints[r.o.Constraint].told {
		return &out
	}
	return prompt.Form(&out, f, r.o.Prompt, len(r.tools) > 0)
}

// answerTool is the name of the tool whose arguments are the answer.
const answerTool = "structured_output"

// asTool reports whether the form is offered as a tool: where the backend has function calling, by the
// configuration, and no other way to hold its answer to a form.
func (r *run) asTool() bool {
	f := r.form.want
	return f != nil && f.Kind == chat.FormatSchema && isRecord(r.form.shape) && r.constrained == nil &&
		!r.form.onlyTold && r.o.Mode == ModeNative && len(r.tools) == 0 && !r.opens()
}

// answered makes text of a call of the tool whose arguments are the answer. It reports whether there is an event.
func (r *run) answered(e *chat.Event) bool {
	switch e.Kind {
	case chat.KindCallStart:
		r.turn.answering = strings.TrimPrefix(e.Name, r.o.Decode.Prefix) == answerTool
		return !r.turn.answering
	case chat.KindCallArgs:
		return !r.turn.answering
	case chat.KindCallEnd:
		if r.turn.answering {
			*e = chat.Event{Kind: chat.KindText, Text: e.Detail.(*chat.Call).Arguments}
			r.turn.answering = false
		}
	case chat.KindFinish:
		if f := *e.Detail.(*chat.Finish); f.Reason == chat.FinishCalls {
			f.Reason = chat.FinishStop
			e.Detail = &f
		}
	}
	return true
}

// isRecord reports whether values of a shape are objects, as the arguments of a tool are.
func isRecord(s *shape.Shape) bool { return s != nil && s.Types == shape.Object }

// A pendingText is text of an answer that should have a form, kept until it is known that it has.
type pendingText struct {
	events  buffer // with what stands between the text
	size    int    // bytes of text
	through bool   // the rest goes out as it comes
	fence   fence
}

// bufferText keeps a delta of text, if the answer should have a form. It reports whether it did. By the rule
// for calls, the client of a stream does not wait for more than the first KiB where the backend is held to
// the form.
func (r *run) bufferText(e chat.Event) bool {
	t := &r.turn.text
	if r.form.want == nil || t.through || r.o.Release == ReleaseEager {
		return false
	}
	t.events.add(e, autoRelease)
	t.size += len(e.Text)
	if r.o.Release == ReleaseAuto && r.req.Stream && r.constrained == r.form.want && t.size >= autoRelease {
		r.flushText()
	}
	return true
}

// pass hands on an event that is no text, behind the text that is held.
func (r *run) pass(e chat.Event) {
	if t := &r.turn.text; len(t.events.events) > 0 {
		t.events.add(e, autoRelease)
		return
	}
	r.emit(e)
}

// flushText shows the text that is held as it was written, and what follows in this response as it comes.
func (r *run) flushText() {
	r.turn.text.through, r.turn.text.fence.on = true, false
	r.releaseText()
}

// releaseText shows the text that is held.
func (r *run) releaseText() {
	for _, e := range r.turn.text.events.take() {
		if e.Kind == chat.KindText {
			r.shown = append(r.shown, e.Text...)
		}
		r.emit(e)
	}
}

// endForm decides about the text of a response that has ended: it is shown if it has the form, or if no other can be
// asked for, which is an error of whole answers with Options.Strict.
func (r *run) endForm() error {
	t := &r.turn.text
	if r.turn.text.fence.on {
		return nil // the answer has no form, and lookalike decides
	}
	if r.form.want == nil || t.through || r.turn.muted.on || r.o.Release == ReleaseEager || len(r.turn.failures) > 0 ||
		r.turn.calls > 0 {
		r.flushText()
		return nil
	}
	if r.finish.Reason == chat.FinishLength || r.finish.Reason == chat.FinishFiltered {
		r.flushText() // it was cut, and the finish reason says so
		return nil
	}
	var b strings.Builder
	t.events.cut()
	for _, e := range t.events.events {
		if e.Kind == chat.KindText {
			b.WriteString(e.Text)
		}
	}
	value, notes, why := r.form.read(b.String(), r.o.Decode.Repair)
	switch {
	case why == "" && value == b.String():
		r.flushText()
	case why == "":
		r.hideText()
		r.showRepaired(value, notes)
	case r.bounceable(ReasonFormat):
		at := t.at(len(r.turn.raw))
		r.hideText()
		r.turn.failures = append(r.turn.failures, failure{reason: ReasonFormat, message: why})
		r.turn.muted = mute{on: true, from: at, covered: len(r.turn.raw)}
	case r.o.Strict && !r.req.Stream:
		return &chat.Error{Kind: chat.ErrProtocol, Code: codeFormatMismatch, Message: mismatch + ": " + why}
	default:
		if r.o.Log != nil {
			r.o.Log.LogAttrs(r.ctx, slog.LevelWarn, mismatch, slog.String("reason", why))
		}
		at := t.at(len(r.turn.raw))
		note := chat.NoteDetail{Kind: chat.NoteFormat, Path: "response_format", After: why}
		r.emit(chat.Event{Kind: chat.KindNote, At: at, End: at, Detail: &note})
		r.flushText()
	}
	return nil
}

// mismatch returns the words for the client and the log where no second try is left.
const mismatch = "the answer does not have the format that was asked for"

// at returns where the text that is held begins, or else where the answer ends.
func (t *pendingText) at(end int) int {
	if len(t.events.events) > 0 {
		return t.events.events[0].At
	}
	return end
}

// hideText makes markup of the text that is held.
func (r *run) hideText() {
	for _, e := range hide(r.turn.text.events.take()) {
		r.emit(e)
	}
}

// showRepaired shows an answer of which something was changed.
func (r *run) showRepaired(value string, notes []chat.NoteDetail) {
	at := len(r.turn.raw)
	for i := range notes {
		r.emit(chat.Event{Kind: chat.KindNote, At: at, End: at, Detail: &notes[i]})
	}
	r.shown = append(r.shown, value...)
	r.emit(chat.Event{Kind: chat.KindText, Flags: chat.FlagDecoded, Text: value, At: at, End: at})
}

// read returns the JSON that text is, or that stands alone in it, repaired as far as the level allows, or says what is
// wrong.
func (f *form) read(text string, level dialect.Repair) (value string, notes []chat.NoteDetail, why string) {
	trimmed := strings.TrimSpace(text)
	if why = f.check(trimmed); why == "" {
		return text, nil, ""
	}
	if level == dialect.RepairOff {
		return "", nil, why
	}
	if inner, ok := fenced(trimmed); ok {
		value, notes, inside := f.fit(inner, level)
		if inside == "" || strings.HasPrefix(trimmed, "```") {
			return value, notes, inside
		}
		return "", nil, why
	}
	if value, ok := f.only(trimmed); ok {
		return value, nil, ""
	}
	if first, last := strings.IndexByte(trimmed, '{'), strings.LastIndexByte(trimmed, '}'); first > 0 && first < last {
		trimmed = trimmed[first : last+1]
	}
	value, notes, left := f.fit(trimmed, level)
	if left != "" && !strings.HasPrefix(trimmed, "{") {
		left = why
	}
	return value, notes, left
}

// fit returns a JSON text that has the form, repaired as far as the level allows, or says what is wrong with it.
func (f *form) fit(text string, level dialect.Repair) (value string, notes []chat.NoteDetail, why string) {
	if why = f.check(text); why == "" || !strings.HasPrefix(text, "{") {
		return text, nil, why
	}
	value, notes, err := dialect.Arguments(text, f.shape, level)
	if err != nil {
		return "", nil, why
	}
	return value, notes, f.check(value)
}

// maxStarts bounds the places at which a value is looked for in prose.
const maxStarts = 64

// only returns the one JSON value among words that has the form.
func (f *form) only(text string) (value string, ok bool) {
	for at, starts := 0, 0; starts < maxStarts; starts++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break // nothing closes it
			}
			at++
			continue
		}
		at += int(d.InputOffset())
		if f.check(string(raw)) != "" {
			continue
		}
		if ok {
			return "", false // which of them?
		}
		value, ok = string(raw), true
	}
	return value, ok
}

// check says what is wrong with a JSON text, "" if nothing is.
func (f *form) check(text string) string {
	if text == "" {
		return "it is empty"
	}
	if !json.Valid([]byte(text)) {
		return "it is not JSON"
	}
	if err := schema.Check(text); err != nil {
		return "it is not JSON that can be read in one way only: " + err.Error()
	}
	switch {
	case f.schema == nil && text[0] != '{':
		return "it is no JSON object"
	case f.schema == nil:
		return ""
	}
	if c := complain(f.schema.Validate(text)); c != nil {
		return c.message
	}
	return ""
}

// fenced returns what stands in the only code block of a text.
func fenced(text string) (string, bool) {
	_, inner, ok := strings.Cut(text, "```")
	if !ok {
		return "", false
	}
	tag, inner, ok := strings.Cut(inner, "\n")
	if tag = strings.TrimSpace(tag); !ok || tag != "" && !strings.EqualFold(tag, "json") {
		return "", false
	}
	inner, rest, ok := strings.Cut(inner, "```")
	return strings.TrimSpace(inner), ok && !strings.Contains(rest, "```")
}
