package scriptserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"wield/internal/script"
)

// lumo writes the protocol of Lumo: streams with targets, in its first version, or, for requests in the shape of chat
// completions, in its second. Both are always streams.
type lumo struct{}

func (lumo) framing(bool) framing { return framingSSE }

func (lumo) contentType(bool) string { return openAI{}.contentType(true) }

// errorBody is the form of Proton's APIs: a number of their own beside the text.
func (lumo) errorBody(status int, code, message string) []byte {
	return fmt.Appendf(nil, `{"Code":%d,"Error":%s}`, status, quote(message))
}

func (lumo) write(in *incoming, r *script.Reply) frames {
	if in.lumoV2 {
		return lumoV2(in, r)
	}
	s := &lumoV1{count: map[string]int{}}
	s.framing = framingSSE
	for _, step := range wholeCharacters(r.Steps) {
		s.step(&step)
	}
	s.end(r)
	return s.frames
}

type lumoV1 struct {
	frames
	target string
	count  map[string]int
}

func (s *lumoV1) step(step *script.Step) {
	switch kind := textKind(step); {
	case kind == "text":
		s.token(step, "message", step.Text)
	case kind == "think":
		s.token(step, "reasoning", step.Text)
	case step.Kind == script.StepTarget:
		s.token(step, step.Name, step.Text)
	case step.Kind == script.StepCallEnd:
		s.token(step, "tool_call", `{"name":`+quote(step.Name)+`,"parameters":`+step.Text+`}`)
	default: // calls come whole
		s.wait += step.Wait
	}
}

// token sends one event of a target. The two targets of tools share their count.
func (s *lumoV1) token(step *script.Step, target, text string) {
	if s.target != target {
		s.target = target
		s.event(step.Wait, "", `{"type":"ingesting","target":`+quote(target)+`}`)
		step.Wait = 0
	}
	group := strings.TrimSuffix(strings.TrimSuffix(target, "_call"), "_result")
	n := s.count[group]
	s.count[group]++
	s.delta(step.Wait, "", fmt.Sprintf(`{"type":"token_data","target":%s,"count":%d,"content":`, quote(target), n),
		quote(text), `}`)
}

func (s *lumoV1) end(r *script.Reply) {
	f := r.Turn.Fail
	switch {
	case f != nil && f.Code == "rejected":
		s.event(0, "", `{"type":"rejected"}`).done = true
	case f != nil:
		s.event(0, "", `{"type":`+quote(f.Code)+`,"message":`+quote(f.Message)+`}`).done = true
	case finishReason(r, 0) == "content_filter":
		s.event(0, "", `{"type":"harmful"}`).done = true
	default:
		s.event(0, "", `{"type":"done"}`).done = true
	}
}

// lumoV2 writes the second version.
func lumoV2(in *incoming, r *script.Reply) frames {
	f := frames{framing: framingSSE}
	head := `{"object":"CompletionChunk","model":` + quote(in.req.Model) + `,"choices":[{"index":0,"delta":{`
	natives := 0
	for _, step := range wholeCharacters(r.Steps) {
		switch kind := textKind(&step); {
		case kind == "text":
			f.delta(step.Wait, "", head+`"content":`, quote(step.Text), `}}]}`)
		case kind == "think":
			f.delta(step.Wait, "", head+`"reasoning_content":`, quote(step.Text), `}}]}`)
		case step.Kind == script.StepTarget && step.Name == "tool_call":
			natives++
			name, args := nativeCall(step.Text)
			f.delta(step.Wait, "",
				fmt.Sprintf(`{"object":"chat.tool_call","tool_call":{"id":"c%d","name":%s,"arguments":`, natives,
					quote(name)), quote(args), `}}`)
		case step.Kind == script.StepTarget && step.Name == "tool_result":
			f.delta(step.Wait, "",
				fmt.Sprintf(`{"object":"chat.tool_result","tool_result":{"call_id":"c%d","content":`, natives),
				quote(step.Text), `}}`)
		case step.Kind == script.StepCallEnd:
			natives++
			f.delta(step.Wait, "",
				fmt.Sprintf(`{"object":"chat.tool_call","tool_call":{"id":"c%d","name":%s,"arguments":`, natives,
					quote(step.Name)), quote(step.Text), `}}`)
		default:
			f.wait += step.Wait
		}
	}
	if fail := r.Turn.Fail; fail != nil {
		f.event(0, "", `{"object":"CompletionChunk","model":`+quote(in.req.Model)+`,"error":{"code":`+quote(fail.Code)+
			`,"message":`+quote(fail.Message)+`}}`)
		return f
	}
	f.event(0, "", head+`},"finish_reason":`+quote(finishReason(r, 0))+`}]}`)
	f.event(0, "",
		fmt.Sprintf(
			`{"model":%s,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"applied_limit_category":null,"remaining_limits":null}}`,
			quote(in.req.Model), r.Turn.Usage.In, r.Turn.Usage.Out))
	f.add(0, "data: [DONE]\n\n").done = true
	return f
}

// nativeCall reads the content of a tool_call event. What is no call has no name.
func nativeCall(content string) (name, args string) {
	var c struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.NewDecoder(strings.NewReader(content)).Decode(&c) != nil {
		return "", content
	}
	for _, raw := range []json.RawMessage{c.Arguments, c.Parameters} {
		if len(raw) > 0 && string(raw) != "null" {
			return c.Name, string(raw)
		}
	}
	return c.Name, "{}"
}
