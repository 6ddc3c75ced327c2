package dialect_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
)

const conformanceFile = "../../shared/data/conformance.jsonl.gz"

// The floors: how many of the reference texts of our dialects must come out as other projects' tests want them. They were
// measured and only ever rise.
const (
	floorFirm = 195 // of 195 rows of quality firm, calls
	floorAll  = 208 // of 213 rows of every quality, calls
)

// A conformanceRow is a text from another project's tests with what should come out of it.
type conformanceRow struct {
	ID       string             `json:"id"`
	Dialect  string             `json:"dialect"`
	Tools    []dialecttest.Tool `json:"tools"`
	Text     string             `json:"text"`
	Open     bool               `json:"starts_in_reasoning"`
	Content  *string            `json:"want_content"`
	Calls    []conformanceCall  `json:"want_calls"` // nil: open
	Asserted *struct {
		Content bool `json:"content"`
	} `json:"asserted"`
	Quality string `json:"quality"`
}

type conformanceCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Raw       *string         `json:"arguments_raw"`
}

func conformanceRows(t *testing.T) []conformanceRow {
	t.Helper()
	f, err := os.Open(conformanceFile)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: reference file %s is not there", conformanceFile)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []conformanceRow
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r conformanceRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return rows
}

func (r *conformanceRow) options(t *testing.T, name string) dialect.Options {
	t.Helper()
	tools, err := dialecttest.Shapes(r.Tools)
	if err != nil {
		t.Fatalf("%s: %v", r.ID, err)
	}
	o := dialect.Options{Dialect: name, Tools: tools}
	o.Thinking.Open = r.Open
	return o
}

// TestConformance reads the reference texts. Of those whose dialect we have it counts how many come out as wanted; over all
// of them it holds the decoder to what must be true of any text.
func TestConformance(t *testing.T) {
	type tally struct{ n, calls, firmN, firm, contentN, content int }
	tallies := make(map[string]*tally)
	var total tally
	for _, r := range conformanceRows(t) {
		name := r.Dialect
		if _, ok := dialect.Lookup(name); !ok {
			name = ""
		}
		o := r.options(t, name)
		if err := invariants(maker(o), r.Text); err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		if name == "" || r.Calls == nil {
			continue
		}
		got, err := dialect.Parse(r.Text, o)
		if err != nil {
			t.Fatal(err)
		}
		if tallies[name] == nil {
			tallies[name] = new(tally)
		}
		ok := conforms(r.Calls, got.Calls)
		okContent := r.Content == nil && strings.TrimSpace(got.Content()) == "" || r.Content != nil && strings.TrimSpace(*r.Content) == strings.TrimSpace(got.Content())
		pinned := r.Asserted == nil || r.Asserted.Content
		for _, c := range []*tally{tallies[name], &total} {
			c.n++
			count(&c.calls, ok)
			count(&c.firmN, r.Quality == "firm")
			count(&c.firm, ok && r.Quality == "firm")
			count(&c.contentN, pinned)
			count(&c.content, pinned && okContent)
		}
		if testing.Verbose() && r.Quality == "firm" && (!ok || pinned && !okContent) {
			t.Logf("%s [%s] calls %t content %t\n  text    %.300q\n  want    %s %s\n  got     %+v %q", r.ID, name, ok, okContent, r.Text, wantText(r.Calls), contentText(r.Content), got.Calls, got.Content())
		}
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\ndialect\trows\tcalls\tfirm\tcontent\n")
	names := dialect.Names()
	for _, name := range names {
		if c := tallies[name]; c != nil {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d/%d\t%d/%d\n", name, c.n, c.calls, c.firm, c.firmN, c.content, c.contentN)
		}
	}
	fmt.Fprintf(w, "total\t%d\t%d\t%d/%d\t%d/%d\n", total.n, total.calls, total.firm, total.firmN, total.content, total.contentN)
	w.Flush()
	t.Log(b.String())
	if total.firm < floorFirm || total.calls < floorAll {
		t.Errorf("%d firm and %d of all come out as wanted; the floors are %d and %d", total.firm, total.calls, floorFirm, floorAll)
	}
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

func wantText(calls []conformanceCall) string {
	b, _ := json.Marshal(calls)
	return string(b)
}

func contentText(s *string) string {
	if s == nil {
		return "null"
	}
	return strconv.Quote(*s)
}

// invariants is dialecttest.All with fewer splits: whole, and in blocks of 1, 4 and 16 bytes.
func invariants(mk dialecttest.Maker, text string) error {
	whole, err := dialecttest.Decode(mk, text)
	if err != nil {
		return err
	}
	if err := errors.Join(dialecttest.Structure(whole), dialecttest.Conservation(text, whole)); err != nil {
		return err
	}
	for _, n := range []int{1, 4, 16} {
		var cuts []int
		for i := n; i < len(text); i += n {
			cuts = append(cuts, i)
		}
		split, err := dialecttest.Decode(mk, text, cuts...)
		if err != nil {
			return err
		}
		if err := dialecttest.Conservation(text, split); err != nil {
			return fmt.Errorf("in blocks of %d: %w", n, err)
		}
		if diff := dialecttest.Diff(dialecttest.Merge(whole), dialecttest.Merge(split)); diff != "" {
			return fmt.Errorf("in blocks of %d: %s", n, diff)
		}
	}
	return nil
}

// conforms compares calls as the reference wants it: incomplete ones may be there or not.
func conforms(want []conformanceCall, got []chat.Call) bool {
	complete := slices.DeleteFunc(slices.Clone(got), func(c chat.Call) bool { return !c.Complete })
	return equalCalls(want, got) || equalCalls(want, complete)
}

func equalCalls(want []conformanceCall, got []chat.Call) bool {
	return slices.EqualFunc(want, got, func(w conformanceCall, g chat.Call) bool {
		if w.Name != g.Name {
			return false
		}
		if w.Raw != nil {
			return strings.TrimSpace(*w.Raw) == strings.TrimSpace(g.Arguments) || sameValue(value(*w.Raw), value(g.Arguments))
		}
		args := value(string(w.Arguments))
		if args == nil {
			args = map[string]any{}
		}
		return sameValue(args, value(g.Arguments))
	})
}

func value(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return text
	}
	return v
}

// sameValue compares JSON values, numbers as numbers.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, errX := a.Float64()
		y, errY := b.Float64()
		return a == b || errX == nil && errY == nil && x == y
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !sameValue(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}
