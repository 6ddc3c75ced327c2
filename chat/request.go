package chat

import (
	"encoding/json"
	"maps"
	"slices"
)

// A Protocol names a wire protocol.
type Protocol string

// The protocols that wield speaks.
const (
	ProtocolOpenAI    Protocol = "openai"
	ProtocolResponses Protocol = "responses"
	ProtocolAnthropic Protocol = "anthropic"
	ProtocolOllama    Protocol = "ollama"
	ProtocolLumo      Protocol = "lumo"
	ProtocolGemini    Protocol = "gemini"
	ProtocolMCP       Protocol = "mcp" // of parts of results
)

// NoLimit turns a limit off, in the options of every package of wield. Zero is the default of a limit.
const NoLimit = -1

// A Tool is the definition of a tool as a client offers it.
type Tool struct {
	Name        string
	Description string
	// JSON Schema of the arguments object; nil: none was given, which means that anything goes
	Parameters json.RawMessage
	Strict     *bool   // the client's wish for constrained output; nil: not said
	Opaque     []Extra // parts of the protocol that only a backend of the same protocol understands (cache marks)

	// Raw is the tool as its protocol has it, where that is no plain function. A backend of the same protocol gets it
	// as it stands; the fields above are what all others can use.
	Raw      json.RawMessage
	Protocol Protocol // of Raw

	// Grammar describes the text that a tool takes in the place of arguments, in the notation Syntax: lark or regex.
	// Empty: any text, or the tool takes arguments.
	Grammar, Syntax string

	// Hosted says that the protocol's own server runs the tool, so that no other can offer it.
	Hosted Hosting
	// Members are what other servers can offer in its place: the client runs them.
	Members []Tool
	// Deferred says that the prompt does not describe the tool, since the conversation does. It can be called like
	// any other.
	Deferred bool
	// Hidden says that the model is not shown the tool at all. A call of it counts nevertheless.
	Hidden bool
}

// Hosting says what becomes of a tool that only its protocol's own server can run, where another server answers.
type Hosting uint8

// The ways. The zero value is a tool that the client runs.
const (
	HostedNot      Hosting = iota
	HostedOptional         // it is left out, with a note
	HostedRequired         // the request is refused
)

// ChoiceMode says whether a model may, must or must not call.
type ChoiceMode uint8

// The modes. The zero value leaves the choice to the model.
const (
	ChoiceAuto ChoiceMode = iota
	ChoiceNone
	ChoiceRequired
	ChoiceNamed // exactly the tool in Choice.Name
)

// String returns the mode's name.
func (m ChoiceMode) String() string { return nameOf(choiceNames[:], int(m)) }

var choiceNames = [...]string{"auto", "none", "required", "named"}

// A Choice restricts which tools a model may call.
type Choice struct {
	Mode    ChoiceMode
	Name    string   // ChoiceNamed
	Allowed []string // if not empty, only these of the tools offered; goes with ChoiceAuto and ChoiceRequired
	// Read goes with ChoiceNone: a call that the model writes all the same is read as a call, for who asked
	// to refuse it, and does not stand in the answer as text. No protocol carries it.
	Read bool
}

// Allows returns what reports whether Allowed lets a tool of a name be called.
func (c *Choice) Allows() func(name string) bool {
	if len(c.Allowed) == 0 {
		return func(string) bool { return true }
	}
	allowed := make(map[string]bool, len(c.Allowed))
	for _, name := range c.Allowed {
		allowed[name] = true
	}
	return func(name string) bool { return allowed[name] }
}

// FormatKind says what shape the answer's text must have.
type FormatKind uint8

// The formats.
const (
	FormatText FormatKind = iota
	FormatJSON
	FormatSchema
	FormatGrammar // no client asks for it: a bridge holds its backend to calls with it
)

// A Format is the shape that the client wants the answer in.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	// with FormatSchema; with FormatJSON one that is said beside it, for servers that know no other place
	Schema  json.RawMessage
	Grammar string // with FormatGrammar, in the language of the backend
	Strict  *bool
}

// An Extra is a piece of a request that wield does not understand, raw. It is forwarded only to a backend of the same
// protocol, and only if that backend's configuration lists its key.
type Extra struct {
	Protocol Protocol        `json:"protocol,omitempty"`
	Key      string          `json:"key"`
	Value    json.RawMessage `json:"value,omitempty"`
}

// Remembers reports whether an Extra of a tool or a message is no field of the request that could be lost: it remembers
// how the request was written, or wield itself does what it says.
func (x Extra) Remembers() bool { return remembered[x.Protocol+"."+Protocol(x.Key)] }

var remembered = map[Protocol]bool{
	"anthropic.inside": true, "anthropic.blocks": true, "anthropic.defer_loading": true,
	"anthropic.toolset_name": true,
	"responses.instructions": true, "responses.namespace": true, "responses.additional_tools": true,
	"responses.tool_search_output": true, "responses.item": true, "responses.defer_loading": true,
}

// honoredMembers are objects that are named by their members, and the members that are honored for every backend.
var honoredMembers = map[Protocol][]string{
	"openai.stream_options": {"include_usage", "include_obfuscation"}, "anthropic.output_config": {"format"},
	"ollama.options": nil,
}

// Fields returns the names of the fields that are lost if nobody reads an Extra.
func (x Extra) Fields() (names []string) {
	honored, parted := honoredMembers[x.Protocol+"."+Protocol(x.Key)]
	switch {
	case parted:
		var members map[string]json.RawMessage
		json.Unmarshal(x.Value, &members)
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if !slices.Contains(honored, key) {
				names = append(names, x.Key+"."+key)
			}
		}
	case x.Protocol == ProtocolResponses && x.Key == "namespace":
		var space struct{ Description string }
		if json.Unmarshal(x.Value, &space); space.Description != "" {
			names = append(names, "namespace.description")
		}
	case x.Protocol == ProtocolAnthropic && x.Key == "blocks":
		var blocks []any
		json.Unmarshal(x.Value, &blocks)
		for _, b := range blocks {
			more, _ := b.(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(more)) {
				if key != "toolset_name" { // the name of the call holds it
					names = append(names, "content."+key)
				}
			}
		}
	case !x.Remembers():
		names = append(names, x.Key)
	}
	return names
}

// A Trace is the place of a request in a trace: the headers traceparent and tracestate of W3C Trace Context. The zero
// value is none.
type Trace struct {
	Parent string
	State  string
}

// A Request asks a model to go on with a conversation. A Model must not change it, nor anything it points to.
type Request struct {
	Model    string
	Messages []Message
	Tools    []Tool

	// Prompt is the whole prompt as text, as the model's chat template writes it; empty: the server writes it. A
	// backend that completes text sends it in place of Messages and Tools. The others refuse it.
	Prompt string

	Choice   Choice
	Parallel *bool // whether several calls a turn are welcome; nil: not said

	Format    *Format
	Stop      []string
	MaxTokens int // 0: not said

	// MaxCompletion says that the client bounds reasoning and answer together: MaxTokens came under OpenAI's newer name
	// max_completion_tokens, which some servers insist on and others do not know.
	MaxCompletion bool

	Temperature *float64
	TopP        *float64
	Seed        *int64
	Effort      string // reasoning effort in the words of the protocol; empty: not said
	LogProbs    bool
	TopLogProbs int
	User        string

	// Conversation is the id of the conversation that this request continues, where it is known: for
	// backends that keep conversations themselves.
	Conversation string

	// Caller names the sender, as a service knows them: the name of a key. It is sent to no backend.
	Caller string

	// Trace says which trace the request belongs to. Backends over HTTP are sent it.
	Trace Trace

	Stream bool // the client reads the answer as it is written

	// Attempts says that whoever asks answers a call that cannot be used with an error, as an agent does: it
	// stands in a Rejected event and not in the text, and the answer is not asked for again because of it. No
	// protocol carries it.
	Attempts bool

	// InReasoning says that the prompt ends inside a reasoning block, so that the answer begins in one.
	InReasoning bool

	Extra []Extra

	// Unread names the fields inside others that the front has no use for, such as messages.content.annotations. No
	// backend is sent them.
	Unread []string
}

// Callable returns the tools that calls can name: in place of a set its members.
func (r *Request) Callable() []Tool {
	if !slices.ContainsFunc(r.Tools, func(t Tool) bool { return len(t.Members) > 0 }) {
		return r.Tools
	}
	var list []Tool
	for _, t := range r.Tools {
		if len(t.Members) == 0 {
			list = append(list, t)
		}
		list = append(list, t.Members...)
	}
	return list
}

// Tool returns the definition named name, or nil.
func (r *Request) Tool(name string) *Tool {
	for i := range r.Tools {
		if r.Tools[i].Name == name {
			return &r.Tools[i]
		}
	}
	return nil
}
