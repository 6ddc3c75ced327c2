package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"wield/chat"
	"wield/tool/policy"
)

// OAuth says how tokens for a service are had: by OAuth 2.1 with PKCE. The zero value uses tokens that a login has
// kept.
type OAuth struct {
	Tokens *Tokens // where they are kept; nil: nowhere, and every connection logs in
	Who    string  // whose tokens they are; empty: everybody's

	ClientID     string // of a client that was registered by hand; empty: wield registers itself
	ClientSecret string
	Metadata     string // address of a Client ID Metadata Document, which is the client's id; empty: there is none

	Redirect string // where the browser goes after the login; needed with Visit
	// Visit sends a person to an address and returns the one that the browser was sent to then. Nil: nobody is there
	// to log in, and a service that wants it says so.
	Visit func(ctx context.Context, address string) (*url.URL, error)

	again bool // tokens that are kept are not used

	Client *http.Client // for metadata and tokens; nil: one that goes to the service's host and public addresses
}

// ErrLogin says that somebody has to log in.
var ErrLogin = errors.New("the service wants a login")

// handler returns what authorizes requests to a service.
func (o *OAuth) handler(name, address string) (auth.OAuthHandler, error) {
	client := o.Client
	if client == nil {
		var err error
		if client, err = guarded(address); err != nil {
			return nil, err
		}
	}
	h := &authorizer{o: o, name: name, address: address, client: client}
	if kept := o.Tokens.Get(name, o.Who); kept != nil && kept.Resource == address && !o.again {
		h.source = h.kept(kept)
	}
	return h, nil
}

// timeToLogin limits how long a person may take to log in.
const timeToLogin = 10 * time.Minute

// ErrNoLogin says that a service wants no login.
var ErrNoLogin = errors.New("the service wants no login")

// Login logs in to the service and keeps the tokens, whatever was kept before. who is whose login it is; empty:
// everybody's.
func (s *Server) Login(ctx context.Context, who, redirect string, visit func(context.Context, string) (*url.URL,
	error)) error {
	if s.o.OAuth == nil {
		return ErrNoLogin
	}
	visited := false
	login := *s.o.OAuth
	login.Who, login.Redirect, login.again = who, redirect, true
	login.Visit = func(ctx context.Context, address string) (*url.URL, error) {
		visited = true
		return visit(ctx, address)
	}
	o := s.o
	o.OAuth, o.Peer, o.Start, o.Pins = &login, Peer{}, timeToLogin, nil
	own := New(o)
	defer own.Close()
	if err := own.list(ctx); err != nil {
		return err
	}
	if !visited {
		return ErrNoLogin
	}
	return nil
}

// guarded returns a client for what a service says about logging in, which may name any address: private ones only if
// the service itself is there.
func guarded(address string) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	p, err := policy.New(policy.Definition{Name: "login", Default: chat.DecisionAllow,
		Rules: []policy.Rule{{Decision: chat.DecisionAllow,
			Selector: policy.Selector{Host: []string{net.JoinHostPort(u.Hostname(), "*")}}}}})
	if err != nil {
		return nil, err
	}
	client := p.Egress("mcp login", policy.EgressOptions{}).Client()
	client.Timeout = loginTime
	return client, nil
}

// loginTime limits one request of a login.
const loginTime = 30 * time.Second

// An authorizer gets tokens for one service.
type authorizer struct {
	o       *OAuth
	name    string
	address string
	client  *http.Client

	mu     sync.Mutex
	source oauth2.TokenSource // nil: there is no token yet
	flow   auth.OAuthHandler  // that logs in; nil: nobody has had to
	server string             // that gave the last code
}

// TokenSource implements auth.OAuthHandler.
func (h *authorizer) TokenSource(context.Context) (oauth2.TokenSource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.source, nil
}

// Authorize implements auth.OAuthHandler: it logs in, if a person is there.
func (h *authorizer) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	if h.o.Visit == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusForbidden {
			return nil // it is answered again, and the answer says why
		}
		return fmt.Errorf("%w: wield mcp login %s", ErrLogin, h.name)
	}
	h.mu.Lock()
	flow := h.flow
	h.mu.Unlock()
	if flow == nil {
		var err error
		if flow, err = h.login(); err != nil {
			resp.Body.Close()
			return err
		}
		h.mu.Lock()
		h.flow = flow
		h.mu.Unlock()
	}
	return flow.Authorize(ctx, r, resp)
}

// login makes what carries a login out.
func (h *authorizer) login() (auth.OAuthHandler, error) {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: h.o.Redirect, AuthorizationCodeFetcher: h.code, RequestRefreshToken: true, Client: h.client,
		NewTokenSource: h.granted,
	}
	switch {
	case h.o.ClientID != "":
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: h.o.ClientID}
		if h.o.ClientSecret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: h.o.ClientSecret}
		}
	default:
		if h.o.Metadata != "" {
			c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: h.o.Metadata}
		}
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "wield", RedirectURIs: []string{h.o.Redirect},
				GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
			}}
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// code has a person log in.
func (h *authorizer) code(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	at, err := url.Parse(a.URL)
	if err != nil {
		return nil, err
	}
	back, err := h.o.Visit(ctx, a.URL)
	if err != nil {
		return nil, err
	}
	q := back.Query()
	if q.Get("error") != "" {
		return nil,
			fmt.Errorf("the login was refused: %s", policy.Visible(q.Get("error")+" "+q.Get("error_description")))
	}
	h.mu.Lock()
	h.server = q.Get("iss")
	if h.server == "" {
		h.server = at.Scheme + "://" + at.Host
	}
	h.mu.Unlock()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

// granted keeps the tokens of a login.
func (h *authorizer) granted(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := &Token{Issuer: h.server, Resource: h.address, ClientID: c.ClientID, ClientSecret: c.ClientSecret,
		Endpoint: c.Endpoint.TokenURL, Style: int(c.Endpoint.AuthStyle), Scopes: c.Scopes, Access: t.AccessToken,
		Refresh: t.RefreshToken, Expires: t.Expiry}
	h.source = h.kept(kept)
	return h.source, h.o.Tokens.Put(h.name, h.o.Who, kept)
}

// kept returns a source of tokens that keeps those that it gets anew. They come from where the first one came from.
func (h *authorizer) kept(k *Token) oauth2.TokenSource {
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, h.client)
	c := &oauth2.Config{ClientID: k.ClientID, ClientSecret: k.ClientSecret, Scopes: k.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: k.Endpoint, AuthStyle: oauth2.AuthStyle(k.Style)}}
	t := &oauth2.Token{AccessToken: k.Access, RefreshToken: k.Refresh, Expiry: k.Expires, TokenType: "Bearer"}
	return &keeping{h: h, kept: k, next: c.TokenSource(ctx, t)}
}

// A keeping is a source of tokens that keeps what is new.
type keeping struct {
	h    *authorizer
	next oauth2.TokenSource

	mu   sync.Mutex
	kept *Token
}

// Token implements oauth2.TokenSource.
func (s *keeping) Token() (*oauth2.Token, error) {
	t, err := s.next.Token()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.AccessToken == s.kept.Access {
		return t, nil
	}
	now := *s.kept
	now.Access, now.Refresh, now.Expires = t.AccessToken, t.RefreshToken, t.Expiry
	s.kept = &now
	return t, s.h.o.Tokens.Put(s.h.name, s.h.o.Who, &now)
}
