package prompt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"wield/chat"
)

// Form returns req as a request in which the model is told to answer in the form f: behind the instructions that it
// has, or where o puts instructions. req is not changed. calls says that tools are on offer, so that the model may call
// one instead.
func Form(req *chat.Request, f *chat.Format, o Options, calls bool) *chat.Request {
	rule := formRule(f, calls)
	if rule == "" {
		return req
	}
	out := *req
	out.Messages = slices.Clone(req.Messages)
	if len(out.Messages) > 0 && (o.InjectInto == "" || o.InjectInto == InjectSystem) {
		switch m := &out.Messages[0]; m.Role {
		case chat.RoleSystem, chat.RoleDeveloper:
			m.Parts = append(slices.Clone(m.Parts), chat.Part{Text: rule})
			return &out
		}
	}
	out.Messages = inject(out.Messages, rule, o.InjectInto)
	return &out
}

// formRule demands an answer of the form f in words.
func formRule(f *chat.Format, calls bool) string {
	if f == nil || f.Kind == chat.FormatText {
		return ""
	}
	who := "Your response MUST be one JSON "
	if calls {
		who = "Unless you call a tool, your response MUST be one JSON "
	}
	const alone = ", and nothing else: no words around it, no code block."
	if f.Kind == chat.FormatJSON || len(f.Schema) == 0 {
		return who + "object" + alone
	}
	var b strings.Builder
	b.WriteString(who + "value that fits the JSON Schema below" + alone)
	if f.Description != "" {
		b.WriteString(" It is: " + oneLine(f.Description))
	}
	b.WriteString("\nJSON Schema:\n" + schemaLine(f.Schema))
	return b.String()
}

// schemaLine writes a schema on one line, so that nothing in it can be read as a call, or as the end of what it stands
// in.
func schemaLine(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "{}"
	}
	return schemaSafe.Replace(b.String())
}

// schemaSafe writes what has a meaning outside of JSON as the escapes of strings, which is where it stands.
var schemaSafe = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "`", `\u0060`, "\u2028", `\u2028`, "\u2029",
	`\u2029`)

// oneLine leaves no line end in a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
