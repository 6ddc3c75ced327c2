package httpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"wield/tool"
	"wield/tool/policy"
)

// Bounds of what is read of an answer.
const (
	defaultMaxBytes = 1 << 20
	maxRefusal      = 2 << 10 // of what a server says about a refusal
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// keyHeader is the header with the idempotency key of a call.
const keyHeader = "Idempotency-Key"

// Run sends the request of a call.
func (p *program) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	if c.Guard != nil && c.Guard.Mode != tool.ModeRW && !c.Tool.Facts.ReadOnly {
		return tool.Result{}, tool.Errorf(tool.ErrSecurity, "Operation %s not allowed in read-only mode", p.Method)
	}
	args, err := readArguments(c.Arguments)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.ErrInvalid, "Invalid arguments: %w", err)
	}
	req, err := p.build(ctx, args)
	if err != nil {
		return tool.Result{}, err
	}
	if key := c.Key(); key != "" && !methods[p.Method].again && req.Header.Get(keyHeader) == "" {
		req.Header.Set(keyHeader, key)
	}
	client := c.Client()
	defer client.CloseIdleConnections()
	client.CheckRedirect = p.redirects(client.CheckRedirect)
	resp, err := client.Do(req)
	if err != nil {
		return tool.Result{}, p.failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return tool.Result{}, p.refusal(resp)
	}
	return p.answer(resp)
}

// redirects lets redirects stay on the site: headers, and addresses of which nobody knows whether they hold secrets, go
// nowhere else.
func (p *program) redirects(check func(*http.Request,
	[]*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if siteOf(req.URL) != p.site {
			return tool.Errorf(tool.ErrSecurity,
				"%s redirects to %s, and redirects are followed only within one site", p.host(), siteOf(req.URL))
		}
		return check(req, via)
	}
}

func (p *program) host() string {
	_, host, _ := strings.Cut(p.site, "://")
	return host
}

// failure says why there is no answer, without the address: it may hold a secret.
func (p *program) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var told *tool.Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.Is(err, policy.ErrEgress):
		return &tool.Error{Kind: tool.ErrSecurity, Message: p.hidden.Replace(err.Error()), Cause: policy.ErrEgress}
	}
	return tool.Errorf(tool.ErrTool, "cannot reach %s: %s", p.host(), p.hidden.Replace(err.Error()))
}

// refusal tells what a server answered in place of a result, with the beginning of its own words.
func (p *program) refusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what was read is better than nothing
	says := strings.TrimSpace(p.hidden.Replace(strings.ToValidUTF8(string(body), "�")))
	details := struct {
		Status     int    `json:"status"`
		RetryAfter string `json:"retry_after,omitempty"`
	}{resp.StatusCode, resp.Header.Get("Retry-After")}
	raw, err := json.Marshal(details)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s answers %d %s", p.host(), resp.StatusCode, http.StatusText(resp.StatusCode))
	if details.RetryAfter != "" {
		message += "; it says to wait " + details.RetryAfter
	}
	if says != "" {
		message += ": " + says
	}
	return &tool.Error{Kind: tool.ErrTool, Message: message, Details: raw}
}

// accepted lists the types that are taken.
func (p *program) accepted() []string {
	if p.Accept != nil {
		return p.Accept
	}
	return []string{"application/json", "application/*+json", "text/*", "application/xml", "application/*+xml",
		"application/yaml"}
}

// accepts reports whether a type of an answer is taken.
func (p *program) accepts(kind string) bool {
	for _, pattern := range p.accepted() {
		before, after, star := strings.Cut(strings.ToLower(strings.TrimSpace(pattern)), "*")
		if !star && before == kind || star && len(kind) >= len(before)+len(after) && strings.HasPrefix(kind, before) &&
			strings.HasSuffix(kind, after) {
			return true
		}
	}
	return false
}

// answer makes a result of a good answer.
func (p *program) answer(resp *http.Response) (tool.Result, error) {
	most := p.MaxBytes
	if most <= 0 {
		most = defaultMaxBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil && len(body) == 0 {
		return tool.Result{}, tool.Errorf(tool.ErrTool, "the answer of %s broke off: %s", p.host(),
			p.hidden.Replace(err.Error()))
	}
	if len(body) == 0 {
		return tool.JSON(struct {
			Status int `json:"status"`
		}{resp.StatusCode})
	}
	broken := err != nil
	kind, params := contentType(resp.Header.Get("Content-Type"), body)
	if !p.accepts(kind) {
		return tool.Result{}, tool.Errorf(tool.ErrTool, "%s answers with %s, which is none of %s", p.host(), kind,
			strings.Join(p.accepted(), ", "))
	}
	long := int64(len(body)) > most
	if !long && !broken && json.Valid(body) && strings.HasSuffix(kind, "json") {
		return p.choose(json.RawMessage(p.hidden.Replace(string(body))))
	}
	if p.Result != "" {
		return tool.Result{}, tool.Errorf(tool.ErrTool, "the answer of %s %s, so that %s cannot be looked up in it",
			p.host(), why(long, broken, most), p.Result)
	}
	text := p.hidden.Replace(decoded(body[:min(int64(len(body)), most)], params["charset"]))
	if long || broken {
		text += "\n[the answer " + why(long, broken, most) + "]"
	}
	return tool.Text(text), nil
}

// why says what is wrong with an answer that is no whole JSON.
func why(long, broken bool, most int64) string {
	switch {
	case long:
		return "is longer than " + strconv.FormatInt(most, 10) + " bytes, the rest was not read"
	case broken:
		return "broke off here"
	}
	return "is no JSON"
}

// contentType returns the type of an answer, as its header or else its first bytes say.
func contentType(header string, body []byte) (string, map[string]string) {
	if header == "" {
		if json.Valid(body) {
			return "application/json", nil
		}
		header = http.DetectContentType(body)
	}
	kind, params, err := mime.ParseMediaType(header)
	if err != nil {
		kind, _, _ = strings.Cut(header, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind)), params
}

// decoded returns text as UTF-8.
func decoded(body []byte, charset string) string {
	if charset != "" && !strings.EqualFold(charset, "utf-8") && !utf8.Valid(body) {
		if enc, err := htmlindex.Get(charset); err == nil {
			if text, err := enc.NewDecoder().Bytes(body); err == nil {
				return string(text)
			}
		}
	}
	return strings.ToValidUTF8(string(body), "�")
}

// choose returns what of an answer the result is.
func (p *program) choose(body json.RawMessage) (tool.Result, error) {
	value := body
	for _, name := range strings.Split(p.Result, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		next, has := step(value, name)
		if next == nil {
			return tool.Result{}, tool.Errorf(tool.ErrTool, "the answer of %s has nothing at %s%s", p.host(), p.Result,
				has)
		}
		value = next
	}
	if len(value) > 0 && value[0] == '"' {
		return tool.Text(textOf(value)), nil
	}
	return tool.Result{OK: true, Data: json.RawMessage(strings.TrimSpace(string(value)))}, nil
}

// step goes into a value by one name or number. Where there is nothing it says what there is.
func step(value json.RawMessage, name string) (next json.RawMessage, has string) {
	value = json.RawMessage(strings.TrimSpace(string(value)))
	if list, ok := items(value); ok {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(list) {
			return nil, fmt.Sprintf(": there is a list of %d items", len(list))
		}
		return list[i], ""
	}
	list, ok := members(value)
	if !ok {
		return nil, ""
	}
	var names []string
	for _, m := range list {
		if m.name == name {
			return m.value, ""
		}
		names = append(names, m.name)
	}
	if len(names) > 20 {
		names = append(names[:20], "..")
	}
	return nil, ": there is an object with " + strings.Join(names, ", ")
}
