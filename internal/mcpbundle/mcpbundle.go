// Package mcpbundle reads MCP bundles (.mcpb): archives with an MCP server, and a manifest that says how it is
// started and what its user has to configure.
package mcpbundle

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// The largest bundles that are read.
const (
	maxFiles    = 100_000
	maxBytes    = 1 << 30
	maxManifest = 1 << 20
)

// A Manifest describes a bundle.
type Manifest struct {
	Version     string `json:"manifest_version"`
	Old         string `json:"dxt_version"` // of the first bundles
	Name        string `json:"name"`
	Title       string `json:"display_name"`
	Release     string `json:"version"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
	} `json:"author"`
	Server struct {
		Type  string `json:"type"`
		Entry string `json:"entry_point"`
		Start Start  `json:"mcp_config"`
	} `json:"server"`
	Options map[string]Option `json:"user_config"`
	Needs   struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

// A Start says how a server is started.
type Start struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Platforms map[string]Start  `json:"platform_overrides"`
}

// An Option is configured by the user of a bundle.
type Option struct {
	Type        string          `json:"type"` // string, number, boolean, directory or file
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
	Min         *float64        `json:"min"`
	Max         *float64        `json:"max"`
}

// A Bundle is an open bundle.
type Bundle struct {
	Manifest
	files *zip.ReadCloser
}

// Open opens a bundle and checks it: every file stays below the directory that it is unpacked to, and the manifest is
// complete.
func Open(name string) (*Bundle, error) {
	files, err := zip.OpenReader(name)
	if err != nil {
		return nil, fmt.Errorf("%s is no bundle: %w", name, err)
	}
	b := &Bundle{files: files}
	if err := errors.Join(b.checkFiles(), b.read()); err != nil {
		files.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// Close closes a bundle.
func (b *Bundle) Close() error { return b.files.Close() }

func (b *Bundle) checkFiles() error {
	if len(b.files.File) > maxFiles {
		return fmt.Errorf("the bundle has %d files, more than %d", len(b.files.File), maxFiles)
	}
	var bytes uint64
	seen := map[string]bool{}
	for _, f := range b.files.File {
		name := strings.TrimSuffix(f.Name, "/")
		switch mode := f.Mode(); {
		case !filepath.IsLocal(name), strings.ContainsAny(name, "\\:"), path.Clean(name) != name:
			return fmt.Errorf("the bundle has a file named %q, which leads out of it or is no plain path", f.Name)
		case !mode.IsDir() && !mode.IsRegular():
			return fmt.Errorf("%s is a link or a device: a bundle has only files and directories", f.Name)
		case seen[strings.ToLower(name)]:
			return fmt.Errorf("%s is twice in the bundle", f.Name)
		}
		seen[strings.ToLower(name)] = true
		if bytes += f.UncompressedSize64; bytes > maxBytes {
			return fmt.Errorf("the bundle has more than %d bytes", maxBytes)
		}
	}
	return nil
}

// read reads the manifest.
func (b *Bundle) read() error {
	f, err := b.files.Open("manifest.json")
	if err != nil {
		return errors.New("it has no manifest.json")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	if err == nil {
		err = json.Unmarshal(text, &b.Manifest)
	}
	if err != nil {
		return fmt.Errorf("manifest.json: %w", err)
	}
	return b.check()
}

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

func (b *Bundle) check() error {
	m := &b.Manifest
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("manifest.json: "+format, args...))
	}
	if v := m.Version + m.Old; !strings.HasPrefix(v, "0.") {
		add("manifest_version %q is not one that wield knows (0.1 to 0.4)", v)
	}
	for _, field := range []struct{ name, value string }{{"name", m.Name}, {"version", m.Release},
		{"server.entry_point", m.Server.Entry}, {"server.mcp_config.command", m.start().Command}} {
		if field.value == "" {
			add("%s is missing", field.name)
		}
	}
	if !slices.Contains([]string{"node", "python", "binary"}, m.Server.Type) {
		add("server.type %q is not node, python or binary", m.Server.Type)
	}
	if m.Server.Entry != "" && !b.has(m.Server.Entry) {
		add("the bundle has no file %s, the entry_point", m.Server.Entry)
	}
	if p := m.Needs.Platforms; len(p) > 0 && !slices.Contains(p, platform()) {
		add("the bundle is for %s, not for %s", strings.Join(p, ", "), platform())
	}
	for _, name := range slices.Sorted(maps.Keys(m.Options)) {
		if o := m.Options[name]; !slices.Contains([]string{"string", "number", "boolean", "directory", "file"},
			o.Type) {
			add("user_config.%s.type %q is not string, number, boolean, directory or file", name, o.Type)
		}
	}
	s := m.start()
	for _, text := range append(append([]string{s.Command}, s.Args...), slices.Collect(maps.Values(s.Env))...) {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			if key, ok := strings.CutPrefix(found[1], "user_config."); ok {
				if _, known := m.Options[key]; !known {
					add("%s is not in user_config", found[0])
				}
			} else if _, known := places("", "")[found[1]]; !known {
				add("%s is no variable of a bundle", found[0])
			}
		}
	}
	return errors.Join(problems...)
}

func (b *Bundle) has(name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(b.files.File, func(f *zip.File) bool { return f.Name == name })
}

// platform returns the name of this system in manifests.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// start returns the command of the server on this system.
func (m *Manifest) start() Start {
	s := m.Server.Start
	if own, ok := s.Platforms[platform()]; ok {
		if own.Command != "" {
			s.Command = own.Command
		}
		if own.Args != nil {
			s.Args = own.Args
		}
		env := maps.Clone(s.Env)
		for name, value := range own.Env {
			if env == nil {
				env = map[string]string{}
			}
			env[name] = value
		}
		s.Env = env
	}
	return s
}

// places are the variables that stand for places of this machine.
func places(dir, home string) map[string]string {
	sep := string(filepath.Separator)
	return map[string]string{"__dirname": dir, "HOME": home, "DESKTOP": filepath.Join(home, "Desktop"),
		"DOCUMENTS": filepath.Join(home, "Documents"), "DOWNLOADS": filepath.Join(home, "Downloads"),
		"pathSeparator": sep, "/": sep}
}

// A Setup tells how to start the server of a bundle.
type Setup struct {
	Command  []string
	Env      map[string]string
	Readable []string // beside the bundle's own directory
}

// Setup returns how the server is started that is unpacked in a directory, with what its user configured: several
// values only of options that take several. The values of sensitive options are references to secrets, which stand in
// no command line.
func (b *Bundle) Setup(dir, home string, values map[string][]string) (*Setup, error) {
	given, err := b.values(home, values)
	if err != nil {
		return nil, err
	}
	fixed := places(dir, home)
	s := b.start()
	out := &Setup{Env: map[string]string{}}
	for i, text := range append([]string{s.Command}, s.Args...) {
		if m := placeholder.FindStringSubmatch(text); m != nil && m[0] == text {
			// an argument for each value, none without one
			if key, ok := strings.CutPrefix(m[1], "user_config."); ok {
				if b.Options[key].Sensitive {
					return nil, fmt.Errorf("the bundle puts %s, which is a secret, into its command line, where "+
						"other programs can read it", key)
				}
				out.Command = append(out.Command, given[key]...)
				continue
			}
		}
		filled, secret := b.fill(text, fixed, given)
		if secret != "" {
			return nil, fmt.Errorf("the bundle puts %s, which is a secret, into its command line, where other "+
				"programs can read it", secret)
		}
		if i == 0 && filled == "" {
			return nil, errors.New("the bundle has no command with these values")
		}
		out.Command = append(out.Command, filled)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		filled, secret := b.fill(s.Env[name], fixed, given)
		if secret != "" && s.Env[name] != "${user_config."+secret+"}" {
			return nil, fmt.Errorf("the bundle puts %s, which is a secret, between other text in %s; that cannot be "+
				"configured", secret, name)
		}
		if filled != "" {
			out.Env[name] = filled
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Options)) {
		if o := b.Options[key]; o.Type == "directory" || o.Type == "file" {
			out.Readable = append(out.Readable, given[key]...)
		}
	}
	return out, nil
}

// fill fills in variables, and returns the name of a secret among them.
func (b *Bundle) fill(text string, fixed map[string]string, given map[string][]string) (filled, secret string) {
	filled = placeholder.ReplaceAllStringFunc(text, func(p string) string {
		name := p[2 : len(p)-1]
		key, ok := strings.CutPrefix(name, "user_config.")
		if !ok {
			return fixed[name]
		}
		if b.Options[key].Sensitive {
			secret = key
		}
		return strings.Join(given[key], ",")
	})
	return filled, secret
}

// Missing returns the options that need a value and have neither one nor a default, in order.
func (b *Bundle) Missing(values map[string][]string) (names []string) {
	for _, key := range slices.Sorted(maps.Keys(b.Options)) {
		if o := b.Options[key]; o.Required && len(values[key]) == 0 && len(o.Default) == 0 {
			names = append(names, key)
		}
	}
	return names
}

// values returns the values of all options, checked.
func (b *Bundle) values(home string, values map[string][]string) (map[string][]string, error) {
	for key := range values {
		if _, ok := b.Options[key]; !ok {
			return nil, fmt.Errorf("the bundle has no option %q; it has: %s", key,
				strings.Join(slices.Sorted(maps.Keys(b.Options)), ", "))
		}
	}
	if missing := b.Missing(values); len(missing) > 0 {
		return nil, fmt.Errorf("the bundle needs a value for %s", strings.Join(missing, ", "))
	}
	all := map[string][]string{}
	for key, o := range b.Options {
		list := values[key]
		if len(list) == 0 {
			for _, text := range defaults(o.Default) {
				list = append(list,
					placeholder.ReplaceAllStringFunc(text,
						func(p string) string { return places("", home)[p[2:len(p)-1]] }))
			}
		}
		if len(list) > 1 && !o.Multiple {
			return nil, fmt.Errorf("%s takes one value", key)
		}
		for i, text := range list {
			value, err := o.check(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			list[i] = value
		}
		all[key] = list
	}
	return all, nil
}

// defaults are the values that an option has by itself.
func defaults(raw json.RawMessage) []string {
	var list []any
	var one any
	switch {
	case len(raw) == 0 || json.Unmarshal(raw, &one) != nil || one == nil:
		return nil
	case json.Unmarshal(raw, &list) != nil:
		list = []any{one}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprint(v)
	}
	return texts
}

// check returns a value as it is written into the server's configuration.
func (o *Option) check(text string) (string, error) {
	switch {
	case o.Sensitive && !strings.HasPrefix(text, "env:") && !strings.HasPrefix(text, "file:"):
		return "", errors.New("it is a secret: write env:NAME or file:PATH")
	case o.Type == "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || o.Min != nil && n < *o.Min || o.Max != nil && n > *o.Max {
			return "", fmt.Errorf("%q is no number, or out of range", text)
		}
	case o.Type == "boolean":
		if text != "true" && text != "false" {
			return "", fmt.Errorf("%q is neither true nor false", text)
		}
	case o.Type == "directory", o.Type == "file":
		info, err := os.Stat(text)
		if err != nil {
			return "", err
		}
		if info.IsDir() != (o.Type == "directory") {
			return "", fmt.Errorf("%s is no %s", text, o.Type)
		}
		return filepath.Abs(text)
	}
	return text, nil
}

// Unpack writes the files into a directory, which must not be there. The entry point of a program can be run.
func (b *Bundle) Unpack(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // other users of the machine may run it
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxBytes)
	for _, f := range b.files.File {
		if f.Mode().IsDir() {
			continue
		}
		if err := b.unpack(root, f, &left); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// unpack writes one file. What a file holds may be more than the archive says.
func (b *Bundle) unpack(root *os.Root, f *zip.File, left *int64) error {
	if err := root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if f.Mode()&0o111 != 0 || b.Manifest.Server.Type == "binary" && f.Name == path.Clean(b.Manifest.Server.Entry) {
		mode = 0o755
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if *left -= n; *left < 0 && err == nil {
		err = fmt.Errorf("the bundle has more than %d bytes", maxBytes)
	}
	return errors.Join(err, out.Close())
}
