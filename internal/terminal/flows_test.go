package terminal

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"

	"wield/chat"
	"wield/journal"
	"wield/tool"
)

// A flow is something that people do, and what they see at its end.
type flow struct {
	name  string
	model func(t testing.TB) chat.Model
	tools func(t testing.TB) []*tool.Tool
	steps []step
	left  []step // what ends it behind the picture
}

// A step is some input, and what the screen must show after it.
type step struct{ keys, seen string }

const asks = "y\u00a0yes"

// shell is a tool that says that it ran a command.
func shell(testing.TB) []*tool.Tool {
	t := tool.Func("bash", "Runs a command.", func(_ context.Context, args struct {
		Command string `json:"command"`
	}) (string, error) {
		return "ran " + args.Command, nil
	})
	return []*tool.Tool{t}
}

func turns(text string) func(t testing.TB) chat.Model {
	return func(t testing.TB) chat.Model { return scripted(t, text) }
}

const commandTurns = `
  - when: {last: user}
    reply:
      - text: "I look how full the disk is.\n"
      - call: {name: bash, args: {command: "df -h | sort -k5 -rn | head -n 20 # a command that is too long for one row of the terminal"}}
  - when: {last: tool}
    reply: [{text: "It is **half** full."}]
`

// thinking is a model that thinks before it answers.
func thinking(testing.TB) chat.Model {
	return modelFunc(func(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
		return func(yield func(chat.Event, error) bool) {
			_ = yield(chat.Event{Kind: chat.KindReasoning, Text: "The person asks for a sum.\nSeven and five "}, nil) &&
				yield(chat.Event{Kind: chat.KindReasoning, Text: "make twelve."}, nil) &&
				yield(chat.Event{Kind: chat.KindText, Text: "It is **12**."}, nil) &&
				yield(chat.Event{Kind: chat.KindUsage,
					Detail: &chat.Usage{Known: true, In: 1200, Cached: 1000, Out: 30, Requests: 1}}, nil) &&
				yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
		}
	})
}

// flows are the pictures, beside those of Markdown and of a change that is asked about.
var flows = []flow{
	{name: "reasoning", model: thinking, steps: []step{{"What is 7 + 5?\r", "It is"}, {"/cost\r", "1200 tokens read"},
		{"/raw\r", "make twelve"}}},
	{name: "command", model: turns(commandTurns), tools: shell, steps: []step{{"How full is the disk?\r", asks}},
		left: []step{{"n", "half"}}},
	{name: "command-allowed", model: turns(commandTurns), tools: shell,
		steps: []step{{"How full is the disk?\r", asks}, {"y", "half"}}},
	{name: "declined", model: turns(commandTurns), tools: shell,
		steps: []step{{"How full is the disk?\r", asks}, {"r", "why not?"}, {"look with du\r", "half"}}},
	{name: "question-stopped", model: turns(commandTurns), tools: shell,
		steps: []step{{"How full is the disk?\r", asks}, {"q", "Stopped."}}},
	{name: "always", model: turns(writeTurns), tools: writes, steps: []step{{"go\r", asks}, {"a", "Keep this rule"}},
		left: []step{{"y", "Done or not"}}},
	{name: "stopped", model: func(testing.TB) chat.Model { return modelFunc(endless) },
		steps: []step{{"go\r", "It begins"}, {"\x03", "Stopped."}}},
	{name: "why", model: turns(commandTurns), tools: shell,
		steps: []step{{"How full is the disk?\r", asks}, {"n", "half"}, {"/why\r", "denied by test"}}},
	{name: "hints", model: turns(commandTurns), steps: []step{{"/tool\r", "did you mean"}},
		left: []step{{"\x15", "context"}}},
}

func TestFlows(t *testing.T) {
	for _, f := range flows {
		for _, w := range []int{80, 60} {
			for _, color := range []bool{true, false} {
				name := fmt.Sprintf("%s-%d-color=%v", f.name, w, color)
				t.Run(name, func(t *testing.T) {
					var list []*tool.Tool
					if f.tools != nil {
						list = f.tools(t)
					}
					k := start(t, w, 44, color, options(t, f.model(t), list...))
					k.follow(f.steps)
					k.golden(name, color)
					k.follow(f.left)
					k.quits()
				})
			}
		}
	}
}

// follow does what the steps say.
func (k *talk) follow(steps []step) {
	k.t.Helper()
	for _, s := range steps {
		k.press(s.keys)
		switch s.seen {
		case asks, "why not?", "did you mean", "Keep this rule", "It begins":
			k.waits(s.seen)
		default:
			k.idle(s.seen)
		}
	}
}

// TestConversationsOnScreen shows questions that wait and a conversation that goes on, in the words of a second
// terminal.
func TestConversationsOnScreen(t *testing.T) {
	for _, w := range []int{80, 60} {
		for _, color := range []bool{true, false} {
			name := fmt.Sprintf("resume-%d-color=%v", w, color)
			t.Run(name, func(t *testing.T) {
				o := options(t, scripted(t, writeTurns), writes(t)...)
				one := start(t, w, 30, color, o)
				one.press("Write something, please.\r")
				one.waits(asks)
				two := start(t, w, 44, color, o)
				two.press("/approvals\r")
				two.waits("asked 2")
				two.press("/resume\r")
				two.waits("ses_")
				one.press("n")
				one.idle("Done or not")
				one.quits()
				for s, err := range journal.Sessions(t.Context(), o.Journal, 0) {
					if err != nil {
						t.Fatal(err)
					}
					two.press("/resume " + s.ID[:12] + "\r")
				}
				two.idle("Done or not")
				two.golden(name, color)
				two.quits()
			})
		}
	}
}

// changing are parts of a screen that are different every time.
var changing = []struct {
	is   *regexp.Regexp
	then string
}{
	{regexp.MustCompile(`\b(ses|run|apr|app|qst)_[0-9a-f]{24}`), "${1}_0123456789abcdef01234567"},
	{regexp.MustCompile(`\b(ses|run|apr|app|qst)_[0-9a-f]{9}`), "${1}_012345678"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`), "2026-01-02"},
	{regexp.MustCompile(`\b\d\d:\d\d\b`), "03:04"}, // which may stand in a row of its own
}

// TestCompactGoesOn sums a conversation up, and finds the summary again in another process.
func TestCompactGoesOn(t *testing.T) {
	long := strings.Repeat("All that can be said about it. ", 200)
	o := options(t, scripted(t, `
  - {when: {user_contains: Write a summary}, reply: [{text: "They talked about much."}]}
  - {when: {user_contains: They talked about much}, reply: [{text: "I know the summary."}]}
  - {reply: [{text: "`+long+`"}]}
`))
	k := start(t, 80, 24, false, o)
	k.press("first\r")
	k.idle("context ~1.6k tokens")
	k.press("/compact\r")
	k.idle("The journal keeps")
	k.waits("They talked about much.")
	k.waits("test · context ~")
	k.until("a smaller meter", func(s string) bool {
		return !strings.Contains(s[strings.LastIndex(s, "test · context"):], "1.6k")
	})
	k.press("/compact\r")
	k.idle("nothing to sum up yet")
	k.press("second\r")
	k.idle("I know the summary.")
	k.quits()

	var last journal.Session
	for s, err := range journal.Sessions(t.Context(), o.Journal, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = s
	}
	if messages := recorded(t, o, last.ID); len(messages) != 4 || messages[1].Text() != long {
		t.Errorf("%d messages are kept, want 4", len(messages))
	}
	k = start(t, 80, 24, false, o)
	k.press("/resume " + last.ID + "\r")
	k.until("a small meter", func(s string) bool {
		i := strings.LastIndex(s, "test · context ~")
		return strings.Contains(s, "I know the summary.") && !strings.Contains(s[i:], "k tokens")
	})
	k.quits()
}

// TestCompactStopped stops a summary that is being written: nothing has changed.
func TestCompactStopped(t *testing.T) {
	o := options(t, modelFunc(func(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
		if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text(), "Write a summary") {
			return endless(ctx, req)
		}
		return thinking(t).Stream(ctx, req)
	}))
	k := start(t, 80, 24, false, o)
	k.press("What is 7 + 5?\r")
	k.idle("It is **12**.")
	k.press("/compact\r")
	k.waits("Summing up...")
	k.press("more\r")
	k.waits("being summed up")
	k.press("\x03\x03")
	k.idle("Stopped. Nothing was changed.")
	k.quits()
}
