package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"wield/agent"
	"wield/internal/apikey"
	"wield/internal/capture"
	"wield/internal/cluster"
	"wield/internal/runs"
	"wield/internal/shorten"
	"wield/internal/stats"
	"wield/journal"
	"wield/schema"
	"wield/tool/runner"
)

// Prefix begins the path of every route.
const Prefix = "/api/v1"

// Options are what a Server answers from. A part that is nil is answered as what does not exist.
type Options struct {
	Journal   journal.Store
	Hub       *runs.Hub // carries on the runs of this process; their journal is Journal
	Captures  *capture.Ring
	Holder    func(hash [sha256.Size]byte) (Caller, bool) // of the key with that hash
	Tools     func() []*runner.Entry                      // that wield runs
	MCP       func() MCP                                  // nil, or nil of it: there are no MCP servers
	Models    func() []Model                              // on offer, in their order
	Stats     *stats.Store                                // nil: nothing is counted
	Probe     Probe                                       // tries a model's server; nil: all are taken to be there
	Connector Connector                                   // of a first model; nil: there is none to connect
	Links     Links                                       // lets those in who have a link; nil: nobody
	Cluster   func() (cluster.Status, bool)               // who is there; false: workers are not taken
	Settings  func() Settings                             // what is configured
	Prices    func(model string) agent.Prices             // of what models answer; nil: nothing is known of them
	Lines     *Log                                        // the last lines of the log
	Version   string
	Log       *slog.Logger // nil: none

	MaxBody      int64         // bytes of a request; 0: 1 MiB
	BodyTimeout  time.Duration // in which a request's body must have arrived; 0: 30 seconds
	WriteTimeout time.Duration // in which a client must take what is written; 0: 30 seconds
	KeepAlive    time.Duration // silence after which a stream gets a comment; 0: 15 seconds
}

// Links knows the tokens of addresses that lead to one approval.
type Links interface {
	// Check reports whether the token is for the approval, and whom it was given to.
	Check(approval, token string) (by string, ok bool)
}

// A Server is the http.Handler of the interface. Close ends its streams.
type Server struct {
	o        Options
	routes   []route
	bodies   map[reflect.Type]*schema.Schema
	schemas  schema.Cache // of tools
	document []byte
	logins   logins
	origin   *http.CrossOriginProtection
	owners   owners

	closing sync.Once
	closed  chan struct{}
}

var _ http.Handler = (*Server)(nil)

// New returns a server. The error is one of the table of routes.
func New(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 1 << 20
	}
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = 15 * time.Second
	}
	s := &Server{o: o, routes: table(), bodies: map[reflect.Type]*schema.Schema{},
		origin: http.NewCrossOriginProtection(), closed: make(chan struct{})}
	for _, r := range s.routes {
		if r.in == nil || s.bodies[r.in] != nil {
			continue
		}
		raw, err := schema.ForType(r.in, known)
		if err != nil {
			return nil, err
		}
		if s.bodies[r.in], err = schema.Compile(raw); err != nil {
			return nil, err
		}
	}
	var err error
	s.document, err = document(s.routes, o.Version)
	return s, err
}

// Close ends the streams that are open and those that begin afterwards, so that a service which ends need not
// wait for them.
func (s *Server) Close() { s.closing.Do(func() { close(s.closed) }) }

// Token returns a token that lets somebody in once, at /login, as whoever sits at this machine.
func (s *Server) Token() string { return s.logins.token(time.Now()) }

// An exchange is one request and its answer.
type exchange struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	route  *route
	args   []string
	caller Caller
	body   any
	begun  bool // the answer has
}

// arg returns what stands for a name in the path.
func (x *exchange) arg(name string) string {
	for i, n := range x.route.names() {
		if n == name {
			return x.args[i]
		}
	}
	return ""
}

// query returns a parameter, or "".
func (x *exchange) query(name string) string { return x.r.URL.Query().Get(name) }

// number returns a parameter that is a number, or what it is without one.
func (x *exchange) number(name string, without int64) int64 {
	if n, err := strconv.ParseInt(x.query(name), 10, 64); err == nil {
		return n
	}
	return without
}

// limit returns how many things a page holds.
func (x *exchange) limit() int { return int(x.number("limit", defaultPage)) }

// A bound ends a page when it holds enough, or when enough was looked at for it.
type bound struct {
	most   int
	looked int
	last   int64 // position of what was looked at last
}

// maxLooked is how many things one request looks at, so that a search for what is not there ends. The page
// then says where to go on.
const maxLooked = 500

// bound returns that of the request's page.
func (x *exchange) bound() bound { return bound{most: x.limit()} }

// reached reports whether a page that holds so many things ends before the one at a position, and otherwise
// counts that.
func (b *bound) reached(held int, position int64) bool {
	if held == b.most || b.looked == maxLooked {
		return true
	}
	b.looked, b.last = b.looked+1, position
	return false
}

// next returns the cursor of the next page.
func (b *bound) next() string { return strconv.FormatInt(b.last, 10) }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{s: s, w: w, r: r}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := x.answer(); err != nil && !x.begun {
		x.fail(err)
	}
}

// answer finds the route and lets it answer.
func (x *exchange) answer() error {
	var wrong *Fault
	path := strings.TrimPrefix(x.r.URL.Path, Prefix)
	if x.route, x.args, wrong = x.s.find(x.r.Method, path); wrong != nil {
		if wrong.Kind == KindMethod {
			x.w.Header().Set("Allow", strings.Join(x.args, ", "))
		}
		return wrong
	}
	if err := x.admit(); err != nil {
		return err
	}
	if x.route.stored && x.s.o.Journal == nil {
		return fault(KindUnavailable, "this service keeps no journal").with("set journal in the configuration")
	}
	if x.route.driven && x.s.o.Hub == nil {
		return fault(KindUnavailable, "this service carries on no runs").
			with("give a model tools in its agent section of the configuration")
	}
	if err := x.checkQuery(); err != nil {
		return err
	}
	if x.route.in != nil {
		if err := x.read(); err != nil {
			return err
		}
	}
	if x.route.write != nil {
		return x.route.write(x)
	}
	out, err := x.route.serve(x)
	if err != nil {
		return err
	}
	if x.route.out == nil {
		out = nil
	}
	x.tell(x.route.status(), out)
	return nil
}

// admit lets a caller in who may use the route.
func (x *exchange) admit() (err error) {
	if x.route.open {
		return nil
	}
	if x.caller, err = x.identify(); err != nil {
		return err
	}
	return x.allow()
}

// checkQuery reports a parameter that the route does not have, or that makes no sense.
func (x *exchange) checkQuery() error {
	for name, values := range x.r.URL.Query() {
		if name == "token" && x.route.link {
			continue
		}
		var p *param
		for i := range x.route.query {
			if x.route.query[i].name == name {
				p = &x.route.query[i]
			}
		}
		if p == nil {
			return invalid(name, "there is no parameter %s here", shorten.Quoted(name)).with(x.route.parameters())
		}
		if err := p.check(values[0]); err != nil {
			return err
		}
	}
	return nil
}

// parameters says which ones there are.
func (r *route) parameters() string {
	if len(r.query) == 0 {
		return "leave it out: there are none"
	}
	names := make([]string, len(r.query))
	for i := range r.query {
		names[i] = r.query[i].name
	}
	return "there are " + strings.Join(names, ", ")
}

// read reads the body, holds it to the schema of the route, and takes it apart.
func (x *exchange) read() error {
	limit := max(x.s.o.MaxBody, x.route.most)
	rc := http.NewResponseController(x.w)
	_ = rc.SetReadDeadline(time.Now().Add(x.s.o.BodyTimeout)) // not every ResponseWriter has deadlines
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return fault(KindTooLarge, "the body is larger than the %d bytes that are taken here", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault(KindSlow, "the body did not arrive within %s", x.s.o.BodyTimeout)
	case err != nil:
		return invalid("", "the body broke off")
	}
	_ = rc.SetReadDeadline(time.Time{})
	if kind, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type")); kind != "application/json" &&
		apikey.FromHeader(x.r.Header) == "" {
		// A form of another page can send everything but this type.
		return fault(KindMedia, "the body is of the type %s", shorten.Quoted(kind)).
			with("send JSON, with Content-Type: application/json")
	}
	return x.decode(raw)
}

// decode checks a body by its schema and decodes it. An empty one stands for an object without members.
func (x *exchange) decode(raw []byte) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	if err := schema.Check(string(raw)); err != nil {
		return invalid("", "the body is %s", err)
	}
	if found := x.s.bodies[x.route.in].Validate(string(raw)); len(found) > 0 {
		return invalid(found[0].Pointer, "%s", found[0])
	}
	x.body = reflect.New(x.route.in).Interface()
	if err := json.Unmarshal(raw, x.body); err != nil {
		return invalid("", "the body cannot be read: %s", err)
	}
	return nil
}

// tell answers with a value as JSON, or without a body.
func (x *exchange) tell(status int, v any) {
	x.begun = true
	x.deadline()
	if v == nil {
		x.w.WriteHeader(status)
		return
	}
	text, err := encode(v)
	if err != nil {
		x.s.o.Log.ErrorContext(x.r.Context(), "cannot encode the response", "route", x.route.name, "error", err)
		status, text = http.StatusInternalServerError, []byte(
			`{"error":{"kind":"internal","message":"the service failed; its log says why"}}`)
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(text) // a client that does not take it is gone
}

// deadline gives the client its time to take what is written next.
func (x *exchange) deadline() {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(x.s.o.WriteTimeout))
}

// fail answers with an error.
func (x *exchange) fail(err error) {
	f := faultOf(err)
	if f.Kind == KindInternal {
		x.s.o.Log.ErrorContext(x.r.Context(), "API request failed", "path", x.r.URL.Path, "error", err)
	}
	body := Failure{Error: *f}
	var d *decidedError
	if errors.As(err, &d) {
		body.Approval = &d.approval
	}
	switch f.Kind {
	case KindUnknown:
		x.w.Header().Set("WWW-Authenticate", `Bearer realm="wield"`)
	case KindUnavailable:
		x.w.Header().Set("Retry-After", "1")
	case KindTooLarge, KindSlow:
		x.w.Header().Set("Connection", "close") // the rest of the request is not worth reading
	}
	x.tell(statuses[f.Kind], &body)
}

// encode writes JSON without escaping what HTML would need.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
