package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/internal/apikey"
)

// A Role says what a caller may do.
type Role string

// The roles, as they are given to keys.
const (
	RoleClient   Role = "client"   // start runs and see its own
	RoleApprover Role = "approver" // see and decide approvals
	RoleAdmin    Role = "admin"    // everything
	RoleWorker   Role = "worker"   // nothing here
)

// A Caller identifies the sender of a request.
type Caller struct {
	Name string // of the key
	Role Role
	// Sees reports whether the caller may use the model of a name; nil: all.
	Sees func(model string) bool
}

// owns reports whether what somebody asked for is there for the caller.
func (c *Caller) owns(by string) bool { return c.Role != RoleClient || by == c.Name }

// sees reports whether the caller may use a model.
func (c *Caller) sees(model string) bool { return c.Sees == nil || c.Sees(model) }

// cookieName is the name of the cookie that stands for a key; behind it stands the port, if the address has one.
const cookieName = "wield_session"

// sessionCookie returns the name of the cookie for a host. Browsers send cookies to all ports of a host, so that those
// of two services on one machine would replace each other.
func sessionCookie(host string) string {
	if u, err := url.Parse("//" + host); err == nil && u.Port() != "" {
		return cookieName + "_" + u.Port()
	}
	return cookieName
}

// Bounds of logins.
const (
	maxLogins = 1000           // the one that was not used for the longest time gives way
	loginAge  = 12 * time.Hour // without being used
	tokenAge  = 24 * time.Hour // of the token in a printed address
)

// A login is somebody who has shown a key and shows a cookie since.
type login struct {
	hash [sha256.Size]byte // of the key, which is looked up each time, so that one that was taken away lets nobody in
	self bool              // came with a token instead, from this machine
	used time.Time
}

// logins knows who has logged in. Only hashes of what they show are kept.
type logins struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*login
	tokens map[[sha256.Size]byte]time.Time // when they end
}

// secret returns a text that nobody can guess.
func secret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// add begins a login and returns what its cookie holds.
func (l *logins) add(now time.Time, in login) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byHash == nil {
		l.byHash = map[[sha256.Size]byte]*login{}
	}
	l.tidy(now)
	value := secret()
	in.used = now
	l.byHash[sha256.Sum256([]byte(value))] = &in
	return value
}

// tidy forgets what is over, and what was not used for the longest time if there is no room.
func (l *logins) tidy(now time.Time) {
	var oldest [sha256.Size]byte
	var when time.Time
	for hash, in := range l.byHash {
		if now.Sub(in.used) > loginAge {
			delete(l.byHash, hash)
			continue
		}
		if when.IsZero() || in.used.Before(when) {
			oldest, when = hash, in.used
		}
	}
	if len(l.byHash) >= maxLogins {
		delete(l.byHash, oldest)
	}
}

// find returns the login that a cookie stands for. Used says that somebody uses it, as the keep-alive of a stream does
// not.
func (l *logins) find(now time.Time, value string, used bool) (login, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.byHash[sha256.Sum256([]byte(value))]
	if in == nil || now.Sub(in.used) > loginAge {
		return login{}, false
	}
	if used {
		in.used = now
	}
	return *in, true
}

func (l *logins) end(value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byHash, sha256.Sum256([]byte(value)))
}

// token makes a token that lets somebody in once.
func (l *logins) token(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for hash, end := range l.tokens {
		if now.After(end) {
			delete(l.tokens, hash)
		}
	}
	if l.tokens == nil {
		l.tokens = map[[sha256.Size]byte]time.Time{}
	}
	value := secret()
	l.tokens[sha256.Sum256([]byte(value))] = now.Add(tokenAge)
	return value
}

// redeem uses up a token, and reports whether it was good.
func (l *logins) redeem(now time.Time, value string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(value))
	end, ok := l.tokens[hash]
	delete(l.tokens, hash)
	return ok && now.Before(end)
}

// self is who has logged in with a token: whoever reads what the program prints.
var self = Caller{Name: "local", Role: RoleAdmin}

// keyPlace says where whoever was refused finds a key.
const keyPlace = "one of the configuration (keys; wield config key makes one), " +
	"or the one that wield serve prints when it starts"

// identify finds out who sends a request.
func (x *exchange) identify() (Caller, error) {
	s := x.s
	if key := apikey.FromHeader(x.r.Header); key != "" {
		if c, ok := s.holder(sha256.Sum256([]byte(key))); ok {
			return c, nil
		}
		return Caller{}, fault(KindUnknown, "the key is not one of this service").
			with("send another as Authorization: Bearer KEY: " + keyPlace)
	}
	if token := x.r.URL.Query().Get("token"); token != "" && x.route.link {
		if s.o.Links != nil {
			if by, ok := s.o.Links.Check(x.arg("approval"), token); ok {
				return Caller{Name: by, Role: RoleApprover}, nil
			}
		}
		return Caller{}, fault(KindUnknown, "the link is not for this approval").with("use the link as it was sent")
	}
	if cookie, err := x.r.Cookie(sessionCookie(x.r.Host)); err == nil {
		in, ok := s.logins.find(time.Now(), cookie.Value, !x.begun)
		switch {
		case ok && in.self:
			return self, x.sameOrigin()
		case ok:
			if c, ok := s.holder(in.hash); ok {
				return c, x.sameOrigin()
			}
		}
		return Caller{}, fault(KindUnknown, "the login is over").with("log in again")
	}
	return Caller{}, fault(KindUnknown, "a key is needed").
		with("log in on the page, or send a key as Authorization: Bearer KEY: " + keyPlace)
}

// stillIn reports whether who sent the request is still let in: a key may be removed, and a login ended, while an
// answer goes on.
func (x *exchange) stillIn() bool {
	now, err := x.identify()
	return err == nil && now.Name == x.caller.Name && now.Role == x.caller.Role
}

func (s *Server) holder(hash [sha256.Size]byte) (Caller, bool) {
	if s.o.Holder == nil {
		return Caller{}, false
	}
	return s.o.Holder(hash)
}

// sameOrigin refuses what a browser sends along a cookie with for another page than the service's own. The cookie is
// for the same site alone, but another program on this machine is of the same site.
func (x *exchange) sameOrigin() error {
	if err := x.s.origin.Check(x.r); err != nil {
		return fault(KindForbidden, "a page of another origin may not use this login").
			with("send a key instead of the cookie")
	}
	return nil
}

// allow reports a caller whose role the route is not for.
func (x *exchange) allow() error {
	may := x.route.may
	if slices.Contains(may, x.caller.Role) {
		return nil
	}
	words := make([]string, len(may))
	for i, r := range may {
		words[i] = string(r)
	}
	return fault(KindForbidden, "a key of the role %s may not do this", x.caller.Role).
		with("use one of the role " + strings.Join(words, " or "))
}

// Login holds the credentials of a login.
type Login struct {
	Key string `json:"key" jsonschema:"a key of the service"`
}

// Me is who a caller is.
type Me struct {
	Name string `json:"name" jsonschema:"name of the key; local for whoever came with the printed address"`
	Role Role   `json:"role"`
}

// logIn answers POST /login: a key becomes a cookie.
func (x *exchange) logIn() (any, error) {
	in := x.body.(*Login)
	if err := x.sameOrigin(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(in.Key))
	c, ok := x.s.holder(hash)
	if !ok {
		return nil, &Fault{Kind: KindUnknown, Message: "the key is not one of this service", Field: "/key",
			Fix: "use " + keyPlace}
	}
	x.cookie(x.s.logins.add(time.Now(), login{hash: hash}), int(loginAge/time.Second))
	return &Me{c.Name, c.Role}, nil
}

// logInByToken answers GET /login: the token of a printed address becomes a cookie. Of one that is of no use a
// program is told so, and a person by the page, which may know them already.
func (x *exchange) logInByToken() error {
	if !x.s.logins.redeem(time.Now(), x.query("token")) {
		if strings.Contains(x.r.Header.Get("Accept"), "text/html") {
			x.toPage("/#used")
			return nil
		}
		return fault(KindUnknown, "the address was used before, or is too old").
			with("log in with a key, or start the service again for another address")
	}
	x.cookie(x.s.logins.add(time.Now(), login{self: true}), int(loginAge/time.Second))
	x.toPage("/")
	return nil
}

// toPage sends a browser to the page. Where it came from is a secret.
func (x *exchange) toPage(address string) {
	h := x.w.Header()
	h.Set("Location", address)
	h.Set("Referrer-Policy", "no-referrer")
	x.begun = true
	x.w.WriteHeader(http.StatusSeeOther)
}

// logOut answers POST /logout.
func (x *exchange) logOut() (any, error) {
	if err := x.sameOrigin(); err != nil {
		return nil, err
	}
	if cookie, err := x.r.Cookie(sessionCookie(x.r.Host)); err == nil {
		x.s.logins.end(cookie.Value)
	}
	x.cookie("", -1)
	return nil, nil
}

func (x *exchange) cookie(value string, age int) {
	// #nosec G124 -- without TLS, which loopback needs none of, a browser would not send a Secure cookie back
	http.SetCookie(x.w, &http.Cookie{Name: sessionCookie(x.r.Host), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: x.r.TLS != nil, SameSite: http.SameSiteStrictMode})
}

// whoami answers GET /whoami.
func (x *exchange) whoami() (any, error) { return &Me{x.caller.Name, x.caller.Role}, nil }
