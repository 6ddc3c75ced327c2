package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Root is the path of a Front. Below it each MCP server behind wield has a path of its own.
const Root = "/mcp"

// FrontOptions say what a Front serves.
type FrontOptions struct {
	// Open returns what somebody reaches at /mcp, or at /mcp/SERVER. It reports false if there is no such thing.
	Open func(by Caller, server string) (Options, bool)

	Idle     time.Duration // after which a session of the older revisions ends; 0: 30 min
	Sessions int           // that a key may have at a time; 0: 100
	Log      *slog.Logger  // nil: none
}

// A Front serves MCP over HTTP: the revision 2026-07-28, which has no sessions, and the older ones, which have.
// Every key has servers of its own, so that no session is another's.
type Front struct {
	o FrontOptions

	tasks *tasks

	mu     sync.Mutex
	places map[callerPath]*served
}

// A Caller identifies the sender of requests.
type Caller struct {
	Name string
	Key  string // whose rights the caller has
}

// A callerPath is a path as somebody reaches it.
type callerPath struct {
	caller Caller
	server string
}

// Below returns what of a path is below [Root]: the name of a server, or nothing.
func Below(path string) string { return strings.Trim(strings.TrimPrefix(path, Root), "/") }

// served holds the servers of one place.
type served struct {
	shared  *Server // for requests without a session
	plain   http.Handler
	session http.Handler

	mu   sync.Mutex
	open []opened // servers of sessions
}

// opened is the server of one session.
type opened struct {
	*Server
	at time.Time
}

// toBegin is the time that a session has to begin.
const toBegin = time.Minute

// revision is the first one without sessions.
const revision = "2026-07-28"

// NewFront returns a front that has served nothing yet.
func NewFront(o FrontOptions) *Front {
	if o.Idle <= 0 {
		o.Idle = 30 * time.Minute
	}
	if o.Sessions <= 0 {
		o.Sessions = 100
	}
	if o.Log != nil {
		o.Log = slog.New(quiet{o.Log.Handler()})
	}
	return &Front{o: o, tasks: newTasks(), places: map[callerPath]*served{}}
}

// quiet leaves out what the library says of each request.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// noLimit leaves bodies to whoever calls Serve.
const noLimit = -1

// Serve answers a request. Who calls it sees to hosts and origins, and has read the body within its limits.
func (f *Front) Serve(w http.ResponseWriter, r *http.Request, caller Caller) {
	s := f.at(callerPath{caller, Below(r.URL.Path)})
	if s == nil {
		http.Error(w, "there is no MCP server of this name", http.StatusNotFound)
		return
	}
	if version := r.Header.Get("Mcp-Protocol-Version"); version >= revision {
		s.plain.ServeHTTP(w, r)
		return
	}
	if r.Header.Get("Mcp-Session-Id") == "" && f.sessions(caller) >= f.o.Sessions {
		w.Header().Set("Retry-After", "60")
		http.Error(w,
			fmt.Sprintf(
				"this key has %d sessions, which is the most: end one with DELETE, or wait until an idle one ends (%s)",
				f.o.Sessions, f.o.Idle), http.StatusTooManyRequests)
		return
	}
	s.session.ServeHTTP(w, r)
}

// sessions returns how many sessions a key has.
func (f *Front) sessions(caller Caller) int {
	f.mu.Lock()
	var own []*served
	for p, s := range f.places {
		if p.caller == caller {
			own = append(own, s)
		}
	}
	f.mu.Unlock()
	n := 0
	for _, s := range own {
		for _, one := range s.all() {
			for range one.SDK.Sessions() {
				n++
			}
		}
	}
	return n
}

// at returns what is served at a place; nil: nothing is.
func (f *Front) at(p callerPath) *served {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.places[p]; s != nil {
		return s
	}
	o, ok := f.o.Open(p.caller, p.server)
	if !ok {
		return nil
	}
	o.Log, o.tasks = f.o.Log, f.tasks
	without := o
	without.Dedicated = nil
	s := &served{shared: New(without)}
	h := &sdk.StreamableHTTPOptions{Stateless: true, DisableLocalhostProtection: true,
		PropagateRequestCancellation: true, MaxRequestBodyBytes: noLimit, Logger: f.o.Log}
	s.plain = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.shared.SDK }, h)
	h = &sdk.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: noLimit,
		SessionTimeout: f.o.Idle, Logger: f.o.Log}
	s.session = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get("Mcp-Session-Id") != "" || o.Dedicated == nil {
			return s.shared.SDK
		}
		return s.begin(o).SDK
	}, h)
	f.places[p] = s
	return s
}

// begin makes the server of a session that has connections for itself.
func (s *served) begin(o Options) *Server {
	one := New(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.open[:0]
	for _, other := range s.open {
		if other.busy() || time.Since(other.at) < toBegin {
			live = append(live, other)
		}
	}
	s.open = append(live, opened{one, time.Now()})
	return one
}

// busy reports whether a server has a session.
func (s *Server) busy() bool {
	for range s.SDK.Sessions() {
		return true
	}
	return false
}

// all returns the servers of a place.
func (s *served) all() []*Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []*Server{s.shared}
	for _, one := range s.open {
		list = append(list, one.Server)
	}
	return list
}

// Sync offers what there is now, everywhere.
func (f *Front) Sync() {
	for _, s := range f.served() {
		for _, one := range s.all() {
			one.Sync()
		}
	}
}

// Reset ends all sessions, as when the configuration is another: clients begin anew.
func (f *Front) Reset() {
	gone := f.served()
	f.mu.Lock()
	f.places = map[callerPath]*served{}
	f.mu.Unlock()
	for _, s := range gone {
		for _, one := range s.all() {
			for session := range one.SDK.Sessions() {
				session.Close()
			}
		}
	}
}

func (f *Front) served() []*served {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*served, 0, len(f.places))
	for _, s := range f.places {
		list = append(list, s)
	}
	return list
}

// Run keeps what is offered up to date until ctx ends, and ends all sessions and tasks then.
func (f *Front) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	defer f.tasks.close()
	defer f.Reset()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.Sync()
		}
	}
}
