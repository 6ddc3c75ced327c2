package profile_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/dialect/internal/check"
	"wield/dialect/profile"
	"wield/internal/testlevel"
)

// TestFind finds the profiles of names as registries, servers and files have them.
func TestFind(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{"qwen2.5:7b", "qwen"},
		{"Qwen/Qwen2.5-72B-Instruct", "qwen"},
		{"qwen2.5-coder:14b-instruct-q4_K_M", "qwen"},
		{"Qwen2-7B-Instruct-Q5_K_M.gguf", "qwen"},
		{"Qwen/QwQ-32B", "qwq"},
		{"qwen3:30b-a3b", "qwen3"},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3"},
		{"Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3"},
		{"Qwen3-30B-A3B-Thinking-2507-UD-Q4_K_XL.gguf", "qwen3-thinking"},
		{"qwen3:4b-thinking-2507", "qwen3-thinking"},
		{"Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"},
		{"qwen3-coder:30b", "qwen3-coder"},
		{"models/unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:Q4_K_M", "qwen3-coder"},
		{"Qwen/Qwen3.5-397B-A17B", "qwen3.5"},
		{"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3"},
		{"llama3.1", "llama-3"},
		{"llama-3.3-70b-versatile", "llama-3"},
		{"meta.llama3-1-70b-instruct-v1:0", "llama-3"},
		{"llama3.2:3b", "llama-3.2"},
		{"meta-llama/Llama-3.2-1B-Instruct", "llama-3.2"},
		{"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4"},
		{"llama4:maverick", "llama-4"},
		{"NousResearch/Hermes-2-Pro-Llama-3-8B", "hermes"},
		{"NousResearch/Hermes-3-Llama-3.1-70B", "hermes"},
		{"hermes3:8b", "hermes"},
		{"NousResearch/DeepHermes-3-Mistral-24B-Preview", "hermes"},
		{"nvidia/Llama-3_3-Nemotron-Super-49B-v1_5", "nemotron"},
		{"nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron"},
		{"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-3"},
		{"nemotron-3-nano:30b", "nemotron-3"},
		{"mistralai/Mistral-7B-Instruct-v0.3", "mistral"},
		{"mistral:7b-instruct-v0.3-q8_0", "mistral"},
		{"mistralai/Mixtral-8x22B-Instruct-v0.1", "mistral"},
		{"mistral-nemo:12b", "mistral"},
		{"mistralai/Mistral-Small-3.1-24B-Instruct-2503", "mistral"},
		{"mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-args"},
		{"mistral-small3.2:24b", "mistral-args"},
		{"mistralai/Mistral-Large-3-675B-Instruct-2512", "mistral-args"},
		{"devstral:24b", "mistral-args"},
		{"mistralai/Devstral-Small-2507", "mistral-args"},
		{"mistralai/Magistral-Small-2509", "magistral"},
		{"mistralai/Ministral-3-8B-Instruct-2512", "ministral-3"},
		{"ministral-8b-latest", "mistral"},
		{"deepseek-r1:671b", "deepseek-r1"},
		{"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"},
		{"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "deepseek-r1-qwen"},
		{"deepseek-r1:14b-qwen-distill-q4_K_M", "deepseek-r1-qwen"},
		{"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "deepseek-r1-llama"},
		{"deepseek-ai/DeepSeek-V3-0324", "deepseek"},
		{"deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3.1"},
		{"deepseek/deepseek-chat-v3.1:free", "deepseek-v3.1"},
		{"deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.1"},
		{"deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2"},
		{"deepseek-ai/DeepSeek-V4", "deepseek-v3.2"},
		{"deepseek-ai/DeepSeek-V4-Flash", "deepseek-v3.2"},
		{"deepseek-ai/DeepSeek-V4.1", "deepseek-v4.1"},
		{"deepseek-v4.1-flash:cloud", "deepseek-v4.1"},
		{"IQuestLab/IQuest-Q1-40B", "iquest-q1"},
		{"IQuestLab/IQuest-Coder-V1-40B-Instruct", "iquest"},
		{"LLM360/K2-V3-Instruct", "k2-v3"},
		{"facebook/Muse-Spark-70B", "glimmer"},
		{"stepfun-ai/Step-5", "step-5"},
		{"inclusionAI/Ling-3.0-flash", "ling-3"},
		{"zai-org/GLM-5.3", "glm-4.5"},
		{"iflytek/Spark2.5-13B", "spark-3"},
		{"Nanbeige/Nanbeige4-3B-Thinking", "nanbeige"},
		{"openbmb/MiniCPM-V-4_5", "minicpm-v"},
		{"kolibri1:8b", "kolibri"},
		{"sbintuitions/sarashina2.2-3b-instruct", "sarashina"},
		{"deepseek.v3-v1:0", "deepseek"},
		{"moonshotai/Kimi-K2-Instruct-0905", "kimi"},
		{"accounts/fireworks/models/kimi-k2-thinking", "kimi"},
		{"moonshotai/Kimi-K3", "kimi-k3"},
		{"LLM360/K2-Horizon", "k2-horizon"},
		{"zai-org/GLM-4.5-Air", "glm-4.5"},
		{"glm-4.6:cloud", "glm-4.5"},
		{"GLM-4.7-Flash-Q4_K_M.gguf", "glm-4.5"},
		{"THUDM/GLM-4-32B-0414", "glm-4"},
		{"THUDM/chatglm3-6b", "glm-4"},
		{"openai/gpt-oss-120b", "gpt-oss"},
		{"gpt-oss:20b", "gpt-oss"},
		{"google/gemma-3-27b-it", "gemma"},
		{"gemma3n:e4b", "gemma"},
		{"models/gemma-4-31b-it", "gemma-4"},
		{"google/functiongemma-270m-it", "functiongemma"},
		{"ibm-granite/granite-3.3-8b-instruct", "granite"},
		{"granite3.1-dense:8b", "granite"},
		{"ibm-granite/granite-4.0-h-small", "granite-4"},
		{"granite4:micro-h", "granite-4"},
		{"ibm-granite/granite-20b-functioncalling", "granite-20b-fc"},
		{"CohereForAI/c4ai-command-r-plus-08-2024", "command-r"},
		{"command-r:35b", "command-r"},
		{"CohereLabs/c4ai-command-r7b-12-2024", "command-r7b"},
		{"CohereLabs/c4ai-command-a-03-2025", "cohere"},
		{"microsoft/Phi-4-mini-instruct", "phi-4-mini"},
		{"phi4-mini:3.8b", "phi-4-mini"},
		{"phi4:14b", "phi"},
		{"llama3-groq-tool-use:8b", "hermes"},
		{"internlm/internlm2_5-7b-chat", "internlm"},
		{"internlm/Intern-S1", "internlm"},
		{"MiniMaxAI/MiniMax-M2.1", "minimax"},
		{"MiniMaxAI/MiniMax-M1-80k", "minimax-m1"},
		{"MiniMaxAI/MiniMax-M3", "minimax-m3"},
		{"tencent/Hunyuan-A13B-Instruct", "hunyuan"},
		{"tencent/Hunyuan-v3", "hunyuan-v3"},
		{"tencent/Hunyuan-v4-opensource", "hunyuan-v4"},
		{"ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss"},
		{"stepfun-ai/step3", "step-3"},
		{"stepfun-ai/Step-3.5-Flash", "step-3.5"},
		{"LiquidAI/LFM2-8B-A1B", "lfm2"},
		{"LiquidAI/LFM2.5-1.2B-Instruct-GGUF", "lfm2"},
		{"allenai/Olmo-3-7B-Instruct", "olmo"},
		{"allenai/Olmo-3-32B-Think", "olmo-think"},
		{"HuggingFaceTB/SmolLM3-3B", "smollm3"},
		{"LGAI-EXAONE/EXAONE-4.0-32B", "exaone"},
		{"exaone-deep:7.8b", "exaone-deep"},
		{"naver-hyperclovax/HyperCLOVAX-SEED-Think-14B", "hyperclovax-seed"},
		{"naver-hyperclovax/HyperCLOVAX-SEED-Text-Instruct-1.5B", "hyperclovax"},
		{"ai-sage/GigaChat3-702B-A36B-preview", "gigachat"},
		{"ai-sage/GigaChat3.5-10B", "gigachat-3.5"},
		{"meituan-longcat/LongCat-Flash-Chat", "longcat"},
		{"swiss-ai/Apertus-70B-Instruct-2509", "apertus"},
		{"pfnet/plamo-3-nict-8b-base", "plamo"},
		{"openbmb/MiniCPM5-8B", "minicpm"},
		{"Salesforce/Llama-xLAM-2-8b-fc-r", "xlam"},
		{"meetkai/functionary-small-v3.1", "functionary-3.1"},
		{"meetkai/functionary-medium-v3.2", "functionary"},
		{"accounts/fireworks/models/firefunction-v2", "firefunction"},
		{"ai21labs/AI21-Jamba-1.5-Mini", "jamba"},
		{"baidu/ERNIE-4.5-300B-A47B-PT", "ernie"},
		{"baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie-thinking"},
		{"FreedomIntelligence/openPangu-Embedded-7B", "pangu"},
		{"rednote-hilab/dots.llm1.inst", "dots"},
		{"poolside/Laguna-XS", "poolside"},
		{"ServiceNow-AI/Apriel-1.6-15b-Thinker", "apriel-1.6"},
		{"ServiceNow-AI/Apriel-1.5-15b-Thinker", "apriel"},
		{"arcee-ai/Trinity-Mini", "trinity"},
		{"XiaomiMiMo/MiMo-V2-Flash", "mimo"},
		{"anthropic/claude-3.5-sonnet", "claude"},
		{`C:\models\mistral-7b-instruct-v0.3.Q4_K_M.gguf`, "mistral"},
		{"/srv/models/qwen3/model-00001-of-00004.gguf", "qwen3"}, // nothing in the file's own name
		{"LLAMA_3_1_8B", "llama-3"},
		{"", ""},
		{"gpt-4o", ""},
		{"my-model", ""},
		{"llama2:13b", ""},
		{"llama-33b", ""},
		{"alphixer", ""},   // phi is a word, not a part of one
		{"mistralai/", ""}, // and so is mistral
	} {
		if p, _ := profile.Find(c.model); p.Name != c.want {
			t.Errorf("%s: %q, want %q", c.model, p.Name, c.want)
		}
	}
}

// TestTable holds the rows to what they refer to.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range profile.Builtin() {
		if p.Name == "" || p.Models == "" || seen[p.Name] || p.Name == "auto" || p.Name == "none" {
			t.Errorf("%+v: no name of its own, or not a word about the models", p)
		}
		seen[p.Name] = true
		if len(p.Dialects) == 0 || len(p.Patterns) == 0 {
			t.Errorf("%s: no dialect or no pattern", p.Name)
		}
		for i, name := range p.Dialects {
			if d, ok := dialect.Lookup(name); !ok || d.Name != name || d.ByName ||
				slices.Contains(p.Dialects[:i], name) {
				t.Errorf("%s: dialect %s is none, or stands there twice", p.Name, name)
			}
		}
		for _, pattern := range p.Patterns {
			found, by, _ := profile.Builtin().Find(strings.ReplaceAll(pattern, "*", "x"))
			if found.Name != p.Name || by != pattern {
				t.Errorf("%s: its pattern %q can never decide: %s is before it, with %q", p.Name, pattern,
					found.Name, by)
			}
		}
		if taught := p.Taught(); taught == "" || !slices.Contains(p.Dialects, taught) {
			t.Errorf("%s: taught in %q", p.Name, taught)
		}
		if same, ok := profile.Lookup(p.Name); !ok || same.Models != p.Models {
			t.Errorf("%s is not found by its name", p.Name)
		}
		var o dialect.Options
		p.Apply(&o)
		if _, err := dialect.New(o); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// instructed are the dialects that no family is known to write by itself: models write them that were told
// to, or that learned from texts of all kinds.
var instructed = []string{"openai-envelope", "llf-shorthand", "tool-call-tag", "xml-style", "function-style",
	"yaml-style", "react"}

// TestEveryDialectHasAFamily checks that each dialect comes first for some family, unless it is one of
// instructed models.
func TestEveryDialectHasAFamily(t *testing.T) {
	first := map[string]string{}
	for _, p := range profile.Builtin() {
		first[p.Dialect()] = p.Name
	}
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		if none := slices.Contains(instructed, name) || d.ByName; none == (first[name] != "") {
			t.Errorf("%s: the first dialect of %q, among those of no family: %t", name, first[name], none)
		}
	}
}

// TestCases reads the cases of each family's dialect under its profile: what comes out is what does when the
// dialect is named.
func TestCases(t *testing.T) {
	var cache dialect.Cache
	for _, p := range profile.Builtin() {
		t.Run(p.Name, func(t *testing.T) {
			cases, err := dialecttest.ReadFile(filepath.Join("..", "testdata", "cases", p.Dialect()+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				o, err := c.Options()
				if err != nil {
					t.Fatal(err)
				}
				if o.Only {
					continue
				}
				o.Cache = &cache
				named, guessed := o, o
				guessed.Dialect = ""
				apply(p, &guessed)
				want, err := dialect.Parse(c.Text, named)
				if err != nil {
					t.Fatal(err)
				}
				d, err := dialect.New(guessed)
				if err != nil {
					t.Fatal(err)
				}
				events := d.Close(d.Feed(nil, c.Text))
				if err := check.Conservation(c.Text, events); err != nil {
					t.Errorf("%s: %v", c.ID, err)
				}
				if err := check.Structure(events); err != nil {
					t.Errorf("%s: %v", c.ID, err)
				}
				var got dialect.Collector
				for _, e := range events {
					got.Add(e)
				}
				if !slices.EqualFunc(want.Calls, got.Calls, sameCall) {
					t.Errorf("%s: %q\n  named   %+v\n  profile %+v", c.ID, c.Text, want.Calls, got.Calls)
				}
				if want.Content() != got.Content() || want.Reasoning() != got.Reasoning() {
					t.Errorf("%s: %q\n  named   %q, reasoning %q\n  profile %q, reasoning %q", c.ID, c.Text,
						want.Content(), want.Reasoning(), got.Content(), got.Reasoning())
				}
			}
		})
	}
}

// bold are the profiles under which texts of other families may be read in another way, and why. All others
// only decide which dialect a call is said to be in.
var bold = map[string]string{
	"llama-3":          "an object may follow prose on its line",
	"llama-3.2":        "an object may follow prose on its line",
	"apertus":          "the only key of an object may be the name",
	"hyperclovax-seed": "values of glm's form are JSON",
	"trinity":          "calls in reasoning are calls",
	"minimax-m1":       "calls in reasoning are none",
	"seed-oss":         "calls in reasoning are none",
	"mimo":             "newlines around a value belong to it",
	"spark-3":          "null in any case is null",
}

// TestWrongGuess reads a part of the cases of all dialects under every profile: where a name misleads, the
// calls are those of a model that nothing is known of.
func TestWrongGuess(t *testing.T) {
	files, err := dialecttest.ReadDir(os.DirFS(filepath.Join("..", "testdata", "cases")))
	if err != nil {
		t.Fatal(err)
	}
	var cases []dialecttest.Case
	for _, name := range slices.Sorted(maps.Keys(files)) {
		cases = append(cases, files[name]...)
	}
	part := 16 * testlevel.Every(4)
	for k, p := range profile.Builtin() {
		if bold[p.Name] != "" {
			continue
		}
		var cache dialect.Cache
		for i := k % part; i < len(cases); i += part {
			c := &cases[i]
			o, err := c.Options()
			if err != nil {
				t.Fatal(err)
			}
			o.Dialect, o.Only = "", false
			guessed := o
			guessed.Cache = &cache
			apply(p, &guessed)
			want, err := dialect.Parse(c.Text, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := dialect.Parse(c.Text, guessed)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(want.Calls, got.Calls, sameCall) {
				t.Errorf("%s under %s: %q\n  auto    %+v\n  profile %+v", c.ID, p.Name, c.Text, want.Calls, got.Calls)
			}
		}
	}
	for name := range bold {
		if _, ok := profile.Lookup(name); !ok {
			t.Errorf("no profile %s", name)
		}
	}
}

// apply applies a profile to the options of a text that says itself whether it begins in reasoning.
func apply(p profile.Profile, o *dialect.Options) {
	p.Thinking.Open = false
	p.Apply(o)
}

func sameCall(a, b chat.Call) bool {
	return a.Name == b.Name && a.Arguments == b.Arguments && a.Complete == b.Complete
}

func TestApply(t *testing.T) {
	p := profile.Profile{Dialects: []string{"glm", "poolside"}, Drop: []string{"<x>"},
		Headers:  dialect.Headers{Others: []string{"<p>"}, Own: []string{"<m>"}},
		Thinking: dialect.Thinking{Open: true, Opener: "<a>", Closer: "</a>", Calls: dialect.CallsNever}}
	var o dialect.Options
	p.Apply(&o)
	if !slices.Equal(o.Prefer, p.Dialects) || !slices.Equal(o.Drop, p.Drop) || o.Thinking != p.Thinking ||
		!slices.Equal(o.Headers.Others, p.Headers.Others) || !slices.Equal(o.Headers.Own, p.Headers.Own) {
		t.Errorf("the empty options became %+v", o)
	}
	own := dialect.Options{Dialect: "hermes", Drop: []string{"<y>"},
		Thinking: dialect.Thinking{Closer: "</b>", Calls: dialect.CallsAlways}}
	o = own
	p.Apply(&o)
	if o.Prefer != nil || !slices.Equal(o.Drop, []string{"<y>", "<x>"}) ||
		o.Thinking != (dialect.Thinking{Open: true, Closer: "</b>", Calls: dialect.CallsAlways}) {
		t.Errorf("options that say something became %+v", o)
	}
	o = own
	new(profile.Profile).Apply(&o)
	if o.Prefer != nil || len(o.Drop) != 1 || o.Thinking != own.Thinking || o.Dialect != "hermes" {
		t.Errorf("the zero profile made %+v", o)
	}
}

func TestTaught(t *testing.T) {
	for _, c := range []struct {
		p    profile.Profile
		want string
	}{
		{profile.Profile{}, ""},
		{profile.Profile{Dialects: []string{"cohere", "hermes"}}, "cohere"},
		{profile.Profile{Dialects: []string{"cohere", "glm", "hermes"}, Strips: true}, "hermes"},
		{profile.Profile{Dialects: []string{"cohere"}, Strips: true}, ""},
	} {
		if got := c.p.Taught(); got != c.want {
			t.Errorf("%+v is taught in %q, want %q", c.p, got, c.want)
		}
	}
}

// TestOwnTable sorts profiles that nobody has put in order.
func TestOwnTable(t *testing.T) {
	own := profile.Table{
		{Name: "b", Patterns: []string{"acme"}},
		{Name: "c", Patterns: []string{"acme * coder"}},
		{Name: "a", Patterns: []string{"acme"}},
		{Name: "d", Patterns: []string{"*", "", " - "}},
	}
	own.Sort()
	if got := strings.Join(own.Names(), " "); got != "c a b d" {
		t.Errorf("order %s", got)
	}
	for model, want := range map[string]string{"acme-7b-coder": "c", "acme-coder": "c", "coder-acme": "a",
		"acme/x": "a", "other": ""} {
		if p, _, _ := own.Find(model); p.Name != want {
			t.Errorf("%s: %q, want %q", model, p.Name, want)
		}
	}
}
