package httpcall

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"wield/chat"
	"wield/tool"
)

// A Request describes what calls of a tool send. Method and URL are needed; the zero value of the rest works.
type Request struct {
	Method string // GET, HEAD, POST, PUT, PATCH or DELETE
	// URL is the address, with places in its path and in the values of its query. Scheme, host and port have none.
	URL string
	// Fields are sent beside those of the URL.
	Fields []Field
	// Body is a JSON text with places in its strings. Nil: arguments that have no place anywhere are its members, if
	// the method has a body.
	Body json.RawMessage

	// Result is a JSON pointer to what of an answer is the result; empty: all of it.
	Result string
	// Accept lists the types of answers that are taken, such as application/json and text/*. Nil: JSON, XML and text.
	Accept []string
	// MaxBytes limits how much of an answer is read. 0: 1 MiB.
	MaxBytes int64
	// ReadOnly says that a request changes nothing, as GET and HEAD do anyway.
	ReadOnly bool
	// Secrets are further texts that stand in no result and no error, beside the secrets of fields.
	Secrets []string
}

// In says where a field stands.
type In string

// The places of fields.
const (
	InQuery  In = "query"
	InHeader In = "header"
	inCookie In = "cookie"
)

// A Field is one pair of the query, one header or one cookie. It is left out when an argument that it has a place for
// is.
type Field struct {
	In    In
	Name  string
	Value string // with places

	// Style says how an argument that is a list or an object is written: "explode", which "" stands for, as a pair for
	// each item, and for each member under its own name (outside a query a,b and k=v,l=w); "comma" as a,b and k,v,l,w;
	// "space" as a b; "pipe" as a|b; "deep" as name[member]=value; "json" as JSON text.
	Style string

	// Secret is sent in place of Value. It has no places, and stands in no error.
	Secret string
}

// How arguments that are lists or objects are written where there is only text: Field.Style. What only a query can do
// is a comma elsewhere.
const (
	styleExplode = "explode"
	styleComma   = "comma"
	styleSpace   = "space"
	stylePipe    = "pipe"
	styleDeep    = "deep"
	styleJSON    = "json"
)

var fieldStyles = []string{styleExplode, styleComma, styleSpace, stylePipe, styleDeep, styleJSON}

// methods are those that requests may have, and whether they change nothing, and whether twice is as good as once.
var methods = map[string]struct{ reads, again, body bool }{
	"GET":    {reads: true, again: true},
	"HEAD":   {reads: true, again: true},
	"PUT":    {again: true, body: true},
	"DELETE": {again: true, body: true},
	"POST":   {body: true},
	"PATCH":  {body: true},
}

// methodNames returns the methods that requests may have.
func methodNames() []string { return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} }

// ErrRequest is wrapped by every error about a Request that no tool can be made of.
var ErrRequest = errors.New("httpcall: not a request")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRequest}, args...)...)
}

// A program is a request, taken apart.
type program struct {
	Request
	site   string     // scheme://host[:port]
	path   []template // its segments
	fields []compiled
	rest   bool // the body is made of the arguments without a place
	used   []string
	hidden *strings.Replacer // takes secrets out
}

// A compiled field has its text taken apart.
type compiled struct {
	Field
	value template
}

// New makes a tool of a request. Every place has to be that of a parameter, and every parameter has to have one,
// unless a body takes what is left.
func New(d chat.Tool, r Request) (*tool.Tool, error) {
	p := &program{Request: r}
	p.Method = strings.ToUpper(r.Method)
	if err := p.compile(); err != nil {
		return nil, err
	}
	if err := p.checkNames(d.Parameters); err != nil {
		return nil, err
	}
	p.hideSecrets()
	m := methods[p.Method]
	return &tool.Tool{
		Definition: d,
		Handler:    p,
		Facts:      tool.Facts{Sites: []string{p.site}, Network: true, ReadOnly: m.reads || r.ReadOnly},
		Idempotent: m.again,
	}, nil
}

func (p *program) compile() error {
	if _, ok := methods[p.Method]; !ok {
		return wrong("the method %q: it is one of %s", p.Method, strings.Join(methodNames(), ", "))
	}
	if err := p.compileURL(); err != nil {
		return err
	}
	for _, f := range p.Fields {
		if err := p.add(compiled{f, parse(f.Value)}); err != nil {
			return err
		}
	}
	switch {
	case p.Body == nil:
		p.rest = methods[p.Method].body
	case !methods[p.Method].body:
		return wrong("%s has no body", p.Method)
	case !json.Valid(p.Body):
		return wrong("the body is no JSON; a place stands in a string, as in {\"query\": \"{query}\"}")
	default:
		p.Body = json.RawMessage(strings.TrimSpace(string(p.Body)))
		p.used = append(p.used, placesIn(p.Body)...)
	}
	if p.Result != "" && !strings.HasPrefix(p.Result, "/") {
		return wrong("%q is no JSON pointer: it begins with a slash, as in /items/0/name", p.Result)
	}
	return nil
}

// compileURL takes the address apart. Its host is fixed, so that it can be decided about before there is a call.
func (p *program) compileURL() error {
	scheme, rest, ok := strings.Cut(p.URL, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return wrong("the address %q begins with neither http:// nor https://", p.URL)
	}
	if strings.ContainsRune(rest, '#') {
		return wrong("the address has a fragment (#), which is not sent")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, rest := rest[:end], rest[end:]
	path, query, _ := strings.Cut(rest, "?")
	u, err := url.Parse(scheme + "://" + host)
	switch {
	case strings.ContainsAny(host, "{}"):
		return wrong("the host %q has a place for an argument: it has to be fixed, so that rules can decide "+
			"about it", host)
	case strings.Contains(host, "@"):
		return wrong("a user or password in the address: give them as secrets")
	case err != nil || u.Hostname() == "" || u.Host != host:
		return wrong("%q is no host", host)
	}
	p.site = scheme + "://" + host
	if path == "" {
		path = "/"
	}
	for _, segment := range strings.Split(path[1:], "/") {
		t := parse(segment)
		if _, err := url.Parse(p.site + "/" + t.fixed()); err != nil ||
			strings.ContainsFunc(segment, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return wrong("the path %q: what is no letter, digit or sign of a path is written as %%XX", path)
		}
		p.path = append(p.path, t)
		p.used = append(p.used, t.names()...)
	}
	return p.compileQuery(query)
}

func (p *program) compileQuery(query string) error {
	for _, pair := range strings.Split(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if _, _, ok := place(name); ok {
			return wrong("the query %q: a place stands in a value, not in a name", pair)
		}
		name, err := url.QueryUnescape(name)
		if err != nil {
			return wrong("the query %q: %v", pair, err)
		}
		t, err := unescaped(parse(value), url.QueryUnescape)
		if err != nil {
			return wrong("the query %q: %v", pair, err)
		}
		if err := p.add(compiled{Field{In: InQuery, Name: name}, t}); err != nil {
			return err
		}
	}
	return nil
}

// unescaped returns a template whose texts are as they were before they were escaped.
func unescaped(t template, unescape func(string) (string, error)) (template, error) {
	for i, p := range t {
		text, err := unescape(p.text)
		if err != nil {
			return nil, err
		}
		t[i].text = text
	}
	return t, nil
}

// reservedHeaders are decided by the connection.
var reservedHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade",
	"proxy-authorization", "accept-encoding", "keep-alive", "expect"}

// minSecret is the shortest text that is taken for a secret: a shorter one would stand in innocent words.
const minSecret = 4

// hideSecrets prepares what takes secrets out of texts, in the forms that they have in addresses and in JSON.
func (p *program) hideSecrets() {
	secrets := slices.Clone(p.Secrets)
	for _, f := range p.fields {
		secrets = append(secrets, f.Secret)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one within another goes with it
	var pairs []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			inJSON := string(quote(s))
			pairs = append(pairs, s, redacted, url.QueryEscape(s), redacted, inJSON[1:len(inJSON)-1], redacted)
		}
	}
	p.hidden = strings.NewReplacer(pairs...)
}

// isToken reports whether a text can be the name of a header or a cookie.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	})
}

// isLine reports whether a text can be the value of a header.
func isLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func (p *program) add(f compiled) error {
	switch {
	case f.Name == "":
		return wrong("a %s without a name", f.In)
	case f.In == InHeader && !isToken(f.Name), f.In == inCookie && !isToken(f.Name):
		return wrong("%q is no name of a %s", f.Name, f.In)
	case f.In == InHeader && slices.Contains(reservedHeaders, strings.ToLower(f.Name)):
		return wrong("the header %s is not for requests to choose", f.Name)
	case f.In == InHeader && !isLine(f.Secret):
		return wrong("the secret for the header %s is not one line of text", f.Name)
	case f.In != InQuery && f.In != InHeader && f.In != inCookie:
		return wrong("there is no place %q for %s", f.In, f.Name)
	case !slices.Contains(fieldStyles, cmp.Or(f.Style, styleExplode)):
		return wrong("there is no style %q for %s: it is one of %s", f.Style, f.Name, strings.Join(fieldStyles, ", "))
	}
	f.Style = cmp.Or(f.Style, styleExplode)
	if f.Secret == "" {
		p.used = append(p.used, f.value.names()...)
	}
	p.fields = append(p.fields, f)
	return nil
}

// checkNames compares the places with the parameters.
func (p *program) checkNames(parameters json.RawMessage) error {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if len(parameters) > 0 {
		if err := json.Unmarshal(parameters, &s); err != nil {
			return wrong("the schema of its parameters: %v", err)
		}
	}
	list, _ := members(s.Properties)
	var names []string
	for _, m := range list {
		names = append(names, m.name)
	}
	for _, name := range p.used {
		if !slices.Contains(names, name) {
			return wrong("the place {%s}: there is no parameter %s", name, name)
		}
	}
	for _, name := range names {
		if !p.rest && !slices.Contains(p.used, name) {
			return wrong("the parameter %s has no place: write {%s} where it belongs", name, name)
		}
	}
	return nil
}
