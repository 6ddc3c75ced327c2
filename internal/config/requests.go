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
	Description string               `key:"description" required:"true" doc:"Description for the model."`
	Method      string               `key:"method" enum:"GET|HEAD|POST|PUT|PATCH|DELETE" doc:"Method of the request."`
	URL         string               `key:"url" required:"true" doc:"Address, with placeholders {NAME} in path and query values."`
	Params      map[string]HTTPParam `key:"params" doc:"Parameters. Those without a placeholder go into the body."`
	Query       map[string]Value     `key:"query" doc:"Further query parameters, with placeholders; secrets as env:NAME or file:PATH."`
	Headers     map[string]Value     `key:"headers" doc:"Headers, with placeholders; secrets as env:NAME or file:PATH."`
	Bearer      Secret               `key:"bearer" doc:"Bearer token, as env:NAME or file:PATH."`
	Basic       BasicAuth            `key:"basic" doc:"Basic authentication."`
	Body        string               `key:"body" doc:"JSON body with placeholders; \"{NAME}\" alone keeps the type. Empty: an object of the other parameters."`
	Result      string               `key:"result" doc:"JSON pointer to the result, such as /main/temp. Empty: everything."`
	Accept      []string             `key:"accept" doc:"Accepted content types. Empty: JSON, XML, YAML and text."`
	MaxBytes    Size                 `key:"max_bytes" min:"1B" max:"64MiB" doc:"Largest response that is read."`
	ReadOnly    bool                 `key:"read_only" doc:"The request changes nothing; always so for GET and HEAD."`

	Enabled          bool     `key:"enabled" doc:"Offer it."`
	Auto             []string `key:"auto" doc:"Offer only if the user's message contains one of these words."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"rw: it may change things."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"Timeout of one call."`
	Cache            Duration `key:"cache" doc:"Reuse results of identical calls for this long; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls within this time share one run."`
	RequiresApproval bool     `key:"requires_approval" doc:"Ask a person before each call."`
}

// An HTTPParam is one parameter of an HTTPTool.
type HTTPParam struct {
	Type        string   `key:"type" enum:"string|integer|number|boolean|array|object" doc:"Type."`
	Items       string   `key:"items" enum:"|string|integer|number|boolean|object" doc:"Type of the items of an array."`
	Description string   `key:"description" doc:"Description for the model."`
	Required    bool     `key:"required" doc:"Required; path parameters always are."`
	Enum        []string `key:"enum" doc:"Allowed values."`
}

// BasicAuth is a user with a password.
type BasicAuth struct {
	User     Value  `key:"user" doc:"User, as text, env:NAME or file:PATH."`
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
	r := httpcall.Request{Method: h.Method, URL: h.URL, Fields: fields, Result: h.Result, Accept: h.Accept,
		MaxBytes: int64(h.MaxBytes), ReadOnly: h.ReadOnly, Secrets: secrets}
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
	return Builtin{Enabled: h.Enabled, Auto: h.Auto, Mode: h.Mode, Timeout: h.Timeout, Cache: h.Cache,
		Debounce: h.Debounce, RequiresApproval: h.RequiresApproval}
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
