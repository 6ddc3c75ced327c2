package servertools

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A searchHit is one find of a search.
type searchHit struct{ url, title string }

// maxPages bounds the pages of one search.
const maxPages = 50

// pagesOf returns the pages that the result of a search names: the objects with an address, if it is JSON, else the
// links and addresses in the text.
func pagesOf(text string) []searchHit {
	f := finds{known: map[string]bool{}}
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		f.walk(value)
	} else {
		f.scan(text)
	}
	return f.pages
}

type finds struct {
	pages []searchHit
	known map[string]bool
}

func (f *finds) add(address, title string) {
	if f.known[address] || len(f.pages) == maxPages {
		return
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	f.known[address] = true
	f.pages = append(f.pages, searchHit{address, cmp.Or(title, u.Host)})
}

func (f *finds) walk(value any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			f.walk(one)
		}
	case object:
		if address := member(v, "url", "link", "href", "uri"); address != "" {
			f.add(address, member(v, "title", "name"))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.walk(v[key])
		}
	case string:
		f.scan(v)
	}
}

func member(o object, names ...string) string {
	for _, name := range names {
		if text, ok := o[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// links are links of Markdown, or bare addresses.
var links = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[([^\]\n]{1,300})\]\((https?://[^\s)]+)\)|https?://[^\s<>"'` + "`" + `)\]]+`)
})

func (f *finds) scan(text string) {
	for _, m := range links().FindAllStringSubmatch(text, -1) {
		if m[2] != "" {
			f.add(m[2], m[1])
		} else {
			f.add(strings.TrimRight(m[0], ".,;:!?"), "")
		}
	}
}

// permits reports whether a page may be fetched.
func (l *limits) permits(address string) bool {
	if len(l.Allowed)+len(l.Blocked) == 0 {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	return (len(l.Allowed) == 0 || within(u, l.Allowed)) && !within(u, l.Blocked)
}

// within reports whether an address is of one of some domains, which may have a path.
func within(u *url.URL, domains []string) bool {
	name := strings.ToLower(u.Hostname())
	for _, d := range domains {
		host, path, _ := strings.Cut(strings.ToLower(d), "/")
		below := name == host || strings.HasSuffix(name, "."+host)
		if below && strings.HasPrefix(strings.TrimPrefix(u.Path, "/"), path) {
			return true
		}
	}
	return false
}
