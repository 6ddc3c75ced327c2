package terminal

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/internal/script"
	"wield/internal/terminal/vt"
	"wield/journal"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the expected screens")

// patience is how long a test waits for something that has to come. It says nothing about how fast that is.
const patience = time.Minute

// A talk is a conversation with a terminal in front of it.
type talk struct {
	t    *testing.T
	vt   *vt.Terminal
	keys *io.PipeWriter
	done chan error
	o    Options
	root string
}

// A modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error]

func (f modelFunc) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return f(ctx, req)
}

// turnLine is the first line of a turn in a test, which leaves out the id.
var turnLine = regexp.MustCompile(`(?m)^  - .*$`)

// scripted returns a model that answers from the turns of a scenario, behind a bridge.
func scripted(t testing.TB, turns string) chat.Model {
	t.Helper()
	n := 0
	turns = turnLine.ReplaceAllStringFunc(turns, func(line string) string {
		n++
		if rest, ok := strings.CutPrefix(line, "  - {"); ok {
			return fmt.Sprintf("  - {id: t%d, %s", n, rest)
		}
		return fmt.Sprintf("  - id: t%d\n    %s", n, strings.TrimPrefix(line, "  - "))
	})
	text := "wield: scenario/v1\nname: test\nturns:\n" + turns
	live, err := script.OpenFS(fstest.MapFS{"test.scenario.yaml": {Data: []byte(text)}}, "test.scenario.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := live.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	return bridge.New(script.New(s, script.Options{}),
		bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Trace: true}})
}

// clock is a time that stands still.
func clock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// options returns options for a conversation with a model and tools, in a directory of its own.
func options(t testing.TB, m chat.Model, tools ...*tool.Tool) Options {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	reg := new(runner.Registry)
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Definition{Name: "test", Default: chat.DecisionAsk, Rules: []policy.Rule{
		{Decision: chat.DecisionAllow, Selector: policy.Selector{Op: []policy.Op{policy.OpRead, policy.OpList}}}}})
	if err != nil {
		t.Fatal(err)
	}
	rules := NewRules(p)
	session := reg.Session()
	runner := runner.New(runner.Settings{Tools: session, Policy: rules, Root: root})
	o := Options{Runner: runner, Tools: session, Rules: rules, Root: root, Journal: new(journal.Memory), By: "test",
		Guard: -1, Models: []string{"test", "other"}, Dialects: []string{"hermes", "json-fence"}, Model: "test",
		Now: clock}
	o.Open = func(model, dialect string) (*Stage, error) {
		if model != "test" && model != "other" {
			return nil, fmt.Errorf("there is no model %s", model)
		}
		a := agent.New(m, runner, agent.Options{Journal: o.Journal, Wait: o.Journal != nil, By: "test",
			Limits: agent.Limits{Iterations: 50, Calls: 200, PerTool: -1}})
		return &Stage{Agent: a, Name: model, Dialect: dialect}, nil
	}
	return o
}

// recorded returns the messages of a conversation that stand in the journal.
func recorded(t *testing.T, o Options, id string) []chat.Message {
	t.Helper()
	stage, err := o.Open("test", "")
	if err != nil {
		t.Fatal(err)
	}
	messages, err := stage.Agent.Conversation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// start begins a conversation in a terminal of the given size.
func start(t *testing.T, w, h int, color bool, o Options) *talk {
	t.Helper()
	in, keys := io.Pipe()
	k := &talk{t: t, vt: vt.New(w, h), keys: keys, done: make(chan error, 1), o: o, root: o.Root}
	o.TTY = TTY{In: in, Out: k.vt, Color: color, Size: func() (int, int) { return w, h }}
	o.Place = "~/project"
	go func() { k.done <- Run(t.Context(), o) }()
	t.Cleanup(func() {
		keys.Close()
		in.Close()
	})
	k.waits("test · context")
	return k
}

// press sends keys.
func (k *talk) press(s string) {
	k.t.Helper()
	if _, err := k.keys.Write([]byte(s)); err != nil {
		k.t.Fatal(err)
	}
}

// until waits for something to be seen.
func (k *talk) until(what string, seen func(screen string) bool) {
	k.t.Helper()
	for end := time.Now().Add(patience); ; {
		if seen(k.vt.Screen(false, false)) {
			return
		}
		if time.Now().After(end) {
			k.t.Fatalf("waited in vain for %s; the screen is\n%s", what, k.vt.Screen(false, true))
		}
		select {
		case err := <-k.done:
			k.done <- err
			if !seen(k.vt.Screen(false, false)) {
				k.t.Fatalf("the conversation ended (%v) before %s; the screen is\n%s", err, what,
					k.vt.Screen(false, true))
			}
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// waits waits until a text can be seen.
func (k *talk) waits(text string) {
	k.t.Helper()
	k.until(fmt.Sprintf("%q", text), func(s string) bool { return strings.Contains(s, text) })
}

// idle waits until a text can be seen and nothing runs any more.
func (k *talk) idle(text string) {
	k.t.Helper()
	k.until(fmt.Sprintf("%q and the end of the turn", text), func(s string) bool {
		return strings.Contains(s, text) && !strings.Contains(s, "· Ctrl-C stops") &&
			!strings.Contains(s, "y\u00a0yes") && !strings.Contains(s, "why not?")
	})
}

// ends waits for the end.
func (k *talk) ends() {
	k.t.Helper()
	select {
	case err := <-k.done:
		if err != nil {
			k.t.Error(err)
		}
	case <-time.After(patience):
		k.t.Fatalf("it does not end; the screen is\n%s", k.vt.Screen(false, true))
	}
	for _, p := range k.vt.Problems() {
		k.t.Errorf("the terminal got a %s", p)
	}
}

// quits leaves and waits for the end.
func (k *talk) quits() {
	k.t.Helper()
	k.press("\x04")
	k.ends()
}

// golden compares the screen with a file.
func (k *talk) golden(name string, looks bool) {
	k.t.Helper()
	got := k.vt.Screen(looks, true)
	for _, c := range changing {
		got = c.is.ReplaceAllString(got, c.then)
	}
	file := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			k.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			k.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		k.t.Fatal(err)
	}
	if got != string(want) {
		k.t.Errorf("the screen differs from %s:\n%s\nwant\n%s", file, got, want)
	}
}
