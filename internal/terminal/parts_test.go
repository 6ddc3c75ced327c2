package terminal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/tool"
	"wield/tool/builtin"
	"wield/tool/builtin/local"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/undo"
)

// blocks are the tools for blocks, of which all may be used, and one that writes files as a whole.
func blocks(t testing.TB, log *undo.Log) []*tool.Tool {
	t.Helper()
	list := local.Options{Undo: log}.Tools()
	for _, one := range builtin.Tools(builtin.Options{Undo: log}) {
		if one.Name() == "write_file" {
			list = append(list, one)
		}
	}
	for _, one := range list {
		one.State = tool.StateEnabled
		if one.Guard != nil {
			one.Guard = &tool.Guard{Mode: tool.ModeRW}
		}
	}
	return list
}

// partTurns is an edit of three groups, and one of two files.
const partTurns = `
  - when: {last: user, user_contains: groups}
    reply:
      - call: {name: edit, args: {path: a.txt, edits: "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nthree\n=======\n3\n>>>>>>> REPLACE\n"}}
  - when: {last: user, user_contains: patch}
    reply:
      - call: {name: edit, args: {edits: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: b.txt\n+new\n*** End Patch\n"}}
  - when: {last: user, user_contains: whole}
    reply:
      - call: {name: write_file, args: {path: c.txt, content: "see\n"}}
  - when: {last: tool}
    reply: [{text: "The model was told: ${result}"}]
`

func TestGroupByGroup(t *testing.T) {
	const before = "one\ntwo\nthree\n"
	tests := []struct {
		name, ask string
		keys      []string
		want      string // of a.txt
		told      []string
	}{
		{"all", "groups", []string{"g", "y", "y", "y"}, "1\n2\n3\n", []string{"Edit applied successfully to: a.txt"}},
		{"none", "groups", []string{"g", "n", "n", "n"}, before,
			[]string{"the user refused part 1 of 3 (a.txt, on line 1 of your text); part 2 of 3"}},
		{"one left out", "groups", []string{"g", "y", "n", "y"}, "1\ntwo\n3\n",
			[]string{
				"The user refused part 2 of 3 (a.txt, on line 6 of your text). The rest of the call was carried out.",
				"Edit applied successfully to: a.txt"}},
		{"with a reason", "groups", []string{"g", "r", "not that line\r", "y", "y"}, "one\n2\n3\n",
			[]string{"part 1 of 3 (a.txt, on line 1 of your text): not that line"}},
		{"enter is no answer", "groups", []string{"g", "\r", " ", "y", "n", "n"}, "1\ntwo\nthree\n",
			[]string{"part 2 of 3"}},
		{"back to the whole", "groups", []string{"g", "y", "n", "\x1b", "y"}, "1\n2\n3\n",
			[]string{"Edit applied successfully"}},
		{"back from the reason", "groups", []string{"g", "r", "\x1b", "y", "y", "y"}, "1\n2\n3\n",
			[]string{"Edit applied successfully"}},
		{"a file of a patch", "patch", []string{"g", "y", "n"}, "1\ntwo\nthree\n", []string{"part 2 of 2 (b.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, scripted(t, partTurns), blocks(t, nil)...)
			if err := os.WriteFile(filepath.Join(o.Root, "a.txt"), []byte(before), 0o644); err != nil {
				t.Fatal(err)
			}
			k := start(t, 120, 60, false, o)
			k.press(tt.ask + "\r")
			k.waits("g\u00a0group")
			for n, key := range tt.keys {
				k.press(key)
				if key == "r" {
					k.waits("why not?")
				}
				if key == "\x1b" { // alone, it is a key of its own
					k.until("what it goes back to", func(s string) bool {
						return !strings.Contains(s, "why not?") &&
							(n > 0 && tt.keys[n-1] == "r" || strings.Contains(s, "y\u00a0yes"))
					})
				}
			}
			k.idle("The model was told:")
			screen := strings.Join(strings.Fields(k.vt.Screen(false, true)), " ")
			for _, told := range tt.told {
				if !strings.Contains(screen, told) {
					t.Errorf("the model is not told %q; the screen is\n%s", told, k.vt.Screen(false, true))
				}
			}
			if got, _ := os.ReadFile(filepath.Join(k.root, "a.txt")); string(got) != tt.want {
				t.Errorf("a.txt is %q, want %q", got, tt.want)
			}
			if _, err := os.Stat(filepath.Join(k.root, "b.txt")); err == nil {
				t.Error("b.txt is there, which was refused")
			}
			k.quits()
		})
	}
}

func TestOnePartIsNotParted(t *testing.T) {
	k := start(t, 80, 30, false, options(t, scripted(t, partTurns), blocks(t, nil)...))
	k.press("whole\r")
	k.waits("y\u00a0yes")
	if s := k.vt.Screen(false, false); strings.Contains(s, "group") {
		t.Errorf("one file is offered in groups:\n%s", s)
	}
	k.press("g")
	k.waits("There is one part only.")
	k.press("n")
	k.idle("The model was told:")
	k.quits()
}

// TestGroupByGroupPlain answers with lines, where there is no terminal.
func TestGroupByGroupPlain(t *testing.T) {
	o := options(t, scripted(t, partTurns), blocks(t, nil)...)
	if err := os.WriteFile(filepath.Join(o.Root, "a.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o.TTY = TTY{In: strings.NewReader("groups\ng\ny\nr keep it\nmaybe\ny\n"), Out: &out, Plain: true}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"g\u00a0group\u00a0by\u00a0group", "Part 2 of 3: a.txt (−1 +1)", "left out: keep it",
		"Nothing else is taken for a yes", "part 2 of 3 (a.txt, on line 6 of your text): keep it"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
	if got, _ := os.ReadFile(filepath.Join(o.Root, "a.txt")); string(got) != "1\ntwo\n3\n" {
		t.Errorf("a.txt is %q", got)
	}
}

// TestUndoAndDiff changes files in several ways, looks at what came of it, and takes all of it back, one action after
// another. TestChangesOnScreen shows an edit that is answered group by group, what it made of the file, and how it is
// taken back.
func TestChangesOnScreen(t *testing.T) {
	for _, w := range []int{80, 60} {
		for _, color := range []bool{true, false} {
			name := fmt.Sprintf("changes-%d-color=%v", w, color)
			t.Run(name, func(t *testing.T) {
				log := &undo.Log{Dir: filepath.Join(t.TempDir(), "undo")}
				o := options(t, scripted(t, partTurns), blocks(t, log)...)
				o.Undo = log
				if err := os.WriteFile(filepath.Join(o.Root, "a.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				k := start(t, w, 60, color, o)
				k.follow([]step{{"groups\r", asks}})
				for i, key := range []string{"y", "n", "y"} {
					if i == 0 {
						k.press("g")
					}
					k.waits(fmt.Sprintf("Part %d of 3: a.txt (−1 +1)?", i+1))
					k.press(key)
				}
				k.idle("The model was told:")
				k.press("/diff\r/undo\r")
				k.idle("taken back:")
				k.golden(name, color)
				k.quits()
			})
		}
	}
}

func TestUndoAndDiff(t *testing.T) {
	log := &undo.Log{Dir: filepath.Join(t.TempDir(), "undo")}
	o := options(t, scripted(t, partTurns), blocks(t, log)...)
	o.Undo = log
	file := func(name string) string {
		text, err := os.ReadFile(filepath.Join(o.Root, name))
		if err != nil {
			return "(gone)"
		}
		return string(text)
	}
	if err := os.WriteFile(filepath.Join(o.Root, "a.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k := start(t, 100, 80, false, o)
	for _, ask := range []string{"whole", "patch"} {
		k.press(ask + "\r")
		k.waits("y\u00a0yes")
		k.press("y")
		k.idle("The model was told:")
		k.press("\x0c")
		k.until("an empty screen", func(s string) bool { return !strings.Contains(s, "The model was told") })
	}
	k.press("/diff\r")
	k.waits("[create: b.txt (1 line)]")
	for _, want := range []string{"[create: c.txt (1 line)]", "+see", "[edit: a.txt (−1 +1)]", "-one", "+1", "+new"} {
		k.waits(want)
	}
	k.press("/undo\r")
	k.waits("taken back: [delete: b.txt (−1)]")
	if file("a.txt") != "one\ntwo\nthree\n" || file("b.txt") != "(gone)" || file("c.txt") != "see\n" {
		t.Errorf("after one: a %q, b %q, c %q", file("a.txt"), file("b.txt"), file("c.txt"))
	}
	if err := os.WriteFile(filepath.Join(o.Root, "c.txt"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k.press("/undo\r")
	k.waits("has changed since")
	if file("c.txt") != "mine\n" {
		t.Errorf("c.txt is %q: what somebody wrote is lost", file("c.txt"))
	}
	k.press("/diff\r")
	k.waits("c.txt was changed by others since")
	if err := os.WriteFile(filepath.Join(o.Root, "c.txt"), []byte("see\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k.press("/undo\r")
	k.waits("taken back: [delete: c.txt (−1)]")
	k.press("/undo\r")
	k.waits("There is nothing to take back.")
	k.press("/save " + filepath.Join(o.Root, "told.md") + "\r")
	k.waits("messages are in")
	if text := file("told.md"); !strings.Contains(text,
		"The user took back what edit made of these files: a.txt, b.txt") {
		t.Errorf("the model is not told:\n%s", text)
	}
	k.quits()

	other := options(t, scripted(t, partTurns), blocks(t, log)...)
	other.Undo, other.Root = log, o.Root
	other.Runner = other.Runner.With(func(s *runner.Settings) { s.Root = o.Root })
	if err := os.WriteFile(filepath.Join(o.Root, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k = start(t, 100, 80, false, other)
	k.press("/diff\r")
	k.waits("have changed no files")
	k.quits()
}

// TestUndoIsOfThisConversation finds a change that another conversation made: it is taken back only on explicit wish.
func TestUndoIsOfThisConversation(t *testing.T) {
	log := &undo.Log{Dir: filepath.Join(t.TempDir(), "undo")}
	first := options(t, scripted(t, partTurns), blocks(t, log)...)
	first.Undo = log
	k := start(t, 100, 40, false, first)
	k.press("whole\r")
	k.waits("y\u00a0yes")
	k.press("y")
	k.idle("The model was told:")
	k.quits()

	second := options(t, scripted(t, partTurns), blocks(t, log)...)
	second.Undo, second.Root = log, first.Root
	k = start(t, 100, 40, false, second)
	k.press("/undo\r")
	k.waits("This conversation has nothing to take back.")
	k.waits("/undo last")
	if _, err := os.Stat(filepath.Join(first.Root, "c.txt")); err != nil {
		t.Fatal(err)
	}
	k.press("/undo last\r")
	k.waits("taken back: [delete: c.txt (−1)]")
	k.quits()
}

// TestAlwaysLasts keeps a rule for good: it is what the screen shows, it holds for the rest of the conversation, and
// is handed on once.
func TestAlwaysLasts(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		lasting   int
	}{{"until the end", "y", 0}, {"for good", "d", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, scripted(t, partTurns), blocks(t, nil)...)
			kept := make(chan []policy.Rule, 2)
			o.Rules.(*Rules).Lasting = func(rules []policy.Rule) error { kept <- rules; return nil }
			k := start(t, 100, 40, false, o)
			k.press("whole\r")
			k.waits("y\u00a0yes")
			k.press("a")
			k.waits("allow: {tool: [write_file], path: [c.txt], op: [write]}")
			k.waits("for\u00a0good")
			k.press(tt.key)
			k.idle("The model was told:")
			if err := os.Remove(filepath.Join(k.root, "c.txt")); err != nil {
				t.Fatal(err)
			}
			k.press("\x0c")
			k.until("an empty screen", func(s string) bool { return !strings.Contains(s, "The model was told") })
			k.press("whole\r") // the same again, without a question
			k.idle("The model was told:")
			if _, err := os.Stat(filepath.Join(k.root, "c.txt")); err != nil {
				t.Error(err)
			}
			if len(kept) != tt.lasting {
				t.Errorf("%d times rules are kept for good, want %d", len(kept), tt.lasting)
			}
			k.quits()
		})
	}
}

// TestAlwaysCannotLast asks no more than it can keep, and takes no for an answer where keeping fails.
func TestAlwaysCannotLast(t *testing.T) {
	o := options(t, scripted(t, partTurns), blocks(t, nil)...)
	o.Rules.(*Rules).Lasting = func([]policy.Rule) error { return errors.New("the disk is full") }
	k := start(t, 100, 40, false, o)
	k.press("whole\r")
	k.waits("y\u00a0yes")
	k.press("a")
	k.waits("for\u00a0good")
	k.press("d")
	k.waits("The rule cannot be kept: the disk is full")
	k.waits("y\u00a0yes")
	if _, err := os.Stat(filepath.Join(k.root, "c.txt")); err == nil {
		t.Error("the call ran, though its rule could not be kept")
	}
	k.press("n")
	k.idle("The model was told:")
	k.quits()

	k = start(t, 100, 40, false, options(t, scripted(t, partTurns), blocks(t, nil)...))
	k.press("whole\r")
	k.waits("y\u00a0yes")
	k.press("a")
	k.waits("Keep this rule until the conversation ends?")
	k.press("d") // is a no where nothing lasts
	k.waits("y\u00a0yes")
	k.press("n")
	k.idle("The model was told:")
	k.quits()
}
