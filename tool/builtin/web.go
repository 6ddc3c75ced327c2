package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"wield/tool"
	"wield/tool/policy"
)

// Bounds of what is fetched.
const (
	pageBytes  = 4 << 20 // of a body, unpacked; what is behind is not read
	shownChars = 10_000  // of the text, unless the call says otherwise
	leastShown = 1_000
	mostShown  = 50_000
)

// userAgent says who asks. Servers that answer programs alone with an error get an honest name all the same.
const userAgent = "Mozilla/5.0 (compatible; wield)"

type fetchInput struct {
	URL       string `json:"url" jsonschema:"URL of the page, starting with http:// or https://"`
	MaxLength int    `json:"max_length,omitempty" jsonschema:"maximum number of characters, 1000 to 50000. Default: 10000"`
}

type webPage struct {
	URL       string `json:"url"`
	FinalURL  string `json:"final_url"` // after redirects
	Title     string `json:"title,omitempty"`
	Length    int    `json:"content_length"` // characters of the whole text that was read
	Content   string `json:"content"`
	Truncated bool   `json:"was_truncated"`
}

func fetchWebpage(*Options) *tool.Tool {
	t := tool.Stream("fetch_webpage",
		`Fetch a web page and return its text as Markdown. Example: {"url": "https://example.com/"}`,
		func(ctx context.Context, c *tool.Call, in fetchInput) (webPage, error) { return fetch(ctx, c, in) })
	t.Facts = tool.Facts{URLs: []string{"url"}, Network: true, ReadOnly: true}
	t.Style = tool.StyleLLF
	t.Idempotent = true
	return t
}

func fetch(ctx context.Context, c *tool.Call, in fetchInput) (webPage, error) {
	client := c.Client()
	defer client.CloseIdleConnections()
	resp, err := get(ctx, client, in.URL, nil)
	if err != nil {
		return webPage{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return webPage{}, statusError(resp)
	}
	body, cut, err := readBody(resp.Body)
	if err != nil {
		return webPage{}, err
	}
	p := webPage{URL: in.URL, FinalURL: resp.Request.URL.String()}
	if p.Title, p.Content, err = readable(body, resp.Header.Get("Content-Type"), resp.Request.URL); err != nil {
		return webPage{}, err
	}
	p.shorten(in.MaxLength, cut)
	return p, nil
}

// shorten cuts the text to most characters, and says behind it that it was cut. more says that the page itself was
// longer than what was read.
func (p *webPage) shorten(most int, more bool) {
	if most == 0 {
		most = shownChars
	}
	most = min(max(most, leastShown), mostShown)
	p.Length = utf8.RuneCountInString(p.Content)
	if p.Length <= most && !more {
		return
	}
	p.Content, p.Truncated = firstChars(p.Content, most), true
	was := "was " + strconv.Itoa(p.Length)
	if more {
		was = "was more than " + strconv.Itoa(p.Length)
	}
	p.Content += fmt.Sprintf("\n\n[Content truncated at %d characters. Original page %s characters.]",
		min(most, p.Length), was)
}

// get asks for an address that a model chose, by a client that goes where the policy lets it.
func get(ctx context.Context, client *http.Client, address string, header http.Header) (*http.Response, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, tool.Errorf(tool.ErrInvalid,
			"url: %q is no address of the web; it begins with http:// or https://",
			address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, tool.Errorf(tool.ErrInvalid, "url: %w", err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(req)
	if err != nil {
		return nil, webError(ctx, err)
	}
	return resp, nil
}

// webError says what kept an answer away, without the words of net/http around it.
func webError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, policy.ErrEgress) {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return &tool.Error{Kind: tool.ErrSecurity, Message: err.Error(), Cause: err}
	}
	var u *url.Error
	if errors.As(err, &u) {
		return tool.Errorf(tool.ErrTool, "cannot reach %s: %w", hostOf(u.URL), u.Err)
	}
	return tool.Errorf(tool.ErrTool, "cannot reach the server: %w", err)
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return "the server"
}

// statusError tells a server's refusal. What is for later is told apart from what is not there.
func statusError(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := resp.Header.Get("Retry-After")
		if wait != "" {
			wait = "; it says to wait " + wait
		}
		return tool.Errorf(tool.ErrTool, "rate limited: %s answers %s%s", resp.Request.URL.Host, resp.Status, wait)
	}
	return tool.Errorf(tool.ErrTool, "%s answers %s", resp.Request.URL.Host, resp.Status)
}

// readBody reads the beginning of a body. net/http has unpacked it, so that a small answer that unpacks to a huge one
// is cut too.
func readBody(r io.Reader) (body []byte, cut bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r, pageBytes+1))
	if len(body) > pageBytes {
		return body[:pageBytes], true, nil
	}
	if err != nil {
		return nil, false, tool.Errorf(tool.ErrTool, "the answer broke off: %w", err)
	}
	return body, false, nil
}

// readable makes text of a body.
func readable(body []byte, contentType string, at *url.URL) (title, text string, err error) {
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		r = bytes.NewReader(body)
	}
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		return pageText(r, at)
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml",
		kind == "application/javascript", strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"),
		kind == "application/x-ndjson", kind == "application/yaml":
		b, err := io.ReadAll(r)
		return "", strings.ToValidUTF8(string(b), "�"), err
	}
	return "", "", tool.Errorf(tool.ErrTool, "the address leads to %s, which is no text", kind)
}

// noise are elements that hold nothing to read.
var noise = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
	atom.Iframe: true, atom.Svg: true, atom.Nav: true, atom.Footer: true, atom.Form: true, atom.Button: true,
	atom.Aside: true}

// pageText returns the title and the text of a page: of its main part if it names one.
func pageText(r io.Reader, at *url.URL) (title, text string, err error) {
	doc, err := html.Parse(r)
	if err != nil {
		return "", "", tool.Errorf(tool.ErrTool, "the page cannot be read: %w", err)
	}
	if n := find(doc, atom.Title); n != nil {
		title = strings.Join(strings.Fields(textOf(n)), " ")
	}
	clean(doc)
	main := mainPart(doc)
	absolute(main, at)
	md, err := htmltomarkdown.ConvertNode(main)
	if err != nil {
		return title, strings.TrimSpace(textOf(main)), nil
	}
	return title, strings.TrimSpace(string(md)), nil
}

// mainPart returns the element that a page marks as what it is about, and the whole page if none has much to read.
func mainPart(doc *html.Node) *html.Node {
	for _, is := range []func(*html.Node) bool{
		func(n *html.Node) bool { return n.DataAtom == atom.Main },
		func(n *html.Node) bool { return n.DataAtom == atom.Article },
		func(n *html.Node) bool { return attr(n, "role") == "main" },
		func(n *html.Node) bool { return slices.Contains(strings.Fields(attr(n, "class")), "content") },
	} {
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && is(n) && len(strings.TrimSpace(textOf(n))) >= 200 {
				return n
			}
		}
	}
	return doc
}

// find returns the first element of a kind. Pages are no deeper than html.Parse lets them be.
func find(n *html.Node, a atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == a {
			return d
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// clean takes out comments and what is not read. Comments and hidden elements are where texts for machines are put.
func clean(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || c.Type == html.ElementNode && (noise[c.DataAtom] || invisible(c)) {
			n.RemoveChild(c)
		} else {
			clean(c)
		}
		c = next
	}
}

// invisible reports whether an element says that it is not shown.
func invisible(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		}
	}
	return false
}

// absolute makes the addresses of links whole.
func absolute(n *html.Node, at *url.URL) {
	for d := range n.Descendants() {
		for i, a := range d.Attr {
			if a.Key != "href" && a.Key != "src" {
				continue
			}
			if strings.HasPrefix(a.Val, "data:") {
				d.Attr[i].Val = ""
			} else if u, err := at.Parse(a.Val); err == nil {
				d.Attr[i].Val = u.String()
			}
		}
	}
}

// firstChars returns the first n characters.
func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
