package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write what the cases give into their files")

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func parse(t *testing.T, text string) (*Result, error) {
	t.Helper()
	return Parse("config.yaml", []byte(text), Options{Getenv: env()})
}

func TestExample(t *testing.T) {
	r, err := Load(Options{File: "testdata/example.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	coder := r.Models["coder"]
	for _, c := range []struct{ name, got, want string }{
		{"dialect", string(coder.Dialect), "hermes"},
		{"model", coder.Model, "qwen2.5-coder:14b"},
		{"forTools", coder.Instructions.ForTools, "Use the tools below to accomplish tasks.\n"},
		{"idle", r.Timeouts.Idle.String(), "2m"},
		{"approval", r.Timeouts.Approval.String(), "24h"},
		{"body", r.Limits.Body.String(), "32MiB"},
		{"default mode", r.Models["home-small"].Mode, "auto"},
		{"key", r.Keys[0].Secret.String(), "env:HA_KEY"},
		{"role of the file", r.Keys[1].Role, "admin"},
		{"deny", strings.Join(r.Policies["default"].Rules[0].Deny.Command, " "), "rm"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	for _, w := range r.Warnings {
		t.Errorf("a warning: %v", w)
	}
}

// TestDefaults checks that a file without keys gives the default configuration.
func TestDefaults(t *testing.T) {
	r, err := parse(t, "wield: config/v1\ntimeouts:\nmodels: {}\nkeys:\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Models, want.Keys = map[string]Model{}, []Key{}
	if diff := cmp.Diff(want, r.Config, cmp.AllowUnexported(Secret{}, Value{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBad reads each broken file, compares all that is said about it, and checks that the schema refuses it
// too, unless only the reader can know.
func TestBad(t *testing.T) {
	check := compileSchema(t)
	files, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(archive.Files[0].Data)
			_, err = parse(t, text)
			if err == nil {
				t.Fatal("was accepted")
			}
			compareSection(t, file, archive, err.Error()+"\n")
			if strings.Contains(err.Error(), "0123456789") {
				t.Error("the message holds a secret")
			}
			if !strings.HasPrefix(string(archive.Comment), "semantic:") && check(text) == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// compareSection compares got with the archive's section want, or writes it there.
func compareSection(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	if *update {
		archive.Files = append(archive.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(archive.Files) != 2 {
		t.Fatal("the case has no section want; run with -update and look at what it writes")
	}
	if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// compileSchema returns a function that checks a file's text against the schema that wield prints.
func compileSchema(t *testing.T) func(text string) error {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return err
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			return err
		}
		return schema.Validate(value)
	}
}

func TestSchemaAcceptsExample(t *testing.T) {
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := compileSchema(t)(string(text)); err != nil {
		t.Error(err)
	}
}

// TestBadWhole breaks the example in one place at a time and checks that schema and reader agree.
func TestBadWhole(t *testing.T) {
	check := compileSchema(t)
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, path string }{
		{"listen: 127.0.0.1:8420", "listen: 8420", "listen"},
		{"first_byte: 10m", "first_byte: soon", "timeouts.first_byte"},
		{"body: 32MiB", "body: big", "limits.body"},
		{"role: client", "role: guest", "keys[0].role"},
		{`["home*"]`, `["home["]`, "keys[0].models[0]"},
		{"rpm: 60", "rpm: -60", "keys[0].limits.rpm"},
		{"env:HA_KEY", "verysecret", "keys[0].secret"},
		{"http://127.0.0.1:11434/v1", "127.0.0.1:11434", "backends.local.url"},
		{"attempts: 2", "attempts: 0", "backends.local.retry.attempts"},
		{"mode: auto", "mode: automatic", "models.coder.mode"},
		{"max: 1,", "max: one,", "models.coder.bounce.max"},
		{"confused, unknown_tool", "confused, unknown", "models.coder.bounce.on[1]"},
		{"injectInto: first", "injectInto: middle", "models.coder.instructions.injectInto"},
		{"- pattern: emoji", "- replacement: emoji", "models.coder.instructions.replacePatterns[1]"},
		{"per_tool: 10", "per_tol: 10", "models.coder.agent.limits.per_tol"},
		{"hold: 0s", "hold: zero", "models.coder.agent.approvals.hold"},
		{"enabled: false", "enabled: 0", "tools.builtin.file_access.enabled"},
		{"sh: {}", "sh: {a: b}", "tools.sh.a"},
		{"default: ask", "default: maybe", "policies.default.default"},
		{"level: workspace", "level: tight", "sandbox.level"},
		{"keep: 500", "keep: -1", "capture.keep"},
	} {
		broken := strings.Replace(string(text), c.from, c.to, 1)
		if broken == string(text) {
			t.Errorf("%s does not stand in the example", c.from)
			continue
		}
		_, err := parse(t, broken)
		var found []string
		if ps, ok := err.(Problems); ok {
			errs, _ := ps.split()
			for _, p := range errs {
				found = append(found, p.Path)
			}
		}
		if diff := cmp.Diff([]string{c.path}, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.to, diff)
		}
		if check(broken) == nil {
			t.Errorf("the schema accepts %s", c.to)
		}
	}
}

func TestLayers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("wield: config/v1\nlisten: 127.0.0.1:1\ntimeouts: {idle: 1s, drain: 2s}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Load(Options{
		Getenv: env("WIELD_CONFIG", file, "WIELD_LISTEN", "127.0.0.1:2", "WIELD_TIMEOUTS_IDLE", "3s"),
		Flags:  []Flag{{Name: "--listen", Path: "listen", Value: "127.0.0.1:3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default().Timeouts
	want.Idle, want.Drain = Duration(3*time.Second), Duration(2*time.Second)
	if r.Listen != "127.0.0.1:3" || r.Timeouts != want || r.File != file {
		t.Errorf("got %s %v %s", r.Listen, r.Timeouts, r.File)
	}
}

func TestLayerErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"variable", Options{Getenv: env("WIELD_TIMEOUTS_IDLE", "soon")},
			"WIELD_TIMEOUTS_IDLE: timeouts.idle: not a duration"},
		{"variable with a bound", Options{Getenv: env("WIELD_CAPTURE_KEEP", "-1")},
			"WIELD_CAPTURE_KEEP: capture.keep: must be at least 1"},
		{"flag", Options{Flags: []Flag{{"--listen", "listen", "x"}}}, "--listen: listen: not an address"},
		{"open", Options{Flags: []Flag{{"--listen", "listen", "0.0.0.0:1"}}},
			"--listen: listen: other machines can reach 0.0.0.0:1, but there are no keys"},
		{"upstream alone", Options{Upstream: Upstream{URL: "http://h/v1"}}, "--upstream and --model belong together"},
		{"model alone", Options{Upstream: Upstream{Model: "m"}}, "--upstream and --model belong together"},
		{"no upstream", Options{Upstream: Upstream{URL: "h:1", Model: "m"}},
			"--upstream: backends.upstream.url: not a URL"},
		{"password", Options{Upstream: Upstream{URL: "http://u:sk-0123456789@h/v1", Model: "m"}},
			"may not hold a user or password"},
		{"literal key", Options{Upstream: Upstream{URL: "http://h/v1", Model: "m", Key: "sk-0123456789"}},
			"--upstream-key: a key does not stand on the command line"},
		{"mode", Options{Upstream: Upstream{URL: "http://h/v1", Model: "m", Mode: "txt"}},
			`--mode: models.m.mode: "txt" is none of text, native, template, auto; did you mean "text"?`},
		{"dialect", Options{Upstream: Upstream{URL: "http://h/v1", Model: "m", Dialect: "hermez"}},
			`--dialect: models.m.dialect: no dialect "hermez"; did you mean "hermes"?`},
		{"absent file", Options{File: "testdata/none.yaml"}, "testdata/none.yaml: no such file"},
		{"directory", Options{File: "testdata"}, "testdata: it is a directory; name the file, such as "},
		{"absent file in a variable", Options{Getenv: env("WIELD_CONFIG", "testdata/none.yaml")},
			"testdata/none.yaml: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			} else if strings.Contains(err.Error(), "0123456789") {
				t.Errorf("the message holds a secret: %v", err)
			}
		})
	}
}

func TestUpstream(t *testing.T) {
	r, err := Load(Options{Upstream: Upstream{URL: "http://127.0.0.1:1/v1", Model: "gpt-4.1", Key: "env:K",
		Mode: "text", Dialect: "ptk"}})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Models["gpt-4.1"]
	if b := r.Backends[m.Backend]; b.URL != "http://127.0.0.1:1/v1" || b.Key.String() != "env:K" ||
		b.Retry.Attempts != 2 {
		t.Errorf("got %+v", b)
	}
	if m.Mode != "text" || m.Dialect != "ptk" || m.Release != "auto" { // the one alias that is taught in its own tags
		t.Errorf("got %+v", m)
	}
	if r, err = Load(
		Options{Upstream: Upstream{URL: "http://127.0.0.1:1/v1", Model: "gpt-4.1",
			Dialect: "xml_format"}}); err != nil || r.Models["gpt-4.1"].Dialect != "qwen3-coder" {
		t.Errorf("got %+v, %v", r.Models["gpt-4.1"], err)
	}
}

func TestDefaultFile(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"XDG_CONFIG_HOME", "/x", "HOME", "/h"}, "/x/wield/config.yaml"},
		{[]string{"XDG_CONFIG_HOME", "x", "HOME", "/h"}, "/h/.config/wield/config.yaml"},
		{[]string{"HOME", "/h"}, "/h/.config/wield/config.yaml"},
		{nil, ""},
	} {
		if got := DefaultFile(env(c.env...)); got != filepath.FromSlash(c.want) {
			t.Errorf("%v: got %q, want %q", c.env, got, c.want)
		}
	}
	if got := Default().DataDir(env("HOME", "/h")); got != "/h/.local/state/wield" {
		t.Errorf("data: got %q", got)
	}
}

func TestAliases(t *testing.T) {
	r, err := parse(t,
		"wield: config/v1\nbackends:\n  a: &a {url: \"http://h/v1\", queue: 1}\n  b: *a\nmodels: {m: {backend: a}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if r.Backends["b"].URL != "http://h/v1" || r.Backends["b"].Queue != 1 {
		t.Errorf("got %+v", r.Backends["b"])
	}
}

// TestPlainWords checks that words which older YAML reads as true and false are words here.
func TestPlainWords(t *testing.T) {
	r, err := parse(t,
		"wield: config/v1\nbackends: {a: {url: \"http://h/v1\"}}\nmodels:\n  m: {backend: a, repair: off, bounce: {on: [invalid]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Models["m"]; m.Repair != "off" || len(m.Bounce.On) != 1 || m.Bounce.Max != 1 {
		t.Errorf("got %+v", m)
	}
}

// TestPatternError: a pattern that cannot be used is an error at its place, which says what in it is wrong.
func TestPatternError(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?<=x)y`:  "at byte 0: looking behind with (?<= is not possible in RE2",
		`ab(?!c)`:  "at byte 2: looking ahead with (?! is not possible in RE2",
		`(a)\\1`:   `at byte 3: references to groups with \1 are not possible in RE2`,
		`a[b`:      "at byte 1: missing closing ]: `[b`",
		`x{2000}`:  "at byte 1: invalid repeat count: `{2000}`",
		`ok(|no)*`: "",
	} {
		_, err := parse(t,
			"wield: config/v1\nbackends: {a: {url: \"http://h/v1\"}}\nmodels: {m: {backend: a, instructions: {replacePatterns: [{pattern: \""+pattern+"\"}]}}}\n")
		if want == "" && err == nil {
			continue
		}
		if err == nil ||
			!strings.HasPrefix(err.Error(), "config.yaml:3:69: models.m.instructions.replacePatterns[0].pattern: "+
				want) {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
}

// TestTemplateWarning: a template that leaves out what the model has to know, and a pattern that is known by heart.
func TestTemplateWarning(t *testing.T) {
	r, err := parse(t, `wield: config/v1
backends: {a: {url: "http://h/v1"}}
models:
  m:
    backend: a
    instructions: {template: "{{tools}}", replacePatterns: [{pattern: "(?<=(?:(?:native|custom|internal|external)\\s)?)(?=tool)"}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Error())
	}
	want := []string{
		"config.yaml:6:30: warning: models.m.instructions.template: the template does not hold {{clientInstructions}}, so that the model never sees it",
		"config.yaml:6:30: warning: models.m.instructions.template: the template does not hold {{fallback}}, so that the model never sees it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoModel wants a model as soon as there are backends: nothing could be asked of them.
func TestNoModel(t *testing.T) {
	const backend = "wield: config/v1\nbackends:\n  local: {url: \"http://h/v1\"}\n"
	for _, text := range []string{backend, backend + "models: {}\n"} {
		_, err := parse(t, text)
		if want := "no model is configured: add one, such as models: {NAME: {backend: local}}"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := parse(t, "wield: config/v1\n"); err != nil {
		t.Errorf("neither: %v", err)
	}
}
