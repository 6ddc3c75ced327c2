package dialect

import (
	"slices"
	"sync"
)

// turnHeaders hold the words by which a family of models marks whose turn begins.
type turnHeaders struct {
	name   string
	open   string   // what stands before the party
	close  string   // and behind it
	others []string // the parties
	own    []string // the model itself; none: its own header separates the messages of one turn
	line   bool     // a header only at the start of a line, or behind another token
}

// templates are those of the families that profiles know, and of some that went before them. Their headers
// are read in every text.
var templates = []turnHeaders{
	{name: "chatml", open: "<|im_start|>", others: []string{"user", "system", "developer", "tool", "function", "human",
		"observation", "environment", "ipython", "question"}, own: []string{"assistant", "answer"}},
	{name: "llama-3", open: "<|start_header_id|>", close: "<|end_header_id|>",
		others: []string{"user", "system", "developer", "tool", "ipython", "environment"}, own: []string{"assistant"}},
	{name: "llama-4", open: "<|header_start|>", close: "<|header_end|>",
		others: []string{"user", "system", "developer", "tool", "ipython"}, own: []string{"assistant"}},
	{name: "gemma", open: "<start_of_turn>", others: []string{"user", "system", "developer", "tool"},
		own: []string{"model"}},
	{name: "gemma-4", open: "<|turn>", others: []string{"user", "system", "developer", "tool"}, own: []string{"model"}},
	{name: "tokens", open: "<|", close: "|>", others: []string{"user", "system", "observation", "human", "prompter",
		"tool", "USER", "SYSTEM", "User"}, own: []string{"assistant", "ASSISTANT", "Assistant"}},
	{name: "deepseek", open: "<｜", close: "｜>", others: []string{"User", "System", "Developer", "hy_User"},
		own: []string{"Assistant", "hy_Assistant"}},
	{name: "cohere", open: "<|START_OF_TURN_TOKEN|><|", close: "_TOKEN|>", others: []string{"USER", "SYSTEM"},
		own: []string{"CHATBOT"}},
	{name: "cohere", open: "<|", close: "_TOKEN|>", others: []string{"USER", "SYSTEM"}},
	{name: "granite", open: "<|start_of_role|>", close: "<|end_of_role|>",
		others: []string{"user", "system", "developer", "tool", "tool_response", "documents"},
		own:    []string{"assistant"}},
	{name: "minimax", open: "]~b]", others: []string{"user", "system", "tool"}, own: []string{"ai"}},
	{name: "minimax", open: "]~!b[]~b]", others: []string{"user", "system", "tool"}},
	{name: "minimax", open: "<beginning_of_sentence>", others: []string{"user", "system", "tool"}, own: []string{"ai"}},
	{name: "mistral", open: "[", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}, line: true},
	{name: "mistral", open: "[/", close: "]", own: []string{"INST"}},
	{name: "mistral", open: "<s>[", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}},
	{name: "mistral", open: "<s> [", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}},
	{name: "mistral", open: "</s>[", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}},
	{name: "mistral", open: "</s> [", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}},
	{name: "mistral", open: "</s>\n[", close: "]", others: []string{"INST"}},
	{name: "mistral", open: "</s><s>", close: "[INST]", others: []string{"", " "}},
	{name: "zephyr", open: "</s><|", close: "|>", others: []string{"user", "system"}},
	{name: "zephyr", open: "</s>\n<|", close: "|>", others: []string{"user", "system"}},
	{name: "kimi", open: "<|im_", close: "|>", others: []string{"user", "system"}, own: []string{"assistant"}},
	{name: "exaone", open: "[|", close: "|]", others: []string{"user", "system", "tool", "Human"},
		own: []string{"assistant", "AI"}},
	{name: "apertus", open: "<|", close: "_start|>", others: []string{"user", "system", "developer"},
		own: []string{"assistant"}},
	{name: "seed", open: "<seed:bos>", others: []string{"user", "system", "tool"}, own: []string{"assistant"}},
	{name: "step", open: "<|BOT|>", others: []string{"user", "system", "human", "tool"}, own: []string{"assistant"}},
	{name: "nemotron", open: "<SPECIAL_11>", others: []string{"User", "Tool"}, own: []string{"Assistant"}},
	{name: "nemotron", open: "<extra_id_1>", others: []string{"User", "Tool"}, own: []string{"Assistant"}},
	{name: "functionary", open: "<|from|>", others: []string{"user", "system"}, own: []string{"assistant"}},
	{name: "pangu", open: "[unused9]", close: "：", others: []string{"用户", "系统", "工具"}, own: []string{"助手"}},
	{name: "openchat", open: "<|end_of_turn|>", close: ":",
		others: []string{"GPT4 Correct User", "Code User", "User", "Human"}},
	{name: "inkling", open: "<|message_", close: "|>", others: []string{"user", "system", "developer", "tool"}},
	{name: "gigachat", close: "<|role_sep|>", others: []string{"user", "system", "developer"}, line: true},
	{name: "baichuan", open: "<reserved_", close: ">", others: []string{"102", "106"}},
	{name: "baichuan-m1", open: "<C_", close: ">", others: []string{"Q"}},
	{name: "minicpm", open: "<", close: ">", others: []string{"用户"}},
	{name: "telechat", open: "<_", close: ">", others: []string{"user"}},
	{name: "ling", open: "<role>", close: "</role>", others: []string{"HUMAN", "SYSTEM", "OBSERVATION"},
		own: []string{"ASSISTANT"}},
	{name: "dots", open: "<|", close: "prompt|>", others: []string{"user"}},
	{name: "openbuddy", open: "<|role|>", others: []string{"user", "system"}, own: []string{"assistant"}},
	{name: "plamo", open: "<|plamo:msg|>", others: []string{"user", "system", "tool"}, own: []string{"assistant"}},
	{name: "solar-open", open: "<|begin|>", others: []string{"user", "system", "tool"}, own: []string{"assistant"}},
	{name: "hunyuan-large", open: "<|eos|>", close: "<|startoftext|>", others: []string{""}},
	{name: "longcat", open: "[Round ", close: "] USER:", others: rounds},
	{name: "chatglm-2", open: "[Round ", close: "]\n\n问：", others: rounds},
	{name: "reka", open: "<sep> ", close: ": ", others: []string{"human"}, own: []string{"assistant"}},
	{name: "code-llama", open: "<step> Source: ", others: []string{"user", "system"}, own: []string{"assistant"}},
	{name: "lines", open: "</s>", close: ":", others: closedRoles},
	{name: "lines", open: "<|endoftext|>", close: ":", others: closedRoles},
	{name: "lines", open: "<|end_of_sentence|>", close: ":", others: closedRoles},
	{name: "lines", open: "<｜end▁of▁sentence｜>", close: ":", others: closedRoles},
	{name: "lines", open: "<|separator|>\n\n", close: ":", others: closedRoles},
	{name: "kimi-k3", open: `<|open|>message role="`, close: `"`, others: []string{"user", "system", "tool"}},
}

var (
	rounds = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	// lines that need no line of their own right behind a token
	closedRoles = []string{"User", "USER", "Human", "System"}
)

// A roleStyle describes lines that name the speaker, where a template is plain text or its tokens were taken out.
type roleStyle struct {
	before, after string
	others, own   []string
	// the model's own where a call stands right behind it: lists of keys and of questions have it too
	direct []string
	loose  bool // the model's own also in the middle of a line
}

var (
	roleWords  = []string{"User", "USER", "user", "Human", "HUMAN", "human", "System", "SYSTEM", "system"}
	replyWords = []string{"Assistant", "ASSISTANT", "assistant", "AI", "Bot"}
	otherWords = []string{"Benutzer", "Nutzer", "Usuario", "Utente", "Usuário", "Gebruiker", "Пользователь", "ユーザー",
		"사용자", "用户"}
	otherReply  = []string{"Assistent", "Asistente", "Assistente", "Ассистент", "アシスタント", "어시스턴트", "助手"}
	keyedReply  = []string{"Model", "Agent", "Falcon", "GPT"}
	taggedReply = []string{"assistant", "Assistant", "ASSISTANT", "ai", "bot", "model", "gpt"}
	headedRoles = append([]string{"Input"}, roleWords...)
	headedReply = append([]string{"Response", "Model"}, replyWords...)
)

// roleStyles are those that are read in every text. In a colon's style lists of keys have words of their own.
var roleStyles = []roleStyle{
	{after: ":", others: append(otherWords, roleWords...), own: append(otherReply, replyWords...)},
	{before: "**", after: ":**", others: roleWords, own: replyWords},
	{before: "**", after: "**:", others: roleWords, own: replyWords},
	{before: "**", after: " :**", others: []string{"Utilisateur"}, own: []string{"Assistant"}},
	{before: "**", after: "**\n", others: roleWords, own: replyWords},
	{before: "# ", after: "\n", others: roleWords, own: replyWords},
	{before: "## ", after: "\n", others: headedRoles, own: headedReply},
	{before: "## ", after: ":", others: headedRoles, own: headedReply},
	{before: "### ", after: "\n", others: headedRoles, own: headedReply},
	{before: "### ", after: ":", others: headedRoles, own: headedReply},
	{before: "[", after: "]", others: roleWords, own: replyWords},
	{after: "\n", others: []string{"user", "human", "system"}, own: []string{"assistant", "model"}},
	{after: "\r\n", others: []string{"user", "human", "system"}, own: []string{"assistant", "model"}},
	{after: " :", others: append([]string{"Utilisateur"}, roleWords...), own: replyWords},
	{before: "*", after: ":*", others: roleWords, own: replyWords},
	{before: "__", after: ":__", others: roleWords, own: replyWords},
	{before: "#### ", after: "\n", others: headedRoles, own: headedReply},
	{before: "#### ", after: ":", others: headedRoles, own: headedReply},
	{before: "GPT4 Correct ", after: ":", others: []string{"User"}, own: []string{"Assistant"}},
	{before: "- ", after: ":", others: roleWords, own: replyWords},
	{before: "- **", after: ":**", others: roleWords, own: replyWords},
	{before: "* ", after: ":", others: roleWords, own: replyWords},
	{before: "### **", after: ":**", others: roleWords, own: replyWords},
	{before: "## **", after: "**\n", others: roleWords, own: replyWords},
	{after: ">", others: roleWords, own: replyWords},
	{after: " (", others: roleWords, own: replyWords},
	{after: " says:", others: roleWords, own: replyWords},
	{after: "：", others: append([]string{"用户", "使用者", "ユーザー"}, roleWords...),
		own: append([]string{"助手", "助理", "アシスタント"}, replyWords...)},
	{before: "<", after: ">", others: []string{"User", "USER", "human", "Human", "system"}, own: taggedReply,
		loose: true},
	{before: "<message role=\"", after: "\">", others: []string{"user", "system"}, own: []string{"assistant"},
		loose: true},
	{after: ":", others: []string{"Q", "U", "H", "Question"}, direct: []string{"A", "Answer"}},
	{before: "**", after: ":**", others: []string{"Q", "Question"}, direct: []string{"A", "Answer"}},
	{after: "：", others: []string{"问"}, direct: []string{"答"}},
}

// gluedWords are the bare lines of roleStyles, without their line breaks.
var gluedWords = func() (list []opener) {
	k := slices.IndexFunc(roleStyles, func(s roleStyle) bool { return s.before == "" && s.after == "\n" })
	for _, word := range roleStyles[k].others {
		list = append(list, opener{literal: word, mark: markRole, style: uint8(k + 1)})
	}
	for _, word := range roleStyles[k].own {
		list = append(list, opener{literal: word, mark: markReply, style: uint8(k + 1)})
	}
	return list
}()

// questionLine ends the turn behind a result.
const questionLine = "Question:"

// aloneLines are lines that end the turn without another one.
var aloneLines = []string{"### Instruction:", "### Human:", "### HUMAN:"}

// resultMarks begin a tool's result, besides the results that are read as they are, see useVerbatim.
var resultMarks = []string{"Observation:", "**Observation:**", "TOOL_RESULT:", "PTK_RESULT:", "FUNCTION RESPONSE:",
	"Tool result:", "Tool Result:", "Tool output:", "Tool response:", "Function result:", "**Tool result:**",
	"[Tool result]", "## Return of functions.", "<tool_results>", "<tool_responses>", "<tool_call_result>",
	"<observation>", "<|tool_response|>",
	"<function_results>", "<function_response>", "<tool_output>", "<|tool_response>", "<start_function_response>",
	"<｜DSML｜function_results>"}

// resultFences are the info strings of fences that hold one.
var resultFences = map[string]bool{"tool_output": true, "tool_outputs": true, "tool_response": true}

// turnOpeners are the openers of all marks of a turn's end.
var turnOpeners = sync.OnceValue(func() (list []opener) {
	add := func(mark turnMark, style int, line bool, literal string) {
		list = append(list, opener{literal: literal, use: useTurn, mark: mark, style: uint8(style), lineStart: line})
	}
	for _, t := range templates {
		for _, party := range t.others {
			add(markOther, 0, t.line, t.open+party+t.close)
		}
		for _, party := range t.own {
			add(markOwn, 0, t.line, t.open+party+t.close)
		}
	}
	for _, literal := range aloneLines { // before the lines of two, which they are as well
		add(markAlone, 0, true, literal)
	}
	for k, s := range roleStyles {
		for _, word := range s.others {
			mark := markRole
			switch s.before + word + s.after {
			case "Human:", "HUMAN:":
				mark = markBlank
			case questionLine:
				mark = markQuery
			}
			add(mark, k+1, true, s.before+word+s.after)
		}
		for _, word := range s.own {
			add(markReply, k+1, !s.loose, s.before+word+s.after)
		}
		direct := s.direct
		if len(s.own) > 0 {
			direct = keyedReply
		}
		for _, word := range direct {
			add(markDirect, k+1, true, s.before+word+s.after)
		}
	}
	for _, literal := range resultMarks {
		add(markResult, 0, true, literal)
	}
	// what stands in a comment is not meant
	list = append(list, opener{literal: "<!--", use: useVerbatim, closer: "-->", anywhere: true})
	return list
})
