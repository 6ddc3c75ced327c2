package httpcall

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/tool"
)

// TestNothingEscapesItsPlace: whatever the arguments hold, the request that is sent has the same shape, and a server
// reads the arguments as they were.
func TestNothingEscapesItsPlace(t *testing.T) {
	parameters := schemaOf("seg", "end", "q", "list", "h", "c", "b", "inner")
	one, err := New(chat.Tool{Name: "try_it", Parameters: parameters}, Request{
		Method: "POST",
		URL:    "https://api.example.com:8443/v1/{seg}/items/x{end}?q={q}&list={list}&fixed=1",
		Fields: []Field{{In: InHeader, Name: "X-A", Value: "{h}"}, {In: inCookie, Name: "c", Value: "{c}"},
			{In: inCookie, Name: "sid", Secret: "s"}},
		Body: json.RawMessage(`{"b":"{b}","text":"<{inner}>","last":1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := one.Handler.(*program)
	hostile := rapid.OneOf(rapid.String(),
		rapid.StringOfN(rapid.SampledFrom([]rune(`/.\?#&=;,%20"'{}<>:@ +[]`+"\r\n\x00é")), 0, 12, -1),
		rapid.SampledFrom([]string{"..", ".", "%2e%2e", "..%2f..", "a/../b", "@evil.example/", "{q}", "\",\"x\":\"",
			"a\r\nX-B: 1", "%00", "..;/x"}))
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]any{}
		for _, name := range []string{"seg", "end", "q", "h", "c", "b", "inner"} {
			in[name] = hostile.Draw(t, name)
		}
		list := rapid.SliceOfN(hostile, 1, 3).Draw(t, "list")
		in["list"] = list
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var sent map[string]any // what is no UTF-8 was replaced
		json.Unmarshal(raw, &sent)
		args, err := readArguments(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		req, err := p.build(t.Context(), args)
		if err != nil {
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.ErrInvalid {
				t.Fatalf("%v", err)
			}
			return
		}
		checkShape(t, req, sent)
	})
}

func checkShape(t *rapid.T, req *http.Request, sent map[string]any) {
	u, err := url.Parse(req.URL.String())
	if err != nil || u.Scheme != "https" || u.Host != "api.example.com:8443" || u.User != nil || u.Fragment != "" {
		t.Fatalf("%s: %v", req.URL, err)
	}
	segments := strings.Split(u.EscapedPath(), "/")
	if len(segments) != 5 || segments[1] != "v1" || segments[3] != "items" {
		t.Fatalf("the path is %s", u.EscapedPath())
	}
	for i, want := range map[int]string{2: sent["seg"].(string), 4: "x" + sent["end"].(string)} {
		if got, err := url.PathUnescape(segments[i]); err != nil || got != want || got == ".." || got == "." ||
			got == "" {
			t.Fatalf("segment %q %v, want %q", got, err, want)
		}
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(q) != 3 || q.Get("q") != sent["q"] || q.Get("fixed") != "1" ||
		len(q["list"]) != len(sent["list"].([]any)) {
		t.Fatalf("the query is %s: %v", u.RawQuery, err)
	}
	if strings.ContainsAny(req.Header.Get("X-A"), "\r\n\x00") || req.Header.Get("X-A") != sent["h"] {
		t.Fatalf("the header is %q", req.Header.Get("X-A"))
	}
	if cookies := req.Cookies(); len(cookies) != 2 || cookies[1].Name != "sid" || cookies[1].Value != "s" {
		t.Fatalf("the cookies are %q", req.Header.Get("Cookie"))
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil || len(got) != 3 || got["b"] != sent["b"] ||
		got["text"] != "<"+sent["inner"].(string)+">" {
		t.Fatalf("the body is %s: %v", body, err)
	}
}

// TestTemplate: a text is the texts and places that it is made of.
func TestTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("{}ab_.-é %")), 0, 20, -1).Draw(t, "text")
		var b strings.Builder
		for _, p := range parse(text) {
			if (p.text == "") == (p.name == "") {
				t.Fatalf("part %+v", p)
			}
			if p.name != "" {
				b.WriteString("{" + p.name + "}")
			}
			b.WriteString(p.text)
		}
		if b.String() != text {
			t.Fatalf("%q became %q", text, b.String())
		}
	})
	if got := parse("{a}{b}x{}{c").names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}
