package dialect_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/testlevel"
)

// Files of reference data: texts of other projects' tests, and recorded answers of models.
const (
	conformanceFile = "../../shared/data/conformance.jsonl.gz"
	answersFile     = "../../shared/data/bfcl-dev.jsonl.gz"
)

// The floors: of how many reference texts the calls must come out as other projects' tests want them. They were
// measured and only ever rise.
const (
	floorNamed = 982  // of 986 rows of quality firm, the dialect named
	floorAuto  = 978  // of the same, under auto
	floorAll   = 1069 // of 1123 rows of every quality whose outcome is known, the dialect named
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
	return referenceRows[conformanceRow](t, conformanceFile)
}

// referenceRows returns the rows of a packed file of reference data. It skips the test where there is none.
func referenceRows[Row any](t *testing.T, name string) []Row {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: reference file %s is not there", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r Row
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

// A conformanceTally counts rows of one dialect, or of one class of them, that come out as wanted.
type conformanceTally struct {
	rows, calls       int // of every quality, the dialect named
	firm, named, auto int // of quality firm
	contentN, content int // of those whose content is pinned, white space at the ends aside
}

// add counts one row.
func (c *conformanceTally) add(r *conformanceRow, named, auto, content bool) {
	firm := r.Quality == "firm"
	c.rows++
	count(&c.calls, named)
	count(&c.firm, firm)
	count(&c.named, firm && named)
	count(&c.auto, firm && auto)
	pinned := firm && (r.Asserted == nil || r.Asserted.Content)
	count(&c.contentN, pinned)
	count(&c.content, pinned && content)
}

// TestConformance reads the reference texts, with their dialect named and under auto, and counts how many come out as
// wanted. Over all of them it holds the decoder to what must be true of any text.
func TestConformance(t *testing.T) {
	if testlevel.Race {
		t.Skip("it is counted without the race detector")
	}
	dialects, classes := make(map[string]*conformanceTally), make(map[string]*conformanceTally)
	total := new(conformanceTally)
	for _, r := range conformanceRows(t) {
		d, known := dialect.Lookup(r.Dialect)
		name := ""
		if known {
			name = d.Name
		}
		o := r.options(t, name)
		if err := dialecttest.Quick(maker(o), r.Text); err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		if r.Calls == nil {
			continue
		}
		got, err := dialect.Parse(r.Text, o)
		if err != nil {
			t.Fatal(err)
		}
		auto, err := dialect.Parse(r.Text, r.options(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		class := "auto"
		if known {
			class = d.Class
		}
		ok, okAuto := conforms(r.Calls, got.Calls), conforms(r.Calls, auto.Calls)
		content := strings.TrimSpace(deref(r.Content)) == strings.TrimSpace(got.Content())
		for _, c := range []*conformanceTally{tallyOf(dialects, r.Dialect), tallyOf(classes, class), total} {
			c.add(&r, ok, okAuto, content)
		}
		if testing.Verbose() && r.Quality == "firm" && !(ok && okAuto) {
			t.Logf("%s [%s] named %t auto %t\n  text    %.300q\n  want    %s %s\n  got     %+v %q", r.ID, name, ok,
				okAuto, r.Text, wantText(r.Calls), contentText(r.Content), got.Calls, got.Content())
		}
	}
	logTallies(t, "dialect", dialects, total)
	logTallies(t, "class", classes, total)
	if total.named < floorNamed || total.auto < floorAuto || total.calls < floorAll {
		t.Errorf("firm: %d named and %d under auto, %d of all come out as wanted; the floors are %d, %d and %d",
			total.named, total.auto, total.calls, floorNamed, floorAuto, floorAll)
	}
}

func tallyOf(m map[string]*conformanceTally, key string) *conformanceTally {
	if m[key] == nil {
		m[key] = new(conformanceTally)
	}
	return m[key]
}

func logTallies(t *testing.T, of string, m map[string]*conformanceTally, total *conformanceTally) {
	t.Helper()
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s\trows\tcalls\tfirm\tnamed\tauto\tcontent\n", of)
	line := func(name string, c *conformanceTally) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d/%d\n", name, c.rows, c.calls, c.firm, c.named, c.auto, c.content,
			c.contentN)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		line(name, m[name])
	}
	line("total", total)
	w.Flush()
	t.Log(b.String())
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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
			return strings.TrimSpace(*w.Raw) == strings.TrimSpace(g.Arguments) ||
				sameValue(value(*w.Raw), value(g.Arguments))
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
