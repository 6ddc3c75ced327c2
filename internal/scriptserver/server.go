package scriptserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/script"
)

// Options say what a Server serves.
type Options struct {
	// Scenarios are the files to play. With one, every model name is answered from it; with several, the name
	// of the model is the name of the scenario, or, in Lumo's protocol, which has no such names, the first
	// scenario that speaks it.
	Scenarios []*script.Live
	Play      script.Options
	Speaks    script.Speaks // in place of what the scenarios say; empty: what they say
	Log       *slog.Logger  // nil: none
	MaxBody   int64         // bytes; 0: 64 MiB
}

// Server is an http.Handler that plays scenarios. Besides the protocols' own addresses it has
//
//	GET    /__script/journal   the requests so far, the matched turns, and the bytes both ways
//	GET    /__script/faults    the faults that were added
//	POST   /__script/faults    add faults: one, or a list, in JSON or YAML
//	DELETE /__script/faults    remove the added ones
type Server struct {
	opts Options
	mux  *http.ServeMux
	all  []*player

	mu     sync.Mutex
	faults []script.Fault
}

// player is one scenario.
type player struct {
	live *script.Live
	play *script.Player
}

// Knows reports whether there is a protocol of this name.
func Knows(s script.Speaks) bool { return protocols[s] != nil }

// New returns a server of o.Scenarios.
func New(o Options) *Server {
	if o.MaxBody == 0 {
		o.MaxBody = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: o, mux: http.NewServeMux()}
	for _, l := range o.Scenarios {
		s.all = append(s.all, &player{live: l, play: script.NewPlayer(l.Scenario, o.Play)})
	}
	s.mux.HandleFunc("GET /__script/journal", s.journal)
	s.mux.HandleFunc("GET /__script/faults", s.listFaults)
	s.mux.HandleFunc("POST /__script/faults", s.addFaults)
	s.mux.HandleFunc("DELETE /__script/faults", s.clearFaults)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /models", s.models)
	s.mux.HandleFunc("GET /api/tags", s.tags)
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"status":"ok"}`) })
	s.mux.HandleFunc("POST /", s.answer)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) journal(w http.ResponseWriter, _ *http.Request) {
	entries := []script.Entry{}
	for _, p := range s.all {
		entries = append(entries, p.play.Journal()...)
	}
	writeJSON(w, entries)
}

func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	writeJSON(w, append([]script.Fault{}, s.faults...))
}

func (s *Server) addFaults(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	faults, err := script.ParseFaults("request", data)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.faults = append(s.faults, faults...)
	s.mu.Unlock()
	for _, p := range s.all {
		p.play.AddFaults(faults...)
	}
	s.listFaults(w, r)
}

func (s *Server) clearFaults(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.faults = nil
	s.mu.Unlock()
	for _, p := range s.all {
		p.play.ClearFaults()
	}
	s.listFaults(w, r)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that went away needs no answer
}

func (s *Server) names() []string {
	var names []string
	for _, p := range s.all {
		if sc, err := p.live.Scenario(); err == nil {
			names = append(names, sc.Name)
		}
	}
	return names
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := []entry{}
	for _, n := range s.names() {
		list = append(list, entry{n, "model", 1700000000, "wield-script"})
	}
	writeJSON(w, struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}{"list", list})
}

func (s *Server) tags(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		Name  string `json:"name"`
		Model string `json:"model"`
	}
	list := []entry{}
	for _, n := range s.names() {
		list = append(list, entry{n, n})
	}
	writeJSON(w, map[string][]entry{"models": list})
}

// protocol writes answers. Errors of a protocol are in its own shape.
type protocol interface {
	framing(stream bool) framing
	contentType(stream bool) string
	errorBody(status int, code, message string) []byte
	write(in *incoming, r *script.Reply) frames
}

var protocols = map[script.Speaks]protocol{
	script.SpeaksOpenAI: openAI{}, script.SpeaksAnthropic: anthropic{}, script.SpeaksOllama: ollama{},
	script.SpeaksResponses: responses{},
	script.SpeaksLumo:      lumo{}, script.SpeaksRaw: raw{},
}

// paths are the ends of the addresses at which each protocol is spoken.
var paths = map[script.Speaks][]string{
	script.SpeaksOpenAI:    {"/chat/completions"},
	script.SpeaksAnthropic: {"/messages"},
	script.SpeaksResponses: {"/responses"},
	script.SpeaksOllama:    {"/api/chat"},
	script.SpeaksLumo:      {"/chat", "/chat/completions"},
	script.SpeaksRaw:       {""},
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	if err != nil {
		fail(w, openAI{}, http.StatusBadRequest, err.Error())
		return
	}
	p, sc, err := s.find(data, r.URL.Path)
	if err != nil {
		fail(w, openAI{}, statusOf(err), err.Error())
		return
	}
	speaks := s.speaks(sc)
	proto := protocols[speaks]
	in, err := decode(data, speaks)
	if err != nil {
		fail(w, proto, http.StatusBadRequest, err.Error())
		return
	}
	if in.title {
		s.title(w, r, in, sc)
		return
	}
	reply, err := p.play.Play(script.Input{Request: in.req, Header: r.Header, Key: isolationKey(r), Body: data})
	if err != nil {
		s.opts.Log.Warn("no answer", "scenario", sc.Name, "error", err)
		fail(w, proto, statusOf(err), chat.AsError(err).Message)
		return
	}
	in.id = reply.ID()
	a := s.compose(proto, in, reply)
	sent := &recorder{}
	defer func() { reply.Record(sent.data) }()
	if a.send(r.Context(), w, sent) && a.end == endWell {
		reply.Sent()
	}
	if a.end != endWell {
		a.breakOff(w)
	}
}

// compose makes the whole answer, faults included.
func (s *Server) compose(proto protocol, in *incoming, reply *script.Reply) *httpResponse {
	f := proto.write(in, reply)
	a := &httpResponse{status: http.StatusOK, header: http.Header{}, body: f.list}
	a.header.Set("Content-Type", proto.contentType(in.stream))
	if in.stream {
		a.header.Set("Cache-Control", "no-cache")
	}
	if t := reply.Turn.Fail; t != nil && !in.stream {
		status := map[chat.ErrorKind]int{chat.ErrTimeout: 504, chat.ErrFiltered: 400}[t.Kind]
		if status == 0 {
			status = 500
		}
		a.status, a.body = status, []piece{{data: proto.errorBody(status, t.Code, t.Message)}}
		a.header.Set("Content-Type", "application/json")
	}
	breakAnswer(a, reply.Faults, proto.framing(in.stream), func(status int, message string) []byte {
		return proto.errorBody(status, "", message)
	})
	return a
}

// title answers Lumo's second request, which only wants a name for the conversation. It is no turn.
func (s *Server) title(w http.ResponseWriter, r *http.Request, in *incoming, sc *script.Scenario) {
	reply := &script.Reply{Scenario: sc, Turn: &script.Turn{},
		Steps: []script.Step{{Kind: script.StepText, Text: sc.Name}}}
	s.compose(lumo{}, in, reply).send(r.Context(), w, &recorder{})
}

// find returns the scenario for a request: the only one, else the one that the model is named after.
func (s *Server) find(data []byte, path string) (*player, *script.Scenario, error) {
	var named struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(data, &named) // a body that is no JSON names no model
	// In Lumo's protocol no scenario is named: the first that speaks it answers.
	unnamed := (named.Model == "" || strings.HasPrefix(named.Model, "lumo")) && !slices.Contains(s.names(), named.Model)
	var last error
	var speaks []string
	for _, p := range s.all {
		sc, err := p.live.Scenario()
		if err != nil {
			last = err
			continue
		}
		if len(s.all) > 1 && sc.Name != named.Model && !(unnamed && s.speaks(sc) == script.SpeaksLumo) {
			continue
		}
		for _, end := range paths[s.speaks(sc)] {
			if strings.HasSuffix(path, end) {
				return p, sc, nil
			}
		}
		speaks = append(speaks, fmt.Sprintf("scenario %s speaks %s, which is not spoken at %s", sc.Name, s.speaks(sc),
			path))
	}
	switch {
	case len(speaks) > 0:
		last = &chat.Error{Kind: chat.ErrNotFound, Status: 404, Message: strings.Join(speaks, "; ")}
	case last == nil || len(s.all) > 1:
		last = &chat.Error{Kind: chat.ErrNotFound, Status: 404, Message: fmt.Sprintf("no scenario is named %q; there "+
			"are %s", named.Model, strings.Join(s.names(), ", "))}
	}
	return nil, nil, last
}

func (s *Server) speaks(sc *script.Scenario) script.Speaks {
	if s.opts.Speaks != "" {
		return s.opts.Speaks
	}
	return sc.Speaks
}

func statusOf(err error) int {
	var e *chat.Error
	if errors.As(err, &e) && e.Status != 0 {
		return e.Status
	}
	return http.StatusInternalServerError
}

func fail(w http.ResponseWriter, p protocol, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(p.errorBody(status, "", message)) // a client that went away needs no answer
}

// isolationKey tells apart who asks: by a header of its own, else by the key of the API, of which the journal must not
// tell more than that it is the same.
func isolationKey(r *http.Request) string {
	if k := r.Header.Get("X-Wield-Test"); k != "" {
		return k
	}
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		key = r.Header.Get("Authorization")
	}
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return "key-" + hex.EncodeToString(sum[:4])
}

// recorder keeps what was sent, up to a bound.
type recorder struct{ data []byte }

const maxRecord = 1 << 20

func (r *recorder) add(b []byte) {
	if room := maxRecord - len(r.data); room > 0 {
		r.data = append(r.data, b[:min(len(b), room)]...)
	}
}

// send writes the answer frame by frame. It reports whether all was sent.
func (a *httpResponse) send(ctx context.Context, w http.ResponseWriter, sent *recorder) bool {
	if !sleep(ctx, a.headersWait) {
		return false
	}
	for k, v := range a.header {
		w.Header()[k] = v
	}
	rc := http.NewResponseController(w)
	w.WriteHeader(a.status)
	if len(a.body) == 0 || a.body[0].wait > 0 || len(a.body[0].data) == 0 {
		_ = rc.Flush() // the write that follows meets the same failure
	}
	for i := range a.body {
		f := &a.body[i]
		if !sleep(ctx, f.wait) {
			return false
		}
		if len(f.data) == 0 {
			continue
		}
		if _, err := w.Write(f.data); err != nil {
			return false
		}
		sent.add(f.data)
		if err := rc.Flush(); err != nil {
			return false
		}
	}
	return true
}

// sleep waits, and reports false when the client went away.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// halfOpen is the time that a half-closed connection stays open.
const halfOpen = 30 * time.Second

// breakOff ends the connection as the fault demands. It does not return where the server must not end the body well.
func (a *httpResponse) breakOff(w http.ResponseWriter) {
	if a.end == endCut {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if a.end == endReset {
		_ = tcp.SetLinger(0) // without it the close is only less rude
		return
	}
	if tcp.CloseWrite() != nil || tcp.SetReadDeadline(time.Now().Add(halfOpen)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, tcp) // until the client closes its side
}
