package compose

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/guarded"
	"wield/tool/runner"
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
		o := runner.AroundOptions{Timeout: time.Duration(p.Timeout), Before: asked("before"), After: asked("after"),
			Files: commandFiles("", p.Command), Command: sandbox.Command{Argv: argv, Level: level, Net: p.Network},
			Tools: func(name string) bool {
				return len(p.Tools) == 0 || slices.ContainsFunc(p.Tools,
					func(g config.Glob) bool { return g.Matches(name) })
			}}
		for _, path := range p.Write {
			path, err := filepath.Abs(path)
			if err != nil {
				return nil, fmt.Errorf("tools.around[%d].write: %w", i, err)
			}
			o.Command.Writable = append(o.Command.Writable, path)
		}
		all = append(all, runner.Around(o))
	}
	return all, nil
}

// commandFiles are the programs that the configuration names, and the files that they are given, which no tool may
// change: those too that would be found before the program if they were there. A path is one from the directory dir,
// or from the current one if that is empty.
func commandFiles(dir string, command []string) (list []string) {
	for i, word := range command {
		if i == 0 {
			list = append(list, foundBefore(word)...)
			word, _ = exec.LookPath(word)
		}
		if dir != "" && !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			if path, err := filepath.Abs(word); err == nil {
				list = append(list, path)
			}
		}
	}
	return list
}

// foundBefore lists the files that would be run in the place of a program if they were there.
func foundBefore(name string) (list []string) {
	found, err := exec.LookPath(name)
	if err != nil || strings.ContainsRune(name, filepath.Separator) {
		return nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file := filepath.Join(dir, name)
		if file == found {
			break
		}
		if filepath.IsAbs(dir) {
			list = append(list, file)
		}
	}
	return list
}

// pendingFiles returns the error for the first of the files that a tool has changed, which is not used; nil: none.
func pendingFiles(held *guarded.Store, files []string) error {
	if held == nil {
		return nil
	}
	for _, path := range files {
		if h, is, err := held.Pending(path); is || err != nil {
			return cmp.Or(err, config.PendingError(h))
		}
	}
	return nil
}

// programFiles are those of everything that wield runs by itself, rather than because a model asks for it.
func (t *Toolbox) programFiles() (list []string) {
	for _, p := range t.config.Tools.Around {
		list = append(list, commandFiles("", p.Command)...)
	}
	for _, m := range t.config.Modules {
		list = append(list, commandFiles("", m.Command)...)
	}
	for _, s := range t.config.MCP.Servers {
		list = append(list, commandFiles(t.Runner.Settings().Root, s.Command)...)
	}
	return list
}
