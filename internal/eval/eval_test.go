package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

const dataDir = "../../../shared/data"
const scoreDir = "../../../shared/score"

func need(t testing.TB, name string) string {
	t.Helper()
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: reference file %s is not there", name)
	}
	return name
}

func TestMatch(t *testing.T) {
	required := map[string]map[string]bool{"f": {"a": true}, "a_b": {}}
	tests := []struct {
		name          string
		want, got     string
		strict, loose bool
	}{
		{"same", `[{"name":"f","arguments":{"a":1}}]`, `[{"name":"f","arguments":{"a":1}}]`, true, true},
		{"dot is underscore", `[{"name":"a.b","arguments":{}}]`, `[{"name":"a_b","arguments":{}}]`, true, true},
		{"other name", `[{"name":"f","arguments":{}}]`, `[{"name":"g","arguments":{}}]`, false, false},
		{"numbers as numbers", `[{"name":"f","arguments":{"a":7}}]`, `[{"name":"f","arguments":{"a":7.0}}]`, true,
			true},
		{"exponent", `[{"name":"f","arguments":{"a":1000}}]`, `[{"name":"f","arguments":{"a":1e3}}]`, true, true},
		{"number is no string", `[{"name":"f","arguments":{"a":7}}]`, `[{"name":"f","arguments":{"a":"7"}}]`, false,
			false},
		{"number is no boolean", `[{"name":"f","arguments":{"a":1}}]`, `[{"name":"f","arguments":{"a":true}}]`, false,
			false},
		{"strings loosely", `[{"name":"f","arguments":{"a":"New York, NY"}}]`,
			`[{"name":"f","arguments":{"a":"new-york ny"}}]`, false, true},
		{"quotes loosely", `[{"name":"f","arguments":{"a":"it's"}}]`, `[{"name":"f","arguments":{"a":"it\"s"}}]`,
			false, true},
		{"strings inside", `[{"name":"f","arguments":{"a":{"b":["X Y"]}}}]`,
			`[{"name":"f","arguments":{"a":{"b":["xy"]}}}]`, false, true},
		{"keys inside are exact", `[{"name":"f","arguments":{"a":{"b":1}}}]`,
			`[{"name":"f","arguments":{"a":{"b":1,"c":null}}}]`, false, false},
		{"optional null", `[{"name":"f","arguments":{"a":1}}]`, `[{"name":"f","arguments":{"a":1,"z":null}}]`, false,
			true},
		{"optional null wanted", `[{"name":"f","arguments":{"a":1,"z":null}}]`, `[{"name":"f","arguments":{"a":1}}]`,
			false, true},
		{"required null", `[{"name":"f","arguments":{"a":null}}]`, `[{"name":"f","arguments":{}}]`, false, false},
		{"optional value", `[{"name":"f","arguments":{"a":1}}]`, `[{"name":"f","arguments":{"a":1,"z":0}}]`, false,
			false},
		{"order", `[{"name":"f","arguments":{"a":1}},{"name":"g","arguments":{}}]`,
			`[{"name":"g","arguments":{}},{"name":"f","arguments":{"a":1}}]`, false, true},
		{"one too many", `[{"name":"f","arguments":{"a":1}}]`,
			`[{"name":"f","arguments":{"a":1}},{"name":"f","arguments":{"a":1}}]`, false, false},
		{"twice is not two", `[{"name":"f","arguments":{"a":1}},{"name":"f","arguments":{"a":2}}]`,
			`[{"name":"f","arguments":{"a":1}},{"name":"f","arguments":{"a":1}}]`, false, false},
		{"none", `[]`, `[]`, true, true},
		{"list is no object", `[{"name":"f","arguments":{}}]`, `[{"name":"f","arguments":[]}]`, false, false},
		{"null arguments", `[{"name":"f","arguments":{}}]`, `[{"name":"f","arguments":null}]`, true, true},
	}
	for _, tt := range tests {
		var want, got []ComparedCall
		if err := errors.Join(json.Unmarshal([]byte(tt.want), &want),
			json.Unmarshal([]byte(tt.got), &got)); err != nil {
			t.Fatal(err)
		}
		if s := (matcher{}).calls(readCalls(want), readCalls(got)); s != tt.strict {
			t.Errorf("%s: strict is %t", tt.name, s)
		}
		if l := (matcher{required: required, loose: true}).calls(readCalls(want), readCalls(got)); l != tt.loose {
			t.Errorf("%s: loose is %t", tt.name, l)
		}
	}
}

const rowLine = `{"id":"%s","model":"m","category":"%s","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}],"text":"x","official_ok":true%s}`

func writeRows(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// canned answers with calls by row id.
type canned map[string][]ComparedCall

func (c canned) answer(r *Row, _ []toolRow) ([]ComparedCall, error) { return c[r.ID], nil }

func TestReport(t *testing.T) {
	gold := `,"gold_by":"official","gold":[{"name":"f","arguments":{"a":1}}]`
	name := writeRows(t,
		fmt.Sprintf(rowLine, "1", "simple", gold),
		fmt.Sprintf(rowLine, "2", "simple", gold),
		fmt.Sprintf(rowLine, "3", "java", ""),
		fmt.Sprintf(rowLine, "4", "java", `,"gold_by":"oracle","gold":[{"name":"f","arguments":{}}]`),
		"",
		fmt.Sprintf(rowLine, "5", "relevance", `,"gold":[],"relevance_class":"prose"`),
		fmt.Sprintf(rowLine, "6", "relevance", `,"gold":[],"relevance_class":"prose"`),
	)
	one := []ComparedCall{{"f", json.RawMessage(`{"a":1}`)}}
	var fails bytes.Buffer
	r, err := run(context.Background(), []string{name}, Options{Fails: &fails}, func() (answerer, error) {
		return canned{"1": one, "3": one, "4": {{"f", json.RawMessage(`{}`)}}, "6": one}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Cell{Rows: 4, Official: 4, Strict: 2, Loose: 2, Gold: 2, GoldStrict: 1, GoldLoose: 1, Lost: 2,
		LostStrict: 2, Oracle: 1, OracleOK: 1}
	if r.Total != want {
		t.Errorf("total is %+v", r.Total)
	}
	if n := *r.NoCalls["prose"]; n != (NoCall{Rows: 2, None: 1, Official: 2}) {
		t.Errorf("prose is %+v", n)
	}
	if !strings.HasPrefix(fails.String(), `{"id":"2",`) || strings.Count(fails.String(), "\n") != 1 {
		t.Errorf("fails are %s", fails.String())
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "1/2 50.00%") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestBrokenRows(t *testing.T) {
	good := fmt.Sprintf(rowLine, "1", "simple", "")
	for _, tt := range []struct{ line, want string }{
		{"{", "rows.jsonl:2:"},
		{`{"id":"a"}`, "rows.jsonl:2: a row needs"},
		{`{"id":"a","model":"m","category":"simple","tools":7}`, "rows.jsonl:2: tools:"},
	} {
		_, err := Run(context.Background(), []string{writeRows(t, good, tt.line)}, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.line, err)
		}
	}
	if _, err := Run(context.Background(), []string{"no such file"}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Run(context.Background(), []string{writeRows(t, good)}, Options{Dialect: "nonsense"}); err == nil {
		t.Error("an unknown dialect is no error")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	lines := make([]string, 2000)
	for i := range lines {
		lines[i] = fmt.Sprintf(rowLine, fmt.Sprint(i), "simple", "")
	}
	if _, err := Run(ctx, []string{writeRows(t, lines...)}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// spoilt answers with gold, changed in a way that the row's id chooses.
type spoilt struct{ out map[string][]ComparedCall }

func (s spoilt) answer(r *Row, tools []toolRow) ([]ComparedCall, error) {
	h := fnv.New32a()
	h.Write([]byte(r.ID))
	calls := append([]ComparedCall(nil), r.Gold...)
	if len(calls) == 0 && h.Sum32()%2 == 0 {
		calls = []ComparedCall{{tools[0].Function.Name, json.RawMessage(`{}`)}}
	}
	change := func(f func(args map[string]any)) {
		for i := range calls {
			args, _ := decode(calls[i].Arguments).(map[string]any)
			if args == nil {
				args = map[string]any{}
			}
			f(args)
			calls[i].Arguments, _ = json.Marshal(args)
		}
	}
	each := func(f func(v any) any) {
		change(func(args map[string]any) {
			for k, v := range args {
				args[k] = f(v)
			}
		})
	}
	switch h.Sum32() % 11 {
	case 0:
		calls = calls[:len(calls)/2]
	case 1:
		for i, j := 0, len(calls)-1; i < j; i, j = i+1, j-1 {
			calls[i], calls[j] = calls[j], calls[i]
		}
	case 2:
		each(func(v any) any {
			if s, ok := v.(string); ok {
				return strings.ToUpper(s) + " "
			}
			return v
		})
	case 3:
		change(func(args map[string]any) { args["surely_not_declared"] = nil })
	case 4:
		each(func(v any) any {
			if n, ok := v.(json.Number); ok && !strings.ContainsAny(string(n), ".eE") {
				return json.Number(n + ".0")
			}
			return v
		})
	case 5:
		for i := range calls {
			calls[i].Name = strings.ReplaceAll(calls[i].Name, ".", "_")
		}
	case 6:
		each(func(v any) any { return fmt.Sprint(v) })
	case 7:
		change(func(args map[string]any) {
			for k := range args {
				delete(args, k)
				break
			}
		})
	case 8:
		each(func(v any) any { return []any{v} })
	}
	s.out[r.ID] = calls
	return calls, nil
}

// decoded remembers what the decoder answers.
type decoded struct {
	*reader
	out map[string][]ComparedCall
}

func (d decoded) answer(r *Row, tools []toolRow) ([]ComparedCall, error) {
	calls, err := d.reader.answer(r, tools)
	d.out[r.ID] = calls
	return calls, err
}

// TestAgreesWithTheReferenceScorer compares our figures with those of the scorer that comes with the reference data,
// over answers that are right, wrong and nearly right.
func TestAgreesWithTheReferenceScorer(t *testing.T) {
	testlevel.Long(t)
	rows, script := need(t, filepath.Join(dataDir, "bfcl-dev.jsonl.gz")),
		need(t, filepath.Join(scoreDir, "bfcl_score.py"))
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3")
	}
	for _, name := range []string{"spoilt", "decoded"} {
		t.Run(name, func(t *testing.T) {
			outs := make([]map[string][]ComparedCall, 0, runtime.GOMAXPROCS(0))
			r, err := run(context.Background(), []string{rows}, Options{}, func() (answerer, error) {
				out := make(map[string][]ComparedCall)
				outs = append(outs, out)
				if name == "spoilt" {
					return spoilt{out}, nil
				}
				reader, err := newReader(Options{})
				return decoded{reader, out}, err
			})
			if err != nil {
				t.Fatal(err)
			}
			answers := filepath.Join(t.TempDir(), "out.jsonl")
			writeAnswers(t, answers, outs)
			out, err := exec.Command(python, "-B", script, rows, answers).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			compareSummary(t, r, string(out))
		})
	}
}

func writeAnswers(t *testing.T, name string, outs []map[string][]ComparedCall) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, out := range outs {
		for id, calls := range out {
			if calls == nil {
				calls = []ComparedCall{}
			}
			if err := e.Encode(map[string]any{"id": id, "calls": calls}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func compareSummary(t *testing.T, r *Report, out string) {
	t.Helper()
	i := strings.LastIndex(out, "SUMMARY")
	if i < 0 {
		t.Fatalf("no summary in %s", out)
	}
	summary := out[i:]
	ours := map[string]string{
		`all6 loose=([\d.]+)`:                  fmt.Sprintf("%.2f", percent(r.Total.Loose, r.Total.Rows)),
		`all6 loose=[\d.]+ official=(\S+)`:     fmt.Sprintf("%.2f", percent(r.Total.Official, r.Total.Rows)),
		`gold_matched strict=([\d.]+)%`:        fmt.Sprintf("%.2f", percent(r.Total.GoldStrict, r.Total.Gold)),
		`gold_matched strict=\S+ loose=(.*?)%`: fmt.Sprintf("%.2f", percent(r.Total.GoldLoose, r.Total.Gold)),
		`recovered=(\S+)`:                      fmt.Sprintf("%d/%d", r.Total.Recovered, r.Total.Wrong),
		`bonus=(\S+)`:                          fmt.Sprintf("%d/%d", r.Total.OracleOK, r.Total.Oracle),
		`regressions=(\d+)`:                    fmt.Sprint(r.Total.Lost),
		` prose_nocall=([\d.]+)`: fmt.Sprintf("%.2f",
			percent(r.NoCalls["prose"].None, r.NoCalls["prose"].Rows)),
		`unknown_nocall=([\d.]+)`: fmt.Sprintf("%.2f",
			percent(r.NoCalls["unknown_call"].None, r.NoCalls["unknown_call"].Rows)),
	}
	for pattern, want := range ours {
		m := regexp.MustCompile(pattern).FindStringSubmatch(summary)
		if m == nil || m[1] != want {
			t.Errorf("%s: we say %s, the reference %v", pattern, want, m)
		}
	}
	t.Log(strings.TrimSpace(summary))
}

// The floors of TestReferenceFile. They were measured and only ever rise.
const (
	floorMatch  = 9358 // of 9415 rows with gold
	floorStrict = 9345 // of the same, strings and order exact
	mostLost    = 0    // officially right rows that are not matched
	// rows with a call of an unknown tool in which one is read: of one with a hyphen, or without its module
	mostUnknown  = 6
	floorSources = 98 // percent of the rows with gold whose arguments are source text
)

// TestReferenceFile holds the decoder to what it has reached on recorded answers, and logs what reading them costs.
func TestReferenceFile(t *testing.T) {
	rows := need(t, filepath.Join(dataDir, "bfcl-dev.jsonl.gz"))
	start := time.Now()
	r, err := Run(context.Background(), []string{rows}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d call rows in %v, %d MiB from the system", r.Total.Rows, time.Since(start), m.Sys>>20)
	if r.Total.Rows != 11500 || r.Total.Gold != 9415 {
		t.Errorf("%d call rows, %d with gold", r.Total.Rows, r.Total.Gold)
	}
	if r.Total.GoldLoose < floorMatch || r.Total.Lost > mostLost {
		t.Errorf("%d matched, %d lost; the floors are %d and %d", r.Total.GoldLoose, r.Total.Lost, floorMatch, mostLost)
	}
	if r.Total.GoldStrict < floorStrict {
		t.Errorf("%d matched strictly; the floor is %d", r.Total.GoldStrict, floorStrict)
	}
	for _, category := range []string{"java", "javascript"} {
		if c := r.Categories[category]; percent(c.GoldLoose, c.Gold) < floorSources {
			t.Errorf("%s: %d of %d matched", category, c.GoldLoose, c.Gold)
		}
	}
	if u := r.NoCalls["unknown_call"]; u.Rows-u.None > mostUnknown {
		t.Errorf("a call is read in %d of %d rows that call an unknown tool", u.Rows-u.None, u.Rows)
	}
	if p := r.NoCalls["prose"]; p.None != p.Rows {
		t.Errorf("%d of %d rows of prose hold no call", p.None, p.Rows)
	}
}
