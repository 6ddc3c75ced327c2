package memory

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/tool"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept returns a runner of the tools over a file in a directory that does not exist yet, whose clock moves on a
// second a look.
func kept(t *testing.T, mode tool.Mode, max int) (*runner.Runner, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b%20?#", "memories.db")
	return over(t, path, mode, max), path
}

func over(t *testing.T, path string, mode tool.Mode, max int) *runner.Runner {
	t.Helper()
	var reg runner.Registry
	var mu sync.Mutex
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	o := Options{Path: path, Max: max, others: time.Millisecond, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}}
	for _, d := range o.Tools() {
		if d.State != tool.StateDisabled {
			t.Errorf("%s is not off", d.Name())
		}
		d.State, d.Guard = tool.StateEnabled, &tool.Guard{Mode: mode}
		if err := reg.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return runner.New(runner.Settings{Tools: &reg, Root: t.TempDir()})
}

func do(t *testing.T, r *runner.Runner, name, args string) string {
	t.Helper()
	result, err := r.Call(t.Context(), name, args)
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Append(nil, tool.StyleLLF))
}

// made adds a memory and returns its id.
func made(t *testing.T, r *runner.Runner, args string) string {
	t.Helper()
	var m memory
	if err := json.Unmarshal([]byte(do(t, r, "add_memory", args)), &m); err != nil || m.ID == "" {
		t.Fatalf("%s: %v, %+v", args, err, m)
	}
	return m.ID
}

// found returns the contents of what a search finds.
func contents(t *testing.T, r *runner.Runner, args string) string {
	t.Helper()
	var f searchResult
	text := do(t, r, "search_memories", args)
	if err := json.Unmarshal([]byte(text), &f); err != nil || f.Count != len(f.Memories) {
		t.Fatalf("%s: %v in %s", args, err, text)
	}
	list := []string{}
	for _, m := range f.Memories {
		list = append(list, m.Content)
	}
	return strings.Join(list, "|")
}

func TestLife(t *testing.T) {
	r, path := kept(t, tool.ModeRW, 0)
	if got := do(t, r, "get_memory_stats", `{}`); got != `{"success":true,"total":0,"by_type":{},"bytes":0}` {
		t.Errorf("before the first: %s", got)
	}
	if got := contents(t, r, `{"query":"tea"}`); got != "" {
		t.Errorf("before the first: %s", got)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("reading made a file")
	}
	id := made(t, r,
		`{"content":"Likes tea, not coffee","memory_type":"preference","tags":["Drinks"],"importance":0.7}`)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	want := fmt.Sprintf(
		`{"success":true,"memory_id":%q,"content":"Likes tea, not coffee","memory_type":"preference","tags":["Drinks"],"importance":0.7,"created_at":"2026-02-03T04:05:07Z","updated_at":"2026-02-03T04:05:07Z"}`, id)
	if got := do(t, r, "get_memory", `{"memory_id":"`+id+`"}`); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again := over(t, path, tool.ModeRW, 0) // another program
	want = fmt.Sprintf(
		`{"success":true,"memory_id":%q,"content":"Likes green tea","memory_type":"preference","tags":[],"importance":0.7,"created_at":"2026-02-03T04:05:07Z","updated_at":"2026-02-03T04:05:07Z"}`, id)
	if got := do(t, again, "update_memory",
		`{"memory_id":"`+id+`","content":"Likes green tea","tags":[]}`); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := contents(t, r, `{"query":"coffee"}`); got != "" {
		t.Errorf("the old words are found: %s", got)
	}
	if got := do(t, r, "get_memory_stats",
		`{}`); got != `{"success":true,"total":1,"by_type":{"preference":1},"oldest":"2026-02-03T04:05:07Z","newest":"2026-02-03T04:05:07Z","bytes":15}` {
		t.Errorf("statistics: %s", got)
	}
	if got := do(t, r, "delete_memory", `{"memory_id":"`+id+`"}`); !strings.Contains(got, `"deleted":true`) {
		t.Errorf("delete: %s", got)
	}
	for _, name := range []string{"get_memory", "update_memory", "delete_memory"} {
		if got := do(t, r, name, `{"memory_id":"`+id+`"}`); !strings.Contains(got, "There is no memory") {
			t.Errorf("%s after it was deleted: %s", name, got)
		}
	}
	if got := contents(t, r, `{"query":"tea"}`); got != "" {
		t.Errorf("what was deleted is found: %s", got)
	}
}

func TestSearch(t *testing.T) {
	r, _ := kept(t, tool.ModeRW, 0)
	for _, args := range []string{
		`{"content":"The crème brûlée needs six eggs","tags":["cooking"]}`,
		`{"content":"Backups run at night","memory_type":"fact","tags":["server","Cooking"]}`,
		`{"content":"Buy eggs","memory_type":"task","importance":1}`,
		`{"content":"日本語のメモ"}`,
	} {
		made(t, r, args)
	}
	for _, tt := range []struct{ args, want string }{
		{`{}`, "日本語のメモ|Buy eggs|Backups run at night|The crème brûlée needs six eggs"},
		{`{"limit":1}`, "日本語のメモ"},
		{`{"query":"EGGS"}`, "Buy eggs|The crème brûlée needs six eggs"},
		{`{"query":"creme"}`, "The crème brûlée needs six eggs"},
		{`{"query":"back"}`, "Backups run at night"},
		{`{"query":"server"}`, "Backups run at night"},
		{`{"query":"eggs","memory_type":"note"}`, "The crème brûlée needs six eggs"},
		{`{"tags":["cooking"]}`, "Backups run at night|The crème brûlée needs six eggs"},
		{`{"tags":["cooking","server"]}`, "Backups run at night"},
		{`{"query":"nothing such"}`, ""},
		{`{"query":"\" OR * NEAR( ) : - ' ; DROP TABLE memory"}`, ""},
		{`{"query":"?!"}`, ""},
		{`{"query":"メモ"}`, ""}, // words that are not set apart are one word
		{`{"query":"日本"}`, "日本語のメモ"},
	} {
		if got := contents(t, r, tt.args); got != tt.want {
			t.Errorf("%s found %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestRefused(t *testing.T) {
	rw, path := kept(t, tool.ModeRW, 2)
	made(t, rw, `{"content":"one"}`)
	made(t, rw, `{"content":"two"}`)
	ro := over(t, path, tool.ModeRO, 2)
	broken := filepath.Join(t.TempDir(), "memories.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := over(t, broken, tool.ModeRW, 0)
	for _, tt := range []struct {
		r                *runner.Runner
		name, args, want string
	}{
		{rw, "add_memory", `{"content":"three"}`, "There are 2 memories, which is as many as are kept"},
		{rw, "add_memory", `{"content":" \n"}`, "content is empty"},
		{rw, "add_memory", `{"content":"` + strings.Repeat("x", maxContent+1) + `"}`, "content has 16385 bytes"},
		{rw, "add_memory", `{"content":"x","tags":[""]}`, "a tag has between 1 and 100 bytes"},
		{rw, "add_memory", `{"content":"x","memory_type":"secret"}`, "memory_type"},
		{rw, "add_memory", `{"content":"x","importance":2}`, "importance"},
		{ro, "add_memory", `{"content":"x"}`, "read-only mode"},
		{ro, "update_memory", `{"memory_id":"x"}`, "read-only mode"},
		{ro, "delete_memory", `{"memory_id":"x"}`, "read-only mode"},
		{bad, "search_memories", `{}`, "The memories cannot be used"},
		{bad, "add_memory", `{"content":"x"}`, "The memories cannot be used"},
	} {
		if got := do(t, tt.r, tt.name, tt.args); !strings.Contains(got, tt.want) ||
			!strings.Contains(got, `"success":false`) {
			t.Errorf("%s %.80s: %s, want %s", tt.name, tt.args, got, tt.want)
		}
	}
	if got := contents(t, ro, `{}`); got != "two|one" {
		t.Errorf("after all that there are %q", got)
	}
}

// TestTogether adds memories from several calls at a time: none is lost, even if none has the patience to find the
// file in use.
func TestTogether(t *testing.T) {
	r, path := kept(t, tool.ModeRW, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 3 {
				if got := do(t, r, "add_memory", fmt.Sprintf(`{"content":"note %d %d"}`, i, j)); !strings.Contains(got,
					`"success":true`) {
					t.Error(got)
				}
			}
		})
	}
	wg.Wait()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n, words int
	if err := db.QueryRow("SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM memory_text)").Scan(&n,
		&words); err != nil || n != 24 || words != 24 {
		t.Errorf("%d memories and %d texts, %v", n, words, err)
	}
}
