package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"wield/tool/openapi"
)

// OpenAPISuffix is how the name of a file ends that holds one OpenAPITools, in a directory of tools.
const OpenAPISuffix = ".openapi.yaml"

// OpenAPITools are the tools that an OpenAPI document describes.
type OpenAPITools struct {
	Document   string                 `key:"document" required:"true" doc:"File with the document, in JSON or YAML, of version 3.0 or 3.1, relative to this file."`
	Server     URL                    `key:"server" doc:"Address in place of the document's own."`
	Prefix     string                 `key:"prefix" doc:"In front of the name of each tool."`
	Tags       []string               `key:"tags" doc:"Only operations with one of these tags; * stands for any characters."`
	Operations []string               `key:"operations" doc:"Only operations whose operationId or tool has one of these names; * stands for any characters."`
	Paths      []string               `key:"paths" doc:"Only operations on one of these paths; * stands for any characters."`
	Methods    []string               `key:"methods" enum:"GET|HEAD|POST|PUT|PATCH|DELETE" doc:"Only operations with one of these methods."`
	Auth       map[string]OpenAPIAuth `key:"auth" doc:"Credentials, by the names of the document's security schemes."`
	Accept     []string               `key:"accept" doc:"Types of answers that are taken, such as application/json. Empty: JSON, XML, YAML and text."`
	MaxBytes   Size                   `key:"max_bytes" min:"1B" max:"64MiB" doc:"How much of an answer is read."`

	Enabled          bool     `key:"enabled" doc:"Whether the tools are offered."`
	Auto             []string `key:"auto" doc:"Words: the tools are offered only when one of them stands in the user's message. Goes with enabled."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"Whether the tools may change anything: with ro only GET and HEAD are sent."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls that begin within this time share one run and its result."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run."`
}

// OpenAPIAuth answers one security scheme.
type OpenAPIAuth struct {
	Token    Secret `key:"token" doc:"Key or token, as env:NAME or file:PATH."`
	User     Value  `key:"user" doc:"Name, as text, env:NAME or file:PATH, for the scheme basic."`
	Password Secret `key:"password" doc:"Password, as env:NAME or file:PATH, for the scheme basic."`
}

func (o *OpenAPITools) setDefaults() {
	o.Mode = "ro"
	o.MaxBytes = 1 << 20
	o.Timeout = Duration(defaultToolTimeout)
}

// check has nothing to say: the document is read when the tools are made, and problems of it stand in it.
func (o *OpenAPITools) check(*decoder, string) {}

// options looks up the credentials.
func (o *OpenAPITools) options(file string, look lookUp) (openapi.Options, error) {
	out := openapi.Options{File: file, Server: string(o.Server), Prefix: o.Prefix, Tags: o.Tags, Operations: o.Operations, Paths: o.Paths, Methods: o.Methods,
		Auth: map[string]openapi.Credential{}, Accept: o.Accept, MaxBytes: int64(o.MaxBytes)}
	for _, name := range sortedKeys(o.Auth) {
		a := o.Auth[name]
		c := openapi.Credential{User: a.User.text}
		var err error
		for _, part := range []struct {
			key  string
			from Secret
			to   *string
		}{{"token", a.Token, &c.Token}, {"user", a.User.secret, &c.User}, {"password", a.Password, &c.Password}} {
			if part.from.IsZero() {
				continue
			}
			if *part.to, err = look(part.from); err != nil {
				return out, fmt.Errorf("auth.%s.%s: %w", name, part.key, err)
			}
		}
		out.Auth[name] = c
	}
	return out, nil
}

// document makes the tools of a document, if it is not as it was. A relative path begins at base.
func (s *requestSource) document(o OpenAPITools, where, base string) *requestFile {
	file := o.Document
	if !filepath.IsAbs(file) {
		file = filepath.Join(base, file)
	}
	data, err := readFile(file)
	if err != nil {
		return &requestFile{err: fmt.Errorf("%s: %s", where, strings.TrimPrefix(err.Error(), "configuration: "))}
	}
	text := fmt.Sprintf("%+v\n%s", o, data)
	if f := s.files[where]; f != nil && f.text == text {
		return f
	}
	f := &requestFile{text: text}
	options, err := o.options(file, s.look)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", where, err)
		return f
	}
	made, err := openapi.Read(data, options)
	f.err = err
	b := Builtin{Enabled: o.Enabled, Auto: o.Auto, Mode: o.Mode, Timeout: o.Timeout, Cache: o.Cache, Debounce: o.Debounce, RequiresApproval: o.RequiresApproval}
	for _, t := range made {
		t.Source = where
		f.tools = append(f.tools, b.configured(t))
	}
	return f
}

// documents lists the files that are named now. No tool may write to them: a document says where secrets are sent.
func (s *requestSource) documents(env *ToolEnvironment) ([]string, error) {
	var files []string
	for _, name := range sortedKeys(s.config.Tools.OpenAPI) {
		file, err := env.absolute(s.config.Tools.OpenAPI[name].Document)
		if err != nil {
			return nil, fmt.Errorf("tools.openapi.%s: %w", name, err)
		}
		files = append(files, file)
	}
	for _, file := range filesOf(s.dirs, OpenAPISuffix) {
		o := &OpenAPITools{}
		data, err := readFile(file)
		if err != nil || readEntry(file, data, o) != nil {
			continue // who loads it tells
		}
		if files = append(files, o.Document); !filepath.IsAbs(o.Document) {
			files[len(files)-1] = filepath.Join(filepath.Dir(file), o.Document)
		}
	}
	return files, nil
}

// readOpenAPI makes the tools of a file that names a document.
func (s *requestSource) readOpenAPI(file string) *requestFile {
	data, err := readFile(file)
	if err != nil {
		return &requestFile{err: err}
	}
	o := &OpenAPITools{}
	if err := readEntry(file, data, o); err != nil {
		return &requestFile{err: err}
	}
	return s.document(*o, file, filepath.Dir(file))
}
