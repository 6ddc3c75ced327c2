package local

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

var update = flag.Bool("update", false, "write the results of the corpus as they are now")

// corpusDir has the cases: answers of a model, in any language, with what is to become of the files and what the
// model is told.
const corpusDir = "../../internal/patch/testdata/corpus"

// A corpusCase is a workspace, and answers of a model one after the other.
type corpusCase struct {
	ID    string            `json:"id"`
	Why   string            `json:"why,omitempty"`
	Files map[string]string `json:"files"` // content; what begins with base64: is bytes
	Steps []corpusStep      `json:"steps"`
	Want  map[string]string `json:"want"` // afterwards; a file that is null is gone, one that is not named is as it was

	// Alone says that the file is what it is as a whole, so that lines around it would make another case of it.
	Alone bool `json:"alone,omitempty"`
}

// A corpusStep is one answer.
type corpusStep struct {
	Outside  map[string]string `json:"outside,omitempty"` // what somebody else writes before it
	Answer   string            `json:"answer"`
	Declined []int             `json:"declined,omitempty"` // calls that a person says no to
	Refused  map[int][]int     `json:"refused,omitempty"`  // parts of calls that a person says no to, by the call
	Results  []string          `json:"results"`            // of its calls
}

func corpus(t testing.TB) map[string][]corpusCase {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(corpusDir, "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	all := map[string][]corpusCase{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			var c corpusCase
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(&c); err != nil {
				t.Fatalf("%s:%d: %v", name, i+1, err)
			}
			all[name] = append(all[name], c)
		}
	}
	return all
}

func content(text string) []byte {
	if coded, ok := strings.CutPrefix(text, "base64:"); ok {
		raw, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			panic(err)
		}
		return raw
	}
	return []byte(text)
}

// bystander is a file that no case names.
const bystander = "bystander.bin"

var bystanding = []byte("\xff\xfe\r\nleft\nalone\x00")

// testWorkspace is a workspace with the tools in it, of which a person is asked about each call that changes anything.
type testWorkspace struct {
	t         testing.TB
	dir       string
	runner    *runner.Runner
	shapes    []shape.Tool
	approvals *runner.MemoryApprovals
}

func newWorkspace(t testing.TB, o Options) *testWorkspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Definition{Default: "ask",
		Rules: []policy.Rule{{Decision: "allow", Selector: policy.Selector{Op: []policy.Op{policy.OpRead}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := &testWorkspace{t: t, dir: dir, approvals: &runner.MemoryApprovals{}}
	var r runner.Registry
	for _, one := range o.Tools() {
		one.State = tool.StateEnabled
		if one.Guard != nil {
			one.Guard.Mode = tool.ModeRW
		}
		if err := r.Add(one); err != nil {
			t.Fatal(err)
		}
		w.shapes = append(w.shapes, shape.Tool{Name: one.Name(), Args: schema.ShapeOf(one.Definition.Parameters)})
	}
	w.runner = runner.New(runner.Settings{Tools: &r, Policy: p, Approvals: w.approvals, Root: dir})
	return w
}

// another returns a workspace of its own with the same tools, whose memory is by workspace.
func (w *testWorkspace) another(t testing.TB) *testWorkspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := &testWorkspace{t: t, dir: dir, approvals: &runner.MemoryApprovals{}, shapes: w.shapes}
	a.runner = runner.New(runner.Settings{Tools: w.runner.Settings().Tools, Policy: w.runner.Settings().Policy,
		Approvals: a.approvals, Root: dir})
	return a
}

func (w *testWorkspace) write(files map[string]string) {
	w.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(w.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		mode := fs.FileMode(0o640)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o751
		}
		if err := errors.Join(os.WriteFile(path, content(files[name]), mode), os.Chmod(path, mode)); err != nil {
			// whatever the umask says
			w.t.Fatal(err)
		}
	}
}

// files returns all there is, and fails for a mode that has changed or a file that was left behind.
func (w *testWorkspace) files() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(w.dir, path)
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(name)] = string(text)
		info, _ := e.Info()
		if runtime.GOOS != "windows" && strings.HasSuffix(name, ".sh") && info.Mode().Perm() != 0o751 {
			w.t.Errorf("%s has the mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// calls reads an answer.
func (w *testWorkspace) calls(answer string) []chat.Call {
	w.t.Helper()
	c, err := dialect.Parse(answer, dialect.Options{Dialect: "cli-block", Tools: w.shapes, Repair: dialect.RepairSafe})
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(c.Calls), func(c chat.Call) bool { return !c.Complete })
}

// sort answers for a call of which a person refuses some parts.
func (w *testWorkspace) sort(call *chat.Call, refused []int) runner.Answer {
	w.t.Helper()
	parts := PartsOf(call.Name, call.Arguments)
	if parts == nil {
		w.t.Fatalf("%s has no parts: %s", call.Name, call.Arguments)
	}
	left, err := parts.Without(refused)
	if err != nil {
		w.t.Fatal(err)
	}
	if left == "" {
		return runner.Answer{State: runner.ApprovalDenied, Reason: parts.Tell(refused, nil)}
	}
	return runner.Answer{State: runner.ApprovalEdited, Arguments: []byte(left), Refused: parts.Tell(refused, nil)}
}

// run takes one call to what the model is told of it, with a person who says yes or no, or no to some parts.
func (w *testWorkspace) run(call chat.Call, yes bool, refused ...int) (tool.Result, string) {
	w.t.Helper()
	ctx := w.t.Context()
	plan, err := w.runner.Plan(ctx, call)
	if err != nil {
		w.t.Fatal(err)
	}
	if plan.Outcome == runner.OutcomeNeedsApproval {
		if _, err := w.runner.Preview(ctx, plan.Call); err != nil && yes {
			w.t.Logf("preview: %v", err)
		}
		answer := runner.Answer{State: runner.ApprovalApproved}
		switch {
		case !yes:
			answer.State = runner.ApprovalDenied
		case len(refused) > 0:
			answer = w.sort(&call, refused)
		}
		if _, err := w.approvals.Decide(ctx, plan.Approval, answer); err != nil {
			w.t.Fatal(err)
		}
	}
	var last chat.Event
	for e, err := range w.runner.Run(ctx, plan) {
		if err != nil {
			w.t.Fatal(err)
		}
		last = e
	}
	var text strings.Builder
	for _, p := range last.Detail.(*chat.Result).Parts {
		text.WriteString(p.Text)
	}
	return tool.Result{OK: !last.Detail.(*chat.Result).IsError}, text.String()
}

// carryOut runs all steps of a case and returns the results.
func (w *testWorkspace) carryOut(c *corpusCase) [][]string {
	var all [][]string
	for k, s := range c.Steps {
		w.write(s.Outside)
		results := []string{}
		for i, call := range w.calls(s.Answer) {
			call.ID = fmt.Sprintf("call_%d_%d", k, i)
			_, text := w.run(call, !slices.Contains(s.Declined, i), s.Refused[i]...)
			results = append(results, strings.ReplaceAll(text, w.dir, "ROOT"))
		}
		all = append(all, results)
	}
	return all
}

// want returns the files that there have to be afterwards.
func (c *corpusCase) want() map[string]string {
	all := map[string]string{bystander: string(bystanding)}
	for name, text := range c.Files {
		all[name] = string(content(text))
	}
	for _, s := range c.Steps {
		for name, text := range s.Outside {
			all[name] = string(content(text))
		}
	}
	for name, text := range c.Want {
		if text == gone {
			delete(all, name)
		} else {
			all[name] = string(content(text))
		}
	}
	return all
}

// gone stands for a file that is not there.
const gone = "(gone)"

func compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := got[name]; !ok {
			t.Errorf("%s is gone, and should be %q", name, want[name])
		} else if text != want[name] {
			t.Errorf("%s is\n%q, want\n%q", name, text, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there: %q", name, got[name])
		}
	}
}

// TestCorpus has every case carried out from the text of the model to the bytes of the files and the words that come
// back.
func TestCorpus(t *testing.T) {
	tools := newWorkspace(t, Options{})
	total := 0
	seen := map[string]bool{}
	for name, cases := range corpus(t) {
		for i := range cases {
			c := &cases[i]
			if seen[c.ID] {
				t.Errorf("%s: there are two cases %s", name, c.ID)
			}
			seen[c.ID] = true
			total++
			t.Run(c.ID, func(t *testing.T) {
				w := tools.another(t)
				w.write(c.Files)
				w.write(map[string]string{bystander: "base64:" + base64.StdEncoding.EncodeToString(bystanding)})
				results := w.carryOut(c)
				compare(t, w.files(), c.want())
				for k, s := range c.Steps {
					if *update {
						c.Steps[k].Results = results[k]
					} else if !slices.Equal(results[k], s.Results) {
						t.Errorf("step %d: the model is told\n%q, want\n%q", k, results[k], s.Results)
					}
				}
			})
		}
		if *update && !t.Failed() {
			writeCorpus(t, name, cases)
		}
	}
	if total < 300 {
		t.Errorf("there are %d cases", total)
	}
}

func writeCorpus(t *testing.T, name string, cases []corpusCase) {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, c := range cases {
		if err := e.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCorpusAround carries every case out once more with lines around each file, which no block names: they must come
// out as they went in, and the rest must become what it became without them.
func TestCorpusAround(t *testing.T) {
	tools := newWorkspace(t, Options{})
	for _, cases := range corpus(t) {
		for i := range cases {
			c := &cases[i]
			if c.Alone {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				head, tail := around(c)
				w := tools.another(t)
				files := map[string]string{}
				for name, text := range c.Files {
					files[name] = head + text + tail
				}
				w.write(files)
				w.carryOut(c)
				want := map[string]string{}
				for name, text := range c.want() {
					if _, ok := c.Files[name]; ok {
						text = head + text + tail
					}
					want[name] = text
				}
				delete(want, bystander)
				compare(t, w.files(), want)
			})
		}
	}
}

// around returns lines that stand in no case, with the line ends of its files.
func around(c *corpusCase) (head, tail string) {
	head, tail = "¶ before \t\nthe first ¶\n\n", "¶ behind\n \n¶ the last\n"
	for _, text := range c.Files {
		if strings.Contains(text, "\r\n") {
			return strings.ReplaceAll(head, "\n", "\r\n"), strings.ReplaceAll(tail, "\n", "\r\n")
		}
	}
	return head, tail
}
