package compose

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/dir"
)

// shTools are tools of one line, which stay as they are.
type shTools []*tool.Tool

// Load returns them.
func (s shTools) Load(context.Context) ([]*tool.Tool, []error) { return s, nil }

// lineTools makes the tools in tools.sh, and those of a command line.
func lineTools(_ *Toolbox, c *config.Config, env *ToolEnvironment) (toolSource, error) {
	var tools shTools
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Sh)) {
		s := c.Tools.Sh[name]
		t, err := s.Tool(name)
		if err != nil {
			return nil, fmt.Errorf("tools.sh.%s: %w", name, err)
		}
		tools = append(tools, t)
	}
	for _, text := range env.Sh {
		l, err := dir.ParseLine(text)
		var t *tool.Tool
		if err == nil {
			l.ReadOnly = true // what changes something is written down
			t, err = l.Tool()
		}
		if err != nil {
			return nil, fmt.Errorf("--sh: %w", err)
		}
		t.State, t.Source = tool.StateEnabled, config.SourceLine
		t.Guard = &tool.Guard{Mode: tool.ModeRO}
		tools = append(tools, t)
	}
	return tools, nil
}
