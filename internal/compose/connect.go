package compose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wield/chat"
	"wield/internal/api"
	"wield/internal/config"
	"wield/model/exchange"
	"wield/model/openai"
	"wield/schema/near"
	"wield/tool/atomicfile"
)

// Bounds of trying a connection: a list is at hand, and a model may have to be loaded first.
const (
	listTime   = 10 * time.Second
	answerTime = 2 * time.Minute
)

// Try asks a server for its models and the model for a word, and says what is wrong in words for a person who
// has typed it in. An address is put right where that is plain: without a scheme, with the path of an
// endpoint, without /v1.
func Try(ctx context.Context, c api.Connection, getenv func(string) string) *api.Connected {
	t := &trial{ctx: ctx, out: &api.Connected{Model: strings.TrimSpace(c.Model)}, client: &http.Client{
		Transport:     &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if t.address(c.URL) && t.secret(c, getenv) && t.list() && t.choose() && t.ask() {
		t.out.OK = true
	}
	return t.out
}

// A trial is one connection that is being tried. Its steps report whether to go on.
type trial struct {
	ctx    context.Context
	client *http.Client
	key    string
	out    *api.Connected
}

// wrong says what is to be changed.
func (t *trial) wrong(field, problem, fix string) bool {
	if t.key != "" { // a server may repeat it
		problem = strings.ReplaceAll(problem, t.key, "***")
	}
	t.out.Field, t.out.Problem, t.out.Fix = field, problem, fix
	return false
}

// endpoints are paths that are copied along with a base address.
var endpoints = []string{"/chat/completions", "/completions", "/responses", "/models"}

// address takes the base address.
func (t *trial) address(typed string) bool {
	base := strings.TrimRight(strings.TrimSpace(typed), "/")
	if base == "" {
		return t.wrong("url", "The base URL is missing.",
			"Enter the address of the model server, such as http://127.0.0.1:11434/v1")
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	for _, e := range endpoints {
		base = strings.TrimSuffix(base, e)
	}
	t.out.URL = base
	var u config.URL
	if err := u.Parse(base); err != nil || strings.ContainsAny(base, " \t\r\n") {
		return t.wrong("url", "This is not a valid base URL.",
			"Use http://HOST:PORT/v1 or https://HOST/v1, without user, query or spaces")
	}
	return true
}

// secret takes the key, or looks up the variable that holds it.
func (t *trial) secret(c api.Connection, getenv func(string) string) bool {
	key, name := strings.TrimSpace(c.Key), strings.TrimSpace(c.Variable)
	switch {
	case key != "" && name != "":
		return t.wrong("key", "Both a key and a variable are given.", "Enter only one of them")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return t.wrong("key", "A key contains no spaces and no accented letters.", "Copy it again")
	case name != "":
		var s config.Secret
		if s.Parse("env:"+name) != nil {
			return t.wrong("variable", "This is not a variable name.", "Enter only the name, such as LLM_KEY")
		}
		if key = getenv(name); key == "" {
			return t.wrong("variable", "The variable "+name+" is not set for wield.",
				"Set it and restart wield, or enter the key")
		}
	}
	t.key = key
	return true
}

// list asks for the server's models, also behind /v1 where that was left out. That a server has no list is no
// fault: the model is asked then.
func (t *trial) list() bool {
	bases := []string{t.out.URL}
	if !strings.HasSuffix(t.out.URL, "/v1") {
		bases = append(bases, t.out.URL+"/v1")
	}
	var status int
	for i, base := range bases {
		listing, err := t.models(base)
		if err != nil {
			return t.wrong("url", unreachable(base, err), "Start the server there, or correct the address")
		}
		if i == 0 {
			status = listing.Status
		}
		switch code := listing.Status; {
		case code == http.StatusUnauthorized || code == http.StatusForbidden:
			t.out.URL = base
			return t.refused(code, listing.Message)
		case listing.Names != nil:
			slices.Sort(listing.Names)
			t.out.URL, t.out.Models = base, listing.Names
			return true
		}
	}
	if t.out.Model == "" {
		return t.wrong("url", fmt.Sprintf("%s is not a model server: it answers the request for its models with %d %s.",
			t.out.URL, status, http.StatusText(status)),
			"Check the base URL; for most servers it ends in /v1")
	}
	return true
}

// refused says that the server does not take the key.
func (t *trial) refused(code int, said string) bool {
	if said != "" {
		said = " It says: " + said
	}
	if t.key == "" {
		return t.wrong("key", fmt.Sprintf("The server requires a key (status %d).%s", code, said),
			"Enter it, or name the environment variable that holds it")
	}
	return t.wrong("key", fmt.Sprintf("The server rejects the key (status %d).%s", code, said),
		"Check that it is complete, not expired, and for this server")
}

// models asks for the list below a base address.
func (t *trial) models(base string) (openai.Listing, error) {
	ctx, cancel := context.WithTimeout(t.ctx, listTime)
	defer cancel()
	return openai.List(ctx,
		openai.Options{URL: base, Key: t.key, Connection: exchange.Connection{Transport: t.client.Transport}})
}

// unreachable says why nobody answers at an address.
func unreachable(base string, err error) string {
	u, _ := url.Parse(base)
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens at " + u.Host + "."
	case errors.As(err, &name):
		return "The host " + name.Name + " does not exist."
	case errors.Is(err, context.DeadlineExceeded):
		return u.Host + " does not respond."
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return u.Host + " speaks http, not https."
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Sprintf("%s cannot be reached: %v.", u.Host, err)
}

// choose takes the server's only model where none is named.
func (t *trial) choose() bool {
	if t.out.Model == "" && len(t.out.Models) == 1 {
		t.out.Model = t.out.Models[0]
	}
	switch {
	case t.out.Model != "":
		return true
	case len(t.out.Models) == 0:
		return t.wrong("model", "The server lists no models.", "Load one there, or enter a name")
	}
	return t.wrong("model", fmt.Sprintf("The server has %d models.", len(t.out.Models)), "Choose one")
}

// ask asks the model for a word.
func (t *trial) ask() bool {
	ctx, cancel := context.WithTimeout(t.ctx, answerTime)
	defer cancel()
	m := openai.New(openai.Options{URL: t.out.URL, Key: t.key, Model: t.out.Model,
		Connection: exchange.Connection{FirstByte: answerTime}})
	defer m.Close()
	for _, err := range m.Stream(ctx, &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser,
		Parts: chat.Text("Say hello.")}}}) {
		if err != nil {
			return t.failed(chat.AsError(err))
		}
	}
	return true
}

// failed says what an error of the model means for what was typed in.
func (t *trial) failed(e *chat.Error) bool {
	known := len(t.out.Models) == 0 || slices.Contains(t.out.Models, t.out.Model)
	switch {
	case e.Kind == chat.ErrAuth:
		return t.refused(e.Status, e.Message)
	case e.Code == openai.CodePath:
		return t.wrong("url", "The server has no such path.", "For most servers the base URL ends in /v1")
	case e.Kind == chat.ErrNotFound || !known:
		fix := "Enter the name that the server uses"
		if len(t.out.Models) > 0 {
			fix = "Choose one from its list" + meantModel(t.out.Model, t.out.Models)
		}
		return t.wrong("model", fmt.Sprintf("The server has no model %s. It says: %s", t.out.Model, e.Message), fix)
	case e.Kind == chat.ErrTimeout:
		return t.wrong("model", fmt.Sprintf("The model did not respond within %v.", answerTime),
			"It may still be loading: try again")
	}
	return t.wrong("model", "The model failed: "+e.Error(), "Check the log of its server")
}

// meantModel is DidYouMean for names of models, of which the tag is often left out.
func meantModel(name string, models []string) string {
	for _, m := range models {
		if strings.Contains(strings.ToLower(m), strings.ToLower(name)) {
			return fmt.Sprintf("; did you mean %q?", m)
		}
	}
	return near.Hint(name, models)
}

// Keep writes a connection that was tried into a configuration file, which is made if there is none. A key
// goes into a file of its own beside it. A file that has backends or models is left as it is.
func Keep(file string, c api.Connection, getenv func(string) string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	server := Found{Name: "server", URL: c.URL, Models: []string{c.Model}}
	var keyFile string
	switch {
	case c.Variable != "":
		server.Key = "env:" + strings.TrimSpace(c.Variable)
	case c.Key != "":
		if keyFile, err = writeKey(filepath.Dir(file), strings.TrimSpace(c.Key)); err != nil {
			return err
		}
		server.Key = "file:" + keyFile
	}
	err = keep(file, old, server, getenv)
	if err != nil && keyFile != "" {
		err = errors.Join(err, os.Remove(keyFile))
	}
	return err
}

// keep writes a server behind what stands in a file.
func keep(file string, old []byte, server Found, getenv func(string) string) error {
	var text strings.Builder
	if old == nil {
		text.WriteString(First([]Found{server}))
	} else {
		text.Write(old)
		text.WriteString("\nbackends:\n")
		writeServers(&text, []Found{server})
	}
	r, err := config.Parse(file, []byte(text.String()), config.Options{File: file, Getenv: getenv})
	if err != nil || len(r.Backends) != 1 || len(r.Models) != 1 {
		var lines strings.Builder
		writeServers(&lines, []Found{server})
		return fmt.Errorf("%s already has backends or models; add this yourself\n\nbackends:\n%s", file, lines.String())
	}
	if old != nil {
		return config.ReplaceFile(file, []byte(text.String()))
	}
	return atomicfile.Write(file, []byte(text.String()), 0o600)
}

// writeKey writes a key into a new file that only its owner can read, and returns its absolute path.
func writeKey(dir, key string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "server-*.key") // with the permissions 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(key + "\n")
	return f.Name(), errors.Join(err, f.Close())
}
