package config

import (
	"context"
	"fmt"
	"path/filepath"

	"wield/tool"
	"wield/tool/dir"
	"wield/tool/sandbox"
)

// A toolSource finds tools of a person's own. A tool that is in state default is switched on under tools.builtin or by a command,
// like a built-in one; any other state, and its guard, are how it is offered until the configuration says otherwise.
type toolSource interface {
	// Load returns the tools that there are now, and what is wrong with others. It is asked again and again: a tool that has not
	// changed is the same *tool.Tool.
	Load(ctx context.Context) ([]*tool.Tool, []error)
}

// toolSources make what finds the tools of one part of the configuration. What they put into Toolbox.Dirs no tool may write to.
var toolSources = []func(t *Toolbox, c *Config, env *ToolEnvironment) (toolSource, error){
	toolFiles,
	requestTools,
}

// toolFiles finds the tools in tools.dirs.
func toolFiles(t *Toolbox, c *Config, env *ToolEnvironment) (toolSource, error) {
	set := &dir.Set{Options: dir.Options{Level: sandbox.Level(c.Sandbox.Level), Getenv: env.Getenv}}
	for _, d := range c.Tools.Dirs {
		d, err := env.absolute(d) // what protects it compares absolute paths
		if err != nil {
			return nil, fmt.Errorf("tools.dirs: %w", err)
		}
		t.Dirs = append(t.Dirs, d)
		set.Dirs = append(set.Dirs, d)
	}
	return set, nil
}

// own returns a tool of a person's own as the configuration wants it. What it says itself about how it is offered and what it may
// holds where the configuration says nothing.
func (c *Config) own(one *tool.Tool) *tool.Tool {
	_, ok := c.Tools.Builtin[one.Name()]
	if !ok && one.State != tool.StateDefault {
		return one
	}
	t := c.builtin(one)
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
