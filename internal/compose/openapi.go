package compose

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"wield/internal/config"
	"wield/tool/openapi"
)

// options looks up the credentials.
func options(o *config.OpenAPITools, file string, look config.LookUp) (openapi.Options, error) {
	out := openapi.Options{File: file, Server: string(o.Server), Prefix: o.Prefix, Tags: o.Tags,
		Operations: o.Operations, Paths: o.Paths, Methods: o.Methods, Auth: map[string]openapi.Credential{},
		Accept: o.Accept, MaxBytes: int64(o.MaxBytes)}
	for _, name := range slices.Sorted(maps.Keys(o.Auth)) {
		a := o.Auth[name]
		c := openapi.Credential{User: a.User.Text}
		var err error
		for _, part := range []struct {
			key  string
			from config.Secret
			to   *string
		}{{"token", a.Token, &c.Token}, {"user", a.User.Ref, &c.User}, {"password", a.Password, &c.Password}} {
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
func (s *requestSource) document(o config.OpenAPITools, where, base string) *requestFile {
	file := o.Document
	if !filepath.IsAbs(file) {
		file = filepath.Join(base, file)
	}
	data, err := config.ReadFile(file)
	if err != nil {
		return &requestFile{err: fmt.Errorf("%s: %s", where, strings.TrimPrefix(err.Error(), "configuration: "))}
	}
	text := fmt.Sprintf("%+v\n%s", o, data)
	if f := s.files[where]; f != nil && f.text == text {
		return f
	}
	f := &requestFile{text: text}
	options, err := options(&o, file, s.look)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", where, err)
		return f
	}
	made, err := openapi.Read(data, options)
	f.err = err
	b := config.Builtin{Enabled: o.Enabled, Auto: o.Auto, Mode: o.Mode, Timeout: o.Timeout, Cache: o.Cache,
		Debounce: o.Debounce, RequiresApproval: o.RequiresApproval}
	for _, t := range made {
		t.Source = where
		f.tools = append(f.tools, b.Configured(t))
	}
	return f
}

// documents lists the files that are named now. No tool may write to them: a document says where secrets are sent.
func (s *requestSource) documents(env *ToolEnvironment) ([]string, error) {
	var files []string
	for _, name := range slices.Sorted(maps.Keys(s.config.Tools.OpenAPI)) {
		file, err := env.absolute(s.config.Tools.OpenAPI[name].Document)
		if err != nil {
			return nil, fmt.Errorf("tools.openapi.%s: %w", name, err)
		}
		files = append(files, file)
	}
	for _, file := range filesOf(s.dirs, config.OpenAPISuffix) {
		o := &config.OpenAPITools{}
		data, err := config.ReadFile(file)
		if err != nil || config.ReadEntry(file, data, o) != nil {
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
	data, err := config.ReadFile(file)
	if err != nil {
		return &requestFile{err: err}
	}
	o := &config.OpenAPITools{}
	if err := config.ReadEntry(file, data, o); err != nil {
		return &requestFile{err: err}
	}
	return s.document(*o, file, filepath.Dir(file))
}
