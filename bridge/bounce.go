package bridge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/chat"
	"wield/prompt"
)

// A failure is one thing that is wrong with an answer.
type failure struct {
	reason   chat.Reason
	call     chat.Call
	message  string               // what is wrong with it
	missing  string               // the required parameter that is absent, if that is what is wrong
	rejected *chat.RejectedDetail // as the decoder reports it; nil: it is made from the rest
}

// fail handles a call that is none. The answer is asked for again if it may be; else the raw text goes to the
// client, and where there is none, or where the model has failed before, a sentence that says what happened.
func (r *run) fail(e chat.Event, f failure) {
	r.turn.tried = true
	d := f.rejected
	if d == nil {
		d = &chat.RejectedDetail{Reason: f.reason, Name: f.call.Name, Arguments: f.call.Arguments, Raw: r.span(f.call),
			At: f.call.At, End: f.call.End, Message: f.why(), Dialect: f.call.Dialect}
	}
	if d.Reason == chat.ReasonUnknownTool && d.Arguments == "" && d.Raw != "" {
		d.Arguments = r.argumentsIn(d)
		f.call.Arguments = d.Arguments
	}
	if e.Origin != chat.OriginText && r.bounceable(f.reason) {
		r.closeText() // what the decoder still holds was written before
	}
	if r.turn.muted.on {
		return
	}
	r.dropRepetition()
	if r.bounceable(f.reason) {
		r.turn.failures = append(r.turn.failures, f)
		r.reject(e, d, false)
		r.turn.muted = mute{on: true, from: len(r.turn.raw), covered: len(r.turn.raw)}
		if d.At < d.End && e.Flags&chat.FlagPromoted == 0 {
			r.turn.muted.from, r.turn.muted.covered = d.At, d.End
		}
		return
	}
	if r.req.Attempts {
		r.attempted(e, d)
		return
	}
	r.reject(e, d, true)
	if e.Origin != chat.OriginText || d.Raw == "" || r.bounces > 0 {
		r.unsaid = append(r.unsaid, r.sentence(&f))
	}
}

// sentence tells the client in words that a call failed.
func (r *run) sentence(f *failure) string {
	name := oneLine(strings.TrimPrefix(f.call.Name, r.prefix()))
	if name == "" {
		name = "a tool"
	}
	return "The model could not call " + name + ": " + f.why()
}

// why says what is wrong in a few words.
func (f *failure) why() string {
	switch {
	case f.reason == chat.ReasonUnknownTool && f.message != "" && f.rejected == nil:
		return "unknown tool; " + f.message
	case f.reason == chat.ReasonUnknownTool:
		return "unknown tool"
	case f.missing != "":
		return "missing required parameter: " + oneLine(f.missing)
	case f.message != "":
		return oneLine(f.message)
	}
	if f.reason == reasonNoCall {
		return "a call is required, and the answer has none"
	}
	return "the call is " + string(f.reason)
}

// correction returns the message that tells the model what was wrong. The words are those of the Tool Calling Protocol.
func (r *run) correction() string {
	var confused []chat.Call
	var parts []string
	for i := range r.turn.failures {
		f := &r.turn.failures[i]
		name := r.prefix() + oneLine(f.call.Name)
		problem := ""
		switch {
		case f.reason == chat.ReasonConfused:
			confused = append(confused, f.call)
			continue
		case f.reason == chat.ReasonUnknownTool:
			problem = "Unknown tool: " + oneLine(f.call.Name)
			if f.message != "" && f.rejected == nil {
				problem += "; " + f.message
			}
		case f.reason == ReasonFormat:
			parts = append(parts, "FORMAT_ERROR: The response is not what was asked for: "+
				strings.TrimSuffix(oneLine(f.message), ".")+
				". Write the response again, as the JSON alone.")
			continue
		case f.reason == reasonNoCall && f.call.Name != "":
			problem = "No tool was called, but " + name + " must be"
		case f.reason == reasonNoCall:
			problem = "No tool was called, but one must be"
		case f.missing != "":
			problem = "Missing required parameter: " + oneLine(f.missing)
		case f.reason == chat.ReasonInvalid:
			problem = "Invalid arguments for " + name + ": " + f.why()
		case f.call.Name == "":
			problem = "Malformed tool call: " + f.why()
		default:
			problem = "Malformed call of " + name + ": " + f.why()
		}
		parts = append(parts, "TOOL_ERROR: "+strings.TrimSuffix(problem, ".")+". Please try again with correct format.")
	}
	if len(confused) > 0 {
		o := r.o.Prompt
		o.Prefix, o.Dialect = r.prefix(), r.taught()
		parts = append(parts, o.Bounce(confused))
	}
	if f := r.retryForm(); listed(f) {
		parts = append(parts, "This time write it as JSON of this shape, and nothing else: "+r.listExample())
	}
	return strings.Join(parts, "\n")
}

// retryForm returns the form that the second answer is held to: a call, where one was attempted in text.
func (r *run) retryForm() *chat.Format {
	if !r.inText() || r.turn.failures[0].reason == ReasonFormat {
		return r.constrained
	}
	return r.plan(true)
}

// constrainRetry returns the request for a second answer with the form that it is held to.
func (r *run) constrainRetry(req *chat.Request) *chat.Request {
	if !r.inText() || len(r.tools) == 0 {
		return req
	}
	out := *req
	r.constrained = r.retryForm()
	r.must = r.turn.failures[0].reason != ReasonFormat
	out.Format = r.constrained
	return &out
}

func (r *run) prefix() string {
	if r.mode == ModeText {
		return r.o.Decode.Prefix
	}
	return ""
}

// corrected returns the request that shows the model its answer, as it wrote it, and what was wrong with it.
func (r *run) corrected(req *chat.Request) *chat.Request {
	out := *r.constrainRetry(req)
	out.Messages = slices.Clone(req.Messages)
	answer := chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(r.wrote())}
	message := r.correction()
	if f := &r.turn.failures[0]; r.mode == ModeNative && f.call.Origin == chat.OriginFunction &&
		f.reason != reasonNoCall {
		call := f.call
		if call.ID == "" {
			call.ID = r.newID(call.Name)
		}
		if !isObject(call.Arguments) {
			call.Arguments = "{}" // backends refuse a history that is not JSON
		}
		answer.Calls = []chat.Call{call}
		out.Messages = append(out.Messages, answer,
			chat.Message{Role: chat.RoleTool, CallID: call.ID, Name: call.Name, IsError: true,
				Parts: chat.Text(message)})
		return &out
	}
	if again, ok := r.rendered(answer, message); ok {
		return again
	}
	if len(answer.Parts) > 0 {
		out.Messages = append(out.Messages, answer)
	}
	last := len(out.Messages) - 1
	if r.o.Prompt.Alternate && last >= 0 && out.Messages[last].Role == r.o.Bounce.Role {
		m := &out.Messages[last]
		m.Parts = append(slices.Clone(m.Parts), chat.Part{Text: message})
		return &out
	}
	out.Messages = append(out.Messages, chat.Message{Role: r.o.Bounce.Role, Parts: chat.Text(message)})
	return &out
}

// rendered returns the corrective request made anew where instructions stand in front of the last user's
// message, which the correction now is. Everywhere else they stay where they are.
func (r *run) rendered(answer chat.Message, message string) (*chat.Request, bool) {
	if r.mode != ModeText || r.o.Prompt.InjectInto != prompt.InjectLast || r.o.Bounce.Role != chat.RoleUser {
		return nil, false
	}
	if len(answer.Parts) > 0 {
		r.said = append(r.said, answer)
	}
	r.said = append(r.said, chat.Message{Role: chat.RoleUser, Parts: chat.Text(message)})
	client := r.req
	whole := *client
	whole.Messages = slices.Concat(client.Messages, r.said)
	r.req = &whole
	req, err := r.render()
	r.req = client
	return req, err == nil
}

// maxLine limits the model's words that a message repeats.
const maxLine = 400

// oneLine returns words of a model for use in a sentence.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxLine {
		n := maxLine
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "..."
	}
	return s
}
