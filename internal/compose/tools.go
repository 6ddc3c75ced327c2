package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/internal/cluster"
	"wield/internal/config"
	"wield/internal/gocache"
	"wield/internal/mask"
	"wield/internal/results"
	"wield/schema/near"
	"wield/tool"
	"wield/tool/builtin"
	"wield/tool/builtin/clock"
	"wield/tool/builtin/conversation"
	"wield/tool/builtin/database"
	"wield/tool/builtin/local"
	"wield/tool/builtin/memory"
	"wield/tool/guarded"
	"wield/tool/mcp"
	"wield/tool/runner"
	"wield/tool/sandbox"
	"wield/tool/undo"
)

// A toolMaker makes built-in tools. Each is configured under its own name.
type toolMaker func(e *ToolEnvironment) []*tool.Tool

// builtinTools lists what makes the built-in tools, in the order in which they are offered.
var builtinTools = []toolMaker{
	func(*ToolEnvironment) []*tool.Tool { return clock.Clock{}.Tools() },
	func(e *ToolEnvironment) []*tool.Tool {
		return builtin.Tools(builtin.Options{Search: e.search, Undo: e.local.Undo, Wikipedia: e.wikipedia,
			SilverBullet: e.silver, SilverBulletToken: e.silverToken, GoCache: gocache.Command(e.Self, e.Getenv)})
	},
	func(e *ToolEnvironment) []*tool.Tool { return database.Options{Sources: e.databases}.Tools() },
	func(e *ToolEnvironment) []*tool.Tool { return memory.Options{Path: e.memories}.Tools() },
	func(*ToolEnvironment) []*tool.Tool { return conversation.Tools() },
	func(e *ToolEnvironment) []*tool.Tool { return e.local.Tools() },
}

// MemoryFile is the name of the file of memories in the data directory.
const MemoryFile = "memories.db"

// A ToolEnvironment holds what tools have beside their configuration.
type ToolEnvironment struct {
	Getenv func(string) string
	// that the configuration was read from, which the changes of commands belong to, and which no tool changes; empty:
	// none
	File string
	// this program, started again to serve what the person's go command has compiled; empty: it cannot be
	Self    string
	Dir     string           // where relative paths begin; empty: the working directory
	Sh      []string         // further tools that are one line of shell, as NAME: COMMAND
	Cluster *cluster.Cluster // of which workers' tools come; nil: there are none
	Behind  bool             // MCP servers are connected to in the background, and their tools come with a Refresh

	search      builtin.Search
	wikipedia   string
	silver      string
	silverToken string
	databases   map[string]database.Source
	memories    string // the file of memories
	local       local.Options
}

// A Toolbox is every tool that a configuration knows, ready to run.
type Toolbox struct {
	Registry *runner.Registry
	Runner   *runner.Runner // without a policy and without approvals: who runs calls adds them
	State    string         // the file that commands change, see Change
	Dirs     []string       // directories of tools, which no tool may write to
	Held     *guarded.Store // what was agreed to, and what is held back; nil: there is no place for it
	Pins     *mcp.Pins      // what MCP servers said of their tools at first; nil: there is no place for it
	Undo     *undo.Log      // what local actions have changed; nil: nothing is kept

	// Problems are tools that could not be loaded. The others work.
	Problems []error

	temp    *scratch
	made    time.Time
	results *results.Store // nil: none outlive the program

	config  *config.Config
	sources []toolSource
	servers *mcpSource
	builtin map[string]*tool.Tool // by name
	own     map[string]*tool.Tool // what the sources have loaded, by name
	stamp   string                // of State, when it was read
	file    string                // of the configuration; empty: none
	loading sync.Mutex
}

// Change changes what holds for a tool of this configuration, from now on and for other programs.
func (t *Toolbox) Change(name string, change func(*ToolChange) error) error {
	return ChangeToolState(t.State, t.file, name, change)
}

// Close removes temporary files, and what is too much of those that last.
func (t *Toolbox) Close() error {
	if t.servers != nil {
		t.servers.close()
	}
	err := errors.Join(t.Runner.Settings().Shared.Close(), t.temp.Close(),
		trimCaches(t.Runner.Settings().Sandbox.Cache, t.made))
	if t.results != nil {
		err = errors.Join(err, t.results.Close())
	}
	return err
}

// OpenToolbox makes the tools. Their states are those of the configuration with what commands have changed on top.
func OpenToolbox(c *config.Config, env ToolEnvironment) (*Toolbox, error) {
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	root, err := root(c, &env)
	if err != nil {
		return nil, err
	}
	key, err := c.Tools.Search.Key.Resolve(env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("tools.search.key: %w", err)
	}
	env.search = builtin.Search{Provider: c.Tools.Search.Engine, URL: string(c.Tools.Search.URL), Key: key,
		ID: c.Tools.Search.ID}
	env.wikipedia, env.silver = string(c.Tools.Wikipedia.URL), string(c.Tools.Silver.URL)
	if env.silverToken, err = c.Tools.Silver.Token.Resolve(env.Getenv); err != nil {
		return nil, fmt.Errorf("tools.silverbullet.token: %w", err)
	}
	if env.databases, err = databases(c, env.Getenv); err != nil {
		return nil, err
	}
	if dir := c.DataDir(env.Getenv); dir != "" {
		env.memories = filepath.Join(dir, MemoryFile)
	}
	env.local = localOptions(c, env.Getenv)
	kept, err := keptResults(c, env.Getenv)
	if err != nil {
		return nil, err
	}
	around, err := aroundPrograms(c, sandbox.Level(c.Sandbox.Level))
	if err != nil {
		return nil, err
	}
	temp, err := newScratch(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	box := &Toolbox{Registry: &runner.Registry{}, temp: temp, made: time.Now(), results: kept, config: c,
		file: wholePath(env.File), Undo: env.local.Undo, builtin: map[string]*tool.Tool{}, own: map[string]*tool.Tool{}}
	if dir := c.DataDir(env.Getenv); dir != "" {
		box.State = filepath.Join(dir, ToolStateFile)
		box.Held = &guarded.Store{File: filepath.Join(dir, config.GuardedFile)}
	}
	shared := &runner.Shared{Temp: temp.dir}
	if kept != nil {
		shared.Cache = kept
	}
	box.Runner = runner.New(runner.Settings{
		Tools:       box.Registry,
		Middleware:  around,
		Shared:      shared,
		Limits:      tool.CallLimits{Timeout: time.Duration(c.Timeouts.Tool)},
		Redact:      secretForms(c.Secrets(env.Getenv)),
		Root:        root,
		Temp:        temp.dir,
		Sandbox:     runner.Box{Level: sandbox.Level(c.Sandbox.Level), Cache: buildCache(c, env.Getenv, root)},
		ApprovalTTL: time.Duration(c.Timeouts.Approval),
	})
	if err := box.fill(c, &env, shared); err != nil {
		return nil, errors.Join(err, box.Close())
	}
	box.Problems = append(box.Problems, box.agree()...)
	return box, nil
}

// secretForms lists secrets in the ways in which servers and programs repeat them.
func secretForms(secrets []string) (list []string) {
	for _, s := range secrets {
		for _, form := range mask.Forms(s) {
			if !slices.Contains(list, form) {
				list = append(list, form)
			}
		}
	}
	return list
}

// root returns the workspace, with symbolic links resolved, so that what is compared later is what is opened.
func root(c *config.Config, env *ToolEnvironment) (string, error) {
	root := c.Tools.Root
	if !filepath.IsAbs(root) {
		root = filepath.Join(env.Dir, root)
	}
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", fmt.Errorf("tools.root: %w", err)
	}
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", root)
	}
	if err != nil {
		return "", fmt.Errorf("tools.root: %w", err)
	}
	return root, nil
}

// fill puts all tools into the registry.
func (t *Toolbox) fill(c *config.Config, env *ToolEnvironment, shared *runner.Shared) error {
	order := []*tool.Tool{}
	for _, make := range builtinTools {
		order = append(order, make(env)...)
	}
	order = append(order, shared.ReadOutput()) // without it a long output cannot be read to its end
	state, err := t.readState()
	if err != nil {
		return err
	}
	for _, one := range order {
		t.builtin[one.Name()] = one
		if err := t.put(one, state); err != nil {
			return err
		}
	}
	if err := t.find(c, env); err != nil {
		return err
	}
	t.protect(cmp.Or(env.File, config.DefaultFile(env.Getenv))) // one that is not there yet would be read the next time
	look := func(s config.Secret) (string, error) { return s.Resolve(env.Getenv) }
	t.Runner = t.Runner.With(func(s *runner.Settings) { s.Redact = append(s.Redact, fileSecrets(t.Dirs, look)...) })

	_, t.Problems = t.load(context.Background(), state) // what it runs has a time of its own
	t.Problems = append(t.Problems, t.problems(state)...)
	known := slices.Concat(slices.Sorted(maps.Keys(t.builtin)), slices.Sorted(maps.Keys(t.own)))
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Builtin)) {
		if !slices.Contains(known, name) {
			t.Problems = append(t.Problems, fmt.Errorf("tools.builtin.%s: there is no such tool%s", name,
				near.Hint(name, known)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(state.Tools)) {
		if !slices.Contains(known, name) {
			t.Problems = append(t.Problems, fmt.Errorf("%s: there is no tool %s any more", t.State, name))
		}
	}
	for _, name := range c.Tools.Disable {
		// Tools of servers and workers are known later.
		later := strings.Contains(name, tool.Separator) || strings.Contains(name, "*")
		if !later && !slices.Contains(known, name) {
			t.Problems = append(t.Problems, fmt.Errorf("tools.disable: %w",
				&tool.Error{Kind: tool.ErrNotFound, Tool: name}))
		}
	}
	return nil
}
