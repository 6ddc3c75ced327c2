package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wield/internal/gocache"
	"wield/tool"
	"wield/tool/builtin"
	"wield/tool/builtin/clock"
	"wield/tool/builtin/conversation"
	"wield/tool/builtin/database"
	"wield/tool/builtin/local"
	"wield/tool/builtin/memory"
	"wield/tool/guarded"
	"wield/tool/mcp"
	"wield/tool/results"
	"wield/tool/sandbox"
	"wield/tool/undo"
)

// Tools describes what wield can run.
type Tools struct {
	Root      string                  `key:"root" doc:"Workspace: the directory that tools work in. Empty: the one that wield was started in."`
	Dirs      []string                `key:"dirs" doc:"Directories with tools of your own, relative to this file."`
	LLF       LLFTools                `key:"llf" doc:"Tools of LLF."`
	Builtin   map[string]Builtin      `key:"builtin" doc:"Built-in tools, by name; see wield tool list."`
	Search    Search                  `key:"search" doc:"Where search_internet looks."`
	Wikipedia Wikipedia               `key:"wikipedia" doc:"Where wikipedia_search and wikipedia_get_article look."`
	Silver    SilverBullet            `key:"silverbullet" doc:"Where silver_bullet_get reads pages."`
	Results   Results                 `key:"results" doc:"Results that are used again for the same call, of tools that have cache."`
	Databases map[string]Database     `key:"databases" doc:"Databases that query_database may ask, by name."`
	Local     LocalActions            `key:"localActions" doc:"Tools for models that write blocks of text: read, edit, create, and executors."`
	Around    []AroundProgram         `key:"around" doc:"Programs that are asked about calls of tools, the first outermost."`
	Disable   []string                `key:"disable" doc:"Names of tools that are never offered."`
	Sh        map[string]ShTool       `key:"sh" doc:"Tools that are one line of shell, by name."`
	HTTP      map[string]HTTPTool     `key:"http" doc:"Tools that are one HTTP request, by name."`
	OpenAPI   map[string]OpenAPITools `key:"openapi" doc:"Tools that OpenAPI documents describe, by a name of your choice."`
}

// Search says where search_internet looks.
type Search struct {
	Engine string `key:"engine" enum:"|searxng|brave|duckduckgo" doc:"Search engine. Empty: SearXNG if url is set, Brave if key is, else DuckDuckGo."`
	URL    URL    `key:"url" doc:"Address of a SearXNG server."`
	Key    Secret `key:"key" doc:"Key for Brave, as env:NAME or file:PATH."`
}

// Wikipedia says which wiki is asked.
type Wikipedia struct {
	URL URL `key:"url" doc:"Address of the interface of a MediaWiki, its api.php. Empty: that of Wikipedia, in the language of the call."`
}

// SilverBullet says where notes are.
type SilverBullet struct {
	URL   URL    `key:"url" doc:"Address of a SilverBullet server."`
	Token Secret `key:"token" doc:"Its token, as env:NAME or file:PATH. Empty: it needs none."`
}

// Builtin configures one built-in tool.
type Builtin struct {
	Enabled          bool     `key:"enabled" doc:"Whether it is offered."`
	Auto             []string `key:"auto" doc:"Words: it is offered only when one of them stands in the user's message. Goes with enabled."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"Whether it may change anything."`
	Whitelist        []string `key:"whitelist" doc:"Targets that it may touch: patterns of paths or programs. Not there: what the policy allows. An empty list: none."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never. For tools whose answer does not change with what others do."`
	Debounce         Duration `key:"debounce" doc:"Identical calls that begin within this time share one run and its result; 0s: only what is under way is shared, of tools that may run twice."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run. Without it command_exec and file_access refuse dangerous operations."`
}

// What a tool has where neither the configuration nor the tool itself says another time, and the most that there is.
const (
	defaultToolTimeout = 60 * time.Second
	maxToolTimeout     = 300 * time.Second
)

func (b *Builtin) setDefaults() {
	b.Mode = "ro"
	b.Timeout = Duration(defaultToolTimeout)
}

// A toolMaker makes built-in tools. Each is configured under its own name.
type toolMaker func(e *ToolEnvironment) []*tool.Tool

// builtinTools lists what makes the built-in tools, in the order in which they are offered.
var builtinTools = []toolMaker{
	func(*ToolEnvironment) []*tool.Tool { return clock.Clock{}.Tools() },
	func(e *ToolEnvironment) []*tool.Tool {
		return builtin.Tools(builtin.Options{Search: e.search, Undo: e.local.Undo, Wikipedia: e.wikipedia, SilverBullet: e.silver, SilverBulletToken: e.silverToken,
			GoCache: gocache.Command(e.Self, e.Getenv)})
	},
	func(e *ToolEnvironment) []*tool.Tool { return database.Options{Sources: e.databases}.Tools() },
	func(e *ToolEnvironment) []*tool.Tool { return memory.Options{Path: e.memories}.Tools() },
	func(*ToolEnvironment) []*tool.Tool { return conversation.Tools() },
	func(e *ToolEnvironment) []*tool.Tool { return e.local.Tools() },
}

// MemoryFile is the name of the file of memories in the data directory.
const MemoryFile = "memories.db"

// A ToolEnvironment is what tools have beside their configuration.
type ToolEnvironment struct {
	Getenv func(string) string
	File   string   // that the configuration was read from, which the changes of commands belong to, and which no tool changes; empty: none
	Self   string   // this program, started again to serve what the person's go command has compiled; empty: it cannot be
	Dir    string   // where relative paths begin; empty: the working directory
	Sh     []string // further tools that are one line of shell, as NAME: COMMAND
	Behind bool     // MCP servers are connected to in the background, and their tools come with a Refresh

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
	Registry *tool.Registry
	Runner   *tool.Runner   // without a policy and without approvals: who runs calls adds them
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

	config  *Config
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
	err := errors.Join(t.Runner.Shared.Close(), t.temp.Close(), trimCaches(t.Runner.Sandbox.Cache, t.made))
	if t.results != nil {
		err = errors.Join(err, t.results.Close())
	}
	return err
}

// Toolbox makes the tools. Their states are those of the configuration with what commands have changed on top.
func (c *Config) Toolbox(env ToolEnvironment) (*Toolbox, error) {
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	root, err := c.root(&env)
	if err != nil {
		return nil, err
	}
	key, err := c.Tools.Search.Key.Resolve(env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("tools.search.key: %w", err)
	}
	env.search = builtin.Search{Provider: c.Tools.Search.Engine, URL: string(c.Tools.Search.URL), Key: key}
	env.wikipedia, env.silver = string(c.Tools.Wikipedia.URL), string(c.Tools.Silver.URL)
	if env.silverToken, err = c.Tools.Silver.Token.Resolve(env.Getenv); err != nil {
		return nil, fmt.Errorf("tools.silverbullet.token: %w", err)
	}
	if env.databases, err = c.databases(env.Getenv); err != nil {
		return nil, err
	}
	if dir := c.DataDir(env.Getenv); dir != "" {
		env.memories = filepath.Join(dir, MemoryFile)
	}
	env.local = c.local(env.Getenv)
	kept, err := c.keptResults(env.Getenv)
	if err != nil {
		return nil, err
	}
	around, err := c.middleware(sandbox.Level(c.Sandbox.Level))
	if err != nil {
		return nil, err
	}
	temp, err := newScratch(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	box := &Toolbox{Registry: &tool.Registry{}, temp: temp, made: time.Now(), results: kept, config: c, file: wholePath(env.File), Undo: env.local.Undo, builtin: map[string]*tool.Tool{}, own: map[string]*tool.Tool{}}
	if dir := c.DataDir(env.Getenv); dir != "" {
		box.State = filepath.Join(dir, ToolStateFile)
		box.Held = &guarded.Store{File: filepath.Join(dir, GuardedFile)}
	}
	shared := &tool.Shared{Temp: temp.dir}
	if kept != nil {
		shared.Cache = kept
	}
	box.Runner = &tool.Runner{
		Tools:       box.Registry,
		Middleware:  around,
		Shared:      shared,
		Limits:      tool.Limits{Timeout: time.Duration(c.Timeouts.Tool)},
		Redact:      c.secrets(env.Getenv),
		Root:        root,
		Temp:        temp.dir,
		Sandbox:     tool.Box{Level: sandbox.Level(c.Sandbox.Level), Cache: c.buildCache(env.Getenv, root)},
		ApprovalTTL: time.Duration(c.Timeouts.Approval),
	}
	if err := box.fill(c, &env, shared); err != nil {
		return nil, errors.Join(err, box.Close())
	}
	box.Problems = append(box.Problems, box.agree()...)
	return box, nil
}

// root returns the workspace, with symbolic links resolved, so that what is compared later is what is opened.
func (c *Config) root(env *ToolEnvironment) (string, error) {
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
func (t *Toolbox) fill(c *Config, env *ToolEnvironment, shared *tool.Shared) error {
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
	t.protect(env.File)
	look := func(s Secret) (string, error) { return s.Resolve(env.Getenv) }
	t.Runner.Redact = append(t.Runner.Redact, fileSecrets(t.Dirs, look)...)

	_, t.Problems = t.load(context.Background(), state) // what it runs has a time of its own
	t.Problems = append(t.Problems, t.problems(state)...)
	known := slices.Concat(sortedKeys(t.builtin), sortedKeys(t.own))
	for _, name := range sortedKeys(c.Tools.Builtin) {
		if !slices.Contains(known, name) {
			t.Problems = append(t.Problems, fmt.Errorf("tools.builtin.%s: there is no such tool%s", name, didYouMean(name, known)))
		}
	}
	for _, name := range sortedKeys(state.Tools) {
		if !slices.Contains(known, name) {
			t.Problems = append(t.Problems, fmt.Errorf("%s: there is no tool %s any more", t.State, name))
		}
	}
	for _, name := range c.Tools.Disable {
		if !slices.Contains(known, name) {
			t.Problems = append(t.Problems, fmt.Errorf("tools.disable: %w", &tool.Error{Kind: tool.ErrNotFound, Tool: name}))
		}
	}
	return nil
}

// builtin returns a built-in tool as the configuration wants it.
func (c *Config) builtin(one *tool.Tool) *tool.Tool {
	b, ok := c.Tools.Builtin[one.Name()]
	if !ok {
		b.setDefaults()
		if one.Source == local.Source && c.Tools.Local.Enabled {
			b.Enabled, b.Mode = true, string(tool.ModeRW)
		}
	}
	switch own := one.Limits.Timeout; {
	case b.Timeout != Duration(defaultToolTimeout): // it is configured
	case own > 0:
		b.Timeout = Duration(min(own, maxToolTimeout))
	case c.Timeouts.Tool > 0:
		b.Timeout = c.Timeouts.Tool
	}
	return b.configured(one)
}

// configured returns a tool as its part of the configuration wants it.
func (b Builtin) configured(builtin *tool.Tool) *tool.Tool {
	t := *builtin
	t.State = tool.StateDisabled
	if b.Enabled {
		t.State = tool.StateEnabled
	}
	if len(b.Auto) > 0 {
		t.Auto.Words = b.Auto
		if b.Enabled {
			t.State = tool.StateAuto
		}
	}
	guard := tool.Guard{}
	if t.Guard != nil {
		guard = *t.Guard
	}
	guard.Mode, guard.Whitelist, guard.RequiresApproval = tool.Mode(b.Mode), b.Whitelist, guard.RequiresApproval || b.RequiresApproval
	guard.Timeout = time.Duration(b.Timeout)
	if b.Cache > 0 {
		t.Cache.TTL = time.Duration(b.Cache)
	}
	if b.Debounce > 0 {
		t.Debounce = time.Duration(b.Debounce)
	}
	t.Guard = &guard
	return &t
}

// ToolTimeout reads the timeout of a tool, which is held to the same bounds as in the configuration.
func ToolTimeout(text string) (time.Duration, error) {
	var d Duration
	if err := d.parse(text); err != nil {
		return 0, err
	}
	if v := time.Duration(d); v < time.Second || v > maxToolTimeout {
		return 0, fmt.Errorf("timeout %s: it is from 1s to 300s", text)
	}
	return time.Duration(d), nil
}

// Disabled reports whether the configuration says that a tool is never offered.
func (c *Config) Disabled(name string) bool { return slices.Contains(c.Tools.Disable, name) }
