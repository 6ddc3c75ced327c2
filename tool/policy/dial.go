package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrEgress is wrapped by every error about an address that is not gone to.
var ErrEgress = errors.New("policy: address refused")

// EgressOptions say how an Egress goes out. The zero value uses the system's resolver and its network.
type EgressOptions struct {
	// Resolver looks up the addresses of a host; nil: the system's.
	Resolver interface {
		LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	}
	// Dial connects to an address that has been checked; nil: a net.Dialer, whose Control checks it once more.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Answer limits the wait for the headers of a server's answer; 0: 30 s; [chat.NoLimit]: as long as
	// the request may take.
	Answer time.Duration
	// Approved lists URLs that a person has approved although the policy asks about them.
	Approved []string
	// Sites lists sites, as scheme://host:port, of which a person has approved everything.
	Sites []string
}

const (
	maxRedirects = 5
	dialTimeout  = 10 * time.Second
	maxHeader    = 256 << 10
)

// An Egress goes out to the network for a tool, as far as a policy lets it. What counts is not the name of a host but
// every address that it stands for, looked at before and again at the moment of the connection, so that a name which
// changes its meaning in between gains nothing. An Egress may be used by several goroutines.
type Egress struct {
	policy *Policy
	tool   string
	opts   EgressOptions
}

// Egress returns what a tool goes out with.
func (p *Policy) Egress(tool string, opts EgressOptions) *Egress {
	if opts.Resolver == nil {
		opts.Resolver = net.DefaultResolver
	}
	return &Egress{policy: p, tool: tool, opts: opts}
}

// CheckURL reports why a URL is not gone to. Nothing is looked up.
func (g *Egress) CheckURL(url string) error {
	v := g.policy.Decide(Action{Tool: g.tool, URLs: []string{url}})
	if v.Decision == "allow" || v.Decision == "ask" && (slices.Contains(g.opts.Approved, url) || g.onSite(url)) {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrEgress, Visible(url), v.Why)
}

// onSite reports whether a URL leads to one of the approved sites.
func (g *Egress) onSite(url string) bool {
	t, err := readTarget(url)
	return err == nil && slices.ContainsFunc(g.opts.Sites, func(site string) bool {
		s, err := readTarget(site)
		return err == nil && s == t
	})
}

// Check reports why a host is not connected to: one of the addresses that it stands for is refused. A host that has
// good and bad addresses is refused as a whole, since that is how a name is made to change its meaning.
func (g *Egress) Check(ctx context.Context, host, port string) ([]netip.Addr, error) {
	t := target{scheme: "http", host: host, port: port}
	if a, err := netip.ParseAddr(host); err == nil {
		t.addr = a.Unmap()
		return []netip.Addr{t.addr}, g.checkAddr(t)
	}
	addrs, err := g.opts.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%w: %s has no address", ErrEgress, Visible(host))
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
		t.addr = addrs[i]
		if err := g.checkAddr(t); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// checkAddr reports why an address is not connected to. A rule that names the host or the address opens it.
func (g *Egress) checkAddr(t target) error {
	class := addressClassOf(t.addr)
	if class == "" {
		return nil
	}
	byName := target{host: t.host, port: t.port}
	if g.policy.opens(g.tool, byName) || g.policy.opens(g.tool, t) {
		return nil
	}
	return fmt.Errorf("%w: %s belongs to %s", ErrEgress, t.addr, class)
}

// Control is for net.Dialer: it refuses an address at the moment of the connection.
func (g *Egress) Control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s is no address", ErrEgress, Visible(address))
	}
	return g.checkAddr(target{scheme: "http", addr: ap.Addr().Unmap(), port: fmt.Sprint(ap.Port())})
}

// DialContext connects to a host after all its addresses have been checked, to the first of them that answers.
func (g *Egress) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.Check(ctx, host, port)
	if err != nil {
		return nil, err
	}
	dial := g.opts.Dial
	if dial == nil {
		d := net.Dialer{Timeout: dialTimeout, Control: g.control(host)}
		d.SetMultipathTCP(false)
		dial = d.DialContext
	}
	var failed error
	for _, a := range addrs {
		conn, err := dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// control is Control for a connection to a host, which a rule may open by its name.
func (g *Egress) control(host string) func(string, string, syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return g.Control(network, address, c)
		}
		return g.checkAddr(target{scheme: "http", host: host, addr: ap.Addr().Unmap(), port: fmt.Sprint(ap.Port())})
	}
}

// Client returns an HTTP client that goes out through g: no proxy of the environment, which would hide where
// connections go, redirects checked one by one, headers bounded. The body of an answer is the caller's to bound.
func (g *Egress) Client() *http.Client {
	return &http.Client{
		Transport: &checked{g: g, next: &http.Transport{
			Proxy:                  nil,
			DialContext:            g.DialContext,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  max(cmp.Or(g.opts.Answer, 3*dialTimeout), 0),
			IdleConnTimeout:        dialTimeout,
			MaxIdleConns:           4,
		}},
		CheckRedirect: g.CheckRedirect,
	}
}

// CheckRedirect is for http.Client: it bounds the number of redirects and refuses those that the policy does not allow.
func (g *Egress) CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: more than %d redirects", ErrEgress, maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("%w: a redirect from https to %s", ErrEgress, req.URL.Scheme)
	}
	return g.CheckURL(req.URL.String())
}

// checked looks at the URL of every request, redirects included.
type checked struct {
	g    *Egress
	next *http.Transport
}

// RoundTrip sends a request that the policy allows.
func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.g.CheckURL(req.URL.String()); err != nil {
		return nil, err
	}
	return c.next.RoundTrip(req)
}

// CloseIdleConnections closes the connections that wait for more, as http.Client does for its transport.
func (c *checked) CloseIdleConnections() { c.next.CloseIdleConnections() }
