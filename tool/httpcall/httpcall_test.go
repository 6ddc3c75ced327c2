package httpcall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// schemaOf declares parameters: a name ending in ! is required.
func schemaOf(names ...string) json.RawMessage {
	var props, required []string
	for _, n := range names {
		name, must := strings.CutSuffix(n, "!")
		props = append(props, fmt.Sprintf("%q:{}", name))
		if must {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` +
		strings.Join(required, ",") + `],"additionalProperties":false}`)
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
	for _, name := range []string{"X-A", "X-B", "Cookie", "Authorization", "Content-Type"} {
		if v := r.Header.Values(name); len(v) > 0 {
			fmt.Fprintf(w, "%s: %s\n", name, strings.Join(v, "|"))
		}
	}
	w.Write(body)
}

// open returns a policy that lets calls go to a server on this machine.
func open(t *testing.T, decision chat.Decision, s *httptest.Server) *policy.Policy {
	t.Helper()
	p, err := policy.New(policy.Definition{Name: "test", Default: chat.DecisionAllow,
		Rules: []policy.Rule{{Decision: decision,
			Selector: policy.Selector{Host: []string{s.Listener.Addr().String()}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runner holds one tool that may change things.
func newRunner(t *testing.T, one *tool.Tool, s *httptest.Server) *runner.Runner {
	t.Helper()
	one.Guard = &tool.Guard{Mode: tool.ModeRW}
	var reg runner.Registry
	if err := reg.Add(one); err != nil {
		t.Fatal(err)
	}
	return runner.New(runner.Settings{Tools: &reg, Policy: open(t, chat.DecisionAllow, s)})
}

func call(t *testing.T, s *httptest.Server, r Request, parameters json.RawMessage, args string) tool.Result {
	t.Helper()
	r.URL = strings.Replace(r.URL, "SITE", s.URL, 1)
	if r.Method == "" {
		r.Method = "GET"
	}
	one, err := New(chat.Tool{Name: "try_it", Description: "d", Parameters: parameters}, r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := newRunner(t, one, s).Call(t.Context(), "try_it", args)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func server(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRequest(t *testing.T) {
	s := server(t, echo)
	for _, tt := range []struct {
		name   string
		r      Request
		params []string
		args   string
		want   string // what the server saw; an error begins with !
	}{
		{"fixed", Request{URL: "SITE/a%20b?x=1&y"}, nil, `{}`, "GET /a%20b?x=1&y=\n"},
		{"no path", Request{URL: "SITE"}, nil, `{}`, "GET /\n"},
		{"path", Request{URL: "SITE/v1/{city}/x-{n}"}, []string{"city!", "n"}, `{"city":"a/b?c#d%2F é","n":1.50}`,
			"GET /v1/a%2Fb%3Fc%23d%252F%20%C3%A9/x-1.50\n"},
		{"dots", Request{URL: "SITE/v1/{city}"}, []string{"city"}, `{"city":".."}`, `!city: ".." is no name in a path`},
		{"hidden dots", Request{URL: "SITE/v1/{city}"}, []string{"city"}, `{"city":"x/%2e%2e/y"}`,
			`!is no name in a path`},
		{"a dot completed", Request{URL: "SITE/v1/.{city}"}, []string{"city"}, `{"city":"."}`, `!is no name in a path`},
		{"dots in a name", Request{URL: "SITE/v1/{city}"}, []string{"city"}, `{"city":"a..b"}`, "GET /v1/a..b\n"},
		{"empty", Request{URL: "SITE/v1/{city}/x"}, []string{"city"}, `{"city":""}`, `!is no name in a path`},
		{"absent", Request{URL: "SITE/v1/{city}"}, []string{"city"}, `{}`, `!city: the address needs it`},
		{"list in a path", Request{URL: "SITE/{ids}"}, []string{"ids"}, `{"ids":["a,b",2]}`, "GET /a%2Cb,2\n"},
		{"query", Request{URL: "SITE/?q={q}&r=1"}, []string{"q"}, `{"q":"a&r=2;c=d+e f"}`,
			"GET /?q=a%26r%3D2%3Bc%3Dd%2Be+f&r=1\n"},
		{"absent pair", Request{URL: "SITE/?q={q}&r=1"}, []string{"q"}, `{"q":null}`, "GET /?r=1\n"},
		{"text around", Request{URL: "SITE/?q=in%3A{q}+now"}, []string{"q"}, `{"q":"x"}`, "GET /?q=in%3Ax+now\n"},
		{"list", Request{URL: "SITE/?q={q}"}, []string{"q"}, `{"q":["a",2,true]}`, "GET /?q=a&q=2&q=true\n"},
		{"members", Request{URL: "SITE/?q={q}"}, []string{"q"}, `{"q":{"a":1,"b&":"c"}}`, "GET /?a=1&b%26=c\n"},
		{"a member as another",
			Request{URL: "SITE/?q={q}", Fields: []Field{{In: InQuery, Name: "key", Secret: "sesame"}}}, []string{"q"},
			`{"q":{"key":1}}`, "!the name key belongs to another part"},
		{"comma", Request{URL: "SITE/", Fields: []Field{{In: InQuery, Name: "q", Value: "{q}", Style: styleComma}}},
			[]string{"q"}, `{"q":["a,b","c"]}`, "GET /?q=a%2Cb,c\n"},
		{"comma members",
			Request{URL: "SITE/", Fields: []Field{{In: InQuery, Name: "q", Value: "{q}", Style: styleComma}}},
			[]string{"q"}, `{"q":{"a":1}}`, "GET /?q=a,1\n"},
		{"pipe", Request{URL: "SITE/", Fields: []Field{{In: InQuery, Name: "q", Value: "{q}", Style: stylePipe}}},
			[]string{"q"}, `{"q":["a","c"]}`, "GET /?q=a%7Cc\n"},
		{"space", Request{URL: "SITE/", Fields: []Field{{In: InQuery, Name: "q", Value: "{q}", Style: styleSpace}}},
			[]string{"q"}, `{"q":["a","c"]}`, "GET /?q=a%20c\n"},
		{"deep", Request{URL: "SITE/", Fields: []Field{{In: InQuery, Name: "q", Value: "{q}", Style: styleDeep}}},
			[]string{"q"}, `{"q":{"a":1}}`, "GET /?q%5Ba%5D=1\n"},
		{"json", Request{URL: "SITE/", Fields: []Field{{In: InQuery, Name: "q", Value: "{q}", Style: styleJSON}}},
			[]string{"q"}, `{"q":{"a":1}}`, "GET /?q=%7B%22a%22%3A1%7D\n"},
		{"header",
			Request{URL: "SITE/",
				Fields: []Field{{In: InHeader, Name: "X-A", Value: "n {a}"},
					{In: InHeader, Name: "x-b", Secret: "{a}"}}}, []string{"a"}, `{"a":"1: 2"}`,
			"GET /\nX-A: n 1: 2\nX-B: {a}\n"},
		{"header lines", Request{URL: "SITE/", Fields: []Field{{In: InHeader, Name: "X-A", Value: "{a}"}}},
			[]string{"a"}, `{"a":"1\r\nX-B: 2"}`, "!a header is one line"},
		{"header list", Request{URL: "SITE/", Fields: []Field{{In: InHeader, Name: "X-A", Value: "{a}"}}},
			[]string{"a"}, `{"a":["1","2"]}`, "GET /\nX-A: 1,2\n"},
		{"header list with commas", Request{URL: "SITE/", Fields: []Field{{In: InHeader, Name: "X-A", Value: "{a}"}}},
			[]string{"a"}, `{"a":["1,3","2"]}`, "!cannot be told from two"},
		{"header absent", Request{URL: "SITE/", Fields: []Field{{In: InHeader, Name: "X-A", Value: "{a}"}}},
			[]string{"a"}, `{}`, "GET /\n"},
		{"cookie",
			Request{URL: "SITE/",
				Fields: []Field{{In: inCookie, Name: "c", Value: "{a}"}, {In: inCookie, Name: "d", Secret: "x y"}}},
			[]string{"a"}, `{"a":"1; e=2"}`, "GET /\nCookie: c=1%3B+e%3D2; d=x+y\n"},
		{"rest", Request{Method: "post", URL: "SITE/{id}"}, []string{"id", "b", "a"}, `{"id":"x","b":[1.0],"a":"é\""}`,
			"POST /x\nContent-Type: application/json\n{\"a\":\"é\\\"\",\"b\":[1.0]}"},
		{"nothing left", Request{Method: "POST", URL: "SITE/{id}"}, []string{"id"}, `{"id":"x"}`,
			"POST /x\nContent-Type: application/json\n{}"},
		{"delete", Request{Method: "DELETE", URL: "SITE/{id}"}, []string{"id"}, `{"id":"x"}`, "DELETE /x\n"},
		{"body",
			Request{Method: "POST", URL: "SITE/",
				Body: json.RawMessage(`{"q":"{q}","t":"say {q}!","n":["{n}",1],"k":{"{q}":null}}`)},
			[]string{"q", "n"}, `{"q":"\",\"x\":\"","n":5}`, "POST /\nContent-Type: application/json\n" +
				`{"q":"\",\"x\":\"","t":"say \",\"x\":\"!","n":[5,1],"k":{"{q}":null}}`},
		{"body with gaps",
			Request{Method: "POST", URL: "SITE/", Body: json.RawMessage(`{"q":"{q}","t":"say {q}!","n":["{n}",1]}`)},
			[]string{"q", "n"}, `{}`, "POST /\nContent-Type: application/json\n{\"n\":[1]}"},
		{"body of one argument", Request{Method: "PUT", URL: "SITE/", Body: json.RawMessage(`"{body}"`)},
			[]string{"body"}, `{"body":[1,2]}`, "PUT /\nContent-Type: application/json\n[1,2]"},
		{"no body", Request{Method: "PUT", URL: "SITE/", Body: json.RawMessage(`"{body}"`)}, []string{"body"}, `{}`,
			"PUT /\n"},
		{"too long", Request{URL: "SITE/?q={q}"}, []string{"q"}, `{"q":"` + strings.Repeat("x", 9000) + `"}`,
			"!8192 are the most"},
	} {
		res := call(t, s, tt.r, schemaOf(tt.params...), tt.args)
		var got string
		if json.Unmarshal(res.Data, &got) != nil {
			got = string(res.Data)
		}
		if want, fails := strings.CutPrefix(tt.want, "!"); fails {
			if res.OK || !strings.Contains(res.Error, want) {
				t.Errorf("%s: %q %q; want the error %q", tt.name, got, res.Error, want)
			}
		} else if !res.OK || got != tt.want {
			t.Errorf("%s: %q %q; want %q", tt.name, got, res.Error, tt.want)
		}
	}
}

// TestNew: what can be no request is told before there is a call.
func TestNew(t *testing.T) {
	for _, tt := range []struct {
		r      Request
		params []string
		says   string
	}{
		{Request{Method: "TRACE", URL: "http://x.example/"}, nil, "the method"},
		{Request{Method: "GET", URL: "ftp://x.example/"}, nil, "neither http:// nor"},
		{Request{Method: "GET", URL: "https://{host}/"}, []string{"host"}, "it has to be fixed"},
		{Request{Method: "GET", URL: "https://api.{host}:80/"}, []string{"host"}, "it has to be fixed"},
		{Request{Method: "GET", URL: "https://me:pw@x.example/"}, nil, "a user or password"},
		{Request{Method: "GET", URL: "https:///x"}, nil, "is no host"},
		{Request{Method: "GET", URL: "https://x y/"}, nil, "is no host"},
		{Request{Method: "GET", URL: "https://x.example/#{a}"}, []string{"a"}, "fragment"},
		{Request{Method: "GET", URL: "https://x.example/a b"}, nil, "is written as %XX"},
		{Request{Method: "GET", URL: "https://x.example/%zz"}, nil, "is written as %XX"},
		{Request{Method: "GET", URL: "https://x.example/?{a}=1"}, []string{"a"}, "stands in a value"},
		{Request{Method: "GET", URL: "https://x.example/{a}"}, nil, "there is no parameter a"},
		{Request{Method: "GET", URL: "https://x.example/"}, []string{"a"}, "the parameter a has no place"},
		{Request{Method: "GET", URL: "https://x.example/", Body: json.RawMessage(`{}`)}, nil, "GET has no body"},
		{Request{Method: "POST", URL: "https://x.example/", Body: json.RawMessage(`{"a":{a}}`)}, []string{"a"},
			"the body is no JSON"},
		{Request{Method: "GET", URL: "https://x.example/", Result: "a/b"}, nil, "is no JSON pointer"},
		{Request{Method: "GET", URL: "https://x.example/", Fields: []Field{{In: InHeader, Name: "Host", Value: "x"}}},
			nil, "not for requests to choose"},
		{Request{Method: "GET", URL: "https://x.example/", Fields: []Field{{In: InHeader, Name: "a b"}}}, nil,
			"is no name of a header"},
		{Request{Method: "GET", URL: "https://x.example/", Fields: []Field{{In: InHeader, Name: "X", Secret: "a\nb"}}},
			nil, "not one line"},
		{Request{Method: "GET", URL: "https://x.example/", Fields: []Field{{In: "body", Name: "X"}}}, nil,
			"there is no place"},
		{Request{Method: "GET", URL: "https://x.example/", Fields: []Field{{In: InQuery, Name: "x", Style: "form"}}},
			nil, "there is no style"},
	} {
		_, err := New(chat.Tool{Name: "try_it", Parameters: schemaOf(tt.params...)}, tt.r)
		if !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v; want %q", tt.r, err, tt.says)
		}
	}
}

func TestAnswer(t *testing.T) {
	big := strings.Repeat("x", 5000)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		kind, body := "application/json", `{"main":{"temp":12.50,"say":"h\u00e9"},"list":[{"a/b":1}]}`
		switch r.URL.Path {
		case "/text":
			kind, body = "text/plain; charset=iso-8859-1", "cr\xe8me"
		case "/image":
			kind, body = "image/png", "\x89PNG"
		case "/problem":
			kind = "application/problem+json"
		case "/broken":
			body = `{"a":`
		case "/big":
			body = `"` + big + `"`
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/busy":
			w.Header().Set("Retry-After", "30")
			http.Error(w, "come back", http.StatusTooManyRequests)
			return
		case "/gone":
			http.Error(w, `{"error":"no such city"}`+big, http.StatusNotFound)
			return
		case "/moved":
			http.Redirect(w, r, "/text", http.StatusFound)
			return
		case "/away":
			http.Redirect(w, r, strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)+"/text",
				http.StatusFound)
			return
		case "/cut":
			w.Header().Set("Content-Length", "100")
			kind, body = "text/plain", "the beginning"
		}
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	})
	for _, tt := range []struct {
		path string
		r    Request
		data string
		says string
	}{
		{"/json", Request{Result: "/main/temp"}, `12.50`, ""},
		{"/json", Request{Result: "/main/say"}, `"hé"`, ""},
		{"/json", Request{Result: "/list/0/a~1b"}, `1`, ""},
		{"/problem", Request{Result: "/list"}, `[{"a/b":1}]`, ""},
		{"/json", Request{Result: "/list/1"}, "", "nothing at /list/1: there is a list of 1 items"},
		{"/json", Request{Result: "/main/x/y"}, "", "nothing at /main/x/y: there is an object with temp, say"},
		{"/text", Request{}, `"crème"`, ""},
		{"/text", Request{Result: "/a"}, "", "is no JSON, so that /a cannot be looked up"},
		{"/text", Request{Accept: []string{"application/json"}}, "",
			"answers with text/plain, which is none of application/json"},
		{"/image", Request{}, "", "answers with image/png"},
		{"/image", Request{Accept: []string{"image/*"}}, `"�PNG"`, ""},
		{"/broken", Request{}, `"{\"a\":"`, ""},
		{"/big", Request{MaxBytes: 4}, `"\"xxx\n[the answer is longer than 4 bytes, the rest was not read]"`, ""},
		{"/big", Request{MaxBytes: 4, Result: "/a"}, "", "is longer than 4 bytes"},
		{"/cut", Request{}, `"the beginning\n[the answer broke off here]"`, ""},
		{"/empty", Request{}, `{"status":204}`, ""},
		{"/busy", Request{}, "", "answers 429 Too Many Requests; it says to wait 30: come back"},
		{"/gone", Request{}, "", `answers 404 Not Found: {"error":"no such city"}x`},
		{"/moved", Request{}, `"crème"`, ""},
		{"/away", Request{}, "", "redirects are followed only within one site"},
	} {
		tt.r.URL = "SITE" + tt.path
		res := call(t, s, tt.r, schemaOf(), `{}`)
		if string(res.Data) != tt.data || res.OK != (tt.says == "") || !strings.Contains(res.Error, tt.says) {
			t.Errorf("%s %+v: %s %q; want %s %q", tt.path, tt.r, res.Data, res.Error, tt.data, tt.says)
		}
		if len(res.Error) > 3000 {
			t.Errorf("%s: an error of %d bytes", tt.path, len(res.Error))
		}
	}
}

// TestPolicy: the host is what a policy decides about, with or without arguments, and what it forbids is never reached.
func TestPolicy(t *testing.T) {
	reached := false
	s := server(t, func(w http.ResponseWriter, r *http.Request) { reached = true })
	one, err := New(chat.Tool{Name: "try_it", Parameters: schemaOf("q")},
		Request{Method: "GET", URL: s.URL + "/{q}?k=1",
			Fields: []Field{{In: InQuery, Name: "key", Secret: "sesame street"}}})
	if err != nil {
		t.Fatal(err)
	}
	var reg runner.Registry
	if err := reg.Add(one); err != nil {
		t.Fatal(err)
	}
	allow, err := policy.New(policy.Definition{Name: "plain", Default: chat.DecisionAllow})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		policy *policy.Policy
		kind   tool.ErrorKind
	}{
		{"this machine without a rule", allow, tool.ErrSecurity},
		{"a rule against it", open(t, chat.DecisionDeny, s), tool.ErrSecurity},
	} {
		r := runner.New(runner.Settings{Tools: &reg, Policy: tt.policy})
		res, err := r.Call(t.Context(), "try_it", `{"q":"x"}`)
		if err != nil || res.ErrorType != tt.kind || reached {
			t.Errorf("%s: %+v %v, reached: %t", tt.name, res, err, reached)
		}
	}
	// Without a decision before it, the client still goes nowhere, and no error shows the secret.
	res, err := (runner.New(runner.Settings{Tools: &reg})).Call(t.Context(), "try_it", `{"q":"x"}`)
	if err != nil || res.ErrorType != tool.ErrSecurity || reached || strings.Contains(res.Error, "sesame") {
		t.Errorf("no policy: %+v %v, reached: %t", res, err, reached)
	}
}

// TestAsked: what a person has approved is reached, and only that.
func TestAsked(t *testing.T) {
	s := server(t, echo)
	one, err := New(chat.Tool{Name: "try_it", Parameters: schemaOf("q")}, Request{Method: "GET", URL: s.URL + "/{q}"})
	if err != nil {
		t.Fatal(err)
	}
	var reg runner.Registry
	if err := reg.Add(one); err != nil {
		t.Fatal(err)
	}
	asks, err := policy.New(policy.Definition{Name: "test", Default: chat.DecisionAllow, Rules: []policy.Rule{
		{Decision: chat.DecisionAllow, Selector: policy.Selector{Host: []string{s.Listener.Addr().String()}}},
		{Decision: chat.DecisionAsk, Selector: policy.Selector{Host: []string{s.Listener.Addr().String()}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg, Policy: asks, Approvals: &runner.MemoryApprovals{}})
	plan, err := r.Plan(t.Context(), chat.Call{ID: "1", Name: "try_it", Arguments: `{"q":"x"}`, Complete: true})
	if err != nil || plan.Outcome != runner.OutcomeNeedsApproval {
		t.Fatalf("%+v %v", plan, err)
	}
	if _, err := r.Settings().Approvals.Decide(t.Context(), plan.Approval,
		runner.Answer{State: runner.ApprovalApproved}); err != nil {
		t.Fatal(err)
	}
	var text string
	for e, err := range r.Run(t.Context(), plan) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindResult {
			text = e.Detail.(*chat.Result).Parts[0].Text
		}
	}
	if text != "GET /x\n" {
		t.Errorf("%q", text)
	}
}

func TestReadOnly(t *testing.T) {
	s := server(t, echo)
	for _, tt := range []struct {
		method string
		reads  bool
		ok     bool
	}{{"GET", false, true}, {"HEAD", false, true}, {"POST", false, false}, {"DELETE", false, false},
		{"POST", true, true}} {
		one, err := New(chat.Tool{Name: "try_it"}, Request{Method: tt.method, URL: s.URL, ReadOnly: tt.reads})
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(t, one, s)
		if err := r.Settings().Tools.(*runner.Registry).SetGuard("try_it", &tool.Guard{Mode: tool.ModeRO}); err != nil {
			t.Fatal(err)
		}
		if res, err := r.Call(t.Context(), "try_it", `{}`); err != nil || res.OK != tt.ok {
			t.Errorf("%s: %+v %v", tt.method, res, err)
		}
	}
}
