package builtin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"wield/tool"
)

// A Search tells search_internet where to look.
type Search struct {
	// searxng, brave, google or duckduckgo; empty: searxng if URL is set, google if ID is, brave if Key is, else
	// duckduckgo
	Provider string
	URL      string // of the provider; SearXNG has none of its own
	Key      string // brave, google
	ID       string // google: which of its programmable search engines
}

// The addresses of providers that have one.
const (
	braveURL      = "https://api.search.brave.com/res/v1/web/search"
	googleURL     = "https://www.googleapis.com/customsearch/v1"
	duckduckgoURL = "https://html.duckduckgo.com/html/"
	wikipediaURL  = "https://%s.wikipedia.org/w/api.php"
)

const (
	usualResults = 5
	mostResults  = 50
)

type internetInput struct {
	Query string `json:"query" jsonschema:"what to search for"`
	Max   int    `json:"max_results,omitempty" jsonschema:"maximum number of results. Default: 5"`
}

type internetOutput struct {
	Results []hit  `json:"results"`
	Count   int    `json:"count"`
	Num     int    `json:"num_results"` // the same, under the other name that it is known by
	Query   string `json:"query"`
}

type hit struct {
	Title   string `json:"title"`
	Snippet string `json:"snippet"`
	URL     string `json:"url"`
}

// A provider asks one search engine.
type provider struct {
	url     string
	request func(s *Search, in internetInput) (address string, header http.Header)
	read    func(body []byte) ([]hit, error)
}

var providers = map[string]provider{
	"searxng":    {"", askSearxng, readSearxng},
	"brave":      {braveURL, askBrave, readBrave},
	"google":     {googleURL, askGoogle, readGoogle},
	"duckduckgo": {duckduckgoURL, askDuckDuckGo, readDuckDuckGo},
}

func (s *Search) provider() string {
	switch {
	case s.Provider != "":
		return s.Provider
	case s.URL != "":
		return "searxng"
	case s.ID != "":
		return "google"
	case s.Key != "":
		return "brave"
	}
	return "duckduckgo"
}

func searchInternet(o *Options) *tool.Tool {
	t := tool.Stream("search_internet",
		`Search the web and return titles, snippets and URLs. Example: {"query": "weather in Paris", "max_results": 5}`,
		o.searchInternet)
	t.Facts = tool.Facts{Network: true, ReadOnly: true}
	t.Aliases = []string{"search_web", "internet_duckduckgo", "search_internet_duckduckgo"}
	t.Style = tool.StyleLLF
	t.Idempotent = true
	return t
}

func (o *Options) searchInternet(ctx context.Context, _ *tool.Call, in internetInput) (internetOutput, error) {
	s := o.Search
	p, ok := providers[s.provider()]
	if s.URL == "" {
		s.URL = p.url
	}
	if !ok || s.URL == "" {
		return internetOutput{}, tool.Errorf(tool.ErrNotAvailable, "no search engine is configured: there are "+
			"searxng, with its url, brave, with a key, google, with a key and an id, and duckduckgo")
	}
	if in.Max <= 0 {
		in.Max = usualResults
	}
	in.Max = min(in.Max, mostResults)
	address, header := p.request(&s, in)
	body, err := ask(ctx, o, address, header)
	if err != nil {
		return internetOutput{}, err
	}
	hits, err := p.read(body)
	if err != nil {
		return internetOutput{}, err
	}
	hits = hits[:min(len(hits), in.Max)]
	return internetOutput{Results: hits, Count: len(hits), Num: len(hits), Query: in.Query}, nil
}

// ask returns the body of a good answer of a service that the configuration names. Its address is the
// operator's choice and not the model's, so that it may lie on this machine; where it redirects to is not
// followed.
func ask(ctx context.Context, o *Options, address string, header http.Header) ([]byte, error) {
	client := &http.Client{Transport: o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := get(ctx, client, address, header)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // DuckDuckGo tells a program by 202
		if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusForbidden {
			return nil, tool.Errorf(tool.ErrTool,
				"rate limited: %s answers %s to a search; wait, or configure another search engine",
				resp.Request.URL.Host, resp.Status)
		}
		return nil, statusError(resp)
	}
	body, _, err := readBody(resp.Body)
	return body, err
}

func withQuery(address string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return address + "?" + q.Encode()
}

func askSearxng(s *Search, in internetInput) (string, http.Header) {
	base := strings.TrimSuffix(strings.TrimRight(s.URL, "/"), "/search")
	return withQuery(base+"/search", "q", in.Query, "format", "json"), nil
}

func readSearxng(body []byte) ([]hit, error) {
	var answer struct {
		Results []struct{ Title, Content, URL string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, tool.Errorf(tool.ErrTool,
			"the search engine's answer is no JSON: is the format json switched on in its settings? (%w)",
			err)
	}
	hits := []hit{}
	for _, r := range answer.Results {
		hits = append(hits, hit{r.Title, r.Content, r.URL})
	}
	return hits, nil
}

func askBrave(s *Search, in internetInput) (string, http.Header) {
	h := http.Header{"Accept": {"application/json"}}
	h.Set("X-Subscription-Token", s.Key)
	return withQuery(s.URL, "q", in.Query, "count", strconv.Itoa(min(in.Max, 20))), h
}

func readBrave(body []byte) ([]hit, error) {
	var answer struct {
		Web struct {
			Results []struct{ Title, Description, URL string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, tool.Errorf(tool.ErrTool, "the search engine's answer is no JSON: %w", err)
	}
	hits := []hit{}
	for _, r := range answer.Web.Results {
		hits = append(hits, hit{plainText(r.Title), plainText(r.Description), r.URL})
	}
	return hits, nil
}

func askGoogle(s *Search, in internetInput) (string, http.Header) {
	return withQuery(s.URL, "key", s.Key, "cx", s.ID, "q", in.Query, "num", strconv.Itoa(min(in.Max, 10))), nil
}

func readGoogle(body []byte) ([]hit, error) {
	var answer struct {
		Items []struct{ Title, Snippet, Link string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, tool.Errorf(tool.ErrTool, "the search engine's answer is no JSON: %w", err)
	}
	hits := []hit{}
	for _, r := range answer.Items {
		hits = append(hits, hit{r.Title, r.Snippet, r.Link})
	}
	return hits, nil
}

func askDuckDuckGo(s *Search, in internetInput) (string, http.Header) {
	return withQuery(s.URL, "q", in.Query), http.Header{"Accept": {"text/html"}}
}

// botSigns stand in the page that asks whether somebody is a machine. It has no results, and must not be
// taken for an answer that says there are none.
var botSigns = []string{"anomaly-modal", "anomaly.js", "challenge-form", "bots use DuckDuckGo too"}

func readDuckDuckGo(body []byte) ([]hit, error) {
	doc, err := html.Parse(strings.NewReader(string(body)))
	if err != nil {
		return nil, tool.Errorf(tool.ErrTool, "the search engine's page cannot be read: %w", err)
	}
	hits := []hit{}
	for n := range doc.Descendants() {
		switch {
		case hasClass(n, "result__a"):
			hits = append(hits, hit{Title: plainText(textOf(n)), URL: duckTarget(attr(n, "href"))})
		case hasClass(n, "result__snippet") && len(hits) > 0 && hits[len(hits)-1].Snippet == "":
			hits[len(hits)-1].Snippet = plainText(textOf(n))
		}
	}
	if len(hits) > 0 || strings.Contains(string(body), "no-results") {
		return hits, nil
	}
	for _, sign := range botSigns {
		if strings.Contains(string(body), sign) {
			return nil, tool.Errorf(tool.ErrTool,
				"rate limited: the search engine takes wield for a robot; wait, or configure another search engine")
		}
	}
	return nil, tool.Errorf(tool.ErrTool,
		"the search engine's page has no results and does not say that there are none; it may have changed")
}

// duckTarget returns the address that a link of DuckDuckGo leads to by way of its own server.
func duckTarget(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return href
	}
	if to := u.Query().Get("uddg"); to != "" {
		return to
	}
	return href
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	if n.Type != html.ElementNode || n.DataAtom != atom.A && n.DataAtom != atom.Div {
		return false
	}
	return slices.Contains(strings.Fields(attr(n, "class")), class)
}

// plainText takes tags out of a snippet.
func plainText(s string) string {
	if strings.ContainsAny(s, "<&") {
		if doc, err := html.Parse(strings.NewReader(s)); err == nil {
			s = textOf(doc)
		}
	}
	return strings.Join(strings.Fields(s), " ")
}
