package profile

import "wield/dialect"

// Tags that several families have.
var (
	think     = dialect.Thinking{Opener: "<think>", Closer: "</think>"}
	thinks    = dialect.Thinking{Opener: "<think>", Closer: "</think>", Open: true} // the prompt has opened the block
	bracketed = dialect.Thinking{Opener: "[THINK]", Closer: "[/THINK]"}
	seeded    = dialect.Thinking{Opener: "<seed:think>", Closer: "</seed:think>", Calls: dialect.CallsNever}
	commanded = dialect.Thinking{Opener: "<|START_THINKING|>", Closer: "<|END_THINKING|>"}
)

// builtin is the table of families. Fine-tunes that carry the name of what they were made from stand before it, and a
// version before its family. Dialects behind the first are those that models of the family fall into.
var builtin = Table{
	// Tuned for calls, on whatever base.
	{Name: "hermes", Models: "Hermes 2 Pro, 3 and 4, DeepHermes, Groq Tool Use",
		Patterns: []string{"hermes", "deephermes", "openhermes", "groq * tool-use"},
		Dialects: []string{"hermes", "json-fence"}},
	{Name: "functionary-3.1", Models: "Functionary 3.1", Patterns: []string{"functionary * v3.1", "functionary * 3.1"},
		Dialects: []string{"function-tag", "llama3-json"}},
	{Name: "functionary", Models: "Functionary 2 and 3.2", Patterns: []string{"functionary"},
		Dialects: []string{"name-json", "function-tag"}},
	{Name: "firefunction", Models: "Firefunction v2", Patterns: []string{"firefunction"},
		Dialects: []string{"functools", "raw-json"}},
	{Name: "xlam", Models: "xLAM 1 and 2", Patterns: []string{"xlam"},
		Dialects: []string{"raw-json", "json-fence", "openai-envelope", "hermes", "mistral-array"}},
	{Name: "toolace", Models: "ToolACE, watt-tool", Patterns: []string{"toolace", "watt-tool"},
		Dialects: []string{"pythonic", "llama3-json"}},

	// DeepSeek, and what was distilled from it.
	{Name: "deepseek-r1-qwen", Models: "DeepSeek R1 distilled into Qwen",
		Patterns: []string{"deepseek-r1 * qwen", "r1-distill-qwen"},
		Dialects: []string{"hermes", "deepseek-v3", "json-fence"}, Thinking: thinks},
	{Name: "deepseek-r1-llama", Models: "DeepSeek R1 distilled into Llama",
		Patterns: []string{"deepseek-r1 * llama", "r1-distill-llama"},
		Dialects: []string{"deepseek-v3", "llama3-json", "json-fence"}, Thinking: thinks},
	{Name: "deepseek-r1", Models: "DeepSeek R1", Patterns: []string{"deepseek-r1", "deepseek-reasoner"},
		Dialects: []string{"deepseek-v3", "deepseek-v31", "json-fence"}, Thinking: thinks},
	{Name: "deepseek-v3.1", Models: "DeepSeek V3.1, V3.1-Terminus, V3.2-Exp",
		Patterns: []string{"deepseek * v3.2-exp", "deepseek * v3.1"},
		Dialects: []string{"deepseek-v31", "deepseek-v3", "deepseek-dsml"}, Thinking: think},
	{Name: "deepseek-v4.1", Models: "DeepSeek V4.1", Patterns: []string{"deepseek * v4.1"},
		Dialects: []string{"deepseek-v4.1", "deepseek-dsml"}, Thinking: think},
	{Name: "deepseek-v3.2", Models: "DeepSeek V3.2, V4", Patterns: []string{"deepseek * v3.2", "deepseek * v4"},
		Dialects: []string{"deepseek-dsml", "deepseek-v31"}, Thinking: think},
	{Name: "deepseek", Models: "DeepSeek V3 and before", Patterns: []string{"deepseek"},
		Dialects: []string{"deepseek-v3", "deepseek-v31", "json-fence"}},
	{Name: "cogito", Models: "Cogito", Patterns: []string{"cogito"}, Dialects: []string{"deepseek-v3", "hermes"},
		Thinking: think},

	// NVIDIA names the base, too.
	{Name: "nemotron-3", Models: "Nemotron 3", Patterns: []string{"nemotron-3"},
		Dialects: []string{"qwen3-coder", "hermes"}, Thinking: think},
	{Name: "nemotron", Models: "Nemotron Nano, Super and Ultra", Patterns: []string{"nemotron"},
		Dialects: []string{"nemotron", "llama3-json", "json-fence"}, Thinking: think},

	// Qwen, and models that write as it does.
	{Name: "qwq", Models: "QwQ", Patterns: []string{"qwq"}, Dialects: []string{"hermes", "json-fence"},
		Thinking: thinks},
	{Name: "qwen3-coder", Models: "Qwen3-Coder", Patterns: []string{"qwen3-coder"},
		Dialects: []string{"qwen3-coder", "hermes"}},
	{Name: "qwen3.5", Models: "Qwen3.5", Patterns: []string{"qwen3.5"}, Dialects: []string{"qwen3-coder", "hermes"},
		Thinking: think},
	{Name: "qwen3-thinking", Models: "Qwen3 that always thinks", Patterns: []string{"qwen3 * thinking"},
		Dialects: []string{"hermes", "qwen3-coder"}, Thinking: thinks},
	{Name: "qwen3", Models: "Qwen3", Patterns: []string{"qwen3"}, Dialects: []string{"hermes", "qwen3-coder"},
		Thinking: think},
	{Name: "qwen", Models: "Qwen 2.5 and others", Patterns: []string{"qwen"},
		Dialects: []string{"hermes", "json-fence", "raw-json"}},
	{Name: "step-5", Models: "Step 5", Patterns: []string{"step-5"},
		Dialects: []string{"step5", "qwen3-coder", "hermes"}, Thinking: thinks},
	{Name: "nanbeige", Models: "Nanbeige", Patterns: []string{"nanbeige"}, Dialects: []string{"qwen3-coder", "hermes"},
		Thinking: think},
	{Name: "kolibri", Models: "Kolibri 1", Patterns: []string{"kolibri"}, Dialects: []string{"hermes", "json-fence"},
		Thinking: think},
	{Name: "step-3.5", Models: "Step-3.5", Patterns: []string{"step-3.5"}, Dialects: []string{"qwen3-coder", "hermes"},
		Thinking: thinks},
	{Name: "step-3", Models: "Step-3", Patterns: []string{"step-3"}, Dialects: []string{"step3"}, Thinking: thinks},
	{Name: "mimo", Models: "MiMo", Patterns: []string{"mimo"}, Dialects: []string{"mimo", "hermes"}, Thinking: think},
	{Name: "iquest-q1", Models: "IQuest Q1", Patterns: []string{"iquest-q1", "iquest * q1"},
		Dialects: []string{"iquest-q1", "glm"}, Thinking: think},
	{Name: "iquest", Models: "IQuest-Coder", Patterns: []string{"iquest"}, Dialects: []string{"qwen3-coder", "hermes"}},
	{Name: "trinity", Models: "Trinity", Patterns: []string{"trinity"}, Dialects: []string{"hermes"},
		Thinking: dialect.Thinking{Opener: "<think>", Closer: "</think>", Calls: dialect.CallsAlways}},
	{Name: "reka", Models: "Reka Edge and Flash", Patterns: []string{"reka"}, Dialects: []string{"hermes"}},
	{Name: "ernie-thinking", Models: "ERNIE 4.5 that always thinks", Patterns: []string{"ernie * thinking"},
		Dialects: []string{"hermes"}, Thinking: thinks},
	{Name: "ernie", Models: "ERNIE 4.5", Patterns: []string{"ernie"}, Dialects: []string{"hermes"}, Thinking: think},
	{Name: "exaone-deep", Models: "EXAONE Deep", Patterns: []string{"exaone-deep"}, Dialects: []string{"hermes"},
		Thinking: dialect.Thinking{Opener: "<thought>", Closer: "</thought>", Open: true},
		Drop:     []string{"[|endofturn|]"}},
	{Name: "exaone", Models: "EXAONE 4", Patterns: []string{"exaone"}, Dialects: []string{"hermes"}, Thinking: think,
		Drop: []string{"[|endofturn|]"}},
	{Name: "smollm3", Models: "SmolLM3", Patterns: []string{"smollm"}, Dialects: []string{"hermes", "pythonic"},
		Thinking: think},

	// IBM.
	{Name: "granite-20b-fc", Models: "Granite-20B-FunctionCalling",
		Patterns: []string{"granite * functioncalling", "granite * function-calling"},
		Dialects: []string{"granite-20b-fc"}},
	{Name: "granite-4", Models: "Granite 4", Patterns: []string{"granite-4"}, Dialects: []string{"hermes", "granite3"}},
	{Name: "granite", Models: "Granite 3.0 to 3.3", Patterns: []string{"granite"},
		Dialects: []string{"granite3", "hermes"}, Thinking: think},

	// Meta.
	{Name: "llama-4", Models: "Llama 4", Patterns: []string{"llama-4"}, Dialects: []string{"pythonic", "llama3-json"}},
	{Name: "llama-3.2", Models: "Llama 3.2", Patterns: []string{"llama-3.2"},
		Dialects: []string{"llama3-json", "pythonic"}},
	{Name: "llama-3", Models: "Llama 3, 3.1 and 3.3", Patterns: []string{"llama-3"},
		Dialects: []string{"llama3-json", "function-tag", "pythonic"}},

	// Mistral. Its markers are control tokens, which a server shows only if it is asked to.
	{Name: "magistral", Models: "Magistral", Patterns: []string{"magistral"},
		Dialects: []string{"mistral-args", "mistral-array", "json-fence"}, Thinking: bracketed, Strips: true},
	{Name: "ministral-3", Models: "Ministral 3", Patterns: []string{"ministral-3"},
		Dialects: []string{"mistral-args", "mistral-array", "json-fence"}, Thinking: bracketed, Strips: true},
	{Name: "mistral-args", Models: "Devstral, Mistral Small 3.2, Medium 3, Large 3",
		Patterns: []string{"devstral", "mistral-small-3.2", "mistral-small * 2506", "mistral-medium",
			"mistral-large-3", "mistral-large * 2512"},
		Dialects: []string{"mistral-args", "mistral-array", "json-fence"}, Strips: true},
	{Name: "mistral", Models: "Mistral 7B, Mixtral, Nemo, Small, Large, Pixtral, Codestral",
		Patterns: []string{"mistral", "mixtral", "ministral", "pixtral", "codestral", "mathstral"},
		Dialects: []string{"mistral-array", "mistral-args", "json-fence"}, Strips: true},

	// Google.
	{Name: "functiongemma", Models: "FunctionGemma", Patterns: []string{"functiongemma", "function-gemma"},
		Dialects: []string{"functiongemma"}, Drop: []string{"<end_of_turn>"}},
	{Name: "gemma-4", Models: "Gemma 4", Patterns: []string{"gemma-4"}, Dialects: []string{"gemma4", "pythonic"},
		Thinking: dialect.Thinking{Opener: "<|channel>thought\n", Closer: "<channel|>"}},
	{Name: "gemma", Models: "Gemma 3 and before", Patterns: []string{"gemma"},
		Dialects: []string{"pythonic", "function-style", "json-fence"}, Drop: []string{"<end_of_turn>"}},

	// OpenAI. Servers make function calls and reasoning of the channels themselves, so that text in them is not to be
	// asked for.
	{Name: "gpt-oss", Models: "gpt-oss", Patterns: []string{"gpt-oss"}, Dialects: []string{"harmony", "json-fence"},
		Strips: true},

	// Moonshot, and a namesake.
	{Name: "k2-v3", Models: "K2 V3", Patterns: []string{"k2-v3", "k2-think-v3"}, Dialects: []string{"k2-horizon"},
		Thinking: dialect.Thinking{Open: true}},
	{Name: "k2-horizon", Models: "K2 Horizon", Patterns: []string{"k2-horizon"}, Dialects: []string{"k2-horizon"},
		Thinking: dialect.Thinking{Open: true}},
	{Name: "kimi-k3", Models: "Kimi K3", Patterns: []string{"kimi-k3"}, Dialects: []string{"kimi-k3"},
		Thinking: dialect.Thinking{Opener: "<|open|>think<|sep|>", Closer: "<|close|>think<|sep|>"}},
	{Name: "kimi", Models: "Kimi K2, K2 Thinking", Patterns: []string{"kimi"},
		Dialects: []string{"kimi-k2", "json-fence"}, Thinking: think},

	// Zhipu, and models with its grammar.
	{Name: "ling-3", Models: "Ling 3", Patterns: []string{"ling-3", "ling * 3.0"}, Dialects: []string{"glm"},
		Thinking: thinks, Drop: []string{"<|role_end|>"}},
	{Name: "glm-4.5", Models: "GLM 4.5 to 4.7, 5 to 5.3", Patterns: []string{"glm-4.5", "glm-4.6", "glm-4.7", "glm-5"},
		Dialects: []string{"glm", "poolside"}, Thinking: think},
	{Name: "glm-4", Models: "GLM-4 of 9B and 32B", Patterns: []string{"glm-4", "chatglm"},
		Dialects: []string{"name-json", "glm"}, Thinking: think},
	{Name: "glm", Models: "GLM of any other version", Patterns: []string{"glm"},
		Dialects: []string{"glm", "name-json"}, Thinking: think},
	{Name: "spark-3", Models: "Spark 2.5 and 3", Patterns: []string{"spark-3", "spark-2.5"},
		Dialects: []string{"spark25", "glm"}},
	{Name: "poolside", Models: "Poolside v1, Laguna", Patterns: []string{"poolside", "laguna"},
		Dialects: []string{"poolside", "glm"}},

	// Naver.
	{Name: "hyperclovax-seed", Models: "HyperCLOVA X SEED Think",
		Patterns: []string{"hyperclovax-seed * think", "hyperclova-x-seed * think"},
		Dialects: []string{"hyperclovax-seed", "raw-json"}, Thinking: thinks},
	{Name: "hyperclovax", Models: "HyperCLOVA X", Patterns: []string{"hyperclovax", "hyperclova"},
		Dialects: []string{"hyperclovax", "raw-json"}},

	// Tencent.
	{Name: "hunyuan-v4", Models: "Hunyuan v4", Patterns: []string{"hunyuan-v4", "hunyuan-4", "hy-v4", "hy-4"},
		Dialects: []string{"hunyuan-v4", "hunyuan-v3"}, Thinking: think},
	{Name: "hunyuan-v3", Models: "Hunyuan v3", Patterns: []string{"hunyuan-v3", "hunyuan-3", "hy-v3", "hy-3"},
		Dialects: []string{"hunyuan-v3", "tool-calls-json"}, Thinking: think},
	{Name: "hunyuan", Models: "Hunyuan-A13B", Patterns: []string{"hunyuan"},
		Dialects: []string{"tool-calls-json", "hunyuan-v3"}, Thinking: think},

	// MiniMax.
	{Name: "minimax-m1", Models: "MiniMax M1", Patterns: []string{"minimax-m1"},
		Dialects: []string{"tool-calls-json", "minimax-m2"},
		Thinking: dialect.Thinking{Opener: "<think>", Closer: "</think>", Calls: dialect.CallsNever}},
	{Name: "minimax-m3", Models: "MiniMax M3", Patterns: []string{"minimax-m3"},
		Dialects: []string{"minimax-m3", "minimax-m2"},
		Thinking: dialect.Thinking{Opener: "<mm:think>", Closer: "</mm:think>"}},
	{Name: "minimax", Models: "MiniMax M2", Patterns: []string{"minimax"},
		Dialects: []string{"minimax-m2", "anthropic-xml"}, Thinking: thinks},

	// Cohere.
	{Name: "command-r7b", Models: "Command R7B", Patterns: []string{"command-r7b"},
		Dialects: []string{"cohere", "label-json", "json-fence"}, Thinking: commanded, Strips: true},
	{Name: "command-r", Models: "Command R, R+", Patterns: []string{"command-r"},
		Dialects: []string{"label-json", "cohere"}},
	{Name: "cohere", Models: "Command A, 3 and 4, Cohere2 MoE",
		Patterns: []string{"command-a", "command-3", "command-4", "cohere"},
		Dialects: []string{"cohere", "label-json", "json-fence"}, Thinking: commanded, Strips: true},

	// Everyone else.
	{Name: "seed-oss", Models: "Seed-OSS", Patterns: []string{"seed-oss", "doubao-seed"},
		Dialects: []string{"seed-oss", "qwen3-coder"}, Thinking: seeded, Drop: []string{"<seed:eos>"}},
	{Name: "internlm", Models: "InternLM2 and 3, Intern-S1", Patterns: []string{"internlm", "intern-s1"},
		Dialects: []string{"internlm2"}, Thinking: think},
	{Name: "plamo", Models: "PLaMo 3", Patterns: []string{"plamo"}, Dialects: []string{"plamo3"},
		Thinking: dialect.Thinking{Opener: "<|plamo:begin_think:plamo|>", Closer: "<|plamo:end_think:plamo|>"}},
	{Name: "sarashina", Models: "Sarashina", Patterns: []string{"sarashina"},
		Dialects: []string{"sarashina", "raw-json"}, Thinking: think},
	{Name: "pangu", Models: "openPangu", Patterns: []string{"pangu", "openpangu"}, Dialects: []string{"pangu"},
		Thinking: think},
	{Name: "apertus", Models: "Apertus", Patterns: []string{"apertus"}, Dialects: []string{"apertus"},
		Thinking: dialect.Thinking{Opener: "<|inner_prefix|>", Closer: "<|inner_suffix|>"}},
	{Name: "longcat", Models: "LongCat-Flash", Patterns: []string{"longcat"}, Dialects: []string{"longcat", "hermes"},
		Thinking: dialect.Thinking{Opener: "<longcat_think>", Closer: "</longcat_think>"}},
	{Name: "jamba", Models: "Jamba", Patterns: []string{"jamba"}, Dialects: []string{"tool-calls-json"}},
	{Name: "apriel-1.6", Models: "Apriel 1.6", Patterns: []string{"apriel-1.6"}, Dialects: []string{"tool-calls-json"},
		Thinking: dialect.Thinking{Closer: "[BEGIN FINAL RESPONSE]", Open: true}},
	{Name: "apriel", Models: "Apriel 1.5", Patterns: []string{"apriel"}, Dialects: []string{"tool-calls-json"},
		Thinking: dialect.Thinking{Closer: "[BEGIN FINAL RESPONSE]"}},
	{Name: "phi-4-mini", Models: "Phi-4-mini", Patterns: []string{"phi-4-mini"},
		Dialects: []string{"functools", "json-fence"}},
	{Name: "phi", Models: "Phi of any other size", Patterns: []string{"phi"},
		Dialects: []string{"json-fence", "functools"}},
	{Name: "gigachat-3.5", Models: "GigaChat 3.5", Patterns: []string{"gigachat-3.5"},
		Dialects: []string{"gigachat35", "gigachat3"}},
	{Name: "gigachat", Models: "GigaChat 3 and 3.1", Patterns: []string{"gigachat"}, Dialects: []string{"gigachat3"}},
	{Name: "olmo-think", Models: "OLMo 3 that always thinks", Patterns: []string{"olmo * think"},
		Dialects: []string{"olmo3"}, Thinking: thinks},
	{Name: "olmo", Models: "OLMo 3", Patterns: []string{"olmo"}, Dialects: []string{"olmo3"}},
	{Name: "lfm2", Models: "LFM2, LFM2.5", Patterns: []string{"lfm"}, Dialects: []string{"lfm2", "pythonic"},
		Thinking: think},
	{Name: "dots", Models: "dots", Patterns: []string{"dots"}, Dialects: []string{"dots"}},
	{Name: "minicpm-v", Models: "MiniCPM-V", Patterns: []string{"minicpm-v", "minicpmv", "minicpm-o"},
		Dialects: []string{"hermes", "json-fence"}, Thinking: think},
	{Name: "minicpm", Models: "MiniCPM5 and before", Patterns: []string{"minicpm"},
		Dialects: []string{"minicpm5", "function-style"}, Thinking: think},
	{Name: "inkling", Models: "Inkling", Patterns: []string{"inkling"}, Dialects: []string{"inkling"},
		Thinking: dialect.Thinking{Opener: "<|content_thinking|>", Closer: "<|end_message|>"}},
	{Name: "glimmer", Models: "Glimmer, Muse Spark", Patterns: []string{"glimmer", "muse", "musespark"},
		Dialects: []string{"glimmer"}},
	{Name: "rwkv", Models: "RWKV", Patterns: []string{"rwkv"}, Dialects: []string{"label-json", "hermes"}},
	{Name: "claude", Models: "Claude", Patterns: []string{"claude"}, Dialects: []string{"anthropic-xml"}},
	{Name: "lumo", Models: "Lumo", Patterns: []string{"lumo"}, Dialects: []string{"json-fence", "raw-json"},
		Native: []string{"proton_info", "web_search", "weather", "stock", "cryptocurrency"}},
}
