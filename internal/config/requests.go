package config

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	for _, name := range sortedKeys(h.Headers) {
		checkHeader(d, join(path, "headers."+name), name, h.Headers[name])
	}
	if !h.Bearer.IsZero() && !h.Basic.Password.IsZero() {
		d.at(join(path, "basic"), "bearer and basic are both for the header Authorization: choose one")
	}
	for _, name := range sortedKeys(h.Params) {
		if p := h.Params[name]; p.Items != "" && p.Type != "array" {
			d.at(join(path, "params."+name+".items"), "only an array has items")
		}
	}
	if h.URL == "" || len(d.problems) > 0 {
		return
	}
	if _, err := h.tool("check", anySecret); err != nil {
		d.at(join(path, "url"), "%s", requestProblem(err))
	}
}

// requestProblem says what is wrong with a request, without the words around it.
func requestProblem(err error) string {
	return strings.TrimPrefix(err.Error(), httpcall.ErrRequest.Error()+": ")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// lookUp finds the secret that a reference means.
type lookUp func(Secret) (string, error)

// anySecret stands for every secret where it is only checked whether a request can be made.
func anySecret(Secret) (string, error) { return "x", nil }

// tool makes the tool.
func (h *HTTPTool) tool(name string, look lookUp) (*tool.Tool, error) {
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
	return h.offer().configured(t), nil
}

// offer returns how the tool is offered.
func (h *HTTPTool) offer() Builtin {
	return Builtin{Enabled: h.Enabled, Auto: h.Auto, Mode: h.Mode, Timeout: h.Timeout, Cache: h.Cache, Debounce: h.Debounce, RequiresApproval: h.RequiresApproval}
}

func (h *HTTPTool) fields(look lookUp) (fields []httpcall.Field, secrets []string, err error) {
	add := func(in httpcall.In, name string, v Value) error {
		f := httpcall.Field{In: in, Name: name, Value: v.text}
		if v.IsSecret() {
			if f.Secret, err = look(v.secret); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		fields = append(fields, f)
		return nil
	}
	for _, name := range sortedKeys(h.Query) {
		if err := add(httpcall.InQuery, name, h.Query[name]); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range sortedKeys(h.Headers) {
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
func authorization(bearer Secret, basic BasicAuth, look lookUp) (header string, secrets []string, err error) {
	switch {
	case !bearer.IsZero():
		token, err := look(bearer)
		return "Bearer " + token, []string{token}, err
	case !basic.Password.IsZero():
		user := basic.User.text
		if basic.User.IsSecret() {
			if user, err = look(basic.User.secret); err != nil {
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
	for _, name := range sortedKeys(h.Params) {
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

// A requestSource finds the tools that are HTTP requests: those of the configuration, and those in files of
// the directories of tools, told one by one or by a document.
type requestSource struct {
	config *Config
	dirs   []string
	base   string // where relative paths begin
	look   lookUp
	files  map[string]*requestFile // that were read before
}

// A requestFile is a file and what was made of it.
type requestFile struct {
	text  string
	tools []*tool.Tool
	err   error
}

func requestTools(t *Toolbox, c *Config, env *ToolEnvironment) (toolSource, error) {
	look := func(s Secret) (string, error) { return s.Resolve(env.Getenv) }
	s := &requestSource{config: c, dirs: slices.Clone(t.Dirs), base: env.Dir, look: look, files: map[string]*requestFile{}}
	documents, err := s.documents(env)
	t.Dirs = append(t.Dirs, documents...)
	return s, err
}

// fileSecrets looks up the secrets that files in directories of tools name, so that no result shows one.
func fileSecrets(dirs []string, look lookUp) []string {
	var list []string
	for suffix, empty := range map[string]func() entry{
		RequestSuffix: func() entry { return &HTTPTool{} },
		OpenAPISuffix: func() entry { return &OpenAPITools{} },
		MCPSuffix:     func() entry { return &MCPServer{} },
	} {
		for _, file := range filesOf(dirs, suffix) {
			e := empty()
			data, err := readFile(file)
			if err != nil || readEntry(file, data, e) != nil {
				continue // who loads it tells
			}
			list = append(list, secretsIn(e, look)...)
		}
	}
	return list
}

// Load makes the tools. What is wrong with one is told, and the others are made.
func (s *requestSource) Load(context.Context) (tools []*tool.Tool, problems []error) {
	now := map[string]*requestFile{}
	for _, name := range sortedKeys(s.config.Tools.HTTP) {
		where := "tools.http." + name
		f := s.files[where] // the configuration stays as it is
		if f == nil {
			h := s.config.Tools.HTTP[name]
			f = &requestFile{}
			f.add(&h, name, where, s.look)
		}
		now[where] = f
	}
	for _, name := range sortedKeys(s.config.Tools.OpenAPI) {
		where := "tools.openapi." + name
		now[where] = s.document(s.config.Tools.OpenAPI[name], where, s.base)
	}
	for _, file := range filesOf(s.dirs, RequestSuffix) {
		now[file] = s.read(file)
	}
	for _, file := range filesOf(s.dirs, OpenAPISuffix) {
		now[file] = s.readOpenAPI(file)
	}
	s.files = now
	for _, where := range sortedKeys(now) {
		f := now[where]
		if tools = append(tools, f.tools...); f.err != nil {
			problems = append(problems, f.err)
		}
	}
	return tools, problems
}

// read makes the tool of a file, if it is not as it was.
func (s *requestSource) read(file string) *requestFile {
	data, err := readFile(file)
	if err != nil {
		return &requestFile{err: err}
	}
	if f := s.files[file]; f != nil && f.text == string(data) {
		return f
	}
	f := &requestFile{text: string(data)}
	h := &HTTPTool{}
	if f.err = readEntry(file, data, h); f.err != nil {
		return f
	}
	f.add(h, strings.TrimSuffix(filepath.Base(file), RequestSuffix), file, s.look)
	return f
}

func (f *requestFile) add(h *HTTPTool, name, where string, look lookUp) {
	t, err := h.tool(name, look)
	if err != nil {
		f.err = fmt.Errorf("%s: %s", where, requestProblem(err))
		return
	}
	t.Source = where
	f.tools = []*tool.Tool{t}
}

// filesOf lists the files in directories whose names end in a suffix.
func filesOf(dirs []string, suffix string) []string {
	var files []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // who loads the programs in it tells
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), suffix) && len(e.Name()) > len(suffix) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files
}

// An entry is a part of the configuration that can also be a file of its own.
type entry interface {
	setDefaults()
	check(d *decoder, path string)
}

// readEntry reads the text of a file that holds one entry. The error is a Problems.
func readEntry(file string, data []byte, e entry) error {
	e.setDefaults()
	d := newDecoder(file)
	d.decode(data, e)
	e.check(d, "")
	if errs, _ := d.done().split(); len(errs) > 0 {
		return errs
	}
	return nil
}
