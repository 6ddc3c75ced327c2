package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/apikey"
)

// A Caller identifies the sender of a request. The zero value is nobody in particular.
type Caller struct {
	Name string // of the key, or of who has an access token
	Role Role
	Key  string // whose rights the holder of an access token has; empty: those of Name

	hash [sha256.Size]byte // of the secret, which may change while the name stays
}

// A Pass says what an access token is worth.
type Pass struct {
	Key  string // whose rights its holder has, and whose limits; empty: it lets nobody in
	Name string // of its holder

	Status    int    // where it lets nobody in; 0: tokens are not taken
	Message   string // says why
	Challenge string // of the header WWW-Authenticate
}

// A Mount is a part of the service that another package answers, at the URLs below a prefix. The gateway sees
// to it that the request addresses the service by its own name and comes from no foreign page, as everywhere,
// and writes the log.
type Mount struct {
	// Prefix of the paths, such as /api/v1/; one that does not end in a slash is one path, and so is / alone.
	// Endpoints of the gateway itself are not covered, and of several mounts the longest prefix counts.
	Prefix string

	// Linked lets a browser come from a link on another page. It is for documents, which tell that page nothing.
	Linked bool

	// Login is the path at which somebody logs in: an answer 401 there is a wrong key, and many of them make
	// the address wait.
	Login string

	// Roles are those whose keys let a request in. Empty: every request comes in, and Serve decides by
	// itself; by is known then if a key came along.
	Roles []Role

	// Tokens says what an access token is worth that is no key, or a request without any. Nil: only keys count.
	Tokens func(r *http.Request, token string) Pass

	// Whole lets Serve have bodies only whole, and within the limits of the gateway: their length, how many objects
	// they hold and how long they take to come.
	Whole bool

	// Counted is the method of JSON-RPC whose requests count within the limits of a key, as completions do. It goes
	// with Whole.
	Counted string

	Serve func(w http.ResponseWriter, r *http.Request, by Caller)
}

// Who returns whose key a secret is. It reports false if it is nobody's.
func (g *Gateway) Who(secret string) (Caller, bool) {
	if h := g.current.Load().holderOf(secret); h != nil {
		return h.caller(), true
	}
	return Caller{}, false
}

// Known reports whether a key is still in force with the secret and the role that it had, for who has let its holder in
// for longer than a request.
func (g *Gateway) Known(c Caller) bool {
	return slices.ContainsFunc(g.current.Load().holders, func(h *holder) bool { return h.caller() == c })
}

// Stopping returns a channel that is closed when the service begins to end, so that answers which go on until
// the client leaves can end as well.
func (g *Gateway) Stopping() <-chan struct{} { return g.stopping }

// caller is the holder for those outside of this package.
func (h *holder) caller() Caller {
	if h == nil {
		return Caller{}
	}
	role := h.Role
	if role == "" {
		role = RoleClient
	}
	return Caller{Name: h.Name, Role: role, hash: h.Hash}
}

// sortMounts returns mounts with the longest prefix first.
func sortMounts(mounts []Mount) []Mount {
	sorted := slices.Clone(mounts)
	slices.SortStableFunc(sorted, func(a, b Mount) int { return len(b.Prefix) - len(a.Prefix) })
	return sorted
}

// mounted returns the mount that a path belongs to, or nil.
func (g *Gateway) mounted(path string) *Mount {
	for i := range g.mounts {
		m := &g.mounts[i]
		if path == m.Prefix || len(m.Prefix) > 1 && strings.HasSuffix(m.Prefix, "/") &&
			strings.HasPrefix(path, m.Prefix) {
			return m
		}
	}
	return nil
}

// followsLink reports whether a request is a browser's that shows a document in place of the page which links to it.
func (g *Gateway) followsLink(r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		r.Header.Get("Sec-Fetch-Dest") != "document" {
		return false
	}
	m := g.mounted(r.URL.Path)
	return m != nil && m.Linked
}

// mountMethods are those that a page of a listed origin may use where another package answers.
const mountMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"

// maxValues is how many values a body may hold that goes to a mount whole: what reads it may make a tree of them.
const maxValues = 200_000

// What a request of JSON-RPC may hold besides the arguments of a tool: errors repeat it.
const (
	maxMethod = 128
	maxParams = 64 << 10
)

// serveMount hands a request to a mount, if its key lets it in.
func (x *exchange) serveMount(m *Mount) *failure {
	x.path = m.Prefix
	if x.r.Method == http.MethodOptions && x.g.allowsOrigin(x.r.Header.Get("Origin")) {
		x.preflight(mountMethods)
		return nil
	}
	secret := apikey.FromHeader(x.r.Header)
	h := x.g.holderOf(secret)
	var by Caller
	if h == nil && m.Tokens != nil && len(m.Roles) > 0 && (secret == "" || strings.Count(secret, ".") == 2) {
		var f *failure
		if h, by, f = x.present(m, secret); f != nil {
			return f
		}
	}
	if h == nil && secret != "" && len(x.g.holders) > 0 {
		if f := x.g.refuseKey(x.r); f != wrongKey || len(m.Roles) > 0 {
			return f
		}
	}
	login := m.Login != "" && x.r.URL.Path == m.Login
	if login {
		if wait := x.g.guesses.wait(guesser(x.r), x.start); wait > 0 {
			return tooManyGuesses(wait)
		}
	}
	if len(m.Roles) > 0 {
		switch {
		case h == nil:
			return noKey
		case !slices.Contains(m.Roles, h.caller().Role):
			return forbidden("insufficient_permissions", "a key of the role "+string(h.caller().Role)+
				" may not use this URL")
		}
	}
	if x.holder = h; by.Name == "" {
		by = h.caller()
	}
	if m.Whole {
		body, f := x.readBody()
		if f != nil {
			return f
		}
		if more(body, "{[,", maxValues) {
			return refuse(http.StatusBadRequest, chat.ErrBadRequest, codeTooLarge,
				"the request holds more than "+strconv.Itoa(maxValues)+" values: send fewer at a time")
		}
		x.r.Body, x.heard = io.NopCloser(bytes.NewReader(body)), nil // what others answer is not captured
		method, params := m.method(body)
		if params > maxParams {
			return refuse(http.StatusBadRequest, chat.ErrBadRequest, codeTooLarge,
				"the parameters have more than "+strconv.Itoa(maxParams)+" bytes, without the arguments of a tool")
		}
		if len(method) > maxMethod {
			return refuse(http.StatusBadRequest, chat.ErrBadRequest, codeTooLarge,
				"the method's name has more than "+strconv.Itoa(maxMethod)+" bytes")
		}
		if method != "" && method == m.Counted {
			if f := x.takePlace(); f != nil {
				return f
			}
			defer x.leave()
		}
	}
	w := &mountWriter{ResponseWriter: x.w, x: x}
	m.Serve(w, x.r, by)
	if x.status == 0 { // net/http sends it
		x.status = http.StatusOK
	}
	switch {
	case x.status == http.StatusUnauthorized && login:
		x.g.refuseKey(x.r)
	case x.status == http.StatusRequestEntityTooLarge:
		x.drain()
	}
	if x.r.ContentLength != 0 && !m.Whole {
		x.rc.SetReadDeadline(time.Now().Add(lastWords)) // net/http reads and drops what the mount has not read
	}
	return nil
}

// present presents an access token. Its holder has the rights of a key.
func (x *exchange) present(m *Mount, token string) (*holder, Caller, *failure) {
	p := m.Tokens(x.r, token)
	if p.Key == "" {
		if p.Status == 0 {
			return nil, Caller{}, nil
		}
		if p.Challenge != "" {
			x.w.Header().Set("WWW-Authenticate", p.Challenge)
		}
		return nil, Caller{}, refuse(p.Status, chat.ErrAuth, codeKey, p.Message)
	}
	h := holderNamed(x.g.holders, p.Key)
	if h == nil {
		return nil, Caller{}, noKey // it has just gone from the configuration
	}
	by := h.caller()
	by.Name, by.Key = p.Name, h.Name
	return h, by, nil
}

// method returns the method of a request, where some count within the limits of a key, and how many bytes its
// parameters have, without the arguments of a tool.
func (m *Mount) method(body []byte) (name string, params int) {
	var request struct {
		Method string
		Params json.RawMessage
	}
	if m.Counted == "" || json.Unmarshal(body, &request) != nil {
		return "", 0
	}
	params = len(request.Params)
	if request.Method == m.Counted {
		var call struct{ Arguments json.RawMessage }
		_ = json.Unmarshal(request.Params, &call) // of another form it has none
		params -= len(call.Arguments)
	}
	return request.Method, params
}

// A mountWriter notes what is answered, for the log, and gives the client its time to take each write.
type mountWriter struct {
	http.ResponseWriter
	x *exchange
}

func (w *mountWriter) WriteHeader(status int) {
	if w.x.status == 0 && status >= http.StatusOK {
		w.x.status = status
		if status >= http.StatusInternalServerError {
			w.x.err = &chat.Error{Kind: chat.ErrUnavailable, Code: codeInternal, Message: http.StatusText(status)}
		}
	}
	w.x.deadline(time.Now())
	w.ResponseWriter.WriteHeader(status)
}

func (w *mountWriter) Write(p []byte) (int, error) {
	if w.x.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.x.deadline(time.Now())
	n, err := w.ResponseWriter.Write(p)
	w.x.written += int64(n)
	return n, err
}

// Unwrap lets a ResponseController reach what is behind.
func (w *mountWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
