package builtin

import (
	"errors"
	"io/fs"
	"net/http"
	"time"

	"wield/tool"
	"wield/tool/files"
	"wield/tool/policy"
	"wield/tool/undo"
)

// Options apply to all tools. The zero value works.
type Options struct {
	MaxFile int64 // bytes of a file that is read or written as a whole; 0: 10 MiB

	// Transport carries what is asked of the services that stand here, whose addresses no call chooses. Nil:
	// an own one, which ignores the environment's proxies.
	Transport http.RoundTripper
	Search    Search    // where search_internet looks
	Undo      *undo.Log // keeps what undoes edits and writes; nil: nothing does
	Wikipedia string    // address of the interface of a wiki, its api.php; empty: Wikipedia's

	// GoCache is a command that serves the go command's cache (GOCACHEPROG). Its last word is a directory of what the
	// person has compiled, which checkers read so and cannot change. Empty: they compile everything themselves.
	GoCache []string

	SilverBullet      string // address of a SilverBullet server; empty: there is none
	SilverBulletToken string // its bearer token; empty: none is needed

	grepAfter int // files that search_code searches before it asks ripgrep; 0: 512, -1: it never does, 1: at once
}

// webTimeout bounds the parts of an exchange with a service.
const webTimeout = 30 * time.Second

func (o *Options) setDefaults() {
	if o.Transport == nil {
		o.Transport = &http.Transport{TLSHandshakeTimeout: webTimeout, ResponseHeaderTimeout: webTimeout,
			IdleConnTimeout: webTimeout, MaxIdleConns: 4, ForceAttemptHTTP2: true}
	}
	if o.grepAfter == 0 {
		o.grepAfter = grepAfter
	}
	if o.MaxFile <= 0 {
		o.MaxFile = files.DefaultMaxFile
	}
}

// A builder makes one tool.
type builder struct {
	name string
	make func(*Options) *tool.Tool
}

// builders are all tools, in the order in which they are listed.
var builders = []builder{
	{"file_access", fileAccess},
	{"read_file", readFile},
	{"write_file", writeFile},
	{"list_files", listFiles},
	{"search_code", searchCode},
	{"edit_file", editFile},
	{"get_diagnostics", getDiagnostics},
	{"command_exec", commandExec},
	{"run_tests", runTests},
	{"git_status", gitStatus},
	{"fetch_webpage", fetchWebpage},
	{"search_internet", searchInternet},
	{"wikipedia_search", wikipediaSearch},
	{"wikipedia_get_article", wikipediaArticle},
	{"silver_bullet_get", silverBullet},
	{"calculator", calculator},
}

// toolNames returns the names of the tools.
func toolNames() []string {
	names := make([]string, len(builders))
	for i, b := range builders {
		names[i] = b.name
	}
	return names
}

// Tools makes all tools. Each is disabled and, where it could change anything, read-only, until a
// configuration or a session says otherwise.
func Tools(o Options) []*tool.Tool {
	o.setDefaults()
	all := make([]*tool.Tool, len(builders))
	for i, b := range builders {
		t := b.make(&o)
		t.State, t.Source = tool.StateDisabled, "builtin"
		all[i] = t
	}
	return all
}

// workspace opens the directory that a call works in.
func workspace(c *tool.Call, o *Options) (*files.Root, error) {
	dir := c.Root
	if c.Guard != nil && c.Guard.Root != "" {
		dir = c.Guard.Root
	}
	if dir == "" {
		return nil, tool.Errorf(tool.ErrNotAvailable, "there is no workspace: start wield with a directory to work in")
	}
	root, err := files.Open(dir, files.Options{MaxFile: o.MaxFile})
	if err != nil {
		return nil, tool.Errorf(tool.ErrNotAvailable, "the workspace cannot be used: %w", err)
	}
	return root, nil
}

// fileError makes an error of package files one that a model can act on.
func fileError(err error) error {
	kind := tool.ErrTool
	for _, refusal := range []error{files.ErrOutside, files.ErrSpecial, files.ErrShared, files.ErrLoop, files.ErrPath} {
		if errors.Is(err, refusal) {
			kind = tool.ErrSecurity
		}
	}
	var e *files.Error
	switch isFile := errors.As(err, &e); {
	case isFile && errors.Is(err, fs.ErrNotExist):
		return &tool.Error{Kind: kind, Message: "File not found: " + e.Path, Cause: err}
	case isFile && e.Op == "read" && errors.Is(err, files.ErrIsDir):
		return &tool.Error{Kind: kind, Message: policy.IsDirectory(e.Path), Cause: err}
	}
	return &tool.Error{Kind: kind, Message: err.Error(), Cause: err}
}
