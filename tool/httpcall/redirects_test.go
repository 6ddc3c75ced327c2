package httpcall

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"wield/chat"
	"wield/tool"
)

// TestRedirects lets a server point elsewhere in many ways: nothing but its own site is asked, and the key
// goes nowhere else.
func TestRedirects(t *testing.T) {
	var met atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		met.Add(1)
		w.Write([]byte("{}"))
	}))
	defer other.Close()
	var site string
	var keys []string
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("X-A"))
		if r.URL.Path == "/end" {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`"here"`))
			return
		}
		to := strings.NewReplacer("OTHER", strings.TrimPrefix(other.URL, "http://"), "PORT",
			other.URL[strings.LastIndexByte(other.URL, ':')+1:], "SITE", site).Replace(r.URL.Query().Get("to"))
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	site = strings.TrimPrefix(s.URL, "http://")
	for to, want := range map[string]string{
		"/end":                           "",
		"http://SITE/end":                "",
		"//SITE/end":                     "",
		"HTTP://SITE/end":                "",
		"http://user:pass@SITE/end":      "user or password",
		"http://OTHER/":                  "within one site",
		"//OTHER/":                       "within one site",
		"http://OTHER#@SITE/end":         "within one site",
		"http://localhost:PORT/":         "within one site",
		"http://127.1:PORT/":             "within one site",
		"http://2130706433:PORT/":        "within one site",
		"http://0x7f.0.0.1:PORT/":        "within one site",
		"http://[::ffff:127.0.0.1]:PORT": "within one site",
		"http://127.0.0.1.:PORT/":        "within one site",
		"https://SITE/end":               "within one site",
		"ftp://SITE/end":                 "within one site",
		"file:///etc/passwd":             "within one site",
		"javascript:alert(1)":            "within one site",
		"data:application/json,1":        "within one site",
		"http://169.254.169.254/latest/": "within one site",
		"http:///end":                    "within one site",
		"/?to=http://OTHER/":             "within one site", // by way of its own site
		"//SITE@OTHER/":                  "within one site",
		"http://SITE%2f@OTHER/":          "within one site",
		"http://SITE:pw@OTHER/":          "within one site",
		"http://[::1]:PORT/":             "within one site",
		"http://[::ffff:7f00:1]:PORT/":   "within one site",
		"http://[64:ff9b::7f00:1]:PORT/": "within one site",
		"http://017700000001:PORT/":      "within one site",
		"http://localhost.:PORT/":        "within one site",
		"ws://SITE/end":                  "within one site",
		"http+unix://SITE/end":           "within one site",
		"HTTPS://SITE/end":               "within one site",
		"/?to=/end":                      "", // one after the other
		"/again?to=/again":               "",
	} {
		keys = nil
		one, err := New(chat.Tool{Name: "try_it", Parameters: schemaOf("to")},
			Request{Method: "GET", URL: s.URL + "/",
				Fields: []Field{{In: InHeader, Name: "X-A", Secret: "sesame street"},
					{In: InQuery, Name: "to", Value: "{to}"}}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := newRunner(t, one, s).Call(t.Context(), "try_it", `{"to": "`+to+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if to == "/again?to=/again" {
			if res.ErrorType == "" || len(keys) > 20 {
				t.Errorf("%s: %+v after %d requests", to, res, len(keys))
			}
			continue
		}
		if want == "" && (res.ErrorType != "" || len(keys) < 2) ||
			want != "" && (!strings.Contains(res.Error, want) || res.ErrorType != tool.ErrSecurity ||
				len(keys) != 1+strings.Count(to, "to=")) {
			t.Errorf("%s: %s %q after %d requests", to, res.ErrorType, res.Error, len(keys))
		}
		if strings.Contains(res.Error, "sesame") {
			t.Errorf("%s: the error shows the key: %s", to, res.Error)
		}
	}
	if n := met.Load(); n > 0 {
		t.Errorf("another server was asked %d times", n)
	}
}
