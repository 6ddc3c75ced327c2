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

// A Constraint is the way in which a backend constrains decoding to the form of an answer.
type Constraint string

// The ways. The backend knows how they are written; the bridge only how they differ.
const (
	ConstraintNone     Constraint = "none"     // not at all: the model is told the form, and the answer is checked
	ConstraintAuto     Constraint = "auto"     // as OpenAI's servers, as long as the server does not refuse
	ConstraintOpenAI   Constraint = "openai"   // response_format
	ConstraintVLLM     Constraint = "vllm"     // structured outputs, structural tags
	ConstraintSGLang   Constraint = "sglang"   // response_format, structural tags
	ConstraintLlamaCPP Constraint = "llamacpp" // json_schema, grammar
	ConstraintOllama   Constraint = "ollama"   // format
)

// A language is the one in which a backend is told which calls may be written in free text.
type language uint8

const (
	noLanguage language = iota
	gbnf                // grammars of llama.cpp
	structural          // structural tags of xgrammar
)

// constraints has what is known of each.
var constraints = map[Constraint]struct {
	can     bool     // the backend can be held to a form
	told    bool     // the model is to be told of it as well, since it only sees what it may not write
	tools   bool     // also in a request that offers tools: the form is for the text only
	calls   bool     // tool_choice is not heeded there, so that a required call is a form, too
	root    bool     // the root of a schema must be an object
	grammar language // for calls in text
}{
	ConstraintNone:     {},
	ConstraintAuto:     {can: true, told: true, tools: true, root: true},
	ConstraintOpenAI:   {can: true, tools: true, root: true},
	ConstraintVLLM:     {can: true, told: true, grammar: structural},
	ConstraintSGLang:   {can: true, told: true, grammar: structural},
	ConstraintLlamaCPP: {can: true, told: true, grammar: gbnf},
	ConstraintOllama:   {can: true, told: true, calls: true},
}

// Lists reports whether a required call in text is held to a list of calls, whatever the dialect.
func (h Constraint) Lists() bool { return constraints[h].can && constraints[h].grammar == noLanguage }

// plan decides what the backend is held to: calls in text, else the form that the client wants. must says that the
// answer has to be a call: one is required, or was attempted and could not be used.
func (r *run) plan(must bool) *chat.Format {
	how := constraints[r.o.Constraint]
	switch {
	case !how.can:
	case r.inText() && len(r.tools) > 0 && r.req.Choice.Mode != chat.ChoiceNone && (must || r.form.want == nil):
		return r.planCalls(must)
	case r.opens() || must: // it could not think
	case r.form.want != nil && (len(r.tools) == 0 || r.mode == ModeNative && how.tools):
		return r.accepted(r.form.want)
	}
	return nil
}

// planCalls decides how calls in text are held: in the model's own dialect where the backend takes grammars. Else
// an answer that has to be a call is a list of calls, which leaves no room for reasoning in the text.
func (r *run) planCalls(must bool) *chat.Format {
	if f := r.accepted(r.grammar(must)); f != nil {
		return f
	}
	if !must || r.opens() || r.mode == ModeTemplate { // whose prompt has no place to tell of it
		return nil
	}
	return r.accepted(r.callsForm(constraints[r.o.Constraint].root))
}

// accepted returns a form that the backend is not known to refuse: f, or f said otherwise.
func (r *run) accepted(f *chat.Format) *chat.Format {
	if f == nil || r.o.Support.takes(r.req.Model, f) {
		return f
	}
	if f.Kind == chat.FormatSchema && r.o.Constraint == ConstraintAuto && r.o.Support.refuses(r.req.Model, f.Kind) {
		schema := *f
		schema.Kind = chat.FormatJSON // servers that know no other kind read a schema beside it
		if r.o.Support.takes(r.req.Model, &schema) {
			return &schema
		}
	}
	return nil
}

// callsName is the name of the form that is a list of calls.
const callsName = "tool_calls"

// listed reports whether a form is a list of calls, of which the model has to be told: it is not the dialect's.
func listed(f *chat.Format) bool {
	return f != nil && f.Kind != chat.FormatGrammar && f.Name == callsName
}

// listExample returns what a list of calls looks like to the backend.
func (r *run) listExample() string {
	if constraints[r.o.Constraint].root {
		return callsObject
	}
	return callsList
}

// most returns how many calls an answer may have; 0: any number.
func (r *run) most() int {
	if r.max == 0 && r.req.Choice.Mode == chat.ChoiceNamed {
		return 1
	}
	return r.max
}

// Examples of the forms for calls.
const (
	callsList   = `[{"name": "...", "arguments": {...}}]`
	callsObject = `{"tool_calls": [{"name": "...", "arguments": {...}}]}`
)

// callsForm returns the form of an answer that is nothing but calls of the tools on offer: a list of objects with
// name and arguments, which is read by the decoder like any text. It is nil if a schema cannot be made part of
// another.
func (r *run) callsForm(root bool) *chat.Format {
	tools, err := prompt.Offered(r.req)
	if err != nil {
		return nil
	}
	var f callsSchema
	for i := range tools {
		if !f.add(r.o.Decode.Prefix+tools[i].Name, tools[i].Parameters) {
			return nil
		}
	}
	return &chat.Format{Kind: chat.FormatSchema, Name: callsName, Schema: f.schema(r.most(), root)}
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

// moved returns a schema whose references are those of one that stands at the place to in another. It reports false
// for a schema that names places in other ways.
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
