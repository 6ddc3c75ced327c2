package tool

import (
	"context"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/tool/edit"
	"wield/tool/policy"
)

// A Tool is a definition and what runs calls of it. Fill one by hand, or let Func and Raw do it. A tool does
// not change once it stands in a registry.
type Tool struct {
	Definition chat.Tool
	Handler    Handler
	Facts      Facts
	Limits     CallLimits
	Guard      *Guard // rules of its own, such as those of a directory of tools; nil: none
	Style      Style  // how its results are written

	// State tells how the tool is offered unless a registry or a session says otherwise. The zero value is
	// enabled, since who writes a tool in Go and adds it wants it.
	State State
	Auto  Rule // when a tool in state auto is offered

	Dangerous  bool // what it does cannot be taken back: it runs only with an approval
	Idempotent bool // running it twice is as good as once: calls under way are shared, failed ones may be tried again
	Retries    int  // how often a failed run is tried again; only if Idempotent

	Cache    Caching
	Debounce time.Duration // identical calls that begin within it share one run; 0: each has its own
	Parallel int           // how many calls run at a time; 0: no limit

	// Preview tells what a call would change in files, without changing anything. Nil: nobody knows.
	Preview func(ctx context.Context, c *Call) ([]edit.Change, error)

	// Batch runs several calls of one turn at once. Nil: each call is handed to Handler.
	Batch BatchHandler

	Aliases []string // further names that calls may use, as long as no tool has them; they are not offered
	States  []State  // the states that it can be in; nil: all
	// in front of its name, with Separator between them, if it comes from a server of tools; empty: none
	Namespace string

	App    string // address of a document at its source that shows its results; empty: none
	Source string // where the definition comes from, for people: "builtin", a directory, a server
	// file or directory that runs, as an absolute path: a person is asked when it is another than was agreed to; empty:
	// none
	Files string
	// file that says what it may, as an absolute path: a person is asked while a change by a tool is held back; empty:
	// none
	Rules string

	err error // why it cannot be used
}

// Err returns why a tool that [Func] or [Stream] made cannot be used: its input has no schema. A registry refuses it.
func (t *Tool) Err() error { return t.err }

// Name returns the name in the definition.
func (t *Tool) Name() string { return t.Definition.Name }

// Separator stands between a namespace and a name.
const Separator = "__"

// A Handler runs calls of a tool. It returns when ctx ends. What it returns as an error becomes a result that
// says so; an error that is an *Error keeps its kind. A handler may be called by several goroutines at once.
type Handler interface {
	Run(ctx context.Context, c *Call) (Result, error)
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(ctx context.Context, c *Call) (Result, error)

// Run calls f.
func (f HandlerFunc) Run(ctx context.Context, c *Call) (Result, error) { return f(ctx, c) }

// A BatchHandler runs several calls of one tool together. It returns one result for each, in order.
type BatchHandler interface {
	RunBatch(ctx context.Context, calls []*Call) ([]Result, error)
}

// A Middleware stands around every handler of a runner: it may look at a call, change what its handler sees,
// answer in its place, or change the result.
type Middleware func(next Handler) Handler

// CallLimits bound one call. Zero stands for the runner's limit, and there for the default; [chat.NoLimit] turns
// Timeout or Output off.
type CallLimits struct {
	Timeout time.Duration // for the run; default 60 s
	Grace   time.Duration // how long a handler may take to return after its time is up; default 2 s
	Output  int           // bytes of a result that the model sees; default 64 KiB
	Spill   int           // bytes of a result that are kept to be read later; default 10 MiB
}

// Caching says whether the results of a tool are kept. Only results that are OK are. The zero value keeps none.
type Caching struct {
	TTL time.Duration // how long a result is good; 0: it is not kept
}

// A State says whether a tool is offered to models and may be called.
type State uint8

// The states. In a registry the zero value leaves it to the tool.
const (
	StateDefault  State = iota
	StateEnabled        // offered
	StateAuto           // offered when its rule matches, else hidden
	StateDisabled       // neither offered nor run
)

var stateNames = [...]string{"default", "enabled", "auto", "disabled"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// ParseState returns the state of the given name.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return 0, false
}

// Facts say which arguments of a tool policies have to look at. The strings are names of properties of the
// arguments; that of a path may lead into an object, as options.path does. The zero value says that a tool
// touches no command, file or address that a call could choose.
type Facts struct {
	Command   string // the program; with Arguments it makes an argv
	Arguments string // the list of its arguments
	Argv      string // program and arguments in one list
	Shell     string // text for a shell
	Code      string // text for Program, which gets it as its last argument
	Dir       string // the directory it runs in

	Program []string // that every call runs, with the arguments that stand before Code

	Paths []PathFact
	// the argument, a list of paths, of which each stands for itself: one that is denied is left out, and the others
	// are seen to
	Each  string
	Edits string // text of edits, in a syntax that package edit reads; the files that it names are written
	URLs  []string

	// Every call connects to Sites, whatever its arguments say: scheme, host and port, such as
	// https://api.example.com.
	Sites []string

	// Operation names the argument that says what is done, and Ops what its values mean for the paths that
	// leave Op empty.
	Operation string
	Ops       map[string]policy.Op

	Network  bool // it reaches for the network, whatever the arguments say
	ReadOnly bool // it changes nothing
}

// A PathFact is one argument that is a path, or a list of paths.
type PathFact struct {
	Argument string
	Op       policy.Op // empty: what the tool's Operation says
	OfFile   policy.Op // what is done to a path that is no directory; empty: the same
	Default  string    // the path where the argument is absent; empty: then there is none
	Alias    string    // another argument for the same path
}

// Mode says whether a tool may change anything.
type Mode string

// The modes. The zero value is ro.
const (
	ModeRO Mode = "ro"
	ModeRW Mode = "rw"
)

// A Guard limits a tool, on top of the policy, as its own entry in a configuration or a directory of tools says.
type Guard struct {
	Mode Mode
	// patterns of the targets: paths or commands; empty allows none. Nil: there is no whitelist
	Whitelist        []string
	RequiresApproval bool // a person is asked before every run; without it dangerous operations are refused
	Timeout          time.Duration
	Root             string // relative paths are in it; empty: the workspace

	// AskFor are the uses that a person is asked about: file_read, file_list, file_write, file_delete, command_exec.
	AskFor []string

	DangerousCommands []string // patterns of names of programs
	DangerousPaths    []string // patterns of paths
}

// A Rule says when a tool in state auto is offered: when any of the words stands in the user's last message,
// letters in any case, or always while Always is set. The zero value never matches.
type Rule struct {
	Words  []string
	Always bool
}

// Matches reports whether a tool with this rule is offered to a model that answers text.
func (r Rule) Matches(text string) bool {
	if r.Always {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(r.Words, func(w string) bool {
		return w != "" && strings.Contains(text, strings.ToLower(w))
	})
}
