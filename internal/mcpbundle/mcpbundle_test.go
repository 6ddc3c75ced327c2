package mcpbundle

import (
	"archive/zip"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// entry is a file of a bundle.
type entry struct {
	name, text string
	mode       fs.FileMode
}

// bundle writes a bundle with a manifest and more files.
func bundle(t *testing.T, manifest string, more ...entry) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.mcpb")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, e := range append([]entry{{"manifest.json", manifest, 0o644}}, more...) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

const good = `{"manifest_version":"0.3","name":"notes","version":"1.2.0","description":"Keeps notes.","author":{"name":"Ada"},
"server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":"node",
  "args":["${__dirname}${/}server${/}index.js","--level=${user_config.level}","${user_config.places}","${user_config.nothing}"],
  "env":{"TOKEN":"${user_config.token}","MODE":"${user_config.quiet}","EMPTY":"${user_config.nothing}","PLACES":"${user_config.places}"}}},
"user_config":{
  "level":{"type":"number","title":"Level","min":1,"max":5,"default":2},
  "places":{"type":"directory","multiple":true,"required":true},
  "token":{"type":"string","sensitive":true,"required":true},
  "quiet":{"type":"boolean","default":false},
  "nothing":{"type":"string"}}}`

var index = entry{"server/index.js", "console.log(1)", 0o644}

// TestSetup fills in what the user configured.
func TestSetup(t *testing.T) {
	t.Parallel()
	b, err := Open(bundle(t, good, index))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	one, two := t.TempDir(), t.TempDir()
	if got := b.Missing(nil); !slices.Equal(got, []string{"places", "token"}) {
		t.Errorf("missing: %q", got)
	}
	s, err := b.Setup("/bundles/notes", "/home/ada", map[string][]string{"places": {one, two}, "token": {"env:TOKEN"}})
	if err != nil {
		t.Fatal(err)
	}
	sep := string(filepath.Separator)
	if want := []string{"node", "/bundles/notes" + sep + "server" + sep + "index.js", "--level=2", one,
		two}; !slices.Equal(s.Command, want) {
		t.Errorf("the command is %q", s.Command)
	}
	if want := map[string]string{"TOKEN": "env:TOKEN", "MODE": "false", "PLACES": one + "," + two}; !maps.Equal(s.Env,
		want) {
		t.Errorf("the environment is %q", s.Env)
	}
	if !slices.Equal(s.Readable, []string{one, two}) {
		t.Errorf("readable: %q", s.Readable)
	}
	for name, values := range map[string]map[string][]string{
		"needs a value for places, token":    {},
		"needs a value for token":            {"places": {one}},
		"it is a secret":                     {"places": {one}, "token": {"s3cret"}},
		"no number, or out of range":         {"places": {one}, "token": {"env:T"}, "level": {"9"}},
		"neither true nor false":             {"places": {one}, "token": {"env:T"}, "quiet": {"maybe"}},
		"no such file":                       {"places": {one + "/missing"}, "token": {"env:T"}},
		"level takes one value":              {"places": {one}, "token": {"env:T"}, "level": {"1", "2"}},
		`no option "colour"; it has: level,`: {"places": {one}, "token": {"env:T"}, "colour": {"red"}},
	} {
		if runtime.GOOS == "windows" && name == "no such file" {
			continue
		}
		if _, err := b.Setup("/x", "/home/ada", values); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlatform: a system has a command of its own.
func TestPlatform(t *testing.T) {
	t.Parallel()
	b, err := Open(
		bundle(t,
			`{"dxt_version":"0.1","name":"n","version":"1","server":{"type":"binary","entry_point":"bin/n","mcp_config":
		{"command":"${__dirname}/bin/n","args":["a"],"env":{"A":"1","B":"1"},"platform_overrides":{"`+platform()+
				`":{"args":["b"],"env":{"B":"2"}}}}}}`,
			entry{"bin/n", "#!", 0o644}, entry{"data/", "", fs.ModeDir | 0o755}))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := b.Setup("/b", "/h", nil)
	if err != nil || !slices.Equal(s.Command, []string{"/b/bin/n", "b"}) ||
		!maps.Equal(s.Env, map[string]string{"A": "1", "B": "2"}) {
		t.Errorf("%+v, %v", s, err)
	}
	dir := filepath.Join(t.TempDir(), "bundles", "n")
	if err := b.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "bin", "n"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the program cannot be run: %v, %v", info, err)
	}
	if err := b.Unpack(dir); err == nil {
		t.Error("unpacked over what is there")
	}
}

// TestOpen refuses bundles that are wrong, or that lead out of their directory.
func TestOpen(t *testing.T) {
	t.Parallel()
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("the manifest has no %s", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	for _, test := range []struct {
		manifest string
		more     []entry
		want     string
	}{
		{good, []entry{index, {"../evil", "", 0o644}}, "leads out"},
		{good, []entry{index, {"/etc/evil", "", 0o644}}, "leads out"},
		{good, []entry{index, {"a/../../evil", "", 0o644}}, "leads out"},
		{good, []entry{index, {`..\evil`, "", 0o644}}, "leads out"},
		{good, []entry{index, {"c:evil", "", 0o644}}, "leads out"},
		{good, []entry{index, {"link", "/etc/passwd", fs.ModeSymlink | 0o777}}, "a link"},
		{good, []entry{index, {"SERVER/index.js", "", 0o644}}, "twice"},
		{good, nil, "no file server/index.js"},
		{"{", []entry{index}, "manifest.json: unexpected end"},
		{change(`"0.3"`, `"2"`), []entry{index}, "manifest_version"},
		{change(`"name":"notes"`, `"name":""`), []entry{index}, "name is missing"},
		{change(`"command":"node"`, `"command":""`), []entry{index}, "command is missing"},
		{change(`"type":"node"`, `"type":"uv"`), []entry{index}, "server.type"},
		{change(`"type":"number"`, `"type":"colour"`), []entry{index}, "user_config.level.type"},
		{change(`${user_config.level}`, `${user_config.levle}`), []entry{index},
			"${user_config.levle} is not in user_config"},
		{change(`${user_config.level}`, `${PATH}`), []entry{index}, "${PATH} is no variable"},
		{change(`"user_config":{`, `"compatibility":{"platforms":["plan9"]},"user_config":{`), []entry{index},
			"the bundle is for plan9"},
	} {
		b, err := Open(bundle(t, test.manifest, test.more...))
		if err == nil {
			b.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.want, err)
		}
	}
	b, err := Open(bundle(t, change(`"--level=${user_config.level}"`, `"--token=${user_config.token}"`), index))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Setup("/x", "/h", map[string][]string{"places": {t.TempDir()}, "token": {"env:T"}}); err == nil ||
		!strings.Contains(err.Error(), "command line") {
		t.Errorf("a secret in the command line: %v", err)
	}
}
