package dialect

// A template is how a family of models writes whose turn begins.
type template struct {
	name   string
	open   string   // what stands before the party
	close  string   // and behind it
	others []string // the parties
	own    []string // the model itself; none: its own header separates the messages of one turn
	line   bool     // a header only at the start of a line, or behind another token
}

// templates are those of the families that profiles know, and of some that went before them. Their headers are read in every text.
var templates = []template{
	{name: "chatml", open: "<|im_start|>", others: []string{"user", "system", "developer", "tool", "function", "human", "observation", "environment", "ipython"}, own: []string{"assistant"}},
	{name: "llama-3", open: "<|start_header_id|>", close: "<|end_header_id|>", others: []string{"user", "system", "developer", "tool", "ipython", "environment"}, own: []string{"assistant"}},
	{name: "llama-4", open: "<|header_start|>", close: "<|header_end|>", others: []string{"user", "system", "developer", "tool", "ipython"}, own: []string{"assistant"}},
	{name: "gemma", open: "<start_of_turn>", others: []string{"user", "system", "developer", "tool"}, own: []string{"model"}},
	{name: "gemma-4", open: "<|turn>", others: []string{"user", "system", "developer", "tool"}, own: []string{"model"}},
	{name: "tokens", open: "<|", close: "|>", others: []string{"user", "system", "observation", "human", "prompter", "tool", "USER", "SYSTEM", "User"}, own: []string{"assistant", "ASSISTANT", "Assistant"}},
	{name: "deepseek", open: "<｜", close: "｜>", others: []string{"User", "System", "hy_User"}, own: []string{"Assistant", "hy_Assistant"}},
	{name: "cohere", open: "<|START_OF_TURN_TOKEN|><|", close: "_TOKEN|>", others: []string{"USER", "SYSTEM"}, own: []string{"CHATBOT"}},
	{name: "cohere", open: "<|", close: "_TOKEN|>", others: []string{"USER", "SYSTEM"}},
	{name: "granite", open: "<|start_of_role|>", close: "<|end_of_role|>", others: []string{"user", "system", "developer", "tool", "tool_response", "documents"}, own: []string{"assistant"}},
	{name: "minimax", open: "]~b]", others: []string{"user", "system", "tool"}, own: []string{"ai"}},
	{name: "minimax", open: "]~!b[]~b]", others: []string{"user", "system", "tool"}},
	{name: "mistral", open: "[", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}, line: true},
	{name: "mistral", open: "<s>[", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}},
	{name: "mistral", open: "<s> [", close: "]", others: []string{"INST", "SYSTEM_PROMPT"}},
	{name: "mistral", open: "</s>[", close: "]", others: []string{"INST"}},
	{name: "mistral", open: "</s> [", close: "]", others: []string{"INST"}},
	{name: "mistral", open: "</s>\n[", close: "]", others: []string{"INST"}},
	{name: "mistral", open: "</s><s>", close: "[INST]", others: []string{"", " "}},
	{name: "zephyr", open: "</s><|", close: "|>", others: []string{"user", "system"}},
	{name: "zephyr", open: "</s>\n<|", close: "|>", others: []string{"user", "system"}},
	{name: "kimi", open: "<|im_", close: "|>", others: []string{"user", "system"}, own: []string{"assistant"}},
	{name: "exaone", open: "[|", close: "|]", others: []string{"user", "system", "tool"}, own: []string{"assistant"}},
	{name: "apertus", open: "<|", close: "_start|>", others: []string{"user", "system", "developer"}, own: []string{"assistant"}},
	{name: "seed", open: "<seed:bos>", others: []string{"user", "system", "tool"}, own: []string{"assistant"}},
	{name: "step", open: "<|BOT|>", others: []string{"user", "system", "human", "tool"}, own: []string{"assistant"}},
	{name: "nemotron", open: "<SPECIAL_11>", others: []string{"User", "Tool"}, own: []string{"Assistant"}},
	{name: "nemotron", open: "<extra_id_1>", others: []string{"User", "Tool"}, own: []string{"Assistant"}},
	{name: "functionary", open: "<|from|>", others: []string{"user", "system"}, own: []string{"assistant"}},
	{name: "pangu", open: "[unused9]", close: "：", others: []string{"用户", "系统", "工具"}, own: []string{"助手"}},
	{name: "openchat", open: "<|end_of_turn|>", close: ":", others: []string{"GPT4 Correct User", "User", "Human"}},
	{name: "inkling", open: "<|message_", close: "|>", others: []string{"user", "system", "developer", "tool"}},
	{name: "gigachat", close: "<|role_sep|>", others: []string{"user", "system", "developer"}, line: true},
	{name: "kimi-k3", open: `<|open|>message role="`, close: `"`, others: []string{"user", "system", "tool"}},
}

// A roleStyle is how a line names the party that speaks, where a template is plain text or its tokens were taken out.
type roleStyle struct {
	before, after string
	others, own   []string
}

var (
	roleWords   = []string{"User", "USER", "user", "Human", "HUMAN", "human", "System", "SYSTEM", "system"}
	replyWords  = []string{"Assistant", "ASSISTANT", "assistant", "AI", "Bot"}
	headedRoles = append([]string{"Input"}, roleWords...)
	headedReply = append([]string{"Response", "Model"}, replyWords...)
)

// roleStyles are those that are read in every text. In a colon's style lists of keys have words of their own.
var roleStyles = []roleStyle{
	{after: ":", others: roleWords, own: replyWords},
	{before: "**", after: ":**", others: roleWords, own: replyWords},
	{before: "**", after: "**:", others: roleWords, own: replyWords},
	{before: "**", after: "**\n", others: roleWords, own: replyWords},
	{before: "# ", after: "\n", others: roleWords, own: replyWords},
	{before: "## ", after: "\n", others: headedRoles, own: headedReply},
	{before: "## ", after: ":", others: headedRoles, own: headedReply},
	{before: "### ", after: "\n", others: headedRoles, own: headedReply},
	{before: "### ", after: ":", others: headedRoles, own: headedReply},
	{before: "[", after: "]", others: roleWords, own: replyWords},
	{before: "<", after: ">:", others: []string{"human", "system"}, own: []string{"bot", "assistant", "gpt"}},
	{after: "\n", others: []string{"user", "human", "system"}, own: []string{"assistant", "model"}},
	{after: "\r\n", others: []string{"user", "human", "system"}, own: []string{"assistant", "model"}},
	{after: " :", others: roleWords, own: replyWords},
	{before: "*", after: ":*", others: roleWords, own: replyWords},
	{before: "__", after: ":__", others: roleWords, own: replyWords},
	{before: "#### ", after: "\n", others: headedRoles, own: headedReply},
	{before: "#### ", after: ":", others: headedRoles, own: headedReply},
	{before: "GPT4 Correct ", after: ":", others: []string{"User"}, own: []string{"Assistant"}},
}

// aloneLines are lines that end the turn without another one.
var aloneLines = []string{"### Instruction:", "### Human:", "### HUMAN:"}

// resultMarks begin a tool's result, besides the results that are read as they are, see useVerbatim.
var resultMarks = []string{"Observation:", "**Observation:**", "TOOL_RESULT:", "PTK_RESULT:", "FUNCTION RESPONSE:", "Tool result:", "Tool Result:",
	"<function_results>", "<function_response>", "<tool_output>", "<|tool_response>", "<start_function_response>", "<｜DSML｜function_results>"}

// turnOpeners are the openers of all marks of a turn's end.
var turnOpeners = func() (list []opener) {
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
			if s.before == "" && s.after == ":" && (word == "Human" || word == "HUMAN") {
				mark = markBlank
			}
			add(mark, k+1, true, s.before+word+s.after)
		}
		for _, word := range s.own {
			add(markReply, k+1, true, s.before+word+s.after)
		}
	}
	for _, literal := range resultMarks {
		add(markResult, 0, true, literal)
	}
	add(markQuery, 0, true, "Question:")
	list = append(list, opener{literal: "<!--", use: useVerbatim, closer: "-->", anywhere: true}) // what stands in a comment is not meant
	return list
}()
