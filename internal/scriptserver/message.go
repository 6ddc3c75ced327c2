package scriptserver

import (
	"strings"
	"time"

	"wield/internal/script"
)

// textKind tells whether a step carries text of the answer or reasoning, in a protocol without targets.
func textKind(s *script.Step) string {
	switch s.Kind {
	case script.StepText, script.StepRaw:
		return "text"
	case script.StepThink:
		return "think"
	case script.StepTarget:
		switch s.Name {
		case "message":
			return "text"
		case "reasoning":
			return "think"
		}
	}
	return ""
}

// message is a reply as a whole, for answers that are not streamed.
type message struct {
	text, think string
	calls       []script.Step // StepCallEnd of each
	wait        time.Duration // all waits together
}

func gather(steps []script.Step) message {
	var m message
	var text, think strings.Builder
	for i := range steps {
		s := &steps[i]
		m.wait += s.Wait
		switch textKind(s) {
		case "text":
			text.WriteString(s.Text)
		case "think":
			think.WriteString(s.Text)
		}
		if s.Kind == script.StepCallEnd {
			m.calls = append(m.calls, *s)
		}
	}
	m.text, m.think = text.String(), think.String()
	return m
}
