package prompt

import (
	"bytes"
	"encoding/json"
	"strings"

	"wield/chat"
)

// bounceText corrects a model that called a tool through a channel that cannot run it.
const bounceText = "You tried to call a custom tool using your built-in tool system, but custom tools must be called " +
	"by writing the call " +
	"as text in your response. Please write the tool call as text, like this:"

// Bounce returns the message that corrects calls which came through the wrong channel: ForToolBounce or the built-in
// text, and the calls as they should have been written. They stand in place of {toolCall} if the text has it, else on
// the line after it. In the dialects whose calls are a JSON object with a name, they are shown as that object,
// indented.
func (o *Options) Bounce(calls []chat.Call) string {
	text := strings.TrimRight(o.ForToolBounce, " \n")
	if text == "" {
		text = bounceText
	}
	d, ok := variantOf(o.dialect())
	if !ok {
		d, _ = variantOf("json-fence")
	}
	var shown string
	switch d.Name {
	case "json-fence", "raw-json":
		shown = indented(calls, o.Prefix)
	default:
		shown = renderCalls(d, calls, o.Prefix)
	}
	if strings.Contains(text, "{toolCall}") {
		return strings.ReplaceAll(text, "{toolCall}", shown)
	}
	return text + "\n" + shown
}

// indented writes each call as a JSON object over several lines.
func indented(calls []chat.Call, prefix string) string {
	var b bytes.Buffer
	for i := range calls {
		args := json.RawMessage(calls[i].Arguments)
		if !json.Valid(args) {
			args = json.RawMessage("{}")
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		_ = e.Encode(struct { // a buffer does not fail, and args is valid
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}{prefix + calls[i].Name, args})
		b.Truncate(b.Len() - 1)
	}
	return b.String()
}
