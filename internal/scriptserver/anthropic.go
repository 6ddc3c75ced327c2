package scriptserver

import (
	"fmt"
	"strings"
	"time"

	"wield/internal/script"
)

// anthropic writes the Messages protocol.
type anthropic struct{}

func (anthropic) framing(stream bool) framing { return sseIf(stream) }

func (anthropic) contentType(stream bool) string { return openAI{}.contentType(stream) }

func (anthropic) errorBody(status int, code, message string) []byte {
	return []byte(anthropicError(status, message))
}

func anthropicError(status int, message string) string {
	kind := "api_error"
	switch status {
	case 400, 413, 422:
		kind = "invalid_request_error"
	case 401:
		kind = "authentication_error"
	case 402:
		kind = "billing_error"
	case 403:
		kind = "permission_error"
	case 404:
		kind = "not_found_error"
	case 429:
		kind = "rate_limit_error"
	case 504:
		kind = "timeout_error"
	case 503, 529:
		kind = "overloaded_error"
	}
	return `{"type":"error","error":{"type":` + quote(kind) + `,"message":` + quote(message) + `},"request_id":null}`
}

type anthropicStream struct {
	frames
	block int    // index of the block that is open, or of the next one
	open  string // kind of the open block; empty: none is
	calls int
}

func (p anthropic) write(in *incoming, r *script.Reply) frames {
	if !in.stream {
		return p.whole(in, r)
	}
	s := &anthropicStream{}
	s.framing = framingSSE
	s.event(firstWait(r), "message_start", `{"type":"message_start","message":{"id":`+quote("msg_"+in.id)+
		`,"type":"message","role":"assistant","model":`+quote(in.req.Model)+
		`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":`+
		fmt.Sprintf(`{"input_tokens":%d,"output_tokens":0}`, r.Turn.Usage.In)+`}}`)
	for i, step := range wholeCharacters(r.Steps) {
		if i == 0 {
			step.Wait = 0 // it stands before message_start
		}
		s.step(&step)
	}
	s.end(r)
	return s.frames
}

// firstWait is the wait before the body begins.
func firstWait(r *script.Reply) (d time.Duration) {
	if len(r.Steps) > 0 {
		d = r.Steps[0].Wait
	}
	return d
}

func (s *anthropicStream) step(step *script.Step) {
	at := func() string { return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":`, s.block) }
	switch kind := textKind(step); {
	case kind == "text":
		s.start(step, "text", `{"type":"text","text":""}`)
		s.delta(step.Wait, "content_block_delta", at()+`{"type":"text_delta","text":`, quote(step.Text), `}}`)
	case kind == "think":
		s.start(step, "thinking", `{"type":"thinking","thinking":"","signature":""}`)
		s.delta(step.Wait, "content_block_delta", at()+`{"type":"thinking_delta","thinking":`, quote(step.Text), `}}`)
	case step.Kind == script.StepCallStart:
		s.calls++
		s.stop()
		s.start(step, "tool_use", `{"type":"tool_use","id":`+quote(step.ID)+`,"name":`+quote(step.Name)+`,"input":{}}`)
		s.wait += step.Wait
	case step.Kind == script.StepCallArgs:
		s.delta(step.Wait, "content_block_delta", at()+`{"type":"input_json_delta","partial_json":`, quote(step.Text),
			`}}`)
	case step.Kind == script.StepCallEnd:
		s.stop()
	default:
		s.wait += step.Wait
	}
}

// start opens a block of a kind unless one is open. Its wait is used up.
func (s *anthropicStream) start(step *script.Step, kind, block string) {
	if s.open == kind {
		return
	}
	s.stop()
	s.open = kind
	s.event(step.Wait, "content_block_start",
		fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, s.block, block))
	step.Wait = 0
}

func (s *anthropicStream) stop() {
	if s.open == "" {
		return
	}
	s.event(0, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, s.block))
	s.block++
	s.open = ""
}

func (s *anthropicStream) end(r *script.Reply) {
	if f := r.Turn.Fail; f != nil {
		s.event(0, "error", anthropicError(500, f.Message))
		return
	}
	s.stop()
	s.event(0, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+quote(anthropicReason(r, s.calls))+
		`,"stop_sequence":null},"usage":`+fmt.Sprintf(`{"output_tokens":%d}`, r.Turn.Usage.Out)+`}`)
	s.event(0, "message_stop", `{"type":"message_stop"}`).done = true
}

func anthropicReason(r *script.Reply, calls int) string {
	return map[string]string{"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal",
		"tool_calls": "tool_use"}[finishReason(r, calls)]
}

func (anthropic) whole(in *incoming, r *script.Reply) frames {
	m := gather(r.Steps)
	var blocks []string
	if m.think != "" {
		blocks = append(blocks, `{"type":"thinking","thinking":`+quote(m.think)+`,"signature":""}`)
	}
	if m.text != "" {
		blocks = append(blocks, `{"type":"text","text":`+quote(m.text)+`}`)
	}
	for _, c := range m.calls {
		blocks = append(blocks, `{"type":"tool_use","id":`+quote(c.ID)+`,"name":`+quote(c.Name)+`,"input":`+c.Text+`}`)
	}
	u := r.Turn.Usage
	var f frames
	f.delta(m.wait, "", `{"id":`+quote("msg_"+in.id)+`,"type":"message","role":"assistant","model":`+
		quote(in.req.Model)+`,"content":[`,
		strings.Join(blocks, ","), `],"stop_reason":`+quote(anthropicReason(r, len(m.calls)))+
			`,"stop_sequence":null,"usage":`+fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d}`, u.In, u.Out)+`}`)
	return f
}
