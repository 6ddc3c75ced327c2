package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func library(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/library.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// credentials answer all schemes of the library.
var credentials = map[string]Credential{"key": {Token: "k-secret"}, "user": {User: "ann", Password: "p-secret"},
	"extra": {Token: "x-secret"}}

func names(tools []*tool.Tool) string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name())
	}
	return strings.Join(list, " ")
}

func TestRead(t *testing.T) {
	tools, err := Read(library(t), Options{File: "library.yaml", Auth: credentials})
	if err != nil {
		t.Fatal(err)
	}
	type shown struct{ Name, Description, Parameters string }
	var got []shown
	for _, one := range tools {
		got = append(got, shown{one.Name(), one.Definition.Description, string(one.Definition.Parameters)})
		if fmt.Sprint(one.Facts.Sites) != "[https://eu.library.example]" {
			t.Errorf("%s goes to %s", one.Name(), one.Facts.Sites)
		}
	}
	book := `{"type":"object","required":["title","format"],"properties":{"title":{"type":"string","description":"as on the cover"},"subtitle":{"type":["string","null"]},"pages":{"type":"integer","exclusiveMinimum":0},"format":{"type":"string","enum":["paper","sound"]}}}`
	shelf := `{"type":"object","properties":{"name":{"type":"string"},"books":{"type":"array","items":` + book +
		`},"inside":{"type":"array","items":{"$ref":"#/$defs/Shelf"}}}}`
	want := []shown{
		{"list_books",
			`List the books of the library. Those that are lent are among them. Example: {"author":"author"}`,
			`{"type":"object","properties":{"author":{"description":"part of the author's name","type":"string"},"shelf":{"description":"shelf, in the query","type":"array","items":{"type":"string"}},` +
				`"years":{"description":"years, in the query","type":"array","items":{"type":"integer"}},"filter":{"description":"filter, in the query","type":"object","properties":{"lent":{"type":"boolean"}}},` +
				`"page":{"description":"page, in the query","type":"integer","default":1},"X-Trace":{"description":"x trace, in the header","type":"string"},"session":{"description":"session, in the cookie","type":"string"}},"additionalProperties":false}`},
		{"add_book", `Put a new book on a shelf. Example: {"body":{"title":"The Waves","format":"paper"}}`,
			`{"type":"object","properties":{"body":{"description":"what is sent",` + book[1:] +
				`},"required":["body"],"additionalProperties":false}`},
		{"get_books_by_book_id_author", `(GET /books/{book-id}/author). Example: {"book-id":1}`,
			`{"type":"object","properties":{"book-id":{"description":"number of the book","type":"integer","minimum":1}},"required":["book-id"],"additionalProperties":false}`},
		{"books_author_delete", `(DELETE /books/{book-id}/author). Example: {"book-id":1}`,
			`{"type":"object","properties":{"book-id":{"description":"number of the book","type":"integer","minimum":1}},"required":["book-id"],"additionalProperties":false}`},
		{"put_shelf", `Arrange a shelf and what is on it. Example: {"id":"id"}`,
			`{"type":"object","properties":{"id":{"description":"id, in the path","type":"string"},"id_query":{"description":"id, in the query","type":"string"},"where":{"description":"where, in the query","type":"object"},` +
				`"body":{"description":"what is sent","$ref":"#/$defs/Shelf"}},"required":["id"],"additionalProperties":false,"$defs":{"Shelf":` + shelf + `}}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var reg runner.Registry
	if err := reg.Add(tools...); err != nil {
		t.Error(err)
	}
}

// TestJSON: a document means the same in both notations.
func TestJSON(t *testing.T) {
	n, err := read("library.yaml", library(t))
	if err != nil {
		t.Fatal(err)
	}
	data := n.append(nil)
	if !json.Valid(data) {
		t.Fatalf("%s", data)
	}
	again, err := read("library.json", data)
	if err != nil || string(again.append(nil)) != string(data) {
		t.Errorf("%v", err)
	}
	tools, err := Read(data, Options{File: "library.json", Auth: credentials})
	if err != nil || len(tools) != 5 {
		t.Errorf("%s %v", names(tools), err)
	}
}

func TestPick(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Tags: []string{"shelves"}}, "put_shelf"},
		{Options{Operations: []string{"list*", "putshelf"}}, "list_books put_shelf"},
		{Options{Operations: []string{"get_books_by_*"}}, "get_books_by_book_id_author"},
		{Options{Paths: []string{"/books"}, Methods: []string{"GET"}}, "list_books"},
		{Options{Methods: []string{"delete"}, Prefix: "lib_"}, "lib_books_author_delete"},
	} {
		tt.o.Auth = credentials
		tools, err := Read(library(t), tt.o)
		if err != nil || names(tools) != tt.want {
			t.Errorf("%+v: %s %v; want %s", tt.o, names(tools), err, tt.want)
		}
	}
	if _, err := Read(library(t), Options{File: "x", Tags: []string{"book"}}); err == nil ||
		!strings.Contains(err.Error(), "no operation is picked") {
		t.Errorf("%v", err)
	}
}

// TestCall: what a call sends is what the document says.
func TestCall(t *testing.T) {
	var saw string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		saw = strings.TrimSpace(fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Authorization"),
			r.Header.Get("X-Extra"), r.Header.Get("X-Trace"), r.Header.Get("Cookie"), " ", string(body)))
		io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(s.Close)
	tools, err := Read(library(t), Options{File: "library.yaml", Auth: credentials, Server: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	var reg runner.Registry
	for _, one := range tools {
		one.Guard = &tool.Guard{Mode: tool.ModeRW}
	}
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Definition{Name: "test", Default: chat.DecisionAllow,
		Rules: []policy.Rule{{Decision: chat.DecisionAllow,
			Selector: policy.Selector{Host: []string{s.Listener.Addr().String()}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg, Policy: p})
	for _, tt := range []struct{ name, args, want string }{
		{"list_books", `{}`, "GET /v1/books?api_key=k-secret"},
		{"list_books",
			`{"author":"a&b","shelf":["x","y"],"years":[1,2],"filter":{"lent":true},"page":3,"X-Trace":"t","session":"s;t"}`,
			"GET /v1/books?author=a%26b&shelf%5B%5D=x&shelf%5B%5D=y&years=1,2&filter%5Blent%5D=true&page=3&api_key=k-secret tsession=s%3Bt"},
		{"add_book", `{"body":{"title":"T","format":"paper"}}`,
			`POST /v1/books Basic YW5uOnAtc2VjcmV0x-secret {"title":"T","format":"paper"}`},
		{"get_books_by_book_id_author", `{"book-id":7}`, "GET /v1/books/7/author"},
		{"books_author_delete", `{"book-id":7}`, "DELETE /v1/books/7/author"},
		{"put_shelf", `{"id":"a/b","id_query":"q","where":{"x":1},"body":{"inside":[{"name":"n"}]}}`,
			`PUT /v1/shelves/a%2Fb?id=q&where=%7B%22x%22%3A1%7D&api_key=k-secret  {"inside":[{"name":"n"}]}`},
	} {
		saw = ""
		res, err := r.Call(t.Context(), tt.name, tt.args)
		if err != nil || !res.OK || saw != tt.want {
			t.Errorf("%s %s: %+v %v\nthe server saw %q\nwant           %q", tt.name, tt.args, res, err, saw, tt.want)
		}
	}
}

// TestWrong: what is wrong is told with its line, and nothing else is lost.
func TestWrong(t *testing.T) {
	const head = "openapi: 3.0.3\nservers: [{url: 'https://x.example'}]\n"
	good := "  /good: {get: {operationId: goodOne}}\n"
	for _, tt := range []struct {
		text  string
		line  int
		says  string
		tools string
	}{
		{"", 0, "it is empty", ""},
		{"hello", 1, "it holds no object", ""},
		{"{}", 1, "the key openapi is missing", ""},
		{"swagger: '2.0'", 1, "it is of version 2", ""},
		{"openapi: 4.0.0", 1, "only 3.0 and 3.1", ""},
		{"openapi: 3.0.0", 1, "it has no paths", ""},
		{"{\n \"openapi\": \"3.0.0\",\n \"a\": 1,\n \"a\": 2}", 4, "", ""},
		{"{\n \"openapi\": \"3.0.0\",\n \"a\": [1,\n", 4, "", ""},
		{"a: [\n", 0, "no YAML", ""},
		{"a: 1\nb: 2\na: 3\n", 3, "", ""},
		{"a: *b\n", 1, "no anchor", ""},
		{"a: &x\n  b: *x\n", 2, "", ""},
		{strings.Repeat("[", 1000), 1, "nested deeper than 500", ""},
		{strings.Repeat("- ", 1000), 1, "nested deeper than 500", ""},
		{`{"a":` + strings.Repeat("[", 5000), 1, "nested deeper", ""},
		{head + "paths:\n  /a: {get: {parameters: [{$ref: '#/nowhere'}]}}\n" + good, 4, "leads nowhere", "good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{$ref: 'other.yaml#/x'}]}}\n" + good, 4,
			"leads out of the document", "good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{$ref: '#x'}]}}\n" + good, 4, "begins with #/", "good_one"},
		{head + "paths:\n  /a:\n    $ref: '#/paths/~1b'\n  /b:\n    $ref: '#/paths/~1a'\n" + good, 0, "in a circle",
			"good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{name: x, in: body}]}}\n" + good, 4,
			"in path, query, header or cookie", "good_one"},
		{head + "paths:\n  /a/{x}: {get: {}}\n" + good, 4, `no parameter "x" in the path`, "good_one"},
		{head + "paths:\n  /a/{x: {get: {}}\n" + good, 4, "a brace is open", "good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{name: x, in: path}]}}\n" + good, 4, "the parameter x has no place",
			"good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{name: x, in: query, style: matrix}]}}\n" + good, 4,
			`the style "matrix"`, "good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{name: x, in: query, schema: 5}]}}\n" + good, 4,
			"a schema is an object", "good_one"},
		{head + "paths:\n  /a: {get: {parameters: [{name: x, in: query, schema: {type: 5}}]}}\n" + good, 4,
			"schema: at", "good_one"},
		{head + "paths:\n  /a: {post: {requestBody: {required: true, content: {text/plain: {}}}}}\n" + good, 4,
			"its body is no JSON", "good_one"},
		{head + "paths:\n  /a: {get: {operationId: good_one}}\n" + good, 5,
			"a second operation would be called good_one; the first is in line 4", "good_one"},
		{head + "paths:\n  /a: {get: {operationId: '!!', security: [{k: []}]}}\n" + good, 4,
			"get_a needs credentials for k", "good_one"},
		{head + "paths:\n  /a: 5\n" + good, 4, "no path item", "good_one"},
		{head + "paths:\n  /a: {get: 5}\n" + good, 4, "no operation", "good_one"},
		{"openapi: 3.0.3\npaths:\n  /a: {get: {}}\n", 1, "it names no server", ""},
		{"openapi: 3.0.3\nservers:\n- url: /v1\npaths:\n  /a: {get: {}}\n", 3, "has no scheme and host", ""},
		{"openapi: 3.0.3\nservers: [{url: 'https://me:pw@x.example'}]\npaths:\n  /a: {get: {}}\n", 4,
			"a user or password", ""},
		{"openapi: 3.0.3\nservers: [{url: 'https://{h}.example'}]\npaths:\n  /a: {get: {}}\n", 2,
			"is no plain address", ""},
	} {
		tools, err := Read([]byte(tt.text), Options{File: "doc.yaml"})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Msg, tt.says) || e.Line != tt.line && tt.line != 0 ||
			names(tools) != tt.tools || e.File != "doc.yaml" {
			t.Errorf("%.200q: %v, tools %q; want line %d %q, tools %q", tt.text, err, names(tools), tt.line, tt.says,
				tt.tools)
		}
	}
}

// TestCredentials: what a scheme wants is told.
func TestCredentials(t *testing.T) {
	for _, tt := range []struct{ scheme, says string }{
		{"{type: http, scheme: basic}", "wants a user and a password"},
		{"{type: apiKey, in: header}", "wants a token"},
		{"{type: mutualTLS}", `of type "mutualTLS" is not supported`},
		{"{type: apiKey, in: body, name: x}", `there is no place "body"`},
	} {
		_, err := Read(
			[]byte(
				"openapi: 3.0.3\nservers: [{url: 'https://x.example'}]\nsecurity: [{k: []}]\npaths: {/a: {get: {}}}\ncomponents: {securitySchemes: {k: "+tt.scheme+"}}\n"),
			Options{File: "doc.yaml", Auth: map[string]Credential{"k": {Token: "t"}}})
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q", tt.scheme, err, tt.says)
		}
	}
}
