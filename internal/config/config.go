// Package config reads wield's configuration file, checks all of it, and composes the models that it describes.
//
// Words:
//
//   - A key's path is its name with those of what it stands in, joined by points: models.coder.bounce.max. The items of
//     a list are counted from 0: keys[0].role.
//   - A layer gives values: the defaults, the file, the environment, the flags; each wins over the one before. Maps are
//     merged key by key, lists are replaced as a whole.
//   - A problem is one thing that is wrong in a file, with its place. A warning is a problem that does not keep wield
//     from running: a key whose feature is not built yet, for example.
//   - A secret stands in the file only as a reference to where it is: env:NAME or file:PATH. It is looked up when it is
//     needed and never printed.
//
// The structs below are the file: their tags name each key, say in words what it means, and bound its values.
// The reader, the JSON Schema and the environment's names are all derived from them.
package config

import (
	"maps"
	"slices"
	"time"
)

// Version is the value of the key wield in a file of this format.
const Version = "config/v1"

// A Config is the whole file. Start from Default.
type Config struct {
	Wield string `key:"wield" required:"true" enum:"config/v1" doc:"Version of the format: config/v1."`
	Endpoint
	Data     string             `key:"data" doc:"Data directory. Empty: wield under XDG_STATE_HOME."`
	TLS      TLS                `key:"tls" doc:"Certificate of the service. Without one it speaks plain HTTP."`
	Timeouts Timeouts           `key:"timeouts" doc:"Timeouts."`
	Limits   RequestLimits      `key:"limits" doc:"Limits of requests."`
	Keys     []Key              `key:"keys" doc:"API keys of clients. Without any, every client is served."`
	Backends map[string]Backend `key:"backends" doc:"Model servers by name."`
	Models   map[string]Model   `key:"models" doc:"Models by the name that clients use."`
	Modules  map[string]Module  `key:"modules" doc:"Modules, which process requests and responses, by name."`
	Profiles map[string]Profile `key:"profiles" doc:"Profiles of model families, by name: your own, and changes to built-in ones."`
	Tools    Tools              `key:"tools" doc:"Tools that wield itself runs."`
	MCP      MCP                `key:"mcp" doc:"Servers of the Model Context Protocol."`
	Workers  Workers            `key:"workers" doc:"Workers that this service accepts."`
	Worker   Worker             `key:"worker" doc:"What wield worker offers to a service."`
	Cluster  Cluster            `key:"cluster" doc:"Other services that this one works with, on one PostgreSQL journal."`
	Prices   map[string]Price   `key:"prices" doc:"Prices by model name, here or at the backend; * is a wildcard."`
	Policies map[string]Policy  `key:"policies" doc:"Rules that allow, ask about or deny calls, by name."`
	Sandbox  Sandbox            `key:"sandbox" doc:"Sandbox of tool processes."`
	Capture  Capture            `key:"capture" doc:"Recent exchanges, kept for inspection."`
	Log      Log                `key:"log" doc:"Logging."`
	Journal  Journal            `key:"journal" doc:"Journal of runs."`
	Stats    Stats              `key:"stats" doc:"Usage statistics."`
	Webhooks []Webhook          `key:"webhooks" doc:"Webhooks about runs."`
	Trace    Trace              `key:"trace" doc:"OpenTelemetry traces."`
}

// An Endpoint tells where the service listens, and under which names it is reached.
type Endpoint struct {
	Listen  Address  `key:"listen" doc:"Address of the service, as host:port. Port 0 picks a free one."`
	Hosts   []string `key:"hosts" doc:"Host names that clients may use, besides IP addresses and localhost; * is any."`
	Origins []Origin `key:"origins" doc:"Web origins whose pages may call the service, such as https://app.example; * is any."`
}

// Timeouts bound the parts of a request and of its answer.
type Timeouts struct {
	Connect   Duration `key:"connect" min:"1ms" doc:"To connect to a backend."`
	FirstByte Duration `key:"first_byte" min:"1ms" doc:"For the first byte of a response."`
	Idle      Duration `key:"idle" min:"1ms" doc:"Between two chunks of a response."`
	Drain     Duration `key:"drain" doc:"For responses in progress at shutdown."`
	Leave     Duration `key:"leave" doc:"Before drain: new requests are still accepted while /health returns 503, so that load balancers notice."`
	Tool      Duration `key:"tool" min:"1s" doc:"For one call of a tool."`
	Approval  Duration `key:"approval" min:"1s" doc:"For a person to decide on an approval."`
}

// RequestLimits bound what a client may send.
type RequestLimits struct {
	Body Size `key:"body" min:"1KiB" max:"1GiB" doc:"Size of a request body."`
}

// A Key lets a client in.
type Key struct {
	Name   string    `key:"name" required:"true" doc:"Owner of the key, as logged."`
	Secret KeySecret `key:"secret" required:"true" doc:"The key, as env:NAME or file:PATH, or its hash from wield config key."`
	Role   string    `key:"role" enum:"client|approver|admin|worker" doc:"Role of the owner."`
	Models []Glob    `key:"models" doc:"Models it may use; * is a wildcard. Empty: all."`
	Tools  []string  `key:"tools" names:"tools" doc:"Tools it may call at /mcp, or of MCP servers that its requests name; * is a wildcard. Empty: all."`
	Limits KeyLimits `key:"limits" doc:"Rate limits."`
}

// KeyLimits bound the use of one key. 0 means no limit.
type KeyLimits struct {
	RPM        int `key:"rpm" min:"0" doc:"Requests a minute; 0: no limit."`
	Concurrent int `key:"concurrent" min:"0" doc:"Concurrent requests; 0: no limit."`
}

// A Backend is a server that runs models.
type Backend struct {
	Kind       string           `key:"kind" enum:"openai|responses|script|anthropic|ollama|lumo|browser" doc:"Protocol of the server."`
	URL        URL              `key:"url" doc:"Base address, such as http://127.0.0.1:11434/v1."`
	Key        Secret           `key:"key" doc:"API key, as env:NAME or file:PATH."`
	Headers    map[string]Value `key:"headers" doc:"Additional headers; secrets as env:NAME or file:PATH."`
	Scenario   string           `key:"scenario" doc:"Scenario file, directory of such files, or built-in scenario (kind script)."`
	Concurrent int              `key:"concurrent" min:"0" doc:"Concurrent requests; 0: no limit."`
	Queue      int              `key:"queue" min:"0" doc:"Requests that may queue."`
	Retry      Retry            `key:"retry" doc:"Retries of requests that fail before the first byte."`
	Constrain  string           `key:"constrain" enum:"auto|none|openai|vllm|sglang|llamacpp|ollama" doc:"How structured output and calls are enforced. auto: by the backend's kind."`
	CallIDs    string           `key:"call_ids" enum:"any|nine" doc:"Call ids the server accepts. nine: nine letters and digits, as Mistral's servers require."`
	Forward    []string         `key:"forward" doc:"Unknown request fields to pass on."`
	Lumo       Lumo             `key:"lumo" doc:"Options of kind lumo."`
	Browser    Browser          `key:"browser" doc:"Options of kind browser."`
}

// Retry says how often to try.
type Retry struct {
	Attempts int `key:"attempts" min:"1" max:"10" doc:"Attempts in total; 1: no retry."`
}

// A Model is one name that clients can ask for.
type Model struct {
	Backend string `key:"backend" required:"true" doc:"Backend that runs it."`
	Model   string `key:"model" doc:"Its name at the backend. Empty: the same name."`
	Mode    string `key:"mode" enum:"text|native|template|auto" doc:"How tools reach the model: text (prompt), native (function calling), template (wield renders the model's chat template), or auto (native until the backend refuses)."`
	Probe   bool   `key:"probe" doc:"With auto: test function calling once before tools are sent."`
	Family
	Repair       string       `key:"repair" enum:"off|safe|full" doc:"How far broken calls are repaired."`
	Release      string       `key:"release" enum:"auto|checked|eager" doc:"When a call is sent on: once checked, or while it is written (eager). auto: checked up to 1 KiB."`
	StrictFormat bool         `key:"strict_format" doc:"Fail instead of sending text that lacks the requested format. Streams are sent as text."`
	Bounce       Bounce       `key:"bounce" doc:"Retries of unusable calls."`
	Calls        Calls        `key:"calls" doc:"How tools are called."`
	CustomTools  CustomTools  `key:"customTools" doc:"lumo-tamer's names of calls.enabled and calls.prefix."`
	Reasoning    bool         `key:"surfaceThinking" doc:"Send reasoning to the client."`
	Native       Native       `key:"native" doc:"Tools that the backend runs itself."`
	Expose       string       `key:"expose" enum:"openai|tool_request" doc:"How calls reach the client: as tool calls, or as text (tool_request)."`
	Talk         Talk         `key:"conversations" doc:"Which requests belong together."`
	Commands     Commands     `key:"commands" doc:"Commands in user messages."`
	ToolSearch   int          `key:"tool_search" doc:"Number of tools above which the model searches instead of reading all. 0: never."`
	ServerTools  ServerTools  `key:"server_tools" doc:"wield's tools that carry out server tools of the protocols, such as web_search_20250305."`
	FirstChoice  bool         `key:"first_choice" doc:"Before tools are offered, ask the model whether to answer or which tool to call. For small models."`
	Images       bool         `key:"images" doc:"Show the model images in tool results. false: describe them."`
	Fallback     []string     `key:"fallback" doc:"Models to try in order when this one fails before it responds."`
	Instructions Instructions `key:"instructions" doc:"Texts that the model is given."`
	Agent        Agent        `key:"agent" doc:"Tools that wield runs for this model."`
	MCP          []string     `key:"mcp" doc:"MCP servers whose tools the model gets; * is all."`
	Workers      []string     `key:"workers" doc:"Pools of workers whose tools the model gets; * is all."`
}

// Family says how models of one family write calls and conversations.
type Family struct {
	Profile          string  `key:"profile" doc:"Profile of the model family; see wield dialect profile. auto: by the model's name, else its chat template."`
	Dialect          Dialect `key:"dialect" doc:"Dialect to teach and prefer; see wield dialect list. auto: from the profile."`
	ChatTemplate     string  `key:"chat_template" doc:"For mode template: file with the chat template, such as tokenizer_config.json. Empty: ask the server (llama.cpp, Ollama)."`
	ResponseTemplate string  `key:"response_template" doc:"File with a response_template, such as tokenizer_config.json; see wield dialect import."`
}

// Bounce says when a model is asked again.
type Bounce struct {
	Max int      `key:"max" min:"0" max:"10" doc:"Retries at most; 0: none."`
	On  []string `key:"on" enum:"confused|unknown_tool|invalid|malformed" doc:"Reasons for one; confused: misrouted."`
}

// Calls bounds and names calls.
type Calls struct {
	Enabled    bool   `key:"enabled" doc:"Use the client's tools. false: drop them from requests."`
	IDs        string `key:"ids" enum:"random|named" doc:"Call ids. named: TOOL__ and 24 hexadecimal digits."`
	MaxPerTurn int    `key:"max_per_turn" min:"0" doc:"Calls in one response; 0: no limit."`
	Prefix     string `key:"prefix" doc:"Prefix of tool names towards the model. Kind lumo: user:."`
}

// Instructions are the texts around the tools. Their keys are named as in lumo-tamer's configuration.
type Instructions struct {
	Template        string    `key:"template" doc:"Template of all instructions. Empty: the built-in one."`
	ForTools        string    `key:"forTools" doc:"Text before the tool definitions. Empty: that of the dialect."`
	ForToolBounce   string    `key:"forToolBounce" doc:"Reply to a call through the wrong channel; {toolCall} is the call."`
	Fallback        string    `key:"fallback" doc:"Instructions when the client sends none."`
	InjectInto      string    `key:"injectInto" enum:"system|first|last" doc:"Where instructions go: the system message, or the first or last user message. Kinds lumo and browser: first."`
	ReplacePatterns []Replace `key:"replacePatterns" doc:"Replacements in the client's instructions."`
}

// Replace replaces what a pattern matches.
type Replace struct {
	Pattern     string `key:"pattern" required:"true" doc:"Regular expression (RE2), case-insensitive."`
	Replacement string `key:"replacement" doc:"Replacement text."`
}

// Agent describes the loop that wield runs for a model.
type Agent struct {
	Tools      []string       `key:"tools" names:"tools" doc:"Names of tools."`
	Policy     string         `key:"policy" doc:"Policy that decides on calls."`
	Limits     AgentLimits    `key:"limits" doc:"When a run ends."`
	Modules    []string       `key:"modules" doc:"Modules that process every message and response."`
	Activity   string         `key:"activity" enum:"hidden|reasoning|items" doc:"What clients see of wield's calls."`
	Collisions string         `key:"collisions" enum:"error|client|server" doc:"Whose tool wins if client and wield offer the same name."`
	Context    AgentContext   `key:"context" doc:"How long conversations are shortened."`
	Approvals  AgentApprovals `key:"approvals" doc:"How requests wait for approvals."`
}

// ServerTools name the tools that carry out what servers of the protocols run themselves.
type ServerTools struct {
	WebSearch     string `key:"web_search" doc:"Tool that searches the web. Empty: such tools are refused."`
	WebFetch      string `key:"web_fetch" doc:"Tool that fetches a page."`
	CodeExecution string `key:"code_execution" doc:"Tool that runs code."`

	MCPServers []string `key:"mcp_servers" doc:"Servers of mcp.servers that requests may name; * is all."`
	MCPHosts   []string `key:"mcp_hosts" doc:"Hosts of other MCP servers that requests may name, as in policies; * is any public one."`
}

// Names returns the tools that are named.
func (s *ServerTools) Names() (list []string) {
	for _, name := range []string{s.WebSearch, s.WebFetch, s.CodeExecution} {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}

// Connects reports whether requests may name MCP servers.
func (s *ServerTools) Connects() bool { return len(s.MCPServers)+len(s.MCPHosts) > 0 }

// Runs reports whether wield runs tools for the model.
func (m *Model) Runs() bool { return len(m.Agent.Tools)+len(m.MCP)+len(m.Workers) > 0 }

// AgentLimits bound one run.
type AgentLimits struct {
	Iterations int      `key:"iterations" min:"1" doc:"Requests to the model."`
	Calls      int      `key:"calls" min:"1" doc:"Calls in all."`
	PerTool    int      `key:"per_tool" min:"1" doc:"Calls of one tool."`
	Time       Duration `key:"time" doc:"Run time, not counting approvals; 0s: no limit."`
	Tokens     int      `key:"tokens" min:"0" doc:"Tokens, as reported by the backend; 0: no limit."`
	Cost       Amount   `key:"cost" doc:"Cost according to prices; 0: no limit."`
}

// AgentApprovals says how a request deals with questions to a person.
type AgentApprovals struct {
	Hold Duration `key:"hold" doc:"How long a response is held open for a decision."`
}

// Sandbox says what the processes of tools may do.
type Sandbox struct {
	Level string `key:"level" enum:"none|limits|workspace|strict" doc:"Isolation of tool processes."`
}

// Capture says what is kept of the gateway's traffic.
type Capture struct {
	Requests string `key:"requests" enum:"auto|off|memory|disk" doc:"Where to keep recent exchanges. auto: in memory if the service is local, else off."`
	Keep     int    `key:"keep" min:"1" doc:"How many."`
}

// Log says what the log may hold.
type Log struct {
	Content bool `key:"content" doc:"Log requests and responses, secrets masked."`
}

// Default returns the configuration that an empty file stands for.
func Default() *Config {
	return &Config{
		Wield:    Version,
		Endpoint: Endpoint{Listen: "127.0.0.1:8420"},
		Timeouts: Timeouts{
			Connect:   Duration(10 * time.Second),
			FirstByte: Duration(10 * time.Minute),
			Idle:      Duration(2 * time.Minute),
			Drain:     Duration(30 * time.Second),
			Tool:      Duration(60 * time.Second),
			Approval:  Duration(24 * time.Hour),
		},
		Limits:  RequestLimits{Body: 32 << 20},
		Tools:   Tools{Local: defaultLocal()},
		Sandbox: Sandbox{Level: "workspace"},
		Capture: Capture{Requests: "auto", Keep: 500},
		Journal: Journal{Store: "sqlite", Mask: true},
		Worker:  defaultWorker(),
		Stats:   Stats{Keep: Duration(400 * 24 * time.Hour)},
	}
}

// The entries of lists and maps begin with these values.

func (k *Key) setDefaults() { k.Role = "client" }

func (b *Backend) setDefaults() {
	b.Kind = "openai"
	b.Concurrent = 4
	b.Queue = 64
	b.Retry.Attempts = 2
	b.Lumo.Version = 2
	b.Browser = defaultBrowser()
	b.Constrain = ConstrainAuto
	b.CallIDs = "any"
}

func (m *Model) setDefaults() {
	m.Mode = "auto"
	m.Profile = "auto"
	m.Dialect = "auto"
	m.Repair = "full"
	m.Release = "auto"
	m.Bounce = Bounce{Max: 1, On: []string{"confused", "unknown_tool", "invalid", "malformed"}}
	m.Images = true
	m.Calls = Calls{Enabled: true, IDs: "random"}
	m.Reasoning = true
	m.Commands.WakeWord = "wield"
	m.Expose = "openai"
	m.Instructions.InjectInto = "system"
	m.Agent.Policy = "default"
	m.Agent.Limits = AgentLimits{Iterations: 10, Calls: 20, PerTool: 10}
	m.Agent.Activity = "hidden"
	m.Agent.Collisions = "error"
	m.Agent.Context.Strategy = contextLeaveOut
}

// DefaultBackend returns a backend as an empty entry of the file would make it.
func DefaultBackend() Backend {
	var b Backend
	b.setDefaults()
	return b
}

// DefaultModel returns a model as an entry of the file that names only its backend would make it.
func DefaultModel(backend string) Model {
	m := Model{Backend: backend}
	m.setDefaults()
	return m
}

// ModelNames returns the names of the models in alphabetical order.
func (c *Config) ModelNames() []string { return slices.Sorted(maps.Keys(c.Models)) }

// The value of backends.NAME.constrain that leaves it to the backend's kind.
const ConstrainAuto = "auto"
