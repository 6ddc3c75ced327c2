package scriptserver

import (
	"fmt"
	"strings"

	"wield/internal/script"
)

// ollama writes the chat protocol of Ollama.
type ollama struct{}

func (ollama) framing(stream bool) framing {
	if stream {
		return framingLines
	}
	return framingNone
}

func (ollama) contentType(stream bool) string {
	if stream {
		return "application/x-ndjson"
	}
	return "application/json; charset=utf-8"
}

func (ollama) errorBody(status int, code, message string) []byte {
	return []byte(`{"error":` + quote(message) + `}`)
}

func (p ollama) write(in *incoming, r *script.Reply) frames {
	head := `{"model":` + quote(in.req.Model) +
		`,"created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":`
	if !in.stream {
		return p.whole(head, r)
	}
	f := frames{framing: framingLines}
	for _, step := range wholeCharacters(r.Steps) {
		switch kind := textKind(&step); {
		case kind == "text":
			f.delta(step.Wait, "", head, quote(step.Text), `},"done":false}`)
		case kind == "think":
			f.delta(step.Wait, "", head+`"","thinking":`, quote(step.Text), `},"done":false}`)
		case step.Kind == script.StepCallEnd:
			f.event(step.Wait, "", head+`"","tool_calls":[`+ollamaCall(&step)+`]},"done":false}`).chunk = true
		default: // calls come whole
			f.wait += step.Wait
		}
	}
	if fail := r.Turn.Fail; fail != nil {
		f.event(0, "", `{"error":`+quote(fail.Message)+`}`)
		return f
	}
	f.event(0, "", head+`""}`+ollamaEnd(r)).done = true
	return f
}

func ollamaCall(s *script.Step) string {
	return fmt.Sprintf(`{"id":%s,"function":{"index":%d,"name":%s,"arguments":%s}}`, quote(s.ID), s.Index,
		quote(s.Name), s.Text)
}

// ollamaEnd is the last part of an answer. Calls do not change the reason.
func ollamaEnd(r *script.Reply) string {
	u := r.Turn.Usage
	return fmt.Sprintf(
		`,"done_reason":%s,"done":true,"total_duration":1000000,"load_duration":0,"prompt_eval_count":%d,"prompt_eval_duration":500000,"eval_count":%d,"eval_duration":500000}`,
		quote(finishReason(r, 0)), u.In, u.Out)
}

func (ollama) whole(head string, r *script.Reply) frames {
	m := gather(r.Steps)
	rest := ""
	if m.think != "" {
		rest += `,"thinking":` + quote(m.think)
	}
	var calls []string
	for i := range m.calls {
		calls = append(calls, ollamaCall(&m.calls[i]))
	}
	if len(calls) > 0 {
		rest += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	var f frames
	f.delta(m.wait, "", head, quote(m.text), rest+`}`+ollamaEnd(r))
	return f
}

// raw sends the items as they are.
type raw struct{}

func (raw) framing(bool) framing { return framingNone }

func (raw) contentType(bool) string { return "application/octet-stream" }

func (raw) errorBody(status int, code, message string) []byte { return []byte(message + "\n") }

func (raw) write(in *incoming, r *script.Reply) frames {
	var f frames
	for _, s := range r.Steps {
		switch s.Kind {
		case script.StepText, script.StepRaw, script.StepTarget, script.StepCallArgs:
			fr := f.add(s.Wait, s.Text)
			fr.chunk, fr.text = true, len(s.Text)
		default:
			f.wait += s.Wait
		}
	}
	if f.wait > 0 {
		f.add(0, "")
	}
	return f
}
