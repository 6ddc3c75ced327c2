package dialect_test

import (
	"strconv"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// inventedStyles are ways to write who speaks that no table has; N stands for the number of the turn.
var inventedStyles = []struct{ before, after string }{
	{"", " - "}, {"", " – "}, {"=== ", " ===\n"}, {"--- ", " ---\n"}, {"*** ", " ***\n"}, {"N. ", ": "}, {"N) ", ": "},
	{"> ", ": "}, {"• ", ": "}, {"", " >> "}, {">>> ", ": "}, {"", " => "}, {"", " | "}, {"| ", " | "}, {"<", ">\n"},
	{"(", ") "}, {"{", "}: "}, {"@", " "}, {"<<", ">>\n"}, {"[[", "]]\n"}, {"【", "】\n"}, {"`", "`: "},
	{"", " message: "}, {"", " turn:\n"}, {"Role: ", "\n"}, {"Turn N - ", ": "}, {"[12:0N] ", ": "},
	{"<turn role=\"", "\">"}, {"{\"role\": \"", "\", \"content\": \""}, {"From: ", "\n"}, {"", "\n------\n"},
	{"", "\n"},
}

// TestInventedStyles lets a model go on with the turns of others in styles that no table has: behind a question, behind
// a call, with a consent that it did not ask for, with a call right behind its own name, and with words before that. No
// call comes out of them.
func TestInventedStyles(t *testing.T) {
	o := dialect.Options{Tools: propertyTools}
	forms := formCalls(t)
	n := 0
	for k, style := range inventedStyles {
		for j, name := range []string{"hermes", "json-fence", "pythonic", "qwen3-coder", "react", "yaml-style"} {
			parties := [][2]string{{"User", "Assistant"}, {"USER", "ASSISTANT"}, {"human", "AI"},
				{"Customer", "Agent"}}[(k+j)%4]
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
				if got, over := tally(readIn(t, o, text, turnSizes[n%len(turnSizes)])); got != c.calls ||
					over != nil && over.Detail.(*chat.OverrunDetail).Hard {
					t.Errorf("%q in chunks of %d: %d calls, want %d; %v", text, turnSizes[n%len(turnSizes)], got,
						c.calls, over)
				}
			}
		}
	}
	t.Logf("%d texts", n)
}

// TestShownConversationEnds shows a conversation with questions and a consent in it, in styles that a table has and
// others: the call behind it is meant. Where the model then asks for itself, a turn behind that is invented, in the
// same style and in another one.
func TestShownConversationEnds(t *testing.T) {
	const call = `<tool_call>{"name":"find","arguments":{"q":"x"}}</tool_call>`
	o := dialect.Options{Tools: propertyTools}
	inTable := []struct{ before, after string }{{"", ": "}, {"- ", ": "}, {"**", ":** "}, {"## ", "\n"},
		{"### ", "\n\n"}, {"[", "] "}}
	styles := append(append(inTable, inventedStyles...), struct{ before, after string }{"", "\r\n"})
	chat := func(k int, parties [2]string, said ...string) (text string) {
		style := styles[k%len(styles)]
		for n, line := range said {
			name := style.before + parties[n%2] + style.after
			text += strings.ReplaceAll(name, "N", strconv.Itoa(n+1)) + line + []string{"\n", "\n\n"}[k%2]
		}
		return strings.TrimRight(text, "\n") + "\n\n"
	}
	long := strings.Repeat("the old ones, ", 20)
	n := 0
	for k := range styles {
		for _, parties := range [][2]string{{"User", "Assistant"}, {"User", "Bot"}, {"Human", "AI"}} {
			for _, said := range [][]string{{"go", "Shall I?", "yes", "OK"}, {long, "those", "all of them", "these"}} {
				n++
				size := turnSizes[n%len(turnSizes)]
				text := []string{"A chat:\n\n", "They wrote it so:\n"}[n%2] + chat(k, parties, said...)
				seen := len(text) < 256 || k < len(inTable) // what leads to it is known of
				if got, over := tally(readIn(t, o, text+call, size)); seen && (got != 1 || over != nil) {
					t.Errorf("%q in chunks of %d: %d calls, %v", text, size, got, over)
				}
				if k < len(inTable) {
					invented := chat(k, parties, "yes", "OK, "+long)
					if got, _ := tally(readIn(t, o, text+"Delete it?\n\n"+invented+call, size)); got != 0 {
						t.Errorf("%q in chunks of %d: %d calls behind a long answer", text+invented, size, got)
					}
					if got, _ := tally(readIn(t, o, text+"They are old.\n\n@User: yes\n@Bot: OK\n"+call,
						size)); got != 0 {
						t.Errorf("%q in chunks of %d: %d calls in another style", text, size, got)
					}
				}
				text += "Delete it?\n\n"
				for _, other := range []int{k, k + 1, k + 2} {
					invented := chat(other, parties, "yes", "OK")
					if got, over := tally(readIn(t, o, text+invented+call, size)); got != 0 || over == nil ||
						seen && over.At != len(text) {
						t.Errorf("%q in chunks of %d: %d calls, %v", text+invented, size, got, over)
					}
				}
			}
		}
	}
	t.Logf("%d texts", 4*n)
}

// TestNothingInvented reads calls behind texts with names of parties that are no turns.
func TestNothingInvented(t *testing.T) {
	const call = `<tool_call>{"name":"find","arguments":{"q":"x"}}</tool_call>`
	for _, text := range []string{
		"A short play.\n\nUser: Is it open?\nAssistant: Until six.\nUser: Fine.\n\nI look.\n",
		"User - who asks\nAssistant - who answers\n\n", "1. User: signs in\n2. System: checks it\n3. User: sees it\n\n",
		"User: ann\nRole: admin\nAssistant: none\n", "=== User settings ===\na\n=== Agent settings ===\nb\n\n",
		"```\nUser - yes\nAssistant - ok\n```\n", "    User - yes\n    Assistant - ok\n",
		"One possible dialogue follows.\n\n**Human:** What is love?\n**AI:** A chemical reaction.\n\n",
		"# Support script\n\nUser: It does not start.\n\nAssistant: Is the cable in?\n\n",
		"user = app\npassword = secret\nassistant = none\n", "USER\nasks\nASSISTANT\nanswers\n\n",
		"user_prompt: What is it?\nassistant_prompt: Nothing.\n",
		"User (n.): one who uses.\nAssistant (n.): one who assists.\n",
		"It looks like this:\n\n=== User ===\nyes\n=== Assistant ===\nok\n\n",
		"Ask the user - yes, the user - before the assistant - the model - acts.\n",
		"| Role | Task |\n|---|---|\n| User | asks |\n| Assistant | answers |\n\n",
	} {
		for _, size := range turnSizes {
			if got, over := tally(readIn(t, dialect.Options{Tools: propertyTools}, text+call, size)); got != 1 ||
				over != nil {
				t.Errorf("%q in chunks of %d: %d calls, %v", text, size, got, over)
			}
		}
	}
}
