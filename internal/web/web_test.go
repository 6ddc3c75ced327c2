package web

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, s *Site, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func site(t *testing.T) *Site {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFiles: every file comes with the headers that keep foreign things out, and is not sent twice.
func TestFiles(t *testing.T) {
	s := site(t)
	for p, f := range s.files {
		w := get(t, s, "GET", p)
		if w.Code != http.StatusOK || w.Body.String() != string(f.body) || w.Header().Get("Content-Type") != f.kind {
			t.Errorf("%s: %d %s", p, w.Code, w.Header())
		}
		for _, kv := range headers {
			if w.Header().Get(kv[0]) != kv[1] {
				t.Errorf("%s: %s is %q", p, kv[0], w.Header().Get(kv[0]))
			}
		}
		tag := w.Header().Get("ETag")
		if w := get(t, s, "GET", p, "If-None-Match", `"other", W/`+tag); w.Code != http.StatusNotModified ||
			w.Body.Len() > 0 {
			t.Errorf("%s with its tag: %d, %d bytes", p, w.Code, w.Body.Len())
		}
		if w := get(t, s, "GET", p, "If-None-Match", `"other"`); w.Code != http.StatusOK {
			t.Errorf("%s with another tag: %d", p, w.Code)
		}
		if w := get(t, s, "HEAD", p); w.Code != http.StatusOK || w.Body.Len() > 0 {
			t.Errorf("HEAD %s: %d, %d bytes", p, w.Code, w.Body.Len())
		}
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/web/nothing.js", 404}, {"GET", "/web/", 404}, {"GET", "/web/../web.go", 404},
		{"GET", "/web/pages", 404}, {"POST", "/", 405}, {"DELETE", "/web/app.js", 405},
	} {
		w := get(t, s, tt.method, tt.path)
		if w.Code != tt.status || w.Header().Get("Content-Security-Policy") != policy ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s %s: %d %v", tt.method, tt.path, w.Code, w.Header())
		}
	}
}

// forbidden are ways by which a text could become part of the page, or something could come from elsewhere.
var forbidden = []*regexp.Regexp{
	regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|setHTML\w*)\b`),
	regexp.MustCompile(`\bdocument\.write|\beval\(|new Function\(|setTimeout\(\s*['"` + "`" + `]|javascript:`),
	regexp.MustCompile(`(?i)\s(on\w+|style)\s*=\s*["'][^"']`),
	regexp.MustCompile(`(?i)(src|href|import|from|url\()\s*[=(]?\s*["']?(https?:)?//[a-z]`),
	regexp.MustCompile(`@import|<style|<iframe|<object|<embed|<base|\.srcdoc|srcdoc=`),
	regexp.MustCompile(`//[#@] sourceMappingURL`),
}

// TestSources reads the page's own files for what must not stand in them.
func TestSources(t *testing.T) {
	err := fs.WalkDir(assets, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".woff2" || path.Ext(name) == ".svg" {
			return err
		}
		text, err := fs.ReadFile(assets, name)
		if err != nil {
			return err
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			for _, re := range forbidden {
				if m := re.Find(line); m != nil {
					t.Errorf("%s:%d: %q stands here", name, i+1, m)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReferences: what a file loads is there.
func TestReferences(t *testing.T) {
	s := site(t)
	static := regexp.MustCompile(`(?:from\s+|import\(|import\s+)'([^']+)'|(?:href|src)="(/web/[^"]+)"|'(/web/[^'$]+)'`)
	for p, f := range s.files {
		for _, m := range static.FindAllSubmatch(f.body, -1) {
			want := string(m[1]) + string(m[2]) + string(m[3])
			if strings.HasPrefix(want, ".") {
				want = path.Join(path.Dir(p), want)
			}
			if _, ok := s.files[want]; !ok {
				t.Errorf("%s loads %s, which is not there", p, want)
			}
		}
	}
}

// TestPreloads: the document names all scripts that the frame and the first view need, so that none of them waits for
// another to be read.
func TestPreloads(t *testing.T) {
	s := site(t)
	static := regexp.MustCompile(`(?m)^import .*from '([^']+)'`)
	need := map[string]bool{}
	var walk func(p string)
	walk = func(p string) {
		for _, m := range static.FindAllSubmatch(s.files[p].body, -1) {
			if want := path.Join(path.Dir(p), string(m[1])); !need[want] {
				need[want] = true
				walk(want)
			}
		}
	}
	need["/web/pages/chat.js"] = true
	walk("/web/app.js")
	walk("/web/pages/chat.js")
	for _, m := range regexp.MustCompile(`rel="modulepreload" href="([^"]+)"`).FindAllSubmatch(s.files[Root].body, -1) {
		if !need[string(m[1])] {
			t.Errorf("%s is loaded for nothing, or twice", m[1])
		}
		delete(need, string(m[1]))
	}
	for p := range need {
		t.Errorf("%s has to be preloaded by %s", p, index)
	}
}
