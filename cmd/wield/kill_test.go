package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/pgtest"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/postgres"
	"wield/journal/record"
	"wield/journal/sqlite"
)

// killVariable says at which steps runs are killed: "all", or a number N for every Nth step, and each kind of step at
// least once. Without it few are.
const killVariable = "WIELD_KILL"

// killing returns how far apart the steps are at which runs are killed, few where killVariable is not set, and how
// often each kind of step is taken at least.
func killing(t *testing.T, few int) (every, least int) {
	t.Helper()
	value := os.Getenv(killVariable)
	switch value {
	case "":
		return few, 0
	case "all":
		return 1, 3
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 2 || n%3 == 0 { // each step is taken in three manners
		t.Fatalf("%s=%s: give all, or a number above 1 that 3 does not divide", killVariable, value)
	}
	return n, 1
}

// A story is a run from the task to the end, through as many processes as it takes when none is killed.
type story struct {
	name     string
	flags    []string
	config   string // beside what all have
	scenario string // the turns of the model
	later    string // those for the processes after the first; empty: the same
	spare    string // those of the model that the first one falls back on
	deny     string // arguments of the questions that are answered with no; the others get a yes
	code     int    // how the last process ends
	calls    int    // of the model, each with a result
}

// killTools are the tools of all stories. What they do is counted in a file that no part of wield knows of.
var killTools = map[string]string{
	"look":   "# description: Looks at a number. Example: {\"n\": 1}\n# param n integer required: the number\n# changes: no\necho \"saw $ARG_n\"\n",
	"save":   "# description: Saves a number. Example: {\"n\": 1}\n# param n integer required: the number\necho \"save $WIELD_CALL_KEY $WIELD_CALL_FENCE\" >>keys; echo \"save $ARG_n\" >>effects\necho saved\n",
	"again":  "# description: Saves a number. Example: {\"n\": 1}\n# param n integer required: the number\n# idempotent: yes\necho \"again $WIELD_CALL_KEY $WIELD_CALL_FENCE\" >>keys; echo \"again $ARG_n\" >>effects\necho saved\n",
	"asks":   "# description: Saves a number. Example: {\"n\": 1}\n# param n integer required: the number\necho \"asks $WIELD_CALL_KEY $WIELD_CALL_FENCE\" >>keys; echo \"asks $ARG_n\" >>effects\necho saved\n",
	"fails":  "# description: Saves a number. Example: {\"n\": 1}\n# param n integer required: the number\necho \"fails $WIELD_CALL_KEY $WIELD_CALL_FENCE\" >>keys; echo \"fails $ARG_n\" >>effects\necho broken >&2\nexit 1\n",
	"denied": "# description: Saves a file. Example: {\"path\": \"a\"}\n# param path string required: the file\n# path write: path\necho \"denied $ARG_path\" >>effects\n",
}

const killConfig = "wield: config/v1\ndata: state\ntools: {dirs: [tools]}\nsandbox: {level: limits}\n"

const scenarioHead = "wield: scenario/v1\nname: story\nturns:"

var killFlags = []string{"--scenario", "model.yaml", "--tools", "look,save,again,asks,fails,denied", "--write",
	"--allow", "save", "--allow", "again", "--allow", "fails", "--deny", "{path: [secret]}", "--on-ask", "wait",
	"--output", "stream-json"}

// stories are what is killed.
var stories = []story{
	{name: "calls", calls: 12, code: cli.ExitDenied, scenario: `
  - {id: many, when: {turn: 0}, reply: [{text: "First.\n"}, {call: {name: look, args: {n: 1}}}, {call: {name: look, args: {n: 2}}}, {call: {name: save, args: {n: 3}}},
      {call: {name: again, args: {n: 4}}}, {call: {name: again, args: {n: 5}}}, {call: {name: look, args: {n: 6}}}]}
  - {id: mended, when: {turn: 1}, reply: [{raw: "<tool_call>\n{\"name\": \"save\", \"arguments\": {\"n\": \"7\",}}\n</tool_call>"}]}
  - {id: wrong, when: {turn: 2}, reply: [{call: {name: save, args: {m: 8}}}]}
  - {id: corrected, when: {turn: 3}, reply: [{call: {name: save, args: {n: 8}}}, {call: {name: fails, args: {n: 9}}}]}
  - {id: refused, when: {turn: 4}, reply: [{call: {name: denied, args: {path: secret}}}, {call: {name: look, args: {n: 11}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`},
	{name: "questions", calls: 6, code: cli.ExitDenied, deny: `{"n":5}`, scenario: `
  - {id: asked, when: {turn: 0}, reply: [{call: {name: look, args: {n: 1}}}, {call: {name: asks, args: {n: 2}}}, {call: {name: asks, args: {n: 3}}}, {call: {name: save, args: {n: 4}}}]}
  - {id: once more, when: {turn: 1}, reply: [{call: {name: asks, args: {n: 5}}}, {call: {name: again, args: {n: 6}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`},
	{name: "limits", calls: 5, code: cli.ExitLimit, flags: []string{"--max-calls", "3"}, scenario: `
  - {id: answer, when: {last: user, user_contains: Tool limit reached}, reply: [{text: "All done."}]}
  - {id: two, when: {turn: 0}, reply: [{call: {name: save, args: {n: 1}}}, {call: {name: save, args: {n: 2}}}]}
  - {id: more, when: {turn: 1}, reply: [{call: {name: save, args: {n: 3}}}, {call: {name: save, args: {n: 4}}}, {call: {name: look, args: {n: 5}}}]}
`},
	{name: "repetition", calls: 6, code: cli.ExitLimit, scenario: `
  - {id: answer, when: {last: user, user_contains: "Limit reached"}, reply: [{text: "All done."}]}
  - {id: same, when: {}, reply: [{call: {name: again, args: {n: 1}}}]}
`},
	{name: "fallback", calls: 2, flags: []string{"--model", "m"}, config: `
backends: {b: {kind: script, scenario: model.yaml}, c: {kind: script, scenario: spare.yaml}}
models: {m: {backend: b, mode: text, fallback: [n]}, n: {backend: c, mode: text}}
`, scenario: `
  - {id: one, when: {turn: 0}, reply: [{call: {name: save, args: {n: 1}}}]}
  - {id: two, when: {turn: 1}, reply: [{call: {name: save, args: {n: 3}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
faults:
  - {on: two, do: {status: 503}}
`, spare: `
  - {id: two, when: {turn: 1}, reply: [{call: {name: save, args: {n: 2}}}]}
`},
	{name: "failure", calls: 2, scenario: `
  - {id: one, when: {turn: 0}, reply: [{call: {name: save, args: {n: 1}}}]}
  - {id: two, when: {turn: 1}, reply: [{text: "Wait."}, {call: {name: save, args: {n: 2}}}]}
faults:
  - {on: two, do: {cut_after: 1chunks}}
`, later: `
  - {id: one, when: {turn: 0}, reply: [{call: {name: save, args: {n: 1}}}]}
  - {id: two, when: {turn: 1}, reply: [{call: {name: save, args: {n: 2}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`},
}

// A world is where one story takes place: a directory with files, and a wield that can be killed.
type world struct {
	*story
	dir   string
	run   string   // its id
	lives int      // processes so far
	reply []string // flags that answer the questions so far

	database string // address of the PostgreSQL that the journal is in; empty: it is a file
	program  string // that serves; empty: one that can be killed at a step
}

// databaseVariable holds the address of the database that a journal is in.
const databaseVariable = "WIELD_TEST_DATABASE"

func newWorld(dir string, s *story, database string) (*world, error) {
	config := killConfig + s.config
	if database != "" {
		config += "journal: {store: postgres, url: env:" + databaseVariable + "}\n"
	}
	files := map[string]string{"wield.yaml": config, "spare.yaml": scenarioHead + s.spare}
	for name, text := range killTools {
		files["tools/"+name] = "#!/bin/sh\n" + text
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(text), 0o755)); err != nil {
			return nil, err
		}
	}
	w := &world{story: s, dir: dir, database: database}
	return w, os.Mkdir(w.temp(), 0o755)
}

// temp is where the processes have their temporary files, which those that are killed leave behind.
func (w *world) temp() string { return filepath.Join(w.dir, ".temp") }

// A life's end is what can be seen of a process from outside.
type ending struct {
	killed   bool
	code     int
	out, log string
	steps    []string // that it took, the one that it died in last
}

// A process is a wield of a world.
type process struct {
	*exec.Cmd
	world    *world
	trace    string
	out, log bytes.Buffer
}

// start starts a process that does what is next in the story: begins the run, or continues it.
func (w *world) start(env ...string) (*process, error) {
	turns := w.scenario
	if w.lives > 0 && w.later != "" {
		turns = w.later
	}
	if err := os.WriteFile(filepath.Join(w.dir, "model.yaml"), []byte(scenarioHead+turns), 0o644); err != nil {
		return nil, err
	}
	args := append([]string{"sessions", "--config", "wield.yaml", "resume", w.run}, w.reply...)
	if w.run == "" {
		args = append(append([]string{"run", "--config", "wield.yaml"}, killFlags...), append(w.flags, "go")...)
	}
	p := &process{Cmd: exec.Command("wield-mortal", args...), world: w,
		trace: filepath.Join(w.dir, fmt.Sprint("trace", w.lives))}
	p.Dir, p.Stdout, p.Stderr = w.dir, &p.out, &p.log
	p.Env = append(os.Environ(), mortalTrace+"="+p.trace, mortalClock+"="+(time.Duration(w.lives)*time.Minute).String())
	p.Env = append(append(p.Env, databaseVariable+"="+w.database, "TMPDIR="+w.temp(), quickEnd, "GOGC=off"), env...)
	w.lives++
	return p, p.Start()
}

// end waits until the process has ended.
func (p *process) end() (*ending, error) {
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	steps, err := os.ReadFile(p.trace)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	e := &ending{code: p.ProcessState.ExitCode(), out: p.out.String(), log: p.log.String(),
		steps: strings.Split(strings.TrimSpace(string(steps)), "\n")}
	e.killed = e.code == -1
	p.world.learn(e)
	return e, err
}

// live lets one process live to its end.
func (w *world) live(env ...string) (*ending, error) {
	p, err := w.start(env...)
	if err != nil {
		return nil, err
	}
	return p.end()
}

var (
	runID    = regexp.MustCompile(`"run_id":"(run_[0-9a-f]+)"`)
	question = regexp.MustCompile(`needs approval: \w+ (.*)\n.*--approve (apr_[0-9a-f]+)`)
)

// learn takes from what a process said what the next one has to be told.
func (w *world) learn(e *ending) {
	if m := runID.FindStringSubmatch(e.out); m != nil {
		w.run = m[1]
	}
	for _, m := range question.FindAllStringSubmatch(e.log, -1) {
		answer := "--approve=" + m[2]
		if m[1] == w.deny {
			answer = "--deny=" + m[2]
		}
		if !slices.Contains(w.reply, answer) {
			w.reply = append(w.reply, answer)
		}
	}
	if strings.Contains(e.log, "there is no run or session") || strings.Contains(e.log, "there is no journal yet") {
		w.run = "" // it was killed before it was recorded
	}
}

// over reports whether the story is.
func (w *world) over(e *ending) bool {
	return !e.killed && w.run != "" &&
		(strings.Contains(e.log, " is over\n") || e.code == w.code && strings.Contains(e.out, "All done."))
}

// mostLives is how many processes a story may take.
const mostLives = 14

// play lives the story to its end. The n-th process dies the n-th death, if there is one; those after them live.
func (w *world) play(deaths []death) (ends []*ending, err error) {
	for range mostLives {
		var env []string
		if len(ends) < len(deaths) && deaths[len(ends)] != (death{}) {
			env = []string{mortalDeath + "=" + deaths[len(ends)].String()}
		}
		e, err := w.live(env...)
		if err != nil {
			return ends, err
		}
		if ends = append(ends, e); w.over(e) {
			return ends, nil
		}
	}
	last := ends[len(ends)-1]
	return ends, fmt.Errorf("the story does not come to its end; the last process ended with %d and said %s%s",
		last.code, last.out, last.log)
}

// journal opens the journal of the world.
func (w *world) journal(ctx context.Context) (journal.Store, error) {
	if w.database != "" {
		return postgres.Open(ctx, w.database, postgres.Options{})
	}
	return sqlite.Open(ctx, filepath.Join(w.dir, "state", "journal.db"), sqlite.Options{Existing: true})
}

// check looks at what is left of a story: the journal, and what the tools did.
func (w *world) check(ctx context.Context) error {
	s, err := w.journal(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := journal.Verify(ctx, s, journal.Hash{})
	if err != nil || len(report.Problems) > 0 {
		return fmt.Errorf("the chain: %v, %v", report.Problems, err)
	}
	var others []*journal.CallProgress
	for head, err := range s.Heads(ctx, journal.HeadQuery{Opened: record.KindRun}) {
		if err != nil {
			return err
		}
		if head.Stream == w.run {
			continue
		}
		calls, err := journal.Calls(s.Read(ctx, journal.Query{Stream: head.Stream}))
		if err != nil {
			return fmt.Errorf("the run %s, which nobody knows of: %w", head.Stream, err)
		}
		for _, c := range calls {
			if c.Start != nil && c.Result == nil {
				return fmt.Errorf("%s of the run %s, which nobody knows of, has no result", effect(c), head.Stream)
			}
		}
		others = append(others, calls...)
	}
	var entries []journal.Entry
	ends := 0
	for e, err := range s.Read(ctx, journal.Query{Stream: w.run}) {
		if err != nil {
			return err
		}
		if entries = append(entries, e); e.Record.Kind == record.KindEnd {
			ends++
		}
	}
	if ends != 1 {
		return fmt.Errorf("the run has %d ends", ends)
	}
	messages, err := runtest.Transcript(entries)
	if err == nil {
		err = runtest.Strict(messages)
	}
	if err != nil {
		return err
	}
	calls, err := journal.Calls(func(yield func(journal.Entry, error) bool) {
		for i := range entries {
			if !yield(entries[i], nil) {
				return
			}
		}
	})
	if err == nil && len(calls) != w.calls {
		err = fmt.Errorf("%d calls have records, not %d", len(calls), w.calls)
	}
	return errors.Join(err, w.checkEffects(calls, others))
}

// effect returns the line that a call's tool writes down.
func effect(c *journal.CallProgress) string {
	return c.Tool + " " + strings.Trim(string(c.Start.Arguments), `{"n:}`)
}

// checkEffects compares what the journal says of the calls with what they did. Those of others need not have
// come to an end.
func (w *world) checkEffects(calls, others []*journal.CallProgress) error {
	did := map[string]int{}
	for line := range strings.Lines(w.effects()) {
		did[strings.TrimSpace(line)]++
	}
	begun := map[string]int{} // how often
	var failed []error
	for _, c := range slices.Concat(calls, others) {
		if c.Start == nil {
			continue
		}
		begun[effect(c)] += c.Runs
		if !c.Start.Idempotent && c.Runs > 1 {
			failed = append(failed, fmt.Errorf("%s was begun %d times", effect(c), c.Runs))
		}
	}
	for _, c := range calls {
		switch {
		case c.Result == nil:
			failed = append(failed, fmt.Errorf("%s of %s has no result", c.ID, c.Tool))
		case c.Start != nil && c.Tool != "look" && c.Result.Result.OK && did[effect(c)] == 0:
			failed = append(failed, fmt.Errorf("%s is said to be done, and is not", effect(c)))
		}
	}
	for what, n := range did {
		if n > begun[what] {
			failed = append(failed, fmt.Errorf("%s was done %d times, and begun %d times", what, n, begun[what]))
		}
	}
	return errors.Join(failed...)
}

// A point is where a story is killed: once for each death, one process after the other.
type point struct {
	story    *story
	deaths   []death
	kind     string // what step it hits, and how
	database string // that the journal is in; empty: it is a file
}

// points returns the points of a story: each step of each of its processes, before it, after it, and, of a
// journal in a file, torn and with the power.
func (s *story) points(dir, database string) ([]point, error) {
	w, err := newWorld(dir, s, database)
	if err != nil {
		return nil, err
	}
	ends, err := w.play(nil)
	if err == nil {
		err = w.check(context.Background())
	}
	if err != nil {
		return nil, fmt.Errorf("%s, not killed: %w", s.name, err)
	}
	var list []point
	for i, e := range ends {
		for n, step := range e.steps {
			_, step, _ = strings.Cut(step, ": ")
			step, unsynced := strings.CutSuffix(step, unsyncedMark)
			ways := []death{{n + 1, dieBefore, 0}, {n + 1, dieAfter, 100}}
			if database == "" {
				ways = append(ways, death{n + 1, dieTorn, 50})
			}
			if unsynced {
				ways = append(ways, death{n + 1, diePower, 0})
			}
			for _, d := range ways {
				list = append(list, point{story: s, deaths: append(make([]death, i), d),
					kind: fmt.Sprintf("%s: %s", step, d.how)})
			}
		}
	}
	return list, nil
}

// again returns the same point, but torn elsewhere and with other deaths behind it, in one of three ways.
func (p point) again(n int) point {
	p.deaths = slices.Clone(p.deaths)
	last := &p.deaths[len(p.deaths)-1]
	switch n % 3 {
	case 1:
		last.cut = min(last.cut+45, 100)
		p.deaths = append(p.deaths, death{2, dieAfter, 100})
	case 2:
		last.cut /= 10
		p.deaths = append(p.deaths, death{4, dieTorn, 70}, death{3, dieBefore, 0})
	}
	return p
}

// TestKilled kills wield run, and what continues it, at its steps: everything that it writes to the
// journal. Afterwards no call that may not be repeated was made twice, none is lost, each has one result, the
// conversation is one that strict servers take, and the chain of the journal is whole.
//
// WIELD_KILL says how many of the points are taken.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tools of this test are shell scripts: wield run is not killed here")
	}
	killStories(t, stories, func() string { return "" })
}

// TestKilledPostgres is TestKilled with a journal in PostgreSQL.
func TestKilledPostgres(t *testing.T) {
	if os.Getenv(killVariable) == "" {
		t.Skip("starting PostgreSQL takes long: set WIELD_KILL=all to kill runs over it")
	}
	cluster := pgtest.Start(t)
	killStories(t, stories[1:2], func() string { return cluster.Database(t) })
}

// killStories kills stories, over journals in databases that it asks for.
func killStories(t *testing.T, list []story, database func() string) {
	var all []point
	for i := range list {
		points, err := list[i].points(t.TempDir(), database())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, points...)
	}
	every, often := killing(t, 403)
	chosen := choose(all, every, often)
	for i := range chosen {
		chosen[i].database = database()
	}
	kinds := killAll(t, chosen)
	least := slices.Min(slices.Collect(maps.Values(kinds)))
	t.Logf("%d of %d points, %d kills, %d kinds, each at least %d times", min(len(chosen), len(all)), len(all),
		len(chosen), len(kinds), least)
	if every == 1 && len(list) == len(stories) && (len(kinds) < 40 || least < 3) {
		t.Error("that are too few")
	}
}

// choose returns some points, and each kind of them often enough.
func choose(all []point, every, often int) []point {
	var list []point
	kinds := map[string]int{}
	for i, p := range all {
		if i%every == 0 {
			list = append(list, p.again(i))
			kinds[p.kind]++
		}
	}
	for i, p := range all {
		for n := 1; kinds[p.kind] < often; n++ {
			list = append(list, p.again(i+n))
			kinds[p.kind]++
		}
	}
	return list
}

// killAll plays stories that are killed, and returns how often each kind of point was met.
func killAll(t *testing.T, list []point) map[string]int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	kinds := map[string]int{}
	next := make(chan point)
	for range 3 * runtime.GOMAXPROCS(0) { // processes wait for disks and for each other
		wg.Go(func() {
			for p := range next {
				err := kill(t.Context(), p)
				mu.Lock()
				kinds[p.kind]++
				mu.Unlock()
				if err != nil {
					t.Errorf("%s, %s (%v): %v", p.story.name, p.kind, p.deaths, err)
				}
			}
		})
	}
	for _, p := range list {
		next <- p
	}
	close(next)
	wg.Wait()
	return kinds
}

// kill plays a story in a directory of its own.
func kill(ctx context.Context, p point) (err error) {
	dir, err := os.MkdirTemp("", "wield-kill-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorld(dir, p.story, p.database)
	if err != nil {
		return err
	}
	ends, err := w.play(p.deaths)
	if err != nil {
		return err
	}
	first := slices.IndexFunc(p.deaths, func(d death) bool { return d != (death{}) })
	if len(ends) <= first || !ends[first].killed {
		return errors.New("the process was not killed")
	}
	return w.check(ctx)
}
