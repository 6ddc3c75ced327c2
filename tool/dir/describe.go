package dir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/schema"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

// What a program may use to say what it is.
const (
	describeTime   = 10 * time.Second
	describeOutput = 1 << 20
)

// A description holds the answer of a program to "describe": a definition, alone or in the form of the OpenAI
// protocol, and what the tags say of other programs.
type description struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // of the protocol; arguments are always checked

	Type     string       `json:"type"`
	Function *description `json:"function"`

	Paths      map[policy.Op][]string `json:"paths"`
	URLs       []string               `json:"urls"`
	Changes    *bool                  `json:"changes"`
	Network    bool                   `json:"network"`
	Timeout    string                 `json:"timeout"`
	Idempotent bool                   `json:"idempotent"`
	Dangerous  bool                   `json:"dangerous"`
	Cache      string                 `json:"cache"`
	Debounce   string                 `json:"debounce"`
	Batch      bool                   `json:"batch"`
}

// describe asks a program what it is. It runs in the sandbox, without a place to write to and without the network.
// Tools that are described well are there although others of the same program are not.
func (o Options) describe(ctx context.Context, file string) ([]*tool.Tool, error) {
	out, err := o.ask(ctx, sandbox.Command{Argv: []string{file, "describe"}, Dir: filepath.Dir(file)})
	var t []*tool.Tool
	if err == nil {
		t, err = readDescriptions(file, out)
	}
	switch {
	case err == nil:
		return t, nil
	case len(t) > 0:
		return t, &Error{File: file, Msg: err.Error()}
	}
	return nil,
		&Error{File: file,
			Msg: fmt.Sprintf(
				`it has no tags, and called with the argument "describe" it prints no definition: %v; begin it with `+
					`"# description: ..", or take the permission to execute away if it is no tool`, err)}
}

// ask runs a command that changes nothing and returns what it prints.
func (o Options) ask(ctx context.Context, cmd sandbox.Command) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	var out, says bytes.Buffer
	cmd.Level, cmd.Stdout, cmd.Stderr = o.Level, &out, &says
	cmd.Limits.Output = describeOutput
	exit, err := sandbox.Run(ctx, cmd)
	switch {
	case err != nil:
		return nil, err
	case exit.Code != 0:
		if text := lastLine(says.String()); text != "" {
			return nil, errors.New(text)
		}
		return nil, fmt.Errorf("it ended with status %d", exit.Code)
	case exit.Truncated:
		return nil, fmt.Errorf("it writes more than %d bytes", describeOutput)
	}
	return out.Bytes(), nil
}

// lastLine returns the end of what a program says, which is where most of them say what is wrong.
func lastLine(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "�"))
	s = s[strings.LastIndexByte(s, '\n')+1:]
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + ".."
	}
	return s
}

// readDescriptions makes a tool of a description, or several of a list of them.
func readDescriptions(file string, data []byte) ([]*tool.Tool, error) {
	list := []json.RawMessage{data}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, errors.New("the list is empty")
		}
	}
	var tools []*tool.Tool
	var errs []error
	for i, one := range list {
		t, err := readDescription(file, one)
		if err == nil && slices.ContainsFunc(tools, func(o *tool.Tool) bool { return o.Name() == t.Name() }) {
			err = fmt.Errorf("a second tool %s", t.Name())
		}
		if err != nil && len(list) > 1 {
			err = fmt.Errorf("number %d: %w", i+1, err)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		tools = append(tools, t)
	}
	return tools, errors.Join(errs...)
}

// readDescription makes a tool of a description.
func readDescription(file string, data []byte) (*tool.Tool, error) {
	var d description
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); errors.Is(err, io.EOF) {
		return nil, errors.New("it prints nothing")
	} else if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	if f := d.Function; f != nil {
		if d.Type != "" && d.Type != "function" {
			return nil, fmt.Errorf("type %q: it is function", d.Type)
		}
		d.Name, d.Description, d.Parameters = f.Name, f.Description, f.Parameters
	}
	switch {
	case d.Name == "":
		return nil, errors.New("it has no name")
	case strings.TrimSpace(d.Description) == "":
		return nil, errors.New("it has no description, without which no model knows what it is for")
	case len(d.Parameters) == 0:
		d.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	params, err := properties(d.Parameters)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file,
		t: &tool.Tool{Definition: chat.Tool{Name: d.Name, Description: strings.TrimSpace(d.Description),
			Parameters: d.Parameters}}, params: params}
	return r.t, d.facts(r)
}

// facts are read as tags are.
func (d *description) facts(r *reader) error {
	var wrong []string
	note := func(msg string) {
		if msg != "" {
			wrong = append(wrong, msg)
		}
	}
	for _, op := range sortedOps(d.Paths) {
		for _, name := range d.Paths[op] {
			note(r.path(string(op), name))
		}
	}
	for _, name := range d.URLs {
		note(r.fact(&r.t.Facts.URLs, name))
	}
	for _, tag := range []struct{ name, value string }{{"timeout", d.Timeout}, {"cache", d.Cache},
		{"debounce", d.Debounce}} {
		if tag.value != "" {
			note(tags[tag.name](r, "", tag.value))
		}
	}
	if d.Batch {
		r.t.Batch = &program{file: r.file}
	}
	r.t.Facts.ReadOnly = d.Changes != nil && !*d.Changes
	r.t.Facts.Network, r.t.Idempotent, r.t.Dangerous = d.Network, d.Idempotent, d.Dangerous
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

func sortedOps(m map[policy.Op][]string) []policy.Op {
	var ops []policy.Op
	for op := range m {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	return ops
}

// properties returns the names of the parameters of a schema, which must be one of an object.
func properties(raw json.RawMessage) ([]string, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, err
	}
	var top struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(raw, &top); err != nil || top.Type != "object" || s == nil {
		return nil, errors.New(`its parameters are no schema of an object: {"type":"object","properties":{..}}`)
	}
	names := make([]string, 0, len(top.Properties))
	for name := range top.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
