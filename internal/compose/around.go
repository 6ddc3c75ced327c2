package compose

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/sandbox"
)

// aroundPrograms returns what asks the programs, the first outermost.
func aroundPrograms(c *config.Config, level sandbox.Level) ([]tool.Middleware, error) {
	var all []tool.Middleware
	for i, p := range c.Tools.Around {
		if len(p.Command) == 0 {
			return nil, fmt.Errorf("tools.around[%d].command: it names no program", i)
		}
		argv := slices.Clone(p.Command)
		program, err := exec.LookPath(argv[0])
		if err == nil {
			argv[0], err = filepath.Abs(program)
		}
		if err != nil {
			return nil, fmt.Errorf("tools.around[%d].command: %w", i, err)
		}
		asked := func(hook string) bool { return len(p.Hooks) == 0 || slices.Contains(p.Hooks, hook) }
		o := tool.AroundOptions{Timeout: time.Duration(p.Timeout), Before: asked("before"), After: asked("after"),
			Command: sandbox.Command{Argv: argv, Level: level, Net: p.Network},
			Tools: func(name string) bool {
				return len(p.Tools) == 0 || slices.ContainsFunc(p.Tools, func(g config.Glob) bool { return g.Matches(name) })
			}}
		for _, path := range p.Write {
			path, err := filepath.Abs(path)
			if err != nil {
				return nil, fmt.Errorf("tools.around[%d].write: %w", i, err)
			}
			o.Command.Writable = append(o.Command.Writable, path)
		}
		all = append(all, tool.Around(o))
	}
	return all, nil
}

// aroundFiles are the programs that are asked, and the files that they are given, which no tool may change.
func aroundFiles(c *config.Config) (list []string) {
	for _, p := range c.Tools.Around {
		for i, word := range p.Command {
			if i == 0 {
				word, _ = exec.LookPath(word)
			}
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				if path, err := filepath.Abs(word); err == nil {
					list = append(list, path)
				}
			}
		}
	}
	return list
}
