package terminal

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/internal/terminal/vt"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/builtin"
	"wield/tool/edit"
	"wield/tool/runner"
)

// markdownTurns answer with everything that Markdown has.
const markdownTurns = `
  - reply:
      - text: |
          # Title

          Some **bold** and *leaning* words, a ` + "`literal`" +
	`, and [a link](https://example.com). This paragraph is long enough to be broken.

          - one item that is long enough to go on in a second row when the terminal is not very wide
          - another

          > quoted

          ` + "```go" + `
          func main() {}
          ` + "```" + `

          | name | size |
          |---|---|
          | a | 1 |
          | longer | 22 |
`

func TestMarkdownOnScreen(t *testing.T) {
	for _, size := range []struct{ w, h int }{{80, 32}, {60, 32}} {
		for _, color := range []bool{true, false} {
			name := fmt.Sprintf("markdown-%d-color=%v", size.w, color)
			t.Run(name, func(t *testing.T) {
				k := start(t, size.w, size.h, color, options(t, scripted(t, markdownTurns)))
				k.press("show me\r")
				k.idle("longer")
				k.golden(name, color)
				k.quits()
			})
		}
	}
}

// writes are the tools that change files, of which one is allowed to.
func writes(t testing.TB) []*tool.Tool {
	t.Helper()
	var list []*tool.Tool
	for _, one := range builtin.Tools(builtin.Options{}) {
		switch one.Name() {
		case "read_file", "write_file", "edit_file":
			one.State = tool.StateEnabled
			one.Guard = &tool.Guard{Mode: tool.ModeRW}
			list = append(list, one)
		}
	}
	return list
}

const writeTurns = `
  - when: {last: user}
    reply:
      - text: "I write it.\n"
      - call: {name: write_file, args: {path: a.txt, content: "one\ntwo\n"}}
  - when: {last: tool, tool: write_file}
    reply: [{text: "Done or not: ${result}"}]
`

func TestConsent(t *testing.T) {
	tests := []struct {
		name, keys string
		written    bool
		told       string
	}{
		{"yes", "y", true, "bytes_written"},
		{"no", "n", false, "denied"},
		{"reason", "rnot that file\r", false, "not that file"},
		{"skip", "s", false, "skipped by the user"},
		{"enter and esc do nothing", "\r\r \x1b\x1b", false, ""},
		{"always", "ay", true, "bytes_written"},
		{"always, then no", "ann", false, "denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := start(t, 80, 30, false, options(t, scripted(t, writeTurns), writes(t)...))
			k.press("go\r")
			k.waits("y\u00a0yes")
			for _, key := range tt.keys {
				k.press(string(key))
			}
			if tt.told == "" {
				k.waits("Neither Enter nor Esc")
				k.press("\x03")
				k.idle("Stopped.")
			} else {
				k.idle(tt.told)
			}
			_, err := os.Stat(filepath.Join(k.root, "a.txt"))
			if written := err == nil; written != tt.written {
				t.Errorf("written: %v, want %v", written, tt.written)
			}
			k.quits()
		})
	}
}

func TestConsentOnScreen(t *testing.T) {
	for _, w := range []int{80, 60} {
		for _, color := range []bool{true, false} {
			name := fmt.Sprintf("consent-%d-color=%v", w, color)
			t.Run(name, func(t *testing.T) {
				k := start(t, w, 24, color, options(t, scripted(t, writeTurns), writes(t)...))
				k.press("go\r")
				k.waits("y\u00a0yes")
				k.golden(name, color)
				k.press("n")
				k.idle("Done or not")
				k.quits()
			})
		}
	}
}

// TestAnsweredElsewhere answers a question from outside: it is closed here, and the run goes on.
func TestAnsweredElsewhere(t *testing.T) {
	o := options(t, scripted(t, writeTurns), writes(t)...)
	k := start(t, 80, 30, false, o)
	k.press("go\r")
	k.waits("y\u00a0yes")
	for p, err := range (&journal.Approvals{Store: o.Journal}).Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&journal.Approvals{Store: o.Journal}).Decide(t.Context(), p.ID,
			runner.Answer{State: runner.ApprovalApproved, By: "somebody"}); err != nil {
			t.Fatal(err)
		}
	}
	k.idle("approved by somebody")
	k.idle("Done or not") // it has gone on
	if _, err := os.Stat(filepath.Join(k.root, "a.txt")); err != nil {
		t.Error(err)
	}
	k.quits()
}

// endless is a model that writes and never ends by itself.
func endless(ctx context.Context, _ *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if !yield(chat.Event{Kind: chat.KindText, Text: "It begins"}, nil) {
			return
		}
		<-ctx.Done()
		yield(chat.Event{}, ctx.Err())
	}
}

func TestInterrupts(t *testing.T) {
	k := start(t, 80, 24, false, options(t, modelFunc(endless)))
	k.press("go\r")
	k.waits("It begins")
	k.press("draft")
	k.waits("> draft")
	k.press("\x03")
	k.until("an empty input", func(s string) bool { return !strings.Contains(s, "> draft") })
	k.waits("· Ctrl-C stops") // it still runs
	k.press("\x03")
	k.idle("Stopped.")
	k.press("\x03")
	k.waits("again to leave")
	k.press("x\x7f\x03")
	k.waits("again to leave")
	k.press("\x03")
	k.ends()
}

func TestQueuedMessage(t *testing.T) {
	sent := make(chan struct{})
	k := start(t, 80, 24, false,
		options(t, modelFunc(func(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
			text := "The second answer."
			if req.Messages[len(req.Messages)-1].Text() == "go" {
				<-sent
				text = "The first answer."
			}
			return func(yield func(chat.Event, error) bool) {
				_ = yield(chat.Event{Kind: chat.KindText, Text: text}, nil) &&
					yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
			}
		})))
	k.press("go\r")
	k.waits("· Ctrl-C stops")
	k.press("and more\r")
	k.waits("> and more")
	close(sent)
	k.waits("The first answer.")
	k.idle("The second answer.")
	k.quits()
}

// What is typed before a question can be read is no answer, however long it took to find out what it is about.
func TestTypedBeforeTheQuestion(t *testing.T) {
	var now, previews atomic.Int64
	var k *talk
	list := writes(t)
	for _, one := range list {
		if preview := one.Preview; one.Name() == "write_file" {
			one.Preview = func(ctx context.Context, call *tool.Call) ([]edit.Change, error) {
				if previews.Add(1) == 2 { // the first one finds out whether it is worth a question
					k.press("y")
					now.Store(int64(time.Minute))
				}
				return preview(ctx, call)
			}
		}
	}
	o := options(t, scripted(t, writeTurns), list...)
	o.Guard, o.Now = time.Second, func() time.Time { return clock().Add(time.Duration(now.Load())) }
	k = start(t, 80, 30, false, o)
	k.press("go\r")
	k.waits("y\u00a0yes")
	k.press(" ") // it is read when what was typed before has been looked at
	now.Add(int64(time.Second))
	k.press("n")
	k.idle("denied")
	if _, err := os.Stat(filepath.Join(k.root, "a.txt")); err == nil {
		t.Error("the file was written")
	}
	k.quits()
}

// The key Esc is one although the model writes on without a pause.
func TestEscapeWhileItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := start(t, 80, 24, false,
			options(t, modelFunc(func(ctx context.Context, _ *chat.Request) iter.Seq2[chat.Event, error] {
				return func(yield func(chat.Event, error) bool) {
					for ctx.Err() == nil && yield(chat.Event{Kind: chat.KindText, Text: "It goes on.\n"}, nil) {
						time.Sleep(escapeTime / 4)
					}
					yield(chat.Event{}, ctx.Err())
				}
			})))
		k.press("go\r")
		k.waits("It goes on.")
		k.press("\x12")
		k.waits("search ")
		k.press("\x1b")
		k.until("the end of the search", func(s string) bool { return !strings.Contains(s, "search ") })
		k.press("\x03")
		k.idle("Stopped.")
		k.quits()
	})
}

func TestFailure(t *testing.T) {
	k := start(t, 80, 24, false,
		options(t, modelFunc(func(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
			return chat.Fail(chat.Errorf(chat.ErrContextLength, "too long by far"))
		})))
	k.press("go\r")
	k.idle("/compact makes it shorter")
	k.quits()
}

// TestRetry_DR06: while a failed request waits to be made again, the screen says so.
func TestRetry_DR06(t *testing.T) {
	again := make(chan struct{})
	failed := chat.Errorf(chat.ErrOverloaded, "the server is busy")
	k := start(t, 80, 24, false,
		options(t, modelFunc(func(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
			return func(yield func(chat.Event, error) bool) {
				retry := &chat.RetryDetail{Error: failed, At: clock().Add(30 * time.Second), Attempt: 2, Of: 2}
				if !yield(chat.Event{Kind: chat.KindIdle, Detail: retry}, nil) {
					return
				}
				<-again
				_ = yield(chat.Event{Kind: chat.KindText, Text: "Here I am."}, nil) &&
					yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
			}
		})))
	k.press("go\r")
	k.waits("the server is busy: trying again in 30s (attempt 2 of 2)")
	k.waits("Trying again in 30 s...")
	close(again)
	k.idle("Here I am.")
	k.quits()
}

// TestHarmless lets a model write what would act on the terminal.
func TestHarmless(t *testing.T) {
	turns := `
  - reply: [{text: "before \x1b]52;c;aGk=\x07 \x1b[2J \u202egnp\u202c \x9b31m after\r\noverwritten?\rX\n"}]
`
	k := start(t, 80, 24, true, options(t, scripted(t, turns)))
	k.press("go\r")
	k.idle("overwritten?")
	for _, want := range []string{`\x1b]52;c;aGk=\x07`, `\x1b[2J`, `\u{202e}gnp\u{202c}`, `\u{9b}31m after`,
		`overwritten?\x0dX`} {
		k.waits(want)
	}
	k.quits()
}

func TestPlain(t *testing.T) {
	o := options(t, scripted(t, writeTurns), writes(t)...)
	for _, tt := range []struct{ name, input, want string }{
		{"yes", "go\ny\n", "approved"},
		{"no", "go\nmaybe\n\nn\n", "denied"},
		{"a reason", "go\nr not now\n", "denied: not now"},
		{"no answer", "go\n", "nobody to ask"},
		{"command", "/nothing\n", "There is no command /nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			o := o
			o.TTY = TTY{In: strings.NewReader(tt.input), Out: &out, Plain: true}
			if err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("got %q, want %q in it", out.String(), tt.want)
			}
		})
	}
}

func TestPaste(t *testing.T) {
	var got string
	m := modelFunc(func(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
		got = req.Messages[len(req.Messages)-1].Text()
		return func(yield func(chat.Event, error) bool) {
			_ = yield(chat.Event{Kind: chat.KindText, Text: "Read."}, nil) &&
				yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
		}
	})
	k := start(t, 80, 24, false, options(t, m))
	line := strings.Repeat("x", 99) + "\r"
	text := strings.Repeat(line, 1<<20/len(line)+1)
	k.press("look: \x1b[200~" + text + "\x1b[201~ thanks")
	k.waits("[pasted: 10486 lines, 1.0 MiB]")
	k.press("\r")
	k.idle("Read.")
	if want := "look: " + strings.ReplaceAll(text, "\r", "\n") + " thanks"; got != want {
		t.Errorf("the model got %d bytes, want %d", len(got), len(want))
	}
	k.quits()
}

// TestEverythingArrives streams many lines as fast as they can be taken.
func TestEverythingArrives(t *testing.T) {
	const lines = 10_000
	m := modelFunc(func(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
		return func(yield func(chat.Event, error) bool) {
			for i := range lines {
				for _, part := range []string{"line ", fmt.Sprint(i), " with *signs* and `code", "` in it\n"} {
					if !yield(chat.Event{Kind: chat.KindText, Text: part}, nil) {
						return
					}
				}
			}
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
		}
	})
	k := start(t, 80, 24, true, options(t, m))
	k.press("go\r")
	k.idle(fmt.Sprintf("line %d with", lines-1))
	next := 0
	for _, l := range k.vt.Lines() {
		if strings.HasPrefix(l, "line ") {
			if want := fmt.Sprintf("line %d with signs and code in it", next); l != want {
				t.Fatalf("got %q, want %q", l, want)
			}
			next++
		}
	}
	if next != lines {
		t.Errorf("%d lines, want %d", next, lines)
	}
	k.quits()
}

func TestWhy(t *testing.T) {
	k := start(t, 80, 40, false, options(t, scripted(t, writeTurns), writes(t)...))
	k.press("go\r")
	k.waits("y\u00a0yes")
	k.press("y")
	k.idle("Done or not")
	k.press("/why\r")
	k.waits("write_file was read from bytes")
	k.waits("asked about by")
	k.press("/raw\r")
	k.waits("── answer 2 of 2")
	k.quits()
}

func TestCommands(t *testing.T) {
	k := start(t, 80, 60, false, options(t, scripted(t, `
  - {reply: [{text: "An answer."}]}
`), writes(t)...))
	for _, tt := range []struct{ keys, want string }{
		{"/whi\r", "There is no command /whi; did you mean /why?"},
		{"\x15/why\r", "There is no answer yet."},
		{"/help\r", "quit; the conversation is kept"},
		{"/model\r", "* test"},
		{"/model nowhere\r", "there is no model nowhere"},
		{"/model other\r", "Now using other"},
		{"/dialect hermes\r", "dialect hermes"},
		{"/tools\r", "write_file enabled, may change things"},
		{"/tools write_file off\r", "write_file is off"},
		{"hello\r", "An answer."},
		{"/cost\r", "The server reports no token counts"},
		{"/approvals\r", "No approvals are pending."},
		{"/title A better title\r", "A better title"},
		{"/diff\r", "There is no approved change to show."},
		{"/undo\r", "There is nothing to undo here."},
		{"/resume\r", "There are no others."},
		{"/compact\r", "The journal keeps all of it."},
		{"/save " + filepath.Join(t.TempDir(), "out.md") + "\r", "messages are in"},
	} {
		k.press(tt.keys)
		k.idle(tt.want)
	}
	k.press("/quit\r")
	k.ends()
}

// TestHelpFits checks that the whole help is on the screen at once, with the command above it and the input below.
func TestHelpFits(t *testing.T) {
	k := start(t, 80, 30, false, options(t, scripted(t, "  - {reply: [{text: \"An answer.\"}]}\n"), writes(t)...))
	k.press("/help\r")
	k.idle("attach a text file")
	screen := k.vt.Screen(false, false)
	for _, c := range Commands() {
		if !strings.Contains(screen, c.Name+" ") || !strings.Contains(screen, c.What) {
			t.Errorf("%s cannot be seen, or its line is too long", c.Name)
		}
	}
	for _, key := range Keys() {
		if !strings.Contains(screen, key.Keys) || !strings.Contains(screen, key.What) {
			t.Errorf("%s cannot be seen, or its line is too long", key.Keys)
		}
	}
	k.quits()
}

// TestComplete presses Tab behind the beginning of a command or of its argument.
func TestComplete(t *testing.T) {
	k := start(t, 80, 30, false, options(t, scripted(t, "  - {reply: [{text: \"An answer.\"}]}\n"), writes(t)...))
	for _, tt := range []struct{ typed, want string }{
		{"/to", "/tools"},
		{"/tools wr", "/tools write_file"},
		{"/tools write_file of", "/tools write_file off"},
		{"/tools write_file o", "on  off"},
		{"/tools nothing", "Nothing begins with nothing"},
		{"/model o", "/model other"},
		{"/dialect her", "/dialect hermes"},
		{"/dialect ", "auto  hermes  json-fence"},
		{"/undo l", "/undo last"},
	} {
		k.press(tt.typed + "\t")
		k.waits(tt.want)
		k.press("\x15")
		k.until("the empty input", func(s string) bool { return !strings.Contains(s, tt.typed) })
	}
	k.quits()
}

func TestResume(t *testing.T) {
	o := options(t, scripted(t, `
  - {when: {user_contains: second}, reply: [{text: "The second one."}]}
  - {reply: [{text: "The first one."}]}
`))
	k := start(t, 80, 24, false, o)
	k.press("first\r")
	k.idle("The first one.")
	k.quits()
	var id string
	for s, err := range journal.Sessions(t.Context(), o.Journal, 0) {
		if err != nil {
			t.Fatal(err)
		}
		id = s.ID
	}
	k = start(t, 80, 24, false, o)
	k.press("/resume " + id[:8] + "\r")
	k.idle("The first one.")
	k.press("second\r")
	k.idle("The second one.")
	k.quits()
	if messages := recorded(t, o, id); len(messages) != 4 {
		t.Errorf("%d messages, want 4", len(messages))
	}
}

func TestMentions(t *testing.T) {
	o := options(t, modelFunc(endless))
	for name, text := range map[string]string{"a.txt": "alpha\n", "p.png": "\x89PNG\r\n\x1a\n",
		"big.txt": strings.Repeat("x", maxMention+1), "bin": "\x00\x01"} {
		if err := os.WriteFile(filepath.Join(o.Root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := begin(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text    string
		parts   int
		missing string
		problem string
	}{
		{"look at @a.txt.", 2, "", ""},
		{"@a.txt, @p.png and @a.txt", 3, "", ""},
		{"mail@example.com and @nobody", 1, "", ""},
		{"@a.txt and @b.txt, please.", 2, "b.txt", ""},
		{"@dir/none.", 1, "dir/none.", ""},
		{"as @ann said", 1, "", ""},
		{"@big.txt", 0, "", "360.0 KiB is the most"},
		{"@bin", 0, "", "neither text nor a picture"},
		{"@../outside", 0, "", "outside"},
	} {
		parts, missing, problems := c.parts(tt.text)
		if got := strings.Join(missing, " "); got != tt.missing {
			t.Errorf("%s: %q are missing, want %q", tt.text, got, tt.missing)
		}
		if tt.problem != "" {
			if len(problems) != 1 || !strings.Contains(problems[0], tt.problem) {
				t.Errorf("%s: %v, want %s", tt.text, problems, tt.problem)
			}
		} else if len(parts) != tt.parts || len(problems) > 0 {
			t.Errorf("%s: %d parts, %v", tt.text, len(parts), problems)
		}
	}
}

// A file that is mentioned and is not there is told before the message is sent; the message stays to be changed. Sent
// once more, it goes.
func TestMissingMention(t *testing.T) {
	turns := `
  - when: {user_contains: nots.txt}
    reply: [{text: "Sent as it is."}]
  - reply: [{text: "Got the file."}]
`
	o := options(t, scripted(t, turns))
	if err := os.WriteFile(filepath.Join(o.Root, "notes.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := start(t, 80, 24, false, o)
	k.press("what is in @nots.txt\r")
	k.waits("There is no file nots.txt. Enter sends the message as it is.")
	k.waits("> what is in @nots.txt")
	k.press("\x15what is in @notes.txt\r")
	k.idle("Got the file.")
	k.press("what is in @nots.txt\r")
	k.waits("There is no file nots.txt")
	k.press("\r")
	k.idle("Sent as it is.")
	k.quits()
}

// A message that is sent while something runs is in the journal at once, and stays in the conversation when that is
// stopped.
func TestQueuedMessageIsKept(t *testing.T) {
	o := options(t, modelFunc(endless))
	k := start(t, 80, 24, false, o)
	k.press("go\r")
	k.waits("It begins")
	k.press("and more\r")
	k.waits("> and more")
	var sent []string
	var session string
	for e, err := range o.Journal.Read(t.Context(), journal.Query{Kinds: []record.Kind{record.KindSent}}) {
		if err != nil {
			t.Fatal(err)
		}
		sent, session = append(sent, e.Record.Sent.Message.Text()), e.Session
	}
	if len(sent) != 1 || sent[0] != "and more" {
		t.Errorf("the journal has %q", sent)
	}
	k.press("\x03")
	k.idle("Stopped.")
	messages := recorded(t, o, session)
	if last := messages[len(messages)-1].Text(); last != "and more" {
		t.Errorf("the conversation ends with %q", last)
	}
	k.quits()
}

func TestBill(t *testing.T) {
	used := func(in, out int) chat.Usage { return chat.Usage{Known: true, In: in, Out: out, Requests: 1} }
	var b bill
	b.add("dear", used(1000, 10), 2, true)
	b.add("cheap", used(500, 5), 0.5, true)
	b.add("silent", chat.Usage{}, 0, false)
	b.add("dear", used(1000, 10), 2, true)
	if sum, unknown := b.paid(); sum != 4.5 || len(unknown) > 0 {
		t.Errorf("paid %v, unknown %q", sum, unknown)
	}
	b.add("free", used(1, 1), 0, false)
	if sum, unknown := b.paid(); sum != 4.5 || len(unknown) != 1 || unknown[0] != "free" || b.usage.In != 2501 {
		t.Errorf("paid %v, unknown %q, used %+v", sum, unknown, b.usage)
	}
}

// Of a long message the beginning is printed again, whether it has many lines or a very long one.
func TestLongMessage(t *testing.T) {
	for _, tt := range []struct {
		name, text, seen string
		rows             int
	}{
		{"many lines", strings.Repeat("line\n", 100), "… 60 more lines", maxShown + 1},
		{"just as many as are shown", strings.TrimSuffix(strings.Repeat("line\n", maxShown), "\n"), "> line", maxShown},
		{"one line", strings.Repeat("word ", 200_000), "… 976.6 KiB in all", maxShown + 1},
		// by bytes, behind a row of its own for the sign
		{"one word", strings.Repeat("é", 500_000), "… 976.6 KiB in all", maxShown/2 + 3},
		{"a long line behind others", "one\ntwo\n" + strings.Repeat("x", 10_000), "… 9.8 KiB in all", maxShown + 1},
		{"nothing", "", "> ", 1},
	} {
		c, err := begin(options(t, modelFunc(endless)))
		if err != nil {
			t.Fatal(err)
		}
		screen := vt.New(80, 24)
		c.screen.w = screen
		c.printUser(tt.text)
		c.screen.paint(tail{})
		lines := strings.Split(strings.TrimRight(strings.Join(screen.Lines(), "\n"), "\n "), "\n")
		if !strings.Contains(strings.Join(lines, "\n"), strings.TrimSpace(tt.seen)) || len(lines) != tt.rows {
			t.Errorf("%s: %d rows, want %d with %q:\n%s", tt.name, len(lines), tt.rows, tt.seen,
				strings.Join(lines, "\n"))
		}
	}
}
