package config

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"wield/tool"
	"wield/tool/sandbox"
)

// An AroundProgram is asked about calls of tools.
type AroundProgram struct {
	Command []string `key:"command" required:"true" doc:"Program and its arguments, as a shell would find it from the directory that wield runs in."`
	Tools   []Glob   `key:"tools" doc:"Patterns of the only tools whose calls it is asked about. Empty: all."`
	Hooks   []string `key:"hooks" enum:"before|after" doc:"When it is asked. Empty: before a tool runs and afterwards."`
	Timeout Duration `key:"timeout" doc:"For one answer of the program; 0s: 10s."`
	Network bool     `key:"network" doc:"Whether the program may reach the network."`
	Write   []string `key:"write" doc:"Directories and files that the program may change; they must exist."`
}

// middleware returns what asks the programs, the first outermost.
func (c *Config) middleware(level sandbox.Level) ([]tool.Middleware, error) {
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
				return len(p.Tools) == 0 || slices.ContainsFunc(p.Tools, func(g Glob) bool { return g.Matches(name) })
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
func (c *Config) aroundFiles() (list []string) {
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
