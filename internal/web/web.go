// Package web is the page that a person sees what models and tools do on: chat, approvals, the inspector, the
// playground, numbers and settings.
//
// Words:
//
//   - The page is one document and the scripts, styles and pictures that it loads. They are files of this package, as
//     they are written: nothing builds them, and nothing comes from another host.
//   - A view is one of the things that the page shows, at an address of its own behind the #.
//
// The page asks the interface of package api alone, and knows of a service no more than that tells.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// The addresses that the page stands at.
const (
	Root   = "/"     // the document
	Prefix = "/web/" // what it loads
)

//go:embed assets
var assets embed.FS

// index is the document's file.
const index = "index.html"

// A file is one part of the page.
type file struct {
	kind string // content type
	tag  string // ETag
	body []byte
}

// A Site is the http.Handler of the page.
type Site struct {
	files map[string]file // by path
}

var _ http.Handler = (*Site)(nil)

// New returns the page. The error is one of the files in this program.
func New() (*Site, error) {
	s := &Site{files: map[string]file{}}
	root, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		kind := kinds[path.Ext(name)]
		if kind == "" {
			return errors.New("web: no content type for " + name)
		}
		sum := sha256.Sum256(body)
		s.files[at(name)] = file{kind: kind, tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
			body: body}
		return nil
	})
	return s, err
}

// kinds are the content types by the ends of names. What a system's own table says of them differs from one to the
// next.
var kinds = map[string]string{
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

// at returns the path of a file.
func at(name string) string {
	if name == index {
		return Root
	}
	return Prefix + name
}

// policy is the Content-Security-Policy: nothing from elsewhere, no script but the files of this package, and none
// that a text is made into. Pictures may also be data, because those that people send are. The
// frames are those of apps, which may lead nowhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src " +
	"'self'; font-src 'self'; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types " +
	"'none'"

// headers stand on every answer.
var headers = [][2]string{
	{"Content-Security-Policy", policy},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
	// a newer program has newer files at the same addresses; what has not changed is not sent again
	{"Cache-Control", "no-cache"},
}

// ServeHTTP answers one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for _, kv := range headers {
		h.Set(kv[0], kv[1])
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		s.refuse(w, http.StatusMethodNotAllowed, "only GET is answered here")
		return
	}
	f, ok := s.files[r.URL.Path]
	if !ok {
		s.refuse(w, http.StatusNotFound, "there is nothing here; the page is at "+Root)
		return
	}
	h.Set("ETag", f.tag)
	h.Set("Content-Type", f.kind)
	if matches(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = bytes.NewReader(f.body).WriteTo(w) // a client that does not take it is gone
	}
}

// refuse answers with a line of text.
func (s *Site) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", mime.FormatMediaType("text/plain", map[string]string{"charset": "utf-8"}))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(message + "\n"))
}

// matches reports whether a list of tags that a browser has holds one.
func matches(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}
