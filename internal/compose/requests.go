package compose

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wield/internal/config"
	"wield/tool"
)

// A requestSource finds the tools that are HTTP requests: those of the configuration, and those in files of
// the directories of tools, told one by one or by a document.
type requestSource struct {
	config *config.Config
	dirs   []string
	base   string // where relative paths begin
	look   config.LookUp
	files  map[string]*requestFile // that were read before
}

// A requestFile is a file and what was made of it.
type requestFile struct {
	text  string
	tools []*tool.Tool
	err   error
}

func requestTools(t *Toolbox, c *config.Config, env *ToolEnvironment) (toolSource, error) {
	look := func(s config.Secret) (string, error) { return s.Resolve(env.Getenv) }
	s := &requestSource{config: c, dirs: slices.Clone(t.Dirs), base: env.Dir, look: look,
		files: map[string]*requestFile{}}
	documents, err := s.documents(env)
	t.Dirs = append(t.Dirs, documents...)
	return s, err
}

// fileSecrets looks up the secrets that files in directories of tools name, so that no result shows one.
func fileSecrets(dirs []string, look config.LookUp) []string {
	var list []string
	for suffix, empty := range map[string]func() config.Entry{
		config.RequestSuffix: func() config.Entry { return &config.HTTPTool{} },
		config.OpenAPISuffix: func() config.Entry { return &config.OpenAPITools{} },
		config.MCPSuffix:     func() config.Entry { return &config.MCPServer{} },
	} {
		for _, file := range filesOf(dirs, suffix) {
			e := empty()
			data, err := config.ReadFile(file)
			if err != nil || config.ReadEntry(file, data, e) != nil {
				continue // who loads it tells
			}
			list = append(list, config.SecretsIn(e, look)...)
		}
	}
	return list
}

// Load makes the tools. What is wrong with one is told, and the others are made.
func (s *requestSource) Load(context.Context) (tools []*tool.Tool, problems []error) {
	now := map[string]*requestFile{}
	for _, name := range slices.Sorted(maps.Keys(s.config.Tools.HTTP)) {
		where := "tools.http." + name
		f := s.files[where] // the configuration stays as it is
		if f == nil {
			h := s.config.Tools.HTTP[name]
			f = &requestFile{}
			f.add(&h, name, where, s.look)
		}
		now[where] = f
	}
	for _, name := range slices.Sorted(maps.Keys(s.config.Tools.OpenAPI)) {
		where := "tools.openapi." + name
		now[where] = s.document(s.config.Tools.OpenAPI[name], where, s.base)
	}
	for _, file := range filesOf(s.dirs, config.RequestSuffix) {
		now[file] = s.read(file)
	}
	for _, file := range filesOf(s.dirs, config.OpenAPISuffix) {
		now[file] = s.readOpenAPI(file)
	}
	s.files = now
	for _, where := range slices.Sorted(maps.Keys(now)) {
		f := now[where]
		if tools = append(tools, f.tools...); f.err != nil {
			problems = append(problems, f.err)
		}
	}
	return tools, problems
}

// read makes the tool of a file, if it is not as it was.
func (s *requestSource) read(file string) *requestFile {
	data, err := config.ReadFile(file)
	if err != nil {
		return &requestFile{err: err}
	}
	if f := s.files[file]; f != nil && f.text == string(data) {
		return f
	}
	f := &requestFile{text: string(data)}
	h := &config.HTTPTool{}
	if f.err = config.ReadEntry(file, data, h); f.err != nil {
		return f
	}
	f.add(h, strings.TrimSuffix(filepath.Base(file), config.RequestSuffix), file, s.look)
	return f
}

func (f *requestFile) add(h *config.HTTPTool, name, where string, look config.LookUp) {
	t, err := h.Tool(name, look)
	if err != nil {
		f.err = fmt.Errorf("%s: %s", where, config.RequestProblem(err))
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
