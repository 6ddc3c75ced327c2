package config

import (
	"slices"
	"strings"
	"testing"

	"wield/dialect"
)

const own = `
backends: {local: {url: "http://127.0.0.1:1/v1"}}
profiles:
  qwen3: {drop: ["<|stop|>"], headers: {others: ["<p>"], own: ["<m>"]}, reasoning: {calls: always}}
  acme: {base: glm, match: [acme], bounce_role: system, native: [search]}
  acme-coder:
    match: ["acme * coder"]
    dialects: [xml_format, hermes]
    strips_tokens: true
    reasoning: {open: <plan>, close: </plan>, starts: true}
  plain: {base: deepseek-r1, reasoning: {starts: false, ignore: true}}
models:
  m: {backend: local, model: NAME, profile: PROFILE}
`

// profileFor resolves what a file gives a model.
func profileFor(t *testing.T, name, setting string) (p struct {
	name, dialects, drop, role, native, taught, headers string
	thinking                                            dialect.Thinking
}) {
	t.Helper()
	r, err := parse(t, "wield: config/v1"+strings.NewReplacer("NAME", name, "PROFILE", setting).Replace(own))
	if err != nil {
		t.Fatal(err)
	}
	got := r.ProfileOf("m")
	p.name, p.dialects, p.drop, p.role = got.Name, strings.Join(got.Dialects, " "), strings.Join(got.Drop, " "),
		string(got.Role)
	p.headers = strings.Join(got.Headers.Others, " ") + " " + strings.Join(got.Headers.Own, " ")
	p.native, p.taught, p.thinking = strings.Join(got.Native, " "), got.Taught(), got.Thinking
	return p
}

func TestProfileOfModel(t *testing.T) {
	think := dialect.Thinking{Opener: "<think>", Closer: "</think>"}
	for _, c := range []struct {
		model, setting string
		name, dialects string
		thinking       dialect.Thinking
	}{
		{"gpt-4o", "auto", "", "", dialect.Thinking{}},
		{"qwen2.5:7b", "auto", "qwen", "hermes json-fence raw-json", dialect.Thinking{}},
		{"qwen2.5:7b", "none", "", "", dialect.Thinking{}},
		{"qwen2.5:7b", "glm", "glm", "glm name-json", think},
		// A guess does not open a block; who names the profile means it.
		{"deepseek-r1:32b", "auto", "deepseek-r1", "deepseek-v3 deepseek-v31 json-fence", think},
		{"anything", "deepseek-r1", "deepseek-r1", "deepseek-v3 deepseek-v31 json-fence",
			dialect.Thinking{Opener: "<think>", Closer: "</think>", Open: true}},
		// Changes to a built-in profile stay where it stands in the table.
		{"qwen3:8b", "auto", "qwen3", "hermes qwen3-coder", dialect.Thinking{Opener: "<think>", Closer: "</think>",
			Calls: dialect.CallsAlways}},
		{"qwen3-coder:30b", "auto", "qwen3-coder", "qwen3-coder hermes", dialect.Thinking{}},
		// Own profiles come before built-in ones, and those that say more first.
		{"acme-7b-qwen3", "auto", "acme", "glm name-json", think},
		{"acme-7b-coder", "auto", "acme-coder", "qwen3-coder hermes",
			dialect.Thinking{Opener: "<plan>", Closer: "</plan>", Open: true}},
		{"anything", "plain", "plain", "deepseek-v3 deepseek-v31 json-fence",
			dialect.Thinking{Opener: "<think>", Closer: "</think>", Off: true}},
		// What was taken from another profile is not found by that one's patterns.
		{"deepseek-r1", "auto", "deepseek-r1", "deepseek-v3 deepseek-v31 json-fence", think},
	} {
		got := profileFor(t, c.model, c.setting)
		if got.name != c.name || got.dialects != c.dialects || got.thinking != c.thinking {
			t.Errorf("%s with profile %s: %+v, want %+v", c.model, c.setting, got, c)
		}
	}
	if p := profileFor(t, "qwen3", "auto"); p.drop != "<|stop|>" || p.headers != "<p> <m>" || p.taught != "hermes" {
		t.Errorf("qwen3: %+v", p)
	}
	if p := profileFor(t, "acme", "auto"); p.role != "system" || p.native != "search" || p.taught != "glm" {
		t.Errorf("acme: %+v", p)
	}
}

func TestUnusedProfile(t *testing.T) {
	r, err := parse(t, "wield: config/v1"+strings.NewReplacer("NAME", "x", "PROFILE", "auto").Replace(own))
	if err != nil {
		t.Fatal(err)
	}
	var warned []string
	for _, w := range r.Warnings {
		warned = append(warned, w.Path)
	}
	if !slices.Equal(warned, []string{"profiles.plain"}) {
		t.Errorf("warnings about %q: %v", warned, r.Warnings)
	}
}

func TestUpstreamProfile(t *testing.T) {
	for flag, want := range map[string]string{"": "qwen3", "auto": "qwen3", "glm": "glm", "none": ""} {
		r, err := Load(Options{Getenv: env(), Upstream: Upstream{URL: "http://127.0.0.1:1/v1", Model: "qwen3:8b",
			Profile: flag}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ProfileOf("qwen3:8b").Name; got != want {
			t.Errorf("--profile %q: %q, want %q", flag, got, want)
		}
	}
	_, err := Load(Options{Getenv: env(), Upstream: Upstream{URL: "http://127.0.0.1:1/v1", Model: "x", Profile: "gml"}})
	if err == nil || !strings.Contains(err.Error(), `--profile`) ||
		!strings.Contains(err.Error(), `did you mean "glm"`) {
		t.Errorf("error %v", err)
	}
}
