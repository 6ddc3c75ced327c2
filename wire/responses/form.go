package responses

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// A form describes how a tool that is no function is offered and called: clients run it, like a function, but its calls
// and results are items of types of their own. To a model it is a function all the same.
type form struct {
	kind   *itemKind // of its calls
	call   string    // the type of these items
	output string    // the type of the items of its results
	holds  string    // the member of a call that holds its arguments
	name   string    // where the definition has none
	about  string    // description, likewise
	schema string    // of the arguments, likewise
}

var (
	customForm = &form{kind: customKind, call: "custom_tool_call", output: "custom_tool_call_output", holds: "input"}
	searchForm = &form{kind: toolSearchKind, call: "tool_search_call", output: "tool_search_output",
		holds: "arguments", name: "tool_search", about: "Finds tools that are not listed here by what they are for.",
		schema: `{"type":"object","properties":{"query":{"type":"string","description":"What the tool is needed for"}},"required":["query"]}`}
	localShellForm = &form{kind: localShellKind, call: "local_shell_call", output: "local_shell_call_output",
		holds: "action", name: "local_shell", about: "Runs a program on the user's machine and returns its output.",
		schema: `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"description":"The program and its arguments"},` +
			`"working_directory":{"type":"string"},"timeout_ms":{"type":"integer"},"env":{"type":"object","additionalProperties":{"type":"string"}},` +
			`"user":{"type":"string"}},"required":["command"]}`}
	shellForm = &form{kind: shellKind, call: "shell_call", output: "shell_call_output", holds: "action", name: "shell",
		about: "Runs shell commands on the user's machine and returns their output.",
		schema: `{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"},"description":"Commands, each run by a shell of its own"},` +
			`"timeout_ms":{"type":"integer"},"max_output_length":{"type":"integer"}},"required":["commands"]}`}
	patchForm = &form{kind: patchKind, call: "apply_patch_call", output: "apply_patch_call_output", holds: "operation",
		name: "apply_patch", about: "Creates, changes or deletes one file. A diff has a line @@ before each place, " +
			"lines that stay behind a space, " +
			"those that go behind - and those that come behind +; in a new file every line stands behind +.",
		schema: `{"type":"object","properties":{"type":{"enum":["create_file","update_file","delete_file"]},"path":{"type":"string"},` +
			`"diff":{"type":"string","description":"Not for delete_file"}},"required":["type","path"]}`}
)

// forms are the types of tools that clients run and that are no functions.
var forms = map[string]*form{"custom": customForm, "tool_search": searchForm, "local_shell": localShellForm,
	"shell": shellForm, "apply_patch": patchForm}

// formOf finds a form, formOfCall one by the type of an item.
func formOf(is func(*form) bool) *form {
	for _, f := range forms {
		if is(f) {
			return f
		}
	}
	return nil
}

func formOfCall(kind string) *form { return formOf(func(f *form) bool { return f.call == kind }) }

// optional are the types of tools of the protocol's own servers that a client can do without: agents offer them
// whatever the model is.
func optional(kind string) bool {
	return strings.HasPrefix(kind, "web_search") || kind == "image_generation" || kind == "tool_search"
}

// typed reads a tool that is no function, whose definition is raw.
func (d *requestReader) typed(kind string, raw []byte) (t chat.Tool, f *form) {
	t = chat.Tool{Raw: raw, Protocol: chat.ProtocolResponses}
	var format, hosted = freeform.Grammar{}, false
	d.Members(func(key string) {
		switch key {
		case "name":
			t.Name = d.Optional()
		case "description":
			t.Description = d.Optional()
		case "parameters":
			t.Parameters = d.Schema()
		case "format":
			format = d.grammar()
		case "execution":
			hosted = d.Optional() != "client"
		case "environment":
			at := d.Mark()
			more := kind != shellForm.name
			if !more {
				d.Again(at, "", func() { hosted, more = d.remote() })
			}
			if more {
				t.Opaque = append(t.Opaque, chat.Extra{Protocol: chat.ProtocolResponses, Key: key,
					Value: d.Bytes[at:d.Pos:d.Pos]})
			}
		case "type":
			d.Skip()
		default:
			if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
				t.Opaque = append(t.Opaque, chat.Extra{Protocol: chat.ProtocolResponses, Key: key, Value: raw})
			}
		}
	})
	f = forms[kind]
	if kind == "tool_search" && !hasMember(raw, "execution") {
		hosted = true // it is the server's own unless the client says otherwise
	}
	if f == nil || hosted {
		t.Opaque = nil
		if t.Name == "" || f == nil {
			t.Name = kind
		}
		if t.Hosted = chat.HostedRequired; optional(kind) {
			t.Hosted = chat.HostedOptional
		}
		return t, nil
	}
	if t.Name == "" {
		t.Name = f.name
	}
	switch {
	case f == customForm:
		format.Fill(&t)
	case len(t.Parameters) == 0:
		t.Parameters = json.RawMessage(f.schema)
	}
	if t.Description == "" {
		t.Description = f.about
	}
	return t, f
}

func hasMember(object []byte, key string) bool {
	s := jsonbody.Scanner{Bytes: object}
	for s.Enter('{'); s.Next('}'); s.Skip() {
		if string(s.Key()) == key {
			return true
		}
	}
	return false
}

// remote reads where a shell is, and reports whether that is at the server, and whether it says more than that.
func (d *requestReader) remote() (remote, more bool) {
	if d.Null() || !d.Is('{') {
		return false, false
	}
	d.Members(func(key string) {
		if key == "type" {
			remote = d.Text() != "local"
		} else {
			more = true
			d.Skip()
		}
	})
	return remote, more
}

// grammar reads what the text of a custom tool's call has to be.
func (d *requestReader) grammar() (g freeform.Grammar) {
	if d.Null() || !d.Is('{') {
		return g
	}
	d.Members(func(key string) {
		switch key {
		case "syntax":
			g.Syntax = d.Optional()
		case "definition":
			g.Definition = d.Optional()
		default: // its type; a text of no grammar has neither of the others
			d.Skip()
		}
	})
	return g
}

// Keys of the opaque parts of a tool that say where it stood in a request.
const (
	keyNamespace  = "namespace"        // the namespace without its tools
	keyAdditional = "additional_tools" // the input item without its tools
	keyFound      = "tool_search_output"
	keySealed     = "encrypted_content" // reasoning that only the server can read
	keyItem       = "item"              // what the server itself did
	keyBegun      = "item.begun"        // what it has begun to do
)

// argumentsOf returns the arguments that a call of a form has, of the member that holds them.
func (d *requestReader) formArguments(f *form) (args string) {
	switch {
	case f == customForm:
		return freeform.Arguments(d.Optional())
	case d.Peek() == '"': // arguments as functions have them
		return d.Str()
	case d.Null():
		return "{}"
	case !d.Is('{'):
		return ""
	}
	var b []byte
	d.Members(func(key string) {
		if f == localShellForm && key == "type" {
			d.Skip() // there is only one
			return
		}
		raw := d.Raw()
		if len(raw) > 0 && raw[0] != 'n' {
			b = append(shape.AppendQuoted(append(b, ','), key), ':')
			b = append(b, raw...)
		}
	})
	if len(b) == 0 {
		return "{}"
	}
	b[0] = '{'
	return string(append(b, '}'))
}

// appendHeld appends the member of a call that holds its arguments.
func (f *form) appendHeld(dst []byte, args string) []byte {
	dst = append(append(append(dst, ',', '"'), f.holds...), '"', ':')
	if f == customForm {
		return shape.AppendQuoted(dst, freeform.Input(args))
	}
	if !json.Valid([]byte(args)) || !strings.HasPrefix(strings.TrimSpace(args), "{") {
		args = "{}"
	}
	if f != localShellForm {
		return jsonbody.AppendCompact(dst, []byte(args))
	}
	dst = append(dst, `{"type":"exec"`...)
	if !hasMember([]byte(args), "env") {
		dst = append(dst, `,"env":{}`...)
	}
	m := jsonbody.Scanner{Bytes: []byte(args)}
	for m.Enter('{'); m.Next('}'); {
		dst = append(shape.AppendQuoted(append(dst, ','), m.Name()), ':')
		dst = jsonbody.AppendCompact(dst, m.Raw())
	}
	return append(dst, '}')
}
