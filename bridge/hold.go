package bridge

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/prompt"
)

// Hold says how a backend is held to the form of an answer.
type Hold string

// The ways. How they look on the wire is the backend's affair; this is what the bridge has to know of them.
const (
	HoldNone     Hold = "none"     // not at all: the model is told the form, and the answer is checked
	HoldAuto     Hold = "auto"     // as OpenAI's servers, as long as the server does not refuse
	HoldOpenAI   Hold = "openai"   // response_format
	HoldVLLM     Hold = "vllm"     // structured outputs
	HoldLlamaCPP Hold = "llamacpp" // json_schema
	HoldOllama   Hold = "ollama"   // format
)

// holds has what is known of the ways.
var holds = map[Hold]struct {
	can   bool // the backend can be held to a form
	told  bool // the model is to be told of it as well, since it only sees what it may not write
	tools bool // also in a request that offers tools: the form is for the text only
	calls bool // tool_choice is not heeded there, so that a required call is a form, too
	root  bool // the root of a schema must be an object
}{
	HoldNone:     {},
	HoldAuto:     {can: true, told: true, tools: true, root: true},
	HoldOpenAI:   {can: true, tools: true, root: true},
	HoldVLLM:     {can: true, told: true},
	HoldLlamaCPP: {can: true, told: true},
	HoldOllama:   {can: true, told: true, calls: true},
}

// plan decides which form the backend is held to: calls in text if one is required, else what the client wants. A backend
// that leaves reasoning in the text cannot be held: it could not think.
func (r *run) plan() {
	how := holds[r.o.Hold]
	r.held = nil
	switch {
	case !how.can || r.opens():
	case r.required():
		if r.mode == ModeText {
			r.held = r.callsForm(how.root)
		}
	case r.form.want != nil && (len(r.tools) == 0 || r.mode == ModeNative && how.tools):
		r.held = r.form.want
	}
	if r.held == nil {
		return
	}
	if f, _ := r.o.Support.find(r.o.Support.formKey(r.req.Model, r.held)); f.refused {
		r.held = nil
	}
}

// Examples of the forms for calls.
const (
	callsList   = `[{"name": "...", "arguments": {...}}]`
	callsObject = `{"tool_calls": [{"name": "...", "arguments": {...}}]}`
)

// callsForm returns the form of an answer that is nothing but calls of the tools on offer: a list of objects with name and
// arguments, which is read by the decoder like any text. It is nil if a schema cannot be made part of another.
func (r *run) callsForm(root bool) *chat.Format {
	list, err := prompt.Offered(r.req)
	if err != nil {
		return nil
	}
	var b, defs []byte
	b = append(b, `{"type":"array","minItems":1`...)
	if most := r.max; most > 0 || r.req.Choice.Mode == chat.ChoiceNamed {
		b = strconv.AppendInt(append(b, `,"maxItems":`...), int64(max(most, 1)), 10)
	}
	b = append(b, `,"items":{"anyOf":[`...)
	for i := range list {
		params := list[i].Parameters
		if len(params) == 0 {
			params = json.RawMessage(`{"type":"object"}`)
		}
		if bytes.Contains(params, []byte(`"$`)) {
			def, ok := moved(params, "#/$defs/tool"+strconv.Itoa(i))
			if !ok {
				return nil
			}
			if len(defs) > 0 {
				defs = append(defs, ',')
			}
			defs = append(append(defs, `"tool`+strconv.Itoa(i)+`":`...), def...)
			params = json.RawMessage(`{"$ref":"#/$defs/tool` + strconv.Itoa(i) + `"}`)
		}
		name, err := json.Marshal(r.o.Prefix + list[i].Name)
		if err != nil {
			return nil
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"type":"object","properties":{"name":{"type":"string","enum":[`...), name...)
		b = append(append(b, `]},"arguments":`...), params...)
		b = append(b, `},"required":["name","arguments"],"additionalProperties":false}`...)
	}
	b = append(b, "]}"...)
	if root {
		b = append([]byte(`{"type":"object","properties":{"tool_calls":`), b...)
		b = append(b, `}},"required":["tool_calls"],"additionalProperties":false`...)
	}
	if len(defs) > 0 {
		b = append(append(append(b, `,"$defs":{`...), defs...), '}')
	}
	return &chat.Format{Kind: chat.FormatSchema, Name: "tool_calls", Schema: append(b, '}')}
}

// moved returns a schema whose references are those of one that stands at the place to in another. It reports false for a
// schema that names places in other ways.
func moved(raw json.RawMessage, to string) (json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil || !moveRefs(root, to) {
		return nil, false
	}
	out, err := json.Marshal(root)
	return out, err == nil
}

// anchors are the keywords that name places of a schema otherwise than by the way from its root.
var anchors = []string{"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"}

func moveRefs(v any, to string) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !moveRefs(item, to) {
				return false
			}
		}
	case map[string]any:
		for _, key := range anchors {
			if _, ok := v[key]; ok {
				return false
			}
		}
		delete(v, "$schema")
		if ref, ok := v["$ref"].(string); ok {
			inner, local := strings.CutPrefix(ref, "#")
			if !local {
				return false
			}
			v["$ref"] = to + inner
		}
		for _, item := range v {
			if !moveRefs(item, to) {
				return false
			}
		}
	}
	return true
}
