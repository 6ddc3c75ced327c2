// Package accesstoken checks access tokens that an OAuth authorization server issues for a protected resource: signed
// ones (RFC 9068), meant for it (RFC 8707). It says of the resource what its clients need to get one (RFC 9728).
package accesstoken

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Options say whose tokens are taken, and for what.
type Options struct {
	Issuer    string
	Resource  string   // address of the resource, as its clients know it
	Audiences []string // that tokens may have beside the resource
	Scopes    []string // that a token needs
	Name      string   // claim that names the holder; empty: sub
	Grants    []Grant  // the first that fits counts
	Client    *http.Client
}

// A Grant says whose rights the holder of a token has.
type Grant struct {
	Claim string // points lead into objects; empty: every token fits
	Value string // of the claim, or one of its values
	Key   string // whose rights they are
}

// A Verifier checks tokens. Several goroutines may use it at once.
type Verifier struct {
	o        Options
	resource *url.URL

	mu    sync.Mutex
	keys  oidc.KeySet // nil: the issuer has not been asked
	asked time.Time
}

// New returns a verifier. The issuer is asked for its keys when the first token comes.
func New(o Options) (*Verifier, error) {
	resource, err := url.Parse(o.Resource)
	if err != nil {
		return nil, err
	}
	if o.Client == nil {
		o.Client = &http.Client{}
	}
	own := *o.Client
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Timeout = cmp.Or(own.Timeout, 10*time.Second)
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client, o.Name = &own, cmp.Or(o.Name, "sub")
	return &Verifier{o: o, resource: resource}, nil
}

// A Holder has a token.
type Holder struct {
	Name string
	Key  string // whose rights it has
}

// An Error says why a token is not taken.
type Error struct {
	Status  int    // of HTTP
	Code    string // of RFC 6750; empty: there is no token
	Message string
}

func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) *Error {
	return &Error{http.StatusUnauthorized, "invalid_token", fmt.Sprintf(format, args...)}
}

func insufficient(message string) *Error {
	return &Error{http.StatusForbidden, "insufficient_scope", message}
}

func unchecked(err error) *Error {
	return &Error{http.StatusServiceUnavailable, "", "the access token cannot be checked: " + err.Error()}
}

// config takes the algorithms with public keys. The audience is checked with the resource in mind.
var config = oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: []string{oidc.RS256, oidc.RS384, oidc.RS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}}

// maxToken limits the length of a token.
const maxToken = 16 << 10

// Check returns the holder of a token for what is below the resource at a path, or an *Error.
func (v *Verifier) Check(ctx context.Context, token, below string) (Holder, error) {
	switch {
	case token == "":
		return Holder{}, &Error{Status: http.StatusUnauthorized,
			Message: "an access token of " + v.o.Issuer + ", or a key, is needed"}
	case len(token) > maxToken:
		return Holder{}, invalid("the access token is longer than %d bytes", maxToken)
	}
	keys, err := v.issuerKeys(ctx)
	if err != nil {
		return Holder{}, unchecked(err)
	}
	noted := &notingKeys{KeySet: keys}
	t, err := oidc.NewVerifier(v.o.Issuer, noted, &config).Verify(ctx, token)
	var unreachable *url.Error
	switch {
	case errors.As(noted.err, &unreachable) && !errors.Is(noted.err, errAskedBefore):
		return Holder{}, unchecked(noted.err)
	case err != nil:
		return Holder{}, invalid("the access token is not valid: %s", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	return v.holder(t, below)
}

// holder returns who has a genuine token, if it is meant for the resource.
func (v *Verifier) holder(t *oidc.IDToken, below string) (Holder, error) {
	meant := append([]string{v.o.Resource, v.address(below)}, v.o.Audiences...)
	if !slices.ContainsFunc(t.Audience, func(a string) bool { return slices.Contains(meant, a) }) {
		return Holder{}, invalid("the access token is for %q, not for %s", t.Audience, v.address(below))
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return Holder{}, invalid("the claims of the access token cannot be read: %v", err)
	}
	has := append(values(claims["scope"]), values(claims["scp"])...)
	for _, scope := range v.o.Scopes {
		if !slices.ContainsFunc(has, func(s string) bool { return slices.Contains(strings.Fields(s), scope) }) {
			return Holder{}, insufficient("the access token does not have the scope " + scope)
		}
	}
	names := values(find(claims, v.o.Name))
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(names) != 1 || names[0] == "" || len(names[0]) > 256 || strings.ContainsFunc(names[0], unprintable) {
		return Holder{}, invalid("the claim %s of the access token names nobody", v.o.Name)
	}
	for _, g := range v.o.Grants {
		if g.Claim == "" || slices.Contains(values(find(claims, g.Claim)), g.Value) {
			return Holder{Name: g.Key + "/" + names[0], Key: g.Key}, nil
		}
	}
	return Holder{}, insufficient("no access is configured for the claims of this token")
}

// find returns a claim, whose name may lead into objects.
func find(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	outer, inner, ok := strings.Cut(name, ".")
	if below, isObject := claims[outer].(map[string]any); ok && isObject {
		return find(below, inner)
	}
	return nil
}

// values returns the texts that a claim holds.
func values(claim any) []string {
	switch v := claim.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return []string{fmt.Sprint(claim)}
}

// address returns the address of what is below the resource.
func (v *Verifier) address(below string) string {
	if below == "" {
		return v.o.Resource
	}
	return strings.TrimSuffix(v.o.Resource, "/") + "/" + below
}

// WellKnown begins the paths of metadata.
const WellKnown = "/.well-known/oauth-protected-resource"

// Below returns the path below the resource that the path of metadata is about.
func (v *Verifier) Below(path string) string {
	path = strings.Trim(strings.TrimPrefix(path, WellKnown), "/")
	own := strings.Trim(v.resource.Path, "/")
	return strings.Trim(strings.TrimPrefix(path, own), "/")
}

// Metadata returns what RFC 9728 has of what is below the resource.
func (v *Verifier) Metadata(below string) []byte {
	text, _ := json.Marshal(struct { // texts can always be written
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{v.address(below), []string{v.o.Issuer}, v.o.Scopes, []string{"header"}, "wield"})
	return text
}

// Challenge returns the header WWW-Authenticate for a request that is refused.
func (v *Verifier) Challenge(below string, e *Error) string {
	at, _ := url.Parse(v.address(below)) // it was read before
	at.Path = WellKnown + strings.TrimSuffix(at.Path, "/")
	c := "Bearer "
	if e.Code != "" {
		c += fmt.Sprintf("error=%q, ", e.Code)
	}
	if len(v.o.Scopes) > 0 {
		c += fmt.Sprintf("scope=%q, ", strings.Join(v.o.Scopes, " "))
	}
	return c + fmt.Sprintf("resource_metadata=%q", at)
}

// askEvery is the shortest time between two requests to the issuer, since anybody can send tokens of unknown keys.
const askEvery = 5 * time.Second

var errAskedBefore = errors.New("the issuer was asked for its keys a moment ago")

// issuerKeys returns the keys of the issuer, and asks it where they are if need be.
func (v *Verifier) issuerKeys(ctx context.Context) (oidc.KeySet, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		return v.keys, nil
	}
	if time.Since(v.asked) < askEvery {
		return nil, errAskedBefore
	}
	v.asked = time.Now()
	at, err := v.discover(ctx)
	if err != nil {
		return nil, err
	}
	client := *v.o.Client
	client.Transport = &sparing{next: client.Transport}
	v.keys = oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), &client), at)
	return v.keys, nil
}

// notingKeys keeps why a signature could not be checked: the library's error does not wrap it.
type notingKeys struct {
	oidc.KeySet
	err error
}

// VerifySignature implements [oidc.KeySet].
func (n *notingKeys) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, n.err = n.KeySet.VerifySignature(ctx, token)
	return payload, n.err
}

// discover returns where the keys of the issuer are.
func (v *Verifier) discover(ctx context.Context) (string, error) {
	issuer, err := url.Parse(v.o.Issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(issuer.Path, "/")
	var failed error
	for _, p := range []string{
		path + "/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server" + path,
	} {
		at := *issuer
		at.Path = p
		keys, err := v.read(ctx, at.String())
		if err == nil {
			return keys, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// read reads the metadata of the issuer.
func (v *Verifier) read(ctx context.Context, at string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	resp, err := v.o.Client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: status %d", at, resp.StatusCode)
	}
	var meta struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&meta); err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	switch {
	case meta.Issuer != v.o.Issuer:
		return "", fmt.Errorf("%s names the issuer %q, not %q", at, meta.Issuer, v.o.Issuer)
	case meta.Keys == "":
		return "", fmt.Errorf("%s names no jwks_uri: only signed tokens can be checked", at)
	}
	return meta.Keys, nil
}

// sparing bounds how often the issuer is asked for its keys. In between it repeats how the last request failed.
type sparing struct {
	next http.RoundTripper

	mu     sync.Mutex
	last   time.Time
	failed error
}

// RoundTrip implements [http.RoundTripper].
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < askEvery {
		return nil, cmp.Or(s.failed, errAskedBefore)
	}
	s.last = time.Now()
	resp, err := s.next.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if s.failed = err; err != nil {
		return nil, err
	}
	return resp, nil
}
