package profile_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/dialect/internal/check"
	"wield/dialect/profile"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

const conformanceFile = "../../../shared/data/conformance.jsonl.gz"

// A reference is a text from another project's tests with the calls that should come out of it.
type reference struct {
	ID      string             `json:"id"`
	Dialect string             `json:"dialect"`
	Tools   []dialecttest.Tool `json:"tools"`
	Text    string             `json:"text"`
	Open    bool               `json:"starts_in_reasoning"`
	Calls   []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"want_calls"` // nil: open
	Quality string `json:"quality"`
}

func references(t *testing.T) map[string][]reference {
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
	rows := map[string][]reference{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r reference
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Calls != nil && r.Quality == "firm" {
			rows[r.Dialect] = append(rows[r.Dialect], r)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return rows
}

// right reports whether the calls of the text under o are those that are wanted.
func (r *reference) right(t *testing.T, o dialect.Options) bool {
	got, err := dialect.Parse(r.Text, o)
	if err != nil {
		t.Fatal(err)
	}
	complete := slices.DeleteFunc(slices.Clone(got.Calls), func(c chat.Call) bool { return !c.Complete })
	if len(complete) != len(r.Calls) {
		return false
	}
	for i, w := range r.Calls {
		want := string(w.Arguments)
		if want == "" || want == "null" {
			want = "{}"
		}
		if complete[i].Name != w.Name || !check.SameJSON(want, complete[i].Arguments) {
			return false
		}
	}
	return true
}

// TestConformance reads the reference texts of each family's dialect under its profile: as many come out right as
// when the dialect is named.
func TestConformance(t *testing.T) {
	rows := references(t)
	var total, byName, byProfile int
	for _, p := range profile.Builtin() {
		var cache dialect.Cache
		named, guessed, lost := 0, 0, ""
		for _, r := range rows[p.Dialect()] {
			tools, err := dialecttest.Shapes(r.Tools)
			if err != nil {
				t.Fatal(err)
			}
			o := dialect.Options{Tools: tools, Thinking: dialect.Thinking{Open: r.Open}, Cache: &cache}
			apply(p, &o)
			a := r.right(t, dialect.Options{Dialect: p.Dialect(), Tools: tools,
				Thinking: dialect.Thinking{Open: r.Open}, Cache: &cache})
			b := r.right(t, o)
			if a {
				named++
			}
			if b {
				guessed++
			}
			if a && !b {
				lost += " " + r.ID
			}
		}
		t.Logf("%-18s %-18s %4d texts, right: %4d named, %4d under the profile", p.Name, p.Dialect(),
			len(rows[p.Dialect()]), named, guessed)
		if guessed < named {
			t.Errorf("%s: %d right under the profile, %d if %s is named; lost:%s", p.Name, guessed, named, p.Dialect(),
				lost)
		}
		total, byName, byProfile = total+len(rows[p.Dialect()]), byName+named, byProfile+guessed
	}
	t.Logf("in all %d texts, right: %d named, %d under the profile", total, byName, byProfile)
}
