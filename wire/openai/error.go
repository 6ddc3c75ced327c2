package openai

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// A Header gives the value of a header field, or "". *http.Header has this method.
type Header interface{ Get(name string) string }

// kinds says how each class of errors looks on the wire.
var kinds = map[chat.ErrorKind]struct {
	status int
	typ    string
	code   string // where the error has none of its own
}{
	chat.ErrAuth:          {401, "authentication_error", "invalid_api_key"},
	chat.ErrBadRequest:    {400, "invalid_request_error", ""},
	chat.ErrNotFound:      {404, "invalid_request_error", "model_not_found"},
	chat.ErrRateLimit:     {429, "rate_limit_error", "rate_limit_exceeded"},
	chat.ErrContextLength: {400, "invalid_request_error", "context_length_exceeded"},
	chat.ErrFiltered:      {400, "invalid_request_error", "content_filter"},
	chat.ErrOverloaded:    {503, "server_error", "overloaded"},
	chat.ErrTimeout:       {504, "server_error", "timeout"},
	chat.ErrCanceled:      {499, "server_error", "canceled"},
	chat.ErrProtocol:      {502, "server_error", "bad_upstream_answer"},
	chat.ErrUnavailable:   {502, "server_error", "upstream_unavailable"},
}

// Status returns the HTTP status that a server answers an error of this kind with.
func Status(kind chat.ErrorKind) int {
	if k, ok := kinds[kind]; ok {
		return k.status
	}
	return 500
}

// AppendError appends the body of an error answer: {"error":{"message","type","param","code"}}.
func AppendError(dst []byte, e *chat.Error) []byte {
	kind, ok := kinds[e.Kind]
	if !ok {
		kind.typ = "server_error"
	}
	message, code := e.Message, e.Code
	if message == "" {
		message = e.Error()
	}
	if code == "" {
		code = kind.code
	}
	dst = append(dst, `{"error":{"message":`...)
	dst = shape.AppendQuoted(dst, message)
	dst = append(dst, `,"type":`...)
	dst = shape.AppendQuoted(dst, kind.typ)
	dst = append(dst, `,"param":`...)
	dst = appendStringOrNull(dst, e.Param)
	dst = append(dst, `,"code":`...)
	dst = appendStringOrNull(dst, code)
	return append(dst, "}}"...)
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return shape.AppendQuoted(dst, s)
}

// DecodeError reads an error answer of a server: its status, its header (which may be nil) and its body, which may be
// the protocol's own, any other JSON, HTML, plain text or nothing. A status of 0 stands for an error inside an answer
// that began well. The time in the header's Retry-After is taken relative to its Date, or to now without one.
func DecodeError(status int, header Header, body []byte) *chat.Error {
	e := &chat.Error{Status: status}
	typ := readErrorBody(e, body)
	if e.Message == "" {
		e.Message = plainMessage(body)
	}
	e.Kind = errorKind(status, typ, e)
	switch {
	case refuses(e, &roleWords):
		e.Kind, e.Code = chat.ErrBadRequest, chat.CodeRolesRefused
	case refuses(e, &toolWords):
		e.Kind, e.Code = chat.ErrBadRequest, chat.CodeToolsUnsupported
	case refuses(e, &formatKindWords):
		e.Kind, e.Code = chat.ErrBadRequest, chat.CodeFormatKindUnsupported
	case refuses(e, &formatWords):
		e.Kind, e.Code = chat.ErrBadRequest, chat.CodeFormatUnsupported
	}
	told := e.RetryAfter
	if e.RetryAfter = 0; header != nil {
		e.RetryAfter = retryAfter(header)
	}
	if e.RetryAfter == 0 && (e.Kind == chat.ErrRateLimit || e.Kind == chat.ErrOverloaded) {
		if e.RetryAfter = told; told == 0 {
			e.RetryAfter = waitIn(e.Message)
		}
	}
	return e
}

// readErrorBody fills e from a JSON body and returns the error's type.
func readErrorBody(e *chat.Error, body []byte) (typ string) {
	s := jsonbody.Scanner{Bytes: body}
	if s.Peek() == '[' { // a list of one error
		s.Pos++
	}
	if s.Peek() != '{' {
		return ""
	}
	var inner errorFields
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "error", "Error":
			switch s.Peek() {
			case '{':
				inner.read(&s)
			case '"':
				inner.message = s.Str()
			default:
				s.Skip()
			}
		case "message", "detail", "error_description", "msg":
			if m := scalar(&s); inner.message == "" {
				inner.message = m
			}
		case "type":
			if t := scalar(&s); inner.typ == "" {
				inner.typ = t
			}
		case "code", "Code":
			if c := scalar(&s); inner.code == "" {
				inner.code = c
			}
		default:
			s.Skip()
		}
	}
	e.Message, e.Param, e.Code, e.RetryAfter = inner.message, inner.param, inner.code, inner.wait
	return inner.typ
}

type errorFields struct {
	message, typ, param, code string
	wait                      time.Duration
}

func (f *errorFields) read(s *jsonbody.Scanner) {
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "message":
			f.message = scalar(s)
		case "type":
			f.typ = scalar(s)
		case "param":
			f.param = scalar(s)
		case "code":
			f.code = scalar(s)
		case "details":
			f.details(s)
		default:
			s.Skip()
		}
	}
}

// details reads the list in which Google's servers say how long to wait.
func (f *errorFields) details(s *jsonbody.Scanner) {
	if s.Peek() != '[' {
		s.Skip()
		return
	}
	for s.Enter('['); s.Next(']'); {
		if s.Peek() != '{' {
			s.Skip()
			continue
		}
		for s.Enter('{'); s.Next('}'); {
			if string(s.Key()) != "retryDelay" {
				s.Skip()
			} else if d, err := time.ParseDuration(scalar(s)); err == nil {
				f.wait = wait(d.Seconds())
			}
		}
	}
}

// waitWords find the time to wait in a message such as "Please try again in 1m20.5s".
var waitWords = regexp.MustCompile(
	`(?i)\b(?:try again|retry) (?:in|after) ((?:[0-9]+(?:\.[0-9]+)?(?:ms|h|m|s))+|[0-9]+(?:\.[0-9]+)? ?seconds?)`)

// waitIn returns how long a message says to wait, 0 if it does not.
func waitIn(message string) time.Duration {
	m := waitWords.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	text := strings.ToLower(m[1])
	if n, _, ok := strings.Cut(text, "second"); ok {
		text = strings.TrimSpace(n) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return wait(d.Seconds())
}

// scalar reads a string or the text of any other value; null is "".
func scalar(s *jsonbody.Scanner) string {
	if s.Peek() == '"' {
		return s.Str()
	}
	if raw := string(s.Raw()); raw != "null" {
		return raw
	}
	return ""
}

// plainMessage makes a message of a body that is no JSON. Of a page only the title is of use.
func plainMessage(body []byte) string {
	text := string(body[:min(len(body), 4<<10)])
	if i := strings.Index(strings.ToLower(text), "<title>"); i >= 0 && i+len("<title>") <= len(text) {
		text, _, _ = strings.Cut(text[i+len("<title>"):], "<")
	}
	text = jsonbody.Excerpt([]byte(text))
	if text == "(empty)" {
		return "the server gave no reason"
	}
	if strings.HasPrefix(text, "<") {
		return "the server answered with a page instead of JSON"
	}
	return text
}

// statusKinds class the statuses that mean one thing only.
var statusKinds = map[int]chat.ErrorKind{
	401: chat.ErrAuth, 403: chat.ErrAuth, 404: chat.ErrNotFound, 408: chat.ErrTimeout, 413: chat.ErrContextLength,
	429: chat.ErrRateLimit, 499: chat.ErrCanceled, 503: chat.ErrOverloaded, 504: chat.ErrTimeout,
	529: chat.ErrOverloaded,
}

// wordKinds class errors by what their type, code or message says, in lower case, where the status leaves it open.
var wordKinds = []struct {
	word string
	kind chat.ErrorKind
}{
	{"context_length", chat.ErrContextLength},
	{"context length", chat.ErrContextLength},
	{"context size", chat.ErrContextLength},
	{"context window", chat.ErrContextLength},
	{"exceed_context", chat.ErrContextLength},
	{"prompt is too long", chat.ErrContextLength},
	{"content_filter", chat.ErrFiltered},
	{"content_policy", chat.ErrFiltered},
	{"content management policy", chat.ErrFiltered},
	{"rate_limit", chat.ErrRateLimit},
	{"rate limit", chat.ErrRateLimit},
	{"insufficient_quota", chat.ErrRateLimit},
	{"overloaded", chat.ErrOverloaded},
	{"loading model", chat.ErrOverloaded},
	{"authentication", chat.ErrAuth},
	{"invalid_api_key", chat.ErrAuth},
	{"model_not_found", chat.ErrNotFound},
	{"timeout", chat.ErrTimeout},
	{"invalid_request", chat.ErrBadRequest},
}

// codeStatus is the status that an error names in its code, or 0.
func codeStatus(code string) int {
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		return n
	}
	return 0
}

func errorKind(status int, typ string, e *chat.Error) chat.ErrorKind {
	if status < 400 {
		status = codeStatus(e.Code)
	}
	words := strings.ToLower(typ + " " + e.Code + " " + e.Message)
	kind := statusKinds[status]
	if kind == "" || kind == chat.ErrAuth { // 403 is also the answer of content filters
		for _, w := range wordKinds {
			if strings.Contains(words, w.word) && (kind == "" || w.kind == chat.ErrFiltered) {
				return w.kind
			}
		}
	}
	switch {
	case kind != "":
		return kind
	case status >= 400 && status < 500:
		return chat.ErrBadRequest
	}
	return chat.ErrUnavailable
}

// refusalWords are the words in which servers refuse something: one of what, which names it, and one of how. All are in
// lower case.
type refusalWords struct{ what, how []string }

var toolWords = refusalWords{
	what: []string{"tool", "function call", "functions"},
	how: []string{"not support", "n't support", "unsupported", "support tool use", "not enabled", "cannot use tools",
		"requires --jinja", "requires --enable-auto-tool-choice", "requires --tool-call-parser", "requires jinja",
		"not capable of"},
}

var formatWords = refusalWords{
	what: []string{"response_format", "output_config", "output_format", "json_schema", "json_object",
		"structured output", "structured_outputs", "guided", "grammar"},
	how: []string{"not support", "n't support", "unsupported", "not enabled", "cannot use", "invalid",
		"failed to parse", "not permitted", "extra inputs", "unrecognized", "unknown", "error converting",
		"failed to initialize", "must be", "not implemented", "input should be"},
}

// roleWords are those in which chat templates refuse a sequence of messages.
var roleWords = refusalWords{
	what: []string{"role", "system message", "system prompt", "user query"},
	how: []string{"must alternate", "should alternate", "alternate user", "role not supported", "roles are supported",
		"role is not supported", "at the beginning", "must be first", "optional system message", "unexpected role",
		"unknown role", "invalid role", "no user query"},
}

// formatKindWords are those of formatWords.how that do not speak of what the form holds.
var formatKindWords = refusalWords{what: formatWords.what,
	how: []string{"input should be", "extra inputs", "not permitted", "unrecognized", "unknown field",
		"unknown parameter"}}

// refuses recognises the words in which servers say that a model, or the way it is run, does not do something.
func refuses(e *chat.Error, words *refusalWords) bool {
	switch e.Kind {
	case chat.ErrBadRequest, chat.ErrNotFound, chat.ErrUnavailable:
	default:
		return false
	}
	m := strings.ToLower(e.Message + " " + e.Param)
	return containsAny(m, words.what) && containsAny(m, words.how)
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// maxRetryAfter bounds what a header can ask for, so that sums of it cannot overflow.
const maxRetryAfter = 365 * 24 * time.Hour

// retryAfter reads how long a server asks to wait, in milliseconds, seconds or as a date.
func retryAfter(h Header) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return wait(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(seconds)
	}
	at, ok := httpDate(value)
	if !ok {
		return 0
	}
	now, ok := httpDate(h.Get("Date"))
	if !ok {
		now = time.Now()
	}
	return wait(at.Sub(now).Seconds())
}

func wait(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN as well
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// httpDate reads a date in one of the three forms that HTTP allows.
func httpDate(s string) (time.Time, bool) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
