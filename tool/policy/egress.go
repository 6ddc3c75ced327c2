package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A target locates the server that a URL leads to.
type target struct {
	scheme string
	host   string // in lower case, without a point at its end
	port   string
	addr   netip.Addr // if the host is written as an address
}

// usualPorts are used without being named by a rule.
var usualPorts = map[string]string{"http": "80", "https": "443"}

func (t target) usualPort() bool { return t.port == "80" || t.port == "443" }

func (t target) String() string { return t.scheme + "://" + t.host + ":" + t.port }

// readTarget reads a URL. What different programs read differently is an error.
func readTarget(text string) (target, error) {
	var t target
	if strings.ContainsAny(text, "\\ \t") || badText(text) != "" {
		return t, fmt.Errorf("a backslash, blank or invisible character in the URL, which not all programs read alike")
	}
	u, err := url.Parse(text)
	if err != nil {
		return t, fmt.Errorf("not a URL")
	}
	t.scheme = strings.ToLower(u.Scheme)
	if _, ok := usualPorts[t.scheme]; !ok {
		return t, fmt.Errorf("the scheme %q: only http and https are used", u.Scheme)
	}
	if u.User != nil || strings.Contains(u.Host, "@") || u.Opaque != "" {
		return t, fmt.Errorf("a user or password in the URL")
	}
	t.host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if t.port = u.Port(); t.port == "" {
		t.port = usualPorts[t.scheme]
	}
	if t.host == "" {
		return t, fmt.Errorf("no host in the URL")
	}
	return t, t.readHost()
}

// readHost refuses hosts that are addresses in disguise.
func (t *target) readHost() error {
	if a, err := netip.ParseAddr(t.host); err == nil {
		if a.Zone() != "" {
			return fmt.Errorf("an address with a zone, which is of the local network")
		}
		t.addr = a.Unmap()
		return nil
	}
	for _, r := range t.host {
		if r >= 0x80 {
			return fmt.Errorf("a host with letters beyond ASCII: write it as xn--")
		}
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_') {
			return fmt.Errorf("the character %q in the host", r)
		}
	}
	if strings.Contains(t.host, "..") {
		return fmt.Errorf("two dots in a row in the host")
	}
	last := t.host[strings.LastIndexByte(t.host, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return fmt.Errorf("a number for a host, which some programs read as an address")
	}
	return nil
}

// An addressClass is a range of addresses that no call reaches unless a rule names it.
type addressClass struct {
	name   string
	ranges []netip.Prefix
}

func ranges(name string, texts ...string) addressClass {
	c := addressClass{name: name}
	for _, t := range texts {
		c.ranges = append(c.ranges, netip.MustParsePrefix(t))
	}
	return c
}

// cloudMetadata names the service that gives machines of a cloud their keys.
const cloudMetadata = "the metadata service of a cloud"

// addressClasses are looked through in order. Of IPv6 what is not given out to the public is refused as a
// whole, with all forms that hold an address of version 4.
var addressClasses = []addressClass{
	ranges(cloudMetadata, "169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32",
		"168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
	ranges("this machine", "127.0.0.0/8", "::1/128"),
	ranges("no address", "0.0.0.0/8", "::/128"),
	ranges("a private network", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
	ranges("a network of a carrier", "100.64.0.0/10"),
	ranges("the local link", "169.254.0.0/16", "fe80::/10"),
	ranges("multicast", "224.0.0.0/4", "ff00::/8"),
	ranges("a reserved range", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4"),
	ranges("an address inside of another", "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16",
		"2001::/32"),
	ranges("a reserved range", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "100::/64"),
}

// public is the part of IPv6 that is given out.
var public = netip.MustParsePrefix("2000::/3")

// addressClassOf names the class of an address for which it is refused; "" if it is an address of the public network.
func addressClassOf(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	for _, c := range addressClasses {
		if slices.ContainsFunc(c.ranges, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return c.name
		}
	}
	if a.Is6() && !public.Contains(a) {
		return "a reserved range"
	}
	return ""
}

// URLProblem says why a person is not to be sent to an address that somebody else names, such as "this machine"; "" if
// it is one of the public network.
func URLProblem(text string) string {
	t, err := readTarget(text)
	if err != nil {
		return err.Error()
	}
	return t.hostClassOf()
}

// localNames are names of this machine and of its network, whatever a resolver says.
var localNames = []struct{ name, class string }{
	{"localhost", "this machine"},
	{"localhost.localdomain", "this machine"},
	{"localdomain4", "this machine"}, // as in localhost4.localdomain4, which hosts files have
	{"localdomain6", "this machine"},
	{"local", "the local network"},
	{"localdomain", "the local network"},
	{"internal", "the network of a cloud"}, // with metadata.google.internal
	{"intranet", "a private network"},
	{"lan", "a private network"},
	{"home.arpa", "a private network"},
	{"home", "a private network"}, // this and the next are never given out, for they are in use everywhere
	{"corp", "a private network"},
	{"mail", "a private network"},
	{"private", "a private network"},
	{"svc", "a private network"}, // services of a Kubernetes cluster
	{"onion", "a network of its own"},
	{"metadata", cloudMetadata},
	{"instance-data", cloudMetadata},
}

// hostClassOf names the class of a host for which it is refused.
func (t target) hostClassOf() string {
	if t.addr.IsValid() {
		return addressClassOf(t.addr)
	}
	for _, n := range localNames {
		if t.host == n.name || strings.HasSuffix(t.host, "."+n.name) {
			return n.class
		}
	}
	if !strings.Contains(t.host, ".") {
		return "a name without a domain, which is of the local network"
	}
	return ""
}

// names reports whether the pattern names the host or address itself, not by a star.
func (h hostPattern) names(t target) bool { return !h.any && h.fits(t) }
