package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wield/chat"
	"wield/tool"
	"wield/tool/httpcall"
)

// RequestSuffix is how the name of a file ends that holds one HTTPTool, in a directory of tools.
const RequestSuffix = ".http.yaml"

// An HTTPTool is a tool that is one HTTP request.
type HTTPTool struct {
	Description string               `key:"description" required:"true" doc:"What it does, for the model, with an example of its arguments."`
	Method      string               `key:"method" enum:"GET|HEAD|POST|PUT|PATCH|DELETE" doc:"Method of the request."`
	URL         string               `key:"url" required:"true" doc:"Address. {NAME} in its path or in a value of its query is the place of a parameter; the host has none."`
	Params      map[string]HTTPParam `key:"params" doc:"Parameters, by name. Those without a place are members of the body."`
	Query       map[string]Value     `key:"query" doc:"Further pairs of the query, with places; secrets as env:NAME or file:PATH."`
	Headers     map[string]Value     `key:"headers" doc:"Headers, with places; secrets as env:NAME or file:PATH."`
	Bearer      Secret               `key:"bearer" doc:"Token for the header Authorization, as env:NAME or file:PATH."`
	Basic       BasicAuth            `key:"basic" doc:"User and password for the header Authorization."`
	Body        string               `key:"body" doc:"JSON of the body, with places in its strings; \"{NAME}\" alone is the argument as it is. Empty: an object of the parameters that have no place."`
	Result      string               `key:"result" doc:"JSON pointer to what of an answer is the result, such as /main/temp. Empty: all of it."`
	Accept      []string             `key:"accept" doc:"Types of answers that are taken, such as application/json. Empty: JSON, XML, YAML and text."`
	MaxBytes    Size                 `key:"max_bytes" min:"1B" max:"64MiB" doc:"How much of an answer is read."`
	ReadOnly    bool                 `key:"read_only" doc:"Whether the request changes nothing; those with GET and HEAD never do."`

	Enabled          bool     `key:"enabled" doc:"Whether it is offered."`
	Auto             []string `key:"auto" doc:"Words: it is offered only when one of them stands in the user's message. Goes with enabled."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"Whether it may change anything."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls that begin within this time share one run and its result."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run."`
}

// An HTTPParam is one parameter of an HTTPTool.
type HTTPParam struct {
	Type        string   `key:"type" enum:"string|integer|number|boolean|array|object" doc:"Type of the value."`
	Items       string   `key:"items" enum:"|string|integer|number|boolean|object" doc:"Type of the items of an array."`
	Description string   `key:"description" doc:"What it means, for the model."`
	Required    bool     `key:"required" doc:"Whether it must be there. What has a place in the path always must."`
	Enum        []string `key:"enum" doc:"The values that there are."`
}

// BasicAuth is a user with a password.
type BasicAuth struct {
	User     Value  `key:"user" doc:"Name, as text, env:NAME or file:PATH."`
	Password Secret `key:"password" doc:"Password, as env:NAME or file:PATH."`
}

func (h *HTTPTool) setDefaults() {
	h.Method = "GET"
	h.Mode = "ro"
	h.MaxBytes = 1 << 20
	h.Timeout = Duration(defaultToolTimeout)
}

func (p *HTTPParam) setDefaults() { p.Type = "string" }

// check tells what no tool can be made of. Secrets are looked up only when there is one to be made.
func (h *HTTPTool) check(d *decoder, path string) {
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		checkHeader(d, join(path, "headers."+name), name, h.Headers[name])
	}
	if !h.Bearer.IsZero() && !h.Basic.Password.IsZero() {
		d.at(join(path, "basic"), "bearer and basic are both for the header Authorization: choose one")
	}
	for _, name := range slices.Sorted(maps.Keys(h.Params)) {
		if p := h.Params[name]; p.Items != "" && p.Type != "array" {
			d.at(join(path, "params."+name+".items"), "only an array has items")
		}
	}
	if h.URL == "" || len(d.problems) > 0 {
		return
	}
	if _, err := h.Tool("check", AnySecret); err != nil {
		d.at(join(path, "url"), "%s", RequestProblem(err))
	}
}

// RequestProblem says what is wrong with a request, without the words around it.
func RequestProblem(err error) string {
	return strings.TrimPrefix(err.Error(), httpcall.ErrRequest.Error()+": ")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// LookUp finds the secret that a reference means.
type LookUp func(Secret) (string, error)

// AnySecret stands for every secret where it is only checked whether a request can be made.
func AnySecret(Secret) (string, error) { return "x", nil }

// Tool makes the tool.
func (h *HTTPTool) Tool(name string, look LookUp) (*tool.Tool, error) {
	fields, secrets, err := h.fields(look)
	if err != nil {
		return nil, err
	}
	r := httpcall.Request{Method: h.Method, URL: h.URL, Fields: fields, Result: h.Result, Accept: h.Accept, MaxBytes: int64(h.MaxBytes), ReadOnly: h.ReadOnly, Secrets: secrets}
	if h.Body != "" {
		r.Body = json.RawMessage(h.Body)
	}
	parameters, err := h.parameters()
	if err != nil {
		return nil, err
	}
	t, err := httpcall.New(chat.Tool{Name: name, Description: h.Description, Parameters: parameters}, r)
	if err != nil {
		return nil, err
	}
	return h.offer().Configured(t), nil
}

// offer returns how the tool is offered.
func (h *HTTPTool) offer() Builtin {
	return Builtin{Enabled: h.Enabled, Auto: h.Auto, Mode: h.Mode, Timeout: h.Timeout, Cache: h.Cache, Debounce: h.Debounce, RequiresApproval: h.RequiresApproval}
}

func (h *HTTPTool) fields(look LookUp) (fields []httpcall.Field, secrets []string, err error) {
	add := func(in httpcall.In, name string, v Value) error {
		f := httpcall.Field{In: in, Name: name, Value: v.Text}
		if v.IsSecret() {
			if f.Secret, err = look(v.Ref); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		fields = append(fields, f)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(h.Query)) {
		if err := add(httpcall.InQuery, name, h.Query[name]); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		if err := add(httpcall.InHeader, name, h.Headers[name]); err != nil {
			return nil, nil, err
		}
	}
	header, secrets, err := authorization(h.Bearer, h.Basic, look)
	if header != "" {
		fields = append(fields, httpcall.Field{In: httpcall.InHeader, Name: "Authorization", Secret: header})
	}
	return fields, secrets, err
}

// authorization returns the value of the header Authorization, and what of it is secret.
func authorization(bearer Secret, basic BasicAuth, look LookUp) (header string, secrets []string, err error) {
	switch {
	case !bearer.IsZero():
		token, err := look(bearer)
		return "Bearer " + token, []string{token}, err
	case !basic.Password.IsZero():
		user := basic.User.Text
		if basic.User.IsSecret() {
			if user, err = look(basic.User.Ref); err != nil {
				return "", nil, fmt.Errorf("basic.user: %w", err)
			}
		}
		password, err := look(basic.Password)
		pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		return "Basic " + pair, []string{password, pair}, err
	}
	return "", nil, nil
}

// parameters writes the schema. What has a place in the path is always required.
func (h *HTTPTool) parameters() (json.RawMessage, error) {
	path, _, _ := strings.Cut(h.URL, "?")
	props := map[string]any{}
	required := []string{}
	for _, name := range slices.Sorted(maps.Keys(h.Params)) {
		p := h.Params[name]
		enum, err := p.values()
		if err != nil {
			return nil, fmt.Errorf("params.%s: %w", name, err)
		}
		prop := struct {
			Type        string            `json:"type"`
			Description string            `json:"description,omitempty"`
			Enum        []json.RawMessage `json:"enum,omitempty"`
			Items       *jsonType         `json:"items,omitempty"`
		}{p.Type, p.Description, enum, nil}
		if p.Items != "" {
			prop.Items = &jsonType{p.Items}
		}
		props[name] = prop
		if p.Required || strings.Contains(path, "{"+name+"}") {
			required = append(required, name)
		}
	}
	return marshal(struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required,omitempty"`
		More       bool           `json:"additionalProperties"`
	}{"object", props, required, false})
}

type jsonType struct {
	Type string `json:"type"`
}

// values returns the enum as JSON: texts of a string, else what is written.
func (p *HTTPParam) values() ([]json.RawMessage, error) {
	var list []json.RawMessage
	for _, v := range p.Enum {
		raw := json.RawMessage(v)
		if p.Type == "string" {
			quoted, err := marshal(v)
			if err != nil {
				return nil, err
			}
			raw = quoted
		} else if !json.Valid(raw) {
			return nil, fmt.Errorf("enum: %q is no %s", v, p.Type)
		}
		list = append(list, raw)
	}
	return list, nil
}

// An Entry is a part of the configuration that can also be a file of its own.
type Entry interface {
	setDefaults()
	check(d *decoder, path string)
}

// ReadEntry reads the text of a file that holds one entry. The error is a Problems.
func ReadEntry(file string, data []byte, e Entry) error {
	e.setDefaults()
	d := newDecoder(file)
	d.decode(data, e)
	e.check(d, "")
	if errs, _ := d.done().split(); len(errs) > 0 {
		return errs
	}
	return nil
}
