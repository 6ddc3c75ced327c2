package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/tool"
	"wield/tool/internal/value"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

// A Server is a connection to an MCP server that is made when it is needed. Its methods may be called by
// several goroutines.
type Server struct {
	o      Options
	client *sdk.Client

	connecting sync.Mutex // held while a connection is made or a list is read

	mu       sync.Mutex
	live     *connection // nil: there is none
	closed   bool
	failed   error         // of the last attempt
	pause    time.Duration // before the next one
	notUntil time.Time
	listed   time.Time
	stale    bool          // the server has told that its list has changed
	again    time.Duration // after which the list is asked for again
	tools    []*tool.Tool
	problems []error
	offers   Offers
	asking   []*tool.Tool          // with which models reach resources and prompts
	held     calls                 // of the older revisions
	persons  map[string]*Server    // with connections of their own, by who they are
	calls    map[string]*tool.Call // under way, by their progress token
	last     int                   // token
}

// A connection is one session with a server.
type connection struct {
	session *sdk.ClientSession
	said    *outputTail // what a program wrote to its standard error; nil: it is a service
	hide    func(string) string
	end     func()
	done    chan struct{} // closed when the session is over
}

// New returns a server that nothing has been asked of yet.
func New(o Options) *Server {
	s := &Server{o: o, calls: map[string]*tool.Call{}}
	if s.o.Peer.Elicit == nil && s.o.Peer.Capabilities == nil { // it is wield itself, which can ask a person
		s.o.Peer.Elicit = s.held.elicit
		s.o.Peer.Capabilities = &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{},
				URL: &sdk.URLElicitationCapabilities{}}}
		s.o.Peer.Capabilities.AddExtension(tasksExtension, nil)
		if o.Apps {
			knowApps(s.o.Peer.Capabilities)
		}
	}
	client := s.o.Peer.options()
	client.Logger = o.Log
	client.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { s.Again() }
	if o.Prompts {
		client.PromptListChangedHandler = func(context.Context, *sdk.PromptListChangedRequest) { s.Again() }
	}
	if o.Resources {
		client.ResourceListChangedHandler = func(context.Context, *sdk.ResourceListChangedRequest) { s.Again() }
	}
	client.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		s.progress(r.Params)
	}
	s.client = sdk.NewClient(&sdk.Implementation{Name: "wield", Version: "1"}, client)
	s.client.AddReceivingMiddleware(s.o.Peer.elicits)
	knowTasks(s.client)
	if s.o.Hide != nil {
		s.client.AddSendingMiddleware(s.hideAnswers)
		s.client.AddReceivingMiddleware(s.hideAsked)
	}
	s.asking = s.askers()
	return s
}

// Name returns the name in front of the names of its tools.
func (s *Server) Name() string { return s.o.Name }

// Place returns the program with its arguments, or the address.
func (s *Server) Place() string {
	if len(s.o.Command.Argv) > 0 {
		return policy.Visible(strings.Join(s.o.Command.Argv, " "))
	}
	return policy.Visible(s.o.URL)
}

func (s *Server) progress(p *sdk.ProgressNotificationParams) {
	s.mu.Lock()
	c := s.calls[fmt.Sprint(p.ProgressToken)]
	s.mu.Unlock()
	if c != nil {
		c.Progress(p.Progress, p.Total, value.Cut(p.Message, maxProgress))
	}
}

// Status tells how the server stands, without asking it.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Tools: len(s.tools), Err: s.failed}
	if c := s.live; c != nil {
		st.Connected = true
		if r := c.session.InitializeResult(); r != nil {
			st.Protocol = r.ProtocolVersion
			if i := r.ServerInfo; i != nil {
				st.Server = policy.Visible(strings.TrimSpace(i.Name + " " + i.Version))
			}
		}
	}
	return st
}

// Known returns the tools that were listed last, without asking the server, and what was wrong then.
func (s *Server) Known() ([]*tool.Tool, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.tools, append([]error{s.failed}, s.problems...)
	}
	return s.tools, s.problems
}

// Offered returns the name under which a tool is offered, by its name on the server or as it is offered, with or
// without the server's in front. If there is no such tool, it is empty, and names are those on the server.
func (s *Server) Offered(asked string) (name string, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := OfferedName(s.o.Name, "")
	for _, t := range s.tools {
		own := strings.TrimPrefix(t.Name(), prefix)
		if h, ok := t.Handler.(*handler); ok {
			own = h.name
		}
		if own == asked {
			return t.Name(), nil
		}
		if t.Name() == asked || t.Name() == prefix+asked {
			name = t.Name()
		}
		names = append(names, own)
	}
	return name, names
}

// Tools returns the tools of the server, which is connected to or asked again if need be. A tool whose
// definition has not changed is the same as before. The errors say what is wrong with the server or with
// single tools; those of the last list stay while the server cannot be reached.
func (s *Server) Tools(ctx context.Context) ([]*tool.Tool, []error) {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	if s.due() {
		if err := s.list(ctx); err != nil && ctx.Err() == nil {
			s.fail(err)
		}
	}
	return s.Known()
}

// Again has the next call of Tools ask the server, whatever was listed before.
func (s *Server) Again() {
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
}

// due reports whether the server is to be asked for its tools.
func (s *Server) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || time.Now().Before(s.notUntil) {
		return false
	}
	return s.live == nil || s.stale || time.Since(s.listed) > s.again
}

// fail notes that the server could not be reached, which is tried again after a pause.
func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = &ServerError{s.o.Name, err}
	s.pause = min(max(2*s.pause, firstPause), longestPause)
	s.notUntil = time.Now().Add(s.pause)
}

// list connects if need be, and asks for the tools.
func (s *Server) list(ctx context.Context) error {
	limit := cmp.Or(s.o.Start, defaultStart)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it was not ready after %v (start, in mcp.servers.%[2]s or %[2]s.mcp.yaml, gives it "+
			"longer): %[3]w",
			limit, s.o.Name, err)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.stale = false // what changes from here on is another change
	s.mu.Unlock()
	var defs []*sdk.Tool
	var params sdk.ListToolsParams
	again := listAgain
	for pages := 0; ; pages++ {
		if pages == maxPages {
			return fmt.Errorf("its list of tools has more than %d pages", maxPages)
		}
		page, err := c.session.ListTools(ctx, &params)
		if err != nil {
			return c.explain(fmt.Errorf("listing its tools: %w", err))
		}
		defs = append(defs, page.Tools...)
		if page.TTLMs > 0 {
			again = min(again, max(time.Duration(page.TTLMs)*time.Millisecond, shortestAgain))
		}
		if page.NextCursor == "" || len(defs) > maxTools {
			break
		}
		if page.NextCursor == params.Cursor {
			return fmt.Errorf("its list of tools comes to no end: one of its pages is its own successor")
		}
		params.Cursor = page.NextCursor
	}
	tools, problems := s.make(defs)
	tools = append(tools, s.asking...)
	offers, wrong := s.others(ctx, c.session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.problems, s.offers = tools, append(problems, wrong...), offers
	s.listed, s.again = time.Now(), again
	s.failed, s.pause = nil, 0
	return nil
}

// connect returns the connection, and makes one if there is none. Whoever calls it holds connecting.
func (s *Server) connect(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	c, closed := s.live, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case c != nil:
		return c, nil
	}
	c, transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	asking := func(protocol string) *sdk.ClientSessionOptions {
		return &sdk.ClientSessionOptions{ProtocolVersion: protocol}
	}
	session, err := s.client.Connect(ctx, transport, asking(s.o.Protocol))
	if old := c.eventStream(transport); err != nil && old != nil && !errors.Is(err, ErrLogin) && ctx.Err() == nil {
		if again, failed := s.client.Connect(ctx, old, asking(oldest)); failed == nil {
			session, err = again, nil
		}
	}
	if err != nil {
		c.end()
		return nil, c.explain(err)
	}
	c.session = session
	go func() {
		session.Wait()
		s.mu.Lock()
		if s.live == c {
			s.live = nil
		}
		s.mu.Unlock()
		c.end()
		close(c.done)
	}()
	s.mu.Lock()
	closed = s.closed
	if !closed {
		s.live = c
	}
	s.mu.Unlock()
	if closed { // meanwhile
		_ = c.close()
		return nil, errClosed
	}
	return c, nil
}

// protocol returns the revision that is spoken.
func (c *connection) protocol() string {
	if r := c.session.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}

// connection returns the connection for a call, which does not wait for a list that is being read.
func (s *Server) connection(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	c := s.live
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	s.connecting.Lock()
	defer s.connecting.Unlock()
	return s.connect(ctx)
}

// of returns the connection of one of those on whose behalf calls run.
func (s *Server) of(who string) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.persons[who]
	if own == nil {
		o := s.o
		o.Each, o.Peer = false, Peer{}
		if o.OAuth != nil {
			login := *o.OAuth
			login.Who = who
			o.OAuth = &login
		}
		own = New(o)
		own.closed = s.closed
		if s.persons == nil {
			s.persons = map[string]*Server{}
		}
		s.persons[who] = own
	}
	return own
}

// transport starts the program, or makes the way to the service.
func (s *Server) transport() (*connection, sdk.Transport, error) {
	c := &connection{done: make(chan struct{}), end: func() {}, hide: s.o.Hide}
	if len(s.o.Command.Argv) > 0 {
		t, err := s.start(c)
		return c, t, err
	}
	if s.o.URL == "" {
		return nil, nil, errors.New("it has neither a command nor a url")
	}
	base := s.o.Client
	if base == nil {
		base = http.DefaultClient
	}
	client := *base
	client.Transport = taskTransport{&headers{s.o.Header,
		cmp.Or[http.RoundTripper](base.Transport, http.DefaultTransport)}}
	client.CheckRedirect = sameHost
	t := &sdk.StreamableClientTransport{Endpoint: s.o.URL, HTTPClient: &client}
	if s.o.OAuth != nil {
		var err error
		if t.OAuthHandler, err = s.o.OAuth.handler(s.o.Name, s.o.URL); err != nil {
			return nil, nil, err
		}
	}
	return c, t, nil
}

// oldest is the only revision of services whose answers come in a stream of their own.
const oldest = "2024-11-05"

// An eventStream is the way to such a service. The stream lasts as long as the connection.
type eventStream struct {
	sdk.SSEClientTransport
	lasts context.Context
	end   func()
}

func (s *eventStream) Connect(ctx context.Context) (sdk.Connection, error) {
	defer context.AfterFunc(ctx, s.end)()
	return s.SSEClientTransport.Connect(s.lasts)
}

// eventStream returns the older way to a service, which is tried without a login when it does not know the newer one;
// nil: it is a program.
func (c *connection) eventStream(t sdk.Transport) *eventStream {
	service, ok := t.(*sdk.StreamableClientTransport)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	return &eventStream{sdk.SSEClientTransport{Endpoint: service.Endpoint, HTTPClient: service.HTTPClient}, ctx, cancel}
}

// start runs the program of a server.
func (s *Server) start(c *connection) (sdk.Transport, error) {
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	c.said = &outputTail{}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := s.o.Command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, c.said
	cmd.Limits.Output = chat.NoLimit // a server that runs for days writes much
	s.o.Watch.Begin(&cmd)
	p, err := sandbox.Start(ctx, cmd)
	if err != nil {
		s.o.Watch.End(s.o.Name)
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exit, err := p.Wait()
		if text := s.o.Watch.End(s.o.Name); text != "" && s.o.Log != nil {
			s.o.Log.Warn("an MCP server changed guarded files", "server", s.o.Name, "error", strings.TrimSpace(text))
		}
		if err == nil {
			err = asError(exit)
		}
		c.said.end(err) // before anybody hears of the end, and asks how it was
		out.CloseWithError(io.EOF)
		in.CloseWithError(err)
	}()
	c.end = func() {
		toProgram.Close()
		cancel()
		<-ended
	}
	return &sdk.IOTransport{Reader: readTasks(fromProgram, fromProgram), Writer: toProgram}, nil
}

// asError says how a program ended.
func asError(e sandbox.Exit) error {
	if e.Signal != "" {
		return fmt.Errorf("the program was ended by %s", e.Signal)
	}
	return fmt.Errorf("the program ended with status %d", e.Code)
}

// wait waits a moment for a program that closed its output to end, so that it is known how.
func (c *connection) wait() {
	if c.said == nil {
		return
	}
	select {
	case <-c.done:
	case <-time.After(time.Second):
	}
}

// explain adds what a program wrote to its standard error, and how it ended.
func (c *connection) explain(err error) error {
	if c.said == nil {
		return err
	}
	text, ended := c.said.text()
	if ended != nil && !errors.Is(ended, context.Canceled) { // else wield ended it, because of err
		err = ended
	}
	if c.hide != nil {
		text = c.hide(text)
	}
	if text = telling(text); text == "" {
		return err
	}
	for _, sign := range denials {
		if strings.Contains(text, sign) {
			return fmt.Errorf("%w; it wrote: %s (in the sandbox it may do what net, readable and writable of the "+
				"server allow)", err, text)
		}
	}
	return fmt.Errorf("%w; it wrote: %s", err, text)
}

// denials lists words with which programs say that the sandbox kept them from something.
var denials = []string{"EACCES", "EPERM", "EROFS", "ermission denied", "Read-only file system", "ENOTFOUND",
	"EAI_AGAIN", "ECONNREFUSED"}

// telling returns the line of what a program wrote that says most: the first that speaks of an error, else the last.
func telling(text string) string {
	line := ""
	for l := range strings.Lines(text) {
		l, failure := ofNPM(strings.TrimSpace(l))
		if l != "" {
			line = l
		}
		if l != "" && (failure || strings.Contains(l, "rror")) {
			break
		}
	}
	return policy.Visible(line[:min(len(line), maxLine)])
}

// ofNPM returns what a line says if npm wrote it, and whether that is a failure. Of several lines about one failure
// most are codes and places of logs, which say nothing to a person: they are "".
func ofNPM(line string) (string, bool) {
	level, said, ok := strings.Cut(strings.TrimPrefix(line, "npm "), " ")
	if !strings.HasPrefix(line, "npm ") {
		return line, false
	}
	if said = strings.TrimSpace(said); !ok || level != "error" && level != "ERR!" {
		return "", false
	}
	for _, aside := range []string{"code ", "errno ", "syscall ", "path ", "dest ", "A complete log "} {
		if strings.HasPrefix(said, aside) {
			return "", false
		}
	}
	if strings.Trim(said, "0123456789") == "" {
		return "", false
	}
	return said, true
}

// Close ends the connection and the program.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	c, persons := s.live, s.persons
	s.persons = nil
	s.mu.Unlock()
	s.held.end()
	for _, own := range persons {
		own.Close()
	}
	if c == nil {
		return nil
	}
	return c.close()
}

var errClosed = errors.New("it was closed")

func (c *connection) close() error {
	closed := make(chan error, 1)
	go func() { closed <- c.session.Close() }()
	var err error
	select {
	case err = <-closed:
	case <-time.After(closeTime): // it does not answer; a program is ended below, and of a service nothing is left here
	}
	c.end()
	if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.ErrClosedPipe) {
		err = nil
	}
	return err
}

// track gives a call a token under which the server may tell how far it is.
func (s *Server) track(c *tool.Call) (token string, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	token = strconv.Itoa(s.last)
	s.calls[token] = c
	return token, func() {
		s.mu.Lock()
		delete(s.calls, token)
		s.mu.Unlock()
	}
}

// headers adds headers to requests.
type headers struct {
	header http.Header
	next   http.RoundTripper
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.header {
		r.Header[name] = values
	}
	return h.next.RoundTrip(r)
}

// sameHost follows redirects within a host only, since the headers hold secrets.
func sameHost(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return fmt.Errorf("the server redirects to %s://%s, another address than its own", r.URL.Scheme, r.URL.Host)
	}
	if len(via) >= 5 {
		return errors.New("the server redirects again and again")
	}
	return nil
}

// An outputTail keeps the end of what a program wrote.
type outputTail struct {
	mu    sync.Mutex
	b     []byte
	ended error
}

func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - keptErrOutput; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

func (t *outputTail) end(err error) {
	t.mu.Lock()
	t.ended = err
	t.mu.Unlock()
}

func (t *outputTail) text() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b), "\ufffd"), t.ended
}
