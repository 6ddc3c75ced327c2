package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"wield/internal/shorten"
)

// checkHost refuses a request that addresses the service by a name which is not its own. That is what a page does whose
// name was made to point at this machine: to the browser it is then of the same origin as the service.
func (g *Gateway) checkHost(r *http.Request) *failure {
	name := hostName(r.Host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(g.opts.Hosts, "*") {
		return nil
	}
	if _, err := netip.ParseAddr(name); err == nil { // an address cannot be made to point elsewhere
		return nil
	}
	for _, h := range g.opts.Hosts {
		if strings.EqualFold(h, name) || strings.EqualFold(h, r.Host) {
			return nil
		}
	}
	return forbidden("host_not_allowed",
		"this service is not known as "+shorten.Quoted(r.Host)+": use its IP address or localhost, or list the name under "+
			"hosts in the configuration")
}

// hostName returns the host of a Host header in lower case, without port and brackets.
func hostName(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// checkOrigin refuses what a browser sends for a page of another origin, unless that origin is listed. For a listed one
// it sets the headers that let the page read the answer. Programs that are no browser send neither of the headers
// looked at.
func (g *Gateway) checkOrigin(w http.ResponseWriter, r *http.Request) *failure {
	origin := r.Header.Get("Origin")
	if origin == "" {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "cross-site", "same-site":
			if !g.followsLink(r) {
				return originFailure("a page of another site")
			}
		}
		return nil
	}
	if g.allowsOrigin(origin) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers",
			"X-Request-Id, X-Wield-Bounces, X-Wield-Notice, X-Wield-Conversation, Retry-After")
		h.Add("Vary", "Origin")
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil // a page that this service delivered; checkHost has seen to the name
	}
	return originFailure("the origin " + shorten.Quoted(origin))
}

func originFailure(who string) *failure {
	return forbidden("origin_not_allowed", who+
		" may not call this service: list it under origins in the configuration if it should")
}

func (g *Gateway) allowsOrigin(origin string) bool {
	if origin == "" {
		return false
	}
	for _, o := range g.opts.Origins {
		if o == "*" || strings.EqualFold(o, origin) {
			return true
		}
	}
	return false
}

// preflight answers a browser's question whether a page of a listed origin may send a request.
func (x *exchange) preflight(methods string) {
	h := x.w.Header()
	h.Set("Access-Control-Allow-Methods", methods)
	if want := x.r.Header.Get("Access-Control-Request-Headers"); want != "" {
		h.Set("Access-Control-Allow-Headers", want)
	}
	h.Set("Access-Control-Max-Age", "600")
	x.head(http.StatusNoContent)
}
