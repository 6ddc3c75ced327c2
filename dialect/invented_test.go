package dialect_test

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// inventedStyles are ways to write who speaks that no table has; N stands for the number of the turn.
var inventedStyles = []struct{ before, after string }{
	{"", " - "}, {"", " – "}, {"=== ", " ===\n"}, {"--- ", " ---\n"}, {"*** ", " ***\n"}, {"N. ", ": "}, {"N) ", ": "}, {"> ", ": "}, {"• ", ": "}, {"", " >> "}, {">>> ", ": "},
	{"", " => "}, {"", " | "}, {"| ", " | "}, {"<", ">\n"}, {"(", ") "}, {"{", "}: "}, {"@", " "}, {"<<", ">>\n"}, {"[[", "]]\n"}, {"【", "】\n"}, {"`", "`: "}, {"", " message: "}, {"", " turn:\n"},
	{"Role: ", "\n"}, {"Turn N - ", ": "}, {"[12:0N] ", ": "}, {"<turn role=\"", "\">"}, {"{\"role\": \"", "\", \"content\": \""}, {"From: ", "\n"}, {"", "\n------\n"}, {"", "\n"},
}

// TestInventedStyles lets a model go on with the turns of others in styles that no table has: behind a question, behind a call, with a consent that it did
// not ask for, with a call right behind its own name, and with words before that. No call comes out of them.
func TestInventedStyles(t *testing.T) {
	o := dialect.Options{Tools: propertyTools}
	forms := formCalls(t)
	n := 0
	for k, style := range inventedStyles {
		for j, name := range []string{"hermes", "json-fence", "pythonic", "qwen3-coder", "react", "yaml-style"} {
			parties := [][2]string{{"User", "Assistant"}, {"USER", "ASSISTANT"}, {"human", "AI"}, {"Customer", "Agent"}}[(k+j)%4]
			name1 := strings.ReplaceAll(style.before, "N", "1") + parties[0] + strings.ReplaceAll(style.after, "N", "1")
			name2 := strings.ReplaceAll(style.before, "N", "2") + parties[1] + strings.ReplaceAll(style.after, "N", "2")
			for _, c := range []struct {
				before, said, answer string
				calls                int
			}{
				{"They are old. Shall I delete them?\n", "all of them", "I delete them.\n\n", 0},
				{"I found three.\n\n", "yes, delete them", "Fine, here it is.\n\n", 0},
				{forms[name] + "\n", "and then?", "I go on.\n\n", 1},
				{"I found three.\n", "what is in them?", "", 0},
				{"- a.txt\n- b.txt\n\n", "what is in them?", "Sure.\n\nHere is the call.\n", 0},
				{"", "use the other path", "Let me look at that\n", 0},
			} {
				n++
				text := c.before + name1 + c.said + "\n" + name2 + c.answer + forms[name]
				if got, over := tally(readIn(t, o, text, turnSizes[n%len(turnSizes)])); got != c.calls || over != nil && over.Detail.(*chat.OverrunDetail).Hard {
					t.Errorf("%q in chunks of %d: %d calls, want %d; %v", text, turnSizes[n%len(turnSizes)], got, c.calls, over)
				}
			}
		}
	}
	t.Logf("%d texts", n)
}

// TestNothingInvented reads calls behind texts with names of parties that are no turns.
func TestNothingInvented(t *testing.T) {
	const call = `<tool_call>{"name":"find","arguments":{"q":"x"}}</tool_call>`
	for _, text := range []string{
		"A short play.\n\nUser: Is it open?\nAssistant: Until six.\nUser: Fine.\n\nI look.\n", "User - who asks\nAssistant - who answers\n\n", "1. User: signs in\n2. System: checks it\n3. User: sees it\n\n",
		"User: ann\nRole: admin\nAssistant: none\n", "=== User settings ===\na\n=== Agent settings ===\nb\n\n", "```\nUser - yes\nAssistant - ok\n```\n", "    User - yes\n    Assistant - ok\n",
		"One possible dialogue follows.\n\n**Human:** What is love?\n**AI:** A chemical reaction.\n\n", "# Support script\n\nUser: It does not start.\n\nAssistant: Is the cable in?\n\n",
		"user = app\npassword = secret\nassistant = none\n", "USER\nasks\nASSISTANT\nanswers\n\n", "user_prompt: What is it?\nassistant_prompt: Nothing.\n", "User (n.): one who uses.\nAssistant (n.): one who assists.\n",
		"It looks like this:\n\n=== User ===\nyes\n=== Assistant ===\nok\n\n", "Ask the user - yes, the user - before the assistant - the model - acts.\n", "| Role | Task |\n|---|---|\n| User | asks |\n| Assistant | answers |\n\n",
	} {
		for _, size := range turnSizes {
			if got, over := tally(readIn(t, dialect.Options{Tools: propertyTools}, text+call, size)); got != 1 || over != nil {
				t.Errorf("%q in chunks of %d: %d calls, %v", text, size, got, over)
			}
		}
	}
}
