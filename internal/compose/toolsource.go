package compose

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/dir"
	"wield/tool/sandbox"
)

// A toolSource finds tools of a person's own. A tool that is in state default is switched on under
// tools.builtin or by a command, like a built-in one; any other state, and its guard, are how it is offered
// until the configuration says otherwise.
type toolSource interface {
	// Load returns the tools that there are now, and what is wrong with others. It is asked again and again:
	// a tool that has not changed is the same *tool.Tool.
	Load(ctx context.Context) ([]*tool.Tool, []error)
}

// toolSources make what finds the tools of one part of the configuration. What they put into Toolbox.Dirs no
// tool may write to.
var toolSources = []func(t *Toolbox, c *config.Config, env *ToolEnvironment) (toolSource, error){
	toolFiles,
	requestTools,
	lineTools,
	mcpTools,
	workerTools,
}

// find makes the sources.
func (t *Toolbox) find(c *config.Config, env *ToolEnvironment) error {
	for _, make := range toolSources {
		source, err := make(t, c, env)
		if err != nil {
			return err
		}
		t.sources = append(t.sources, source)
	}
	return nil
}

// toolFiles finds the tools in tools.dirs and tools.llf.
func toolFiles(t *Toolbox, c *config.Config, env *ToolEnvironment) (toolSource, error) {
	set := &dir.Set{Options: dir.Options{Level: sandbox.Level(c.Sandbox.Level), Getenv: env.Getenv,
		Root: t.Runner.Settings().Root, Builtin: slices.Sorted(maps.Keys(t.builtin))}}
	for _, d := range c.Tools.Dirs {
		d, err := env.absolute(d) // what protects it compares absolute paths
		if err != nil {
			return nil, fmt.Errorf("tools.dirs: %w", err)
		}
		set.Dirs = append(set.Dirs, d)
	}
	if err := find(&c.Tools.LLF, set, env); err != nil {
		return nil, fmt.Errorf("tools.llf: %w", err)
	}
	t.Dirs = append(t.Dirs, set.Dirs...)
	for _, file := range set.Registries {
		t.Dirs = append(t.Dirs, file)
	}
	return set, nil
}

// find adds the directory and the registry of LLF, if there are any.
func find(l *config.LLFTools, set *dir.Set, env *ToolEnvironment) error {
	registry, d := cmp.Or(l.Registry, env.Getenv("LLF_TOOLS_REGISTRY")), cmp.Or(l.Dir, env.Getenv("LLF_TOOLS_DIR"))
	if registry == "" && d == "" {
		return nil
	}
	var err error
	if registry != "" {
		if registry, err = env.absolute(registry); err != nil {
			return err
		}
		d = cmp.Or(d, filepath.Dir(registry))
	}
	if d, err = env.absolute(d); err != nil {
		return err
	}
	if registry != "" {
		set.Registries = map[string]string{d: registry}
	}
	if !slices.Contains(set.Dirs, d) {
		set.Dirs = append(set.Dirs, d)
	}
	return nil
}

// own returns a tool of a person's own as the configuration wants it. What it says itself about how it is
// offered and what it may holds where the configuration says nothing.
func own(c *config.Config, one *tool.Tool) *tool.Tool {
	_, ok := c.Tools.Builtin[one.Name()]
	if !ok && one.State != tool.StateDefault {
		return one
	}
	t := c.BuiltinTool(one)
	if g := one.Guard; g != nil && t.Guard.Whitelist == nil {
		t.Guard.Whitelist = g.Whitelist
	}
	return t
}

// absolute returns a path of the configuration as an absolute one.
func (e *ToolEnvironment) absolute(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Dir, path)
	}
	return filepath.Abs(path)
}
