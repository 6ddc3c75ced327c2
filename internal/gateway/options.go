package gateway

import (
	"cmp"
	"log/slog"
	"time"

	"wield/chat"
	"wield/internal/capture"
	"wield/internal/metrics"
	"wield/internal/trace"
	"wield/journal"
)

// Expose says in which form a model is shown to clients.
type Expose uint8

// The forms.
const (
	ExposeOpenAI Expose = iota // calls are tool_calls of the message
	// a call is a tool_request beside an empty message; the gateway keeps the conversation
	ExposeToolRequest
)

// A Model is a chat.Model as clients see it.
type Model struct {
	Name     string // what clients ask for, compared exactly
	Model    chat.Model
	Lasting  Lasting // makes answers in the background that outlive the process; nil: none can
	Expose   Expose
	Match    bool      // requests are recognised as going on with an earlier one by the messages they begin with
	FromUser bool      // the field user of a request names the conversation, where nothing else does
	NeedsKey bool      // it runs tools on the server, so that nobody may use it without a key
	Created  time.Time // zero: when the gateway was made
	OwnedBy  string    // empty: wield

	Annotations bool          // chat completions tell in annotations which tools the backend itself ran
	Relay       Relay         // for what is no conversation; nil: the backend has nothing else
	Backend     string        // that Relay asks; models of one backend share its files and batches
	Upstream    string        // the name that the backend knows, for the Relay; empty: Name
	Speaks      chat.Protocol // of the Relay

	NoTools  bool // tools of requests are left out
	NoImages bool // the model takes no images
	Thinking bool // clients see its reasoning
}

// relays reports whether the backend has more for models than conversations, as embeddings are.
func (m *Model) relays() bool { return m.Relay != nil && m.Speaks != chat.ProtocolAnthropic }

// upstream returns the name that the backend knows.
func (m *Model) upstream() string { return cmp.Or(m.Upstream, m.Name) }

// Options say what a gateway serves, to whom, and within which limits.
type Options struct {
	Models []Model // in the order in which they are listed

	// Keys are those that a client can authenticate with. When there are none, every model that does not need a key
	// is open, and whatever key a client sends is ignored.
	Keys []Key
	// Open leaves models that do not need a key open although there are keys.
	Open bool

	// Hosts are names, beside IP addresses and localhost, by which clients may address the service; "*" is any. A
	// page that points a name of its own at this machine is thereby refused.
	Hosts []string
	// Origins are the web origins, such as https://app.example, whose pages may call the service from a browser; "*"
	// is any.
	Origins []string

	Mounts []Mount // parts of the service that other packages answer

	MaxBody      int64         // bytes of a request; 0: 32 MiB
	BodyTimeout  time.Duration // in which a request's body must have arrived; 0: one minute
	WriteTimeout time.Duration // in which a client must take what is written; 0: 30 seconds
	KeepAlive    time.Duration // silence after which a stream gets a comment; 0: 15 seconds; negative: none

	// keeps responses and conversations of the Responses protocol; nil: they are kept in memory, and not for long
	Journal journal.Store
	Metrics *metrics.Metrics // what /metrics shows; nil: nothing is counted
	Capture *capture.Ring    // keeps what is said, for /admin/captures; nil: nothing is kept
	Trace   *trace.Tracer    // sends spans of what happens; nil: none
	Version string           // shown by /health
	Log     *slog.Logger     // one line an exchange, without keys and bodies; nil: none

	// LogContent puts the bodies of requests and answers into the log, masked and cut off. Nothing else does.
	LogContent bool
}

const (
	defaultMaxBody      = 32 << 20 // images travel inside the body
	defaultBodyTimeout  = time.Minute
	defaultWriteTimeout = 30 * time.Second
	defaultKeepAlive    = 15 * time.Second // below the idle limit of common proxies, 30 and 60 seconds
)

func (o *Options) setDefaults() {
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = defaultBodyTimeout
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}
