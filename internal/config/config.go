// Package config reads wield's configuration file, checks all of it, and composes the models that it describes.
//
// Words:
//
//   - A key's path is its name with those of what it stands in, joined by points: models.coder.bounce.max. The items of a
//     list are counted from 0: keys[0].role.
//   - A layer gives values: the defaults, the file, the environment, the flags; each wins over the one before. Maps are
//     merged key by key, lists are replaced as a whole.
//   - A problem is one thing that is wrong in a file, with its place. A warning is a problem that does not keep wield from
//     running: a key whose feature is not built yet, for example.
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

// Version is what the key wield must say in a file of this format.
const Version = "config/v1"

// A Config is the whole file. Start from Default.
type Config struct {
	Wield    string             `key:"wield" required:"true" enum:"config/v1" doc:"Version of the format: config/v1."`
	Listen   Address            `key:"listen" doc:"Address that serve listens on, as host:port. Port 0 takes a free one."`
	Hosts    []string           `key:"hosts" doc:"Names, beside IP addresses and localhost, by which clients may address the service; * is any."`
	Origins  []Origin           `key:"origins" doc:"Web origins, such as https://app.example, whose pages may call the service; * is any."`
	Data     string             `key:"data" doc:"Directory for what wield keeps. Empty: wield under XDG_STATE_HOME."`
	TLS      TLS                `key:"tls" doc:"Certificate of the service. Without one it speaks plain HTTP."`
	Timeouts Timeouts           `key:"timeouts" doc:"How long to wait for what."`
	Limits   Limits             `key:"limits" doc:"Bounds on what a client may send."`
	Keys     []Key              `key:"keys" doc:"Keys that clients must show. Without any, every client is served."`
	Backends map[string]Backend `key:"backends" doc:"Servers that run models, by a name of your choice."`
	Models   map[string]Model   `key:"models" doc:"Models on offer, by the name that clients use."`
	Modules  map[string]Module  `key:"modules" doc:"Modules, which change texts on their way to models and back, by name."`
	Profiles map[string]Profile `key:"profiles" doc:"Profiles of model families, by name: your own, and changes to built-in ones."`
	Tools    Tools              `key:"tools" doc:"Tools that wield itself runs."`
	MCP      MCP                `key:"mcp" doc:"Servers of the Model Context Protocol."`
	Prices   map[string]Price   `key:"prices" doc:"What models cost, by their name here or at the server; * stands for any characters."`
	Policies map[string]Policy  `key:"policies" doc:"Rules that allow, ask about or deny calls, by name."`
	Sandbox  Sandbox            `key:"sandbox" doc:"What the processes of tools may do."`
	Capture  Capture            `key:"capture" doc:"What is kept of the traffic, to look at later."`
	Log      Log                `key:"log" doc:"What the log may hold."`
	Journal  Journal            `key:"journal" doc:"The record of runs."`
	Stats    Stats              `key:"stats" doc:"The numbers of calls and answers."`
	Webhooks []Webhook          `key:"webhooks" doc:"Services that are told what happens to runs."`
	Trace    Trace              `key:"trace" doc:"Traces of requests, for OpenTelemetry."`
}

// Timeouts bound the parts of a request and of its answer.
type Timeouts struct {
	Connect   Duration `key:"connect" min:"1ms" doc:"For a connection to a backend."`
	FirstByte Duration `key:"first_byte" min:"1ms" doc:"From a request to the first byte of the backend's answer."`
	Idle      Duration `key:"idle" min:"1ms" doc:"Between two pieces of an answer."`
	Drain     Duration `key:"drain" doc:"For answers under way when wield is asked to end."`
	Tool      Duration `key:"tool" min:"1s" doc:"For one run of a tool."`
	Approval  Duration `key:"approval" min:"1s" doc:"Until a question to a person lapses."`
}

// Limits bound what a client may send.
type Limits struct {
	Body Size `key:"body" min:"1KiB" max:"1GiB" doc:"Size of a request's body."`
}

// A Key lets a client in.
type Key struct {
	Name   string    `key:"name" required:"true" doc:"Who holds the key; stands in the log."`
	Secret KeySecret `key:"secret" required:"true" doc:"The key itself as env:NAME or file:PATH, or its hash; see wield config key."`
	Role   string    `key:"role" enum:"client|approver|admin" doc:"What its holder may do."`
	Models []Glob    `key:"models" doc:"Models it may use, * standing for any characters. Empty: all."`
	Tools  []string  `key:"tools" doc:"Tools that it may call by MCP, * standing for any characters. Empty: all that are offered."`
	Limits KeyLimits `key:"limits" doc:"How much it may ask."`
}

// KeyLimits bound the use of one key. 0 means no limit.
type KeyLimits struct {
	RPM        int `key:"rpm" min:"0" doc:"Requests a minute; 0: no limit."`
	Concurrent int `key:"concurrent" min:"0" doc:"Requests at a time; 0: no limit."`
}

// A Backend is a server that runs models.
type Backend struct {
	Kind       string           `key:"kind" enum:"openai|responses|script|anthropic|ollama|lumo|browser" doc:"Protocol that it speaks. script answers from scenario files, in process; browser is a model behind a web page."`
	URL        URL              `key:"url" doc:"Base address, such as http://127.0.0.1:11434/v1."`
	Key        Secret           `key:"key" doc:"Key that the backend asks for, as env:NAME or file:PATH."`
	Headers    map[string]Value `key:"headers" doc:"Headers to send along. Those that carry secrets as env:NAME or file:PATH."`
	Scenario   string           `key:"scenario" doc:"Scenario file, directory of them, or name of a built-in one (kind script)."`
	Concurrent int              `key:"concurrent" min:"0" doc:"Requests at a time; 0: no limit."`
	Queue      int              `key:"queue" min:"0" doc:"Requests that may wait for their turn."`
	Retry      Retry            `key:"retry" doc:"What to do when a request fails before the first byte of an answer."`
	Constrain  string           `key:"constrain" enum:"auto|none|openai|vllm|sglang|llamacpp|ollama" doc:"How it is held to the form of an answer: to calls of the tools on offer, to the client's response_format. none: not at all. auto: by its kind, as long as it does not refuse."`
	CallIDs    string           `key:"call_ids" enum:"any|nine" doc:"Which ids of calls a server of kind openai takes. nine: only those of nine letters and digits, as Mistral's servers."`
	Forward    []string         `key:"forward" doc:"Names of request fields unknown to wield that are passed on."`
	Lumo       Lumo             `key:"lumo" doc:"What is particular to Lumo (kind lumo)."`
	Browser    Browser          `key:"browser" doc:"The page that a model is behind, and the browser that shows it (kind browser)."`
}

// Retry says how often to try.
type Retry struct {
	Attempts int `key:"attempts" min:"1" max:"10" doc:"Tries in all; 1: no second one."`
}

// A Model is one name that clients can ask for.
type Model struct {
	Backend          string       `key:"backend" required:"true" doc:"Name of the backend that runs it."`
	Model            string       `key:"model" doc:"Its name there. Empty: the same as here."`
	Mode             string       `key:"mode" enum:"text|native|auto" doc:"Whether tools go through the prompt (text) or the backend's function calling (native). auto: native until the backend refuses; that is remembered for an hour."`
	Probe            bool         `key:"probe" doc:"With mode auto: ask the model for one call before it gets tools, and use text if it makes none."`
	Profile          string       `key:"profile" doc:"Profile of the model's family, built-in or of profiles; see wield dialect profile. auto: found by the model's name. none: no profile."`
	Dialect          Dialect      `key:"dialect" doc:"Dialect that the model is told and that has priority when its text is read; see wield dialect list. auto: as the profile says."`
	ResponseTemplate string       `key:"response_template" doc:"File with a response_template, such as the model's tokenizer_config.json: its answers are read as that says; see wield dialect import."`
	Repair           string       `key:"repair" enum:"off|safe|full" doc:"How much of a broken call may be repaired."`
	Release          string       `key:"release" enum:"auto|checked|eager" doc:"When a call is passed on: once it is checked, or while it is being written. auto: checked up to 1 KiB."`
	Bounce           Bounce       `key:"bounce" doc:"Second chances for calls that cannot be used."`
	Calls            Calls        `key:"calls" doc:"How tools are called."`
	CustomTools      CustomTools  `key:"customTools" doc:"The same as calls.enabled and calls.prefix, as lumo-tamer names them."`
	Reasoning        bool         `key:"surfaceThinking" doc:"Whether the client sees the model's reasoning."`
	Native           Native       `key:"native" doc:"What becomes of tools that the backend itself runs."`
	Expose           string       `key:"expose" enum:"openai|tool_request" doc:"How calls reach the client: in the protocol's own form, or as text (tool_request)."`
	Talk             Talk         `key:"conversations" doc:"Which requests belong together."`
	Commands         Commands     `key:"commands" doc:"Commands that a user can write in place of a question."`
	Fallback         []string     `key:"fallback" doc:"Models to try, in this order, when this one fails before it answers."`
	Instructions     Instructions `key:"instructions" doc:"Texts that the model is given."`
	Agent            Agent        `key:"agent" doc:"Tools that wield runs for this model."`
	MCP              []string     `key:"mcp" doc:"MCP servers, under mcp.servers or NAME.mcp.yaml in tools.dirs, whose tools wield gives the model and runs, beside those that a client brings; * is each of them."`
}

// Bounce says when a model is asked again.
type Bounce struct {
	Max int      `key:"max" min:"0" max:"10" doc:"Corrective requests at most; 0: none."`
	On  []string `key:"on" enum:"confused|unknown_tool|invalid|malformed" doc:"Reasons for one."`
}

// Calls bounds and names calls.
type Calls struct {
	Enabled    bool   `key:"enabled" doc:"Whether tools of clients are used. false: they are left out of the request without a word."`
	IDs        string `key:"ids" enum:"random|named" doc:"Ids of calls. named: the name of the tool, two underscores and 24 hexadecimal digits, so that a result shows whose it is."`
	MaxPerTurn int    `key:"max_per_turn" min:"0" doc:"Calls in one answer; 0: no limit. With 1 the prompt says so."`
	Prefix     string `key:"prefix" doc:"In front of every tool's name towards the model, such as user:, which it is for backends of kind lumo if nothing is said here."`
}

// Instructions are the texts around the tools. Their keys are named as in lumo-tamer's configuration.
type Instructions struct {
	Template        string    `key:"template" doc:"The whole text, with {{tools}}, {{clientInstructions}}, {{forTools}}, {{fallback}}, {{prefix}} and {{#if x}}..{{else}}..{{/if}}. Empty: the built-in one."`
	ForTools        string    `key:"forTools" doc:"What stands before the definitions of the tools. Empty: the built-in text of the dialect."`
	ForToolBounce   string    `key:"forToolBounce" doc:"Answer to a call through the wrong channel; {toolCall} stands for the call, which is otherwise appended."`
	Fallback        string    `key:"fallback" doc:"Instructions for when the client sends none."`
	InjectInto      string    `key:"injectInto" enum:"system|first|last" doc:"Where the instructions go: into a system message, or in brackets in front of the first or last message of the user, for backends that take no system message. For backends of kinds lumo and browser it is first if nothing is said here."`
	ReplacePatterns []Replace `key:"replacePatterns" doc:"Replacements in the client's instructions."`
}

// Replace replaces what a pattern matches.
type Replace struct {
	Pattern     string `key:"pattern" required:"true" doc:"Regular expression (RE2), upper and lower case alike."`
	Replacement string `key:"replacement" doc:"What to put in its place; empty: nothing."`
}

// Agent describes the loop that wield runs for a model.
type Agent struct {
	Tools      []string       `key:"tools" doc:"Names of tools."`
	Policy     string         `key:"policy" doc:"Name of the policy that decides about calls."`
	Limits     AgentLimits    `key:"limits" doc:"When a run ends."`
	Modules    []string       `key:"modules" doc:"Names of modules that see every message and every answer, whether wield runs tools for the model or not."`
	Activity   string         `key:"activity" enum:"hidden|reasoning|items" doc:"What the client sees of the calls that wield runs."`
	Collisions string         `key:"collisions" enum:"error|client|server" doc:"Whose tool wins when both sides have one of the same name."`
	Context    AgentContext   `key:"context" doc:"What the model is sent of a long conversation."`
	Approvals  AgentApprovals `key:"approvals" doc:"How a request deals with questions to a person."`
}

// Runs reports whether wield runs tools for the model.
func (m *Model) Runs() bool { return len(m.Agent.Tools)+len(m.MCP) > 0 }

// AgentLimits bound one run.
type AgentLimits struct {
	Iterations int      `key:"iterations" min:"1" doc:"Requests to the model."`
	Calls      int      `key:"calls" min:"1" doc:"Calls in all."`
	PerTool    int      `key:"per_tool" min:"1" doc:"Calls of one tool."`
	Time       Duration `key:"time" doc:"Time that it takes, without the time in which it waits for a person; 0s: any."`
	Tokens     int      `key:"tokens" min:"0" doc:"Tokens read and written, as the server counts them; 0: any number."`
	Cost       Amount   `key:"cost" doc:"What it costs by the table prices; 0: anything. Without a price for the model it has no effect."`
}

// AgentApprovals says how a request deals with questions to a person.
type AgentApprovals struct {
	Hold Duration `key:"hold" doc:"How long an answer is held open for a person to decide."`
}

// Sandbox says what the processes of tools may do.
type Sandbox struct {
	Level string `key:"level" enum:"none|limits|workspace|strict" doc:"How tightly they are held."`
}

// Capture says what is kept of the gateway's traffic.
type Capture struct {
	Requests string `key:"requests" enum:"auto|off|memory|disk" doc:"Where the last requests and answers are kept. auto: in memory if the service is local, else nowhere."`
	Keep     int    `key:"keep" min:"1" doc:"How many of the last ones."`
}

// Log says what the log may hold.
type Log struct {
	Content bool `key:"content" doc:"Whether requests and answers go into the log, with what looks like a secret masked."`
}

// Default returns the configuration that an empty file stands for.
func Default() *Config {
	return &Config{
		Wield:  Version,
		Listen: "127.0.0.1:8420",
		Timeouts: Timeouts{
			Connect:   Duration(10 * time.Second),
			FirstByte: Duration(10 * time.Minute),
			Idle:      Duration(2 * time.Minute),
			Drain:     Duration(30 * time.Second),
			Tool:      Duration(60 * time.Second),
			Approval:  Duration(24 * time.Hour),
		},
		Limits:  Limits{Body: 32 << 20},
		Tools:   Tools{Local: defaultLocal()},
		Sandbox: Sandbox{Level: "workspace"},
		Capture: Capture{Requests: "auto", Keep: 500},
		Journal: Journal{Store: "sqlite", Mask: true},
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
