package bridge

import (
	"bytes"
	"encoding/json"
	"slices"
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
	tools, err := prompt.Offered(r.req)
	if err != nil {
		return nil
	}
	var f callsSchema
	for i := range tools {
		if !f.add(r.o.Prefix+tools[i].Name, tools[i].Parameters) {
			return nil
		}
	}
	most := r.max
	if most == 0 && r.req.Choice.Mode == chat.ChoiceNamed {
		most = 1
	}
	return &chat.Format{Kind: chat.FormatSchema, Name: "tool_calls", Schema: f.schema(most, root)}
}

// A callsSchema is the schema of a list of calls, while it is made.
type callsSchema struct {
	items []byte // one for each tool, in commas
	defs  []byte // schemas of arguments that refer to places in themselves
	n     int    // of tools
}

// add takes in a tool, or reports that its schema cannot be made part of another.
func (f *callsSchema) add(name string, params json.RawMessage) bool {
	if len(params) == 0 {
		params = json.RawMessage(`{"type":"object"}`)
	}
	if bytes.Contains(params, []byte(`"$`)) {
		key := "tool" + strconv.Itoa(f.n)
		def, ok := moved(params, "#/$defs/"+key)
		if !ok {
			return false
		}
		f.defs = append(comma(f.defs), `"`+key+`":`...)
		f.defs = append(f.defs, def...)
		params = json.RawMessage(`{"$ref":"#/$defs/` + key + `"}`)
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return false
	}
	f.n++
	f.items = append(comma(f.items), `{"type":"object","properties":{"name":{"type":"string","enum":[`...)
	f.items = append(append(f.items, quoted...), `]},"arguments":`...)
	f.items = append(append(f.items, params...), `},"required":["name","arguments"],"additionalProperties":false}`...)
	return true
}

// schema returns the whole, with at most so many calls if that is not 0.
func (f *callsSchema) schema(most int, root bool) json.RawMessage {
	list := []byte(`"type":"array","minItems":1`)
	if most > 0 {
		list = strconv.AppendInt(append(list, `,"maxItems":`...), int64(most), 10)
	}
	list = append(append(append(list, `,"items":{"anyOf":[`...), f.items...), "]}"...)
	b := list
	if root {
		b = append([]byte(`"type":"object","properties":{"tool_calls":{`), list...)
		b = append(b, `}},"required":["tool_calls"],"additionalProperties":false`...)
	}
	if len(f.defs) > 0 {
		b = append(append(append(b, `,"$defs":{`...), f.defs...), '}')
	}
	return slices.Concat([]byte("{"), b, []byte("}"))
}

// comma separates what follows from what is there.
func comma(list []byte) []byte {
	if len(list) > 0 {
		list = append(list, ',')
	}
	return list
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
