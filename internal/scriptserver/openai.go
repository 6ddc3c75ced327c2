package scriptserver

import (
	"fmt"
	"strings"

	"wield/internal/script"
)

// created is the time in every answer: a constant, so that the same requests give the same bytes.
const created = "1700000000"

// quirks are the faults of a server that speaks the OpenAI protocol badly.
type quirks struct {
	noIndex, idEveryDelta, emptyID, noRole, objectArgs, wholeArgs, finishStop bool
}

func quirksOf(faults []script.Fault) quirks {
	var q quirks
	for i := range faults {
		do := &faults[i].Do
		q.noIndex = q.noIndex || do.NoIndex
		q.idEveryDelta = q.idEveryDelta || do.IDEveryDelta
		q.emptyID = q.emptyID || do.EmptyID
		q.noRole = q.noRole || do.NoRole
		q.objectArgs = q.objectArgs || do.ObjectArgs
		q.wholeArgs = q.wholeArgs || do.WholeArgs
		q.finishStop = q.finishStop || do.FinishStop
	}
	return q
}

// openAI writes the chat completions protocol.
type openAI struct{}

func (openAI) framing(stream bool) framing { return sseIf(stream) }

func sseIf(stream bool) framing {
	if stream {
		return framingSSE
	}
	return framingNone
}

func (openAI) contentType(stream bool) string {
	if stream {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

func (openAI) errorBody(status int, code, message string) []byte {
	return []byte(openAIError(status, code, message))
}

func openAIError(status int, code, message string) string {
	kind := "server_error"
	switch {
	case status == 429:
		kind = "rate_limit_error"
	case status == 401 || status == 403:
		kind = "authentication_error"
	case status >= 400 && status < 500:
		kind = "invalid_request_error"
	}
	coded := "null"
	if code != "" {
		coded = quote(code)
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quote(message), quote(kind), coded)
}

// openAIStream writes one answer as a stream.
type openAIStream struct {
	frames
	open  string // the part of every chunk before its delta
	close string // the part behind finish_reason
	quirks
	begun bool
	calls int
}

func (p openAI) write(in *incoming, r *script.Reply) frames {
	if !in.stream {
		return p.whole(in, r)
	}
	s := &openAIStream{quirks: quirksOf(r.Faults)}
	s.framing = framingSSE
	s.open = `{"id":` + quote("chatcmpl-"+in.id) + `,"object":"chat.completion.chunk","created":` + created +
		`,"model":` + quote(in.req.Model) + `,"choices":[{"index":0,"delta":`
	s.close = `}]`
	if in.usage {
		s.close += `,"usage":null`
	}
	s.close += `}`
	for _, step := range wholeCharacters(r.Steps) {
		s.step(&step)
	}
	s.end(in, r)
	return s.frames
}

func (s *openAIStream) step(step *script.Step) {
	switch kind := textKind(step); {
	case kind == "text":
		s.role(step)
		s.delta(step.Wait, "", s.open+`{"content":`, quote(step.Text), `},"logprobs":null,"finish_reason":null`+s.close)
	case kind == "think":
		s.role(step)
		s.delta(step.Wait, "", s.open+`{"reasoning_content":`, quote(step.Text),
			`},"logprobs":null,"finish_reason":null`+s.close)
	case step.Kind == script.StepCallStart:
		s.calls++
		if !s.wholeArgs && !s.objectArgs {
			s.call(step, true, `""`, false)
		} else {
			s.wait += step.Wait
		}
	case step.Kind == script.StepCallArgs:
		if !s.wholeArgs && !s.objectArgs {
			s.call(step, false, quote(step.Text), true)
		} else {
			s.wait += step.Wait
		}
	case step.Kind == script.StepCallEnd:
		switch {
		case s.objectArgs:
			s.call(step, true, step.Text, true)
		case s.wholeArgs:
			s.call(step, true, quote(step.Text), true)
		}
	default:
		s.wait += step.Wait
	}
}

// role sends the first delta of a stream.
func (s *openAIStream) role(step *script.Step) {
	if s.begun || s.noRole {
		return
	}
	s.begun = true
	s.event(step.Wait, "", s.open+`{"role":"assistant","content":""},"logprobs":null,"finish_reason":null`+s.close)
	step.Wait = 0
}

// call sends a delta of a call.
func (s *openAIStream) call(step *script.Step, first bool, args string, chunk bool) {
	var fields []string
	if !s.noIndex {
		fields = append(fields, fmt.Sprintf(`"index":%d`, step.Index))
	}
	function := `"arguments":` + args
	if first || s.idEveryDelta {
		id := step.ID
		if s.emptyID {
			id = ""
		}
		fields = append(fields, `"id":`+quote(id), `"type":"function"`)
		function = `"name":` + quote(step.Name) + "," + function
	}
	fields = append(fields, `"function":{`+function+`}`)
	delta := `{"tool_calls":[{` + strings.Join(fields, ",") + `}]}`
	if !s.begun && !s.noRole {
		s.begun = true
		delta = `{"role":"assistant","content":null,` + delta[1:]
	}
	s.event(step.Wait, "", s.open+delta+`,"logprobs":null,"finish_reason":null`+s.close).chunk = chunk
}

func (s *openAIStream) end(in *incoming, r *script.Reply) {
	if f := r.Turn.Fail; f != nil {
		s.event(0, "", openAIError(500, f.Code, f.Message))
		return
	}
	s.role(&script.Step{})
	reason := finishReason(r, s.calls)
	if s.finishStop {
		reason = "stop"
	}
	s.event(0, "", s.open+`{},"logprobs":null,"finish_reason":`+quote(reason)+s.close)
	if in.usage {
		head, _, _ := strings.Cut(s.open, `"choices":`)
		s.event(0, "", head+`"choices":[],"usage":`+openAIUsage(r)+`}`)
	}
	s.add(0, "data: [DONE]\n\n").done = true
}

func openAIUsage(r *script.Reply) string {
	u := r.Turn.Usage
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, u.In, u.Out, u.In+u.Out)
}

func finishReason(r *script.Reply, calls int) string {
	switch {
	case r.Finish != "":
		return string(r.Finish)
	case calls > 0:
		return "tool_calls"
	}
	return "stop"
}

// whole writes an answer that is not streamed.
func (openAI) whole(in *incoming, r *script.Reply) frames {
	q := quirksOf(r.Faults)
	m := gather(r.Steps)
	content := quote(m.text)
	if m.text == "" && len(m.calls) > 0 {
		content = "null"
	}
	message := `"content":` + content
	if !q.noRole {
		message = `"role":"assistant",` + message
	}
	if m.think != "" {
		message += `,"reasoning_content":` + quote(m.think)
	}
	var calls []string
	for _, c := range m.calls {
		args := quote(c.Text)
		if q.objectArgs {
			args = c.Text
		}
		id := c.ID
		if q.emptyID {
			id = ""
		}
		calls = append(calls, `{"id":`+quote(id)+`,"type":"function","function":{"name":`+quote(c.Name)+`,"arguments":`+
			args+`}}`)
	}
	if len(calls) > 0 {
		message += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	reason := finishReason(r, len(calls))
	if q.finishStop {
		reason = "stop"
	}
	var f frames
	f.delta(m.wait, "", `{"id":`+quote("chatcmpl-"+in.id)+`,"object":"chat.completion","created":`+created+`,"model":`+
		quote(in.req.Model)+
		`,"choices":[{"index":0,"message":{`, message, `},"logprobs":null,"finish_reason":`+quote(reason)+`}],"usage":`+
		openAIUsage(r)+`}`)
	return f
}
