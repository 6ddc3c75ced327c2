//go:build unix

package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"wield/internal/pgtest"
	"wield/internal/runtest"
	"wield/internal/testport"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// servicesVariable says how many kills of services, workers and their database there are.
const servicesVariable = "WIELD_KILL_SERVICES"

// busyStory is a run whose calls take a moment, here and on workers.
var busyStory = story{name: "busy", calls: 6,
	config: strings.Replace(teamConfig, "agent: {tools: [look, save, again, asks, fails]}",
		"agent: {tools: [look, save, again, asks]}, workers: [build]", 1) + "stats: {off: true}\n", scenario: `
  - {id: one, when: {turn: 0}, reply: [{call: {name: save, args: {n: 1}}}, {call: {name: again, args: {n: 2}}}]}
  - {id: two, when: {turn: 1}, reply: [{call: {name: build__save, args: {n: 3}}}, {call: {name: build__again, args: {n: 4}}}]}
  - {id: three, when: {turn: 2}, reply: [{call: {name: asks, args: {n: 5}}}, {call: {name: save, args: {n: 6}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`}

// A history holds the answers that clients got while things failed.
type history struct {
	mu       sync.Mutex
	runs     map[string]string // that were begun, as a service has said, and where that is
	order    []string          // of the runs
	answered map[string]string // approvals that were decided, as a service has said
	kills    []killedAt        // of services
}

// A killedAt is when the service at an address was killed.
type killedAt struct {
	base string
	at   time.Time
}

// TestKilledServices kills services and workers, stops services for longer than their lease, and restarts PostgreSQL,
// while clients begin runs at any service and answer their questions. Afterwards the history is checked: every run that
// was acknowledged has one end, every answer that was stands, each call has one result, none that may not be repeated
// was begun twice or did more than it was begun, only the owner of a run wrote to it, and the chain of the journal is
// whole.
func TestKilledServices(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv(servicesVariable))
	if err != nil {
		t.Skip("it kills services, in the heavy level of .ci/run (" + servicesVariable + "=20)")
	}
	database := pgtest.Start(t)
	m := newTeam(t, &busyStory, database.Database(t), 3, "")
	for i := range m.services { // where each is, whoever starts it
		_ = m.services[i].cmd.Process.Kill()
		<-m.services[i].gone
	}
	var bases []string
	for range m.services {
		bases = append(bases, testport.Reserve(t))
	}
	again := func(i int) *server { return m.start(t, i, "WIELD_TEST_NATS=", "WIELD_LISTEN="+bases[i]) }
	for i := range m.services {
		m.services[i] = again(i)
	}
	hands := make([]*hand, 2)
	var all []*hand
	work := func(i int) {
		hands[i] = m.worker(t, "http://"+bases[i], fmt.Sprint("w", i), "look")
		all = append(all, hands[i])
	}
	work(0)
	work(1)
	m.services[2].workers(t, 2)
	m.recordWriters(t)

	h := &history{runs: map[string]string{}, answered: map[string]string{}}
	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for i := range bases {
		clients.Go(func() { h.client(t, &server{base: "http://" + bases[i]}, stop) })
	}
	var thaws sync.WaitGroup
	counts := map[string]int{}
	var frozen atomic.Int64 // number of the service that stands still, from 1
	for k := range kills {
		time.Sleep(time.Duration(500+rand.IntN(1000)) * time.Millisecond)
		i := rand.IntN(len(m.services))
		switch {
		case k%10 == 3:
			counts["PostgreSQL killed"]++
			database.Restart(t)
		case k%10 == 6 && frozen.Load() == 0:
			counts["service stopped for longer than its lease"]++
			frozen.Store(int64(i + 1))
			p := m.services[i].cmd.Process
			_ = p.Signal(syscall.SIGSTOP)
			thaws.Go(func() {
				time.Sleep(stoppedFor)
				_ = p.Signal(syscall.SIGCONT)
				frozen.Store(0)
			})
		case k%3 == 1:
			counts["worker killed"]++
			j := rand.IntN(len(hands))
			_ = hands[j].cmd.Process.Kill()
			<-hands[j].gone
			work(j)
		case int64(i+1) == frozen.Load(): // it does not count twice
			i = (i + 1) % len(m.services)
			fallthrough
		default:
			counts["service killed"]++
			h.kills = append(h.kills, killedAt{"http://" + bases[i], time.Now()})
			_ = m.services[i].cmd.Process.Kill()
			<-m.services[i].gone
			m.services[i] = again(i)
		}
	}
	close(stop)
	clients.Wait()
	thaws.Wait()
	t.Logf("%d runs, %d answers; %v", len(h.runs), len(h.answered), counts)
	began := time.Now()
	awaitFor(t, 2*time.Minute, "all runs end", func() bool { return h.over(t, m.services, m) })
	t.Logf("all runs had ended %v after the last kill", time.Since(began).Round(100*time.Millisecond))
	for _, s := range m.services {
		s.end(t)
	}
	for _, one := range all {
		one.stop(t)
	}
	h.check(t, m, all)
}

// stoppedFor is longer than a run is held for its owner.
const stoppedFor = 20 * time.Second

// client begins runs at a service and answers questions there, until it is told to stop.
func (h *history) client(t *testing.T, s *server, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(300 * time.Millisecond):
		}
		var run shownRun
		if n%4 == 0 && s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &run) {
			h.mu.Lock()
			h.runs[run.ID] = s.base
			h.order = append(h.order, run.ID)
			h.mu.Unlock()
		}
		h.answer(t, s)
	}
}

// answer allows what is asked, and keeps what the service has acknowledged.
func (h *history) answer(t *testing.T, s *server) {
	var open struct{ Items []shownQuestion }
	if !s.call(t, "GET", "approvals", nil, &open) {
		return
	}
	for _, q := range open.Items {
		var said struct{ State string }
		if s.call(t, "POST", "approvals/"+q.ID, map[string]string{"decision": "allow"}, &said) {
			h.mu.Lock()
			h.answered[q.ID] = said.State
			h.mu.Unlock()
		}
	}
}

// at returns the runs that were begun at a service, the first ones first.
func (h *history) at(base string) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.order {
		if h.runs[id] == base {
			ids = append(ids, id)
		}
	}
	return ids
}

// over answers what is open, and reports whether all runs that were acknowledged have ended.
func (h *history) over(t *testing.T, services []*server, m *team) bool {
	time.Sleep(200 * time.Millisecond)
	h.answer(t, services[0])
	for id := range h.runs {
		var run shownRun
		if !services[1].call(t, "GET", "runs/"+id, nil, &run) || run.State != "ended" {
			return false
		}
	}
	return true
}

// check holds what clients were told and what tools did against the journal.
func (h *history) check(t *testing.T, m *team, hands []*hand) {
	t.Helper()
	s, err := m.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if report, err := journal.Verify(t.Context(), s, journal.Hash{}); err != nil || len(report.Problems) > 0 {
		t.Errorf("the chain: %v, %v", report.Problems, err)
	}
	effects, keys := effectsOf(append(slices.Clone(hands), &hand{dir: m.dir}))
	if len(keys) == 0 {
		t.Error("no tool has noted for which call it ran")
	}
	writers := m.writers(t)
	begun, succeeded := map[string]int{}, map[string]int{}
	seen, unknown := map[string]bool{}, 0
	var taken []time.Duration
	for head, err := range s.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[head.Stream] = true
		entries := journaltest.List(t, s.Read(t.Context(), journal.Query{Stream: head.Stream}))
		base, told := h.runs[head.Stream]
		if took := h.takenOver(base, entries); took > 0 {
			taken = append(taken, took)
		}
		if err := errors.Join(keys.oneFence(entries), oneWriter(entries, writers)); err != nil {
			t.Errorf("%s: %v", head.Stream, err)
		}
		calls, err := oneRun(entries, told)
		if err != nil {
			t.Errorf("%s: %v", head.Stream, err)
		}
		for _, c := range calls {
			key := head.Stream + "/" + c.ID
			if err := keys.fits(c, key); err != nil {
				t.Errorf("%s: %v", head.Stream, err)
			}
			delete(keys, key)
			if c.Start == nil {
				continue
			}
			what := strings.TrimPrefix(effect(c), "build__")
			if begun[what] += c.Runs; c.Result != nil && c.Result.Result.OK {
				succeeded[what]++
			}
			if !c.Start.Idempotent && c.Runs > 1 {
				t.Errorf("%s: %s was begun %d times", head.Stream, what, c.Runs)
			}
			if c.Result != nil && strings.Contains(string(c.Result.Result.Details), "unknown") {
				unknown++
			}
		}
	}
	for id := range h.runs {
		if !seen[id] {
			t.Errorf("the run %s was acknowledged, and is lost", id)
		}
	}
	approvals := journal.Approvals{Store: s}
	for id, state := range h.answered {
		a, err := approvals.Get(t.Context(), id)
		if used := a.State == runner.ApprovalConsumed && state == string(runner.ApprovalApproved); err != nil ||
			!used && string(a.State) != state {
			t.Errorf("the answer %s to %s was acknowledged, and it is %s, %v", state, id, a.State, err)
		}
	}
	for key, list := range keys {
		t.Errorf("a tool ran for %s, which no run knows: %+v", key, list)
	}
	did := map[string]int{}
	for line := range strings.Lines(effects) {
		did[strings.TrimSpace(line)]++
	}
	for _, what := range slices.Sorted(maps.Keys(begun)) {
		t.Logf("%s: begun %d, done %d, told to have succeeded %d", what, begun[what], did[what], succeeded[what])
		switch {
		case strings.HasPrefix(what, "again"):
			// several workers may do it, and identical calls at the same time share a result
		case did[what] > begun[what]:
			t.Errorf("%s was done %d times, and begun %d times", what, did[what], begun[what])
		case did[what] < succeeded[what]:
			t.Errorf("%s is said to be done %d times, and was %d times", what, succeeded[what], did[what])
		}
	}
	t.Logf("%d runs, %d outcomes unknown", len(seen), unknown)
	if len(taken) > 0 {
		t.Logf("runs of killed services went on after: %s", quantiles(taken))
	}
}

// takenOver returns how long after the service at an address was killed another one went on with a run that was begun
// there; 0: it was not driven there when it was killed.
func (h *history) takenOver(base string, entries []journal.Entry) time.Duration {
	var first string // who has driven it first
	for _, e := range entries {
		switch r := &e.Record; {
		case r.Kind == record.KindWait, r.Kind == record.KindEnd: // nobody drives it
			return 0
		case r.Kind != record.KindClaimed:
		case first == "":
			first = r.Claimed.Owner
		case r.Claimed.Owner != first:
			for _, k := range h.kills {
				if k.base == base && k.at.After(entries[0].At) {
					return max(e.At.Sub(k.at), 0)
				}
			}
		}
	}
	return 0
}

// quantiles tells how long something took.
func quantiles(took []time.Duration) string {
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(100 * time.Millisecond) }
	return fmt.Sprintf("%v (p50), %v (p95), %v at most, of %d", at(0.5), at(0.95), at(1), len(took))
}

// A deed is a run of a tool, as the tool has noted it: under which number of an owner of its run.
type deed struct {
	tool  string
	fence int64
}

// deeds are those of calls, by their idempotency keys.
type deeds map[string][]deed

// effectsOf returns what tools did, and for which calls.
func effectsOf(places []*hand) (effects string, keys deeds) {
	keys = deeds{}
	for _, one := range places {
		effects += one.effects()
		text, _ := os.ReadFile(filepath.Join(one.dir, "keys")) // there is none before the first
		for line := range strings.Lines(string(text)) {
			var key string
			var d deed
			if n, _ := fmt.Sscan(line, &d.tool, &key, &d.fence); n == 3 { // a killed machine may leave half a line
				keys[key] = append(keys[key], d)
			}
		}
	}
	return effects, keys
}

// fits reports a call that ran otherwise than the journal says: before it was begun, more often than it may, or not at
// all although it succeeded.
func (d deeds) fits(c *journal.CallProgress, key string) error {
	ran, idempotent := len(d[key]), c.Start != nil && c.Start.Idempotent
	switch {
	case c.Start == nil && ran > 0:
		return fmt.Errorf("%s of %s ran %d times, and was never begun", c.ID, c.Tool, ran)
	case !idempotent && ran > 1:
		return fmt.Errorf("%s of %s, which may not be repeated, ran %d times", c.ID, c.Tool, ran)
	case c.Start != nil && !idempotent && c.Result != nil && c.Result.Result.OK && ran != 1:
		return fmt.Errorf("%s of %s succeeded, and ran %d times", c.ID, c.Tool, ran)
	}
	return nil
}

// oneFence reports a call that ran under another number than that of the owner which began it: the last one to have
// taken the run over.
func (d deeds) oneFence(entries []journal.Entry) error {
	var owner int64
	for _, e := range entries {
		if e.Record.Kind == record.KindClaimed {
			owner = e.Seq
		}
		if e.Record.Kind != record.KindStart || e.Record.Start.Idempotent {
			// one that may be repeated runs for each owner
			continue
		}
		for _, one := range d[e.Stream+"/"+e.Record.Start.CallID] {
			if one.fence != owner {
				return fmt.Errorf("%s ran for owner %d, and was begun by owner %d", e.Record.Start.CallID, one.fence,
					owner)
			}
		}
	}
	return nil
}

// oneWriter reports a record of a run that another service has written than the one that has last taken the run over.
func oneWriter(entries []journal.Entry, writers map[int64]string) error {
	var owner string
	for _, e := range entries {
		switch by := writers[e.Position]; {
		case by == "":
			return fmt.Errorf("record %d (%s): nobody is known to have written it", e.Seq, e.Record.Kind)
		case e.Record.Kind == record.KindClaimed || owner == "": // who begins a run writes before it takes it
			owner = by
		case by != owner:
			return fmt.Errorf("record %d (%s): written by %s while the run was driven by %s", e.Seq, e.Record.Kind, by,
				owner)
		}
	}
	return nil
}

// writesAs returns an address of the database for one life of a service, as which the database knows its writes.
func writesAs(address string, service, life int) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // the test has made it
	}
	q := u.Query()
	q.Set("options", fmt.Sprintf("-cwield.service=s%d.%d", service, life))
	u.RawQuery = q.Encode()
	return u.String()
}

// recordWriters has the database record from now on which service writes what, whatever the services say.
func (m *team) recordWriters(t *testing.T) {
	t.Helper()
	m.query(t, `CREATE TABLE writers(position bigint PRIMARY KEY, service text NOT NULL)`)
	m.query(t, `CREATE FUNCTION record_writer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO writers VALUES (NEW.position, current_setting('wield.service')); RETURN NEW; END $$`)
	m.query(t,
		`CREATE TRIGGER record_writer AFTER INSERT ON wield_entries FOR EACH ROW EXECUTE FUNCTION record_writer()`)
}

// writers returns which service has written what, by position.
func (m *team) writers(t *testing.T) map[int64]string {
	t.Helper()
	all := map[int64]string{}
	for _, row := range m.query(t, `SELECT position, service FROM writers`) {
		position, err := strconv.ParseInt(string(row[0]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all[position] = string(row[1])
	}
	return all
}

// query asks the database of the services.
func (m *team) query(t *testing.T, statement string) [][][]byte {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), m.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	r := conn.ExecParams(t.Context(), statement, nil, nil, nil, nil).Read()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Rows
}

// oneRun looks at what the journal has of a run. One that no client was told of need not have ended.
func oneRun(entries []journal.Entry, told bool) ([]*journal.CallProgress, error) {
	ends, results := 0, map[string]int{}
	var failed []error
	for i, e := range entries {
		if e.Seq != int64(i)+1 {
			failed = append(failed, fmt.Errorf("entry %d has the number %d", i+1, e.Seq))
		}
		switch e.Record.Kind {
		case record.KindEnd:
			ends++
		case record.KindResult:
			if results[e.Record.Result.CallID]++; ends > 0 || results[e.Record.Result.CallID] > 1 {
				failed = append(failed, fmt.Errorf("%s has a result behind the end, or two", e.Record.Result.CallID))
			}
		case record.KindClaimed: // a lease that nobody has may be asked for
		default:
			if ends > 0 {
				failed = append(failed, fmt.Errorf("%s behind the end", e.Record.Kind))
			}
		}
	}
	calls, err := journal.Calls(func(yield func(journal.Entry, error) bool) {
		for i := range entries {
			if !yield(entries[i], nil) {
				return
			}
		}
	})
	failed = append(failed, err)
	if !told {
		return calls, errors.Join(failed...)
	}
	if ends != 1 {
		failed = append(failed, fmt.Errorf("it has %d ends", ends))
	}
	for _, c := range calls {
		if c.Result == nil {
			failed = append(failed, fmt.Errorf("%s of %s has no result", c.ID, c.Tool))
		}
	}
	messages, err := runtest.Transcript(entries)
	if err == nil {
		err = runtest.Strict(messages)
	}
	return calls, errors.Join(append(failed, err)...)
}

// TestHistory has the check of a history find what is wrong in it.
func TestHistory(t *testing.T) {
	begun := func(idempotent bool) journal.CallProgress {
		return journal.CallProgress{ID: "c", Tool: "t", Start: &runner.StartRecord{CallID: "c", Idempotent: idempotent},
			Result: &runner.FinishRecord{Result: tool.Result{OK: true}}}
	}
	never := journal.CallProgress{ID: "c", Tool: "t"}
	for _, test := range []struct {
		name string
		call journal.CallProgress
		runs int
		fits bool
	}{
		{"once", begun(false), 1, true}, {"twice", begun(false), 2, false}, {"not at all", begun(false), 0, false},
		{"again", begun(true), 2, true}, {"shared", begun(true), 0, true},
		{"never begun", never, 1, false}, {"denied", never, 0, true},
	} {
		d := deeds{}
		for range test.runs {
			d["r/c"] = append(d["r/c"], deed{"t", 1})
		}
		if err := d.fits(&test.call, "r/c"); (err == nil) != test.fits {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for _, test := range []struct {
		name    string
		records string // SERVICE takes the run over, service:fence begins a call that runs under a fence
		fence   bool
		writer  bool
	}{
		{"one", "a:0 A a:2 a:2", true, true}, {"taken over", "A a:1 B b:3 b:3", true, true},
		{"taken over twice, the second time by the first one", "A a:1 B A a:4", true, true},
		{"a call of the owner before", "A a:1 B b:1", false, true}, {"of no owner", "A a:1 a:2", false, true},
		{"a record of the owner before", "A a:1 B b:3 a:3", true, false},
		{"without a takeover", "A a:1 b:1", true, false}, {"of nobody", "A :1", true, false},
	} {
		d, entries, writers := deeds{}, []journal.Entry(nil), map[int64]string{}
		for i, word := range strings.Fields(test.records) {
			e := journal.Entry{Stream: "r", Seq: int64(i) + 1, Position: int64(i) + 7}
			by, text, call := strings.Cut(word, ":")
			e.Record = record.Record{Kind: record.KindClaimed}
			if fence, _ := strconv.ParseInt(text, 10, 64); call {
				e.Record = record.Record{Kind: record.KindStart, Start: &runner.StartRecord{CallID: fmt.Sprint(i)}}
				d["r/"+fmt.Sprint(i)] = []deed{{"t", fence}}
			}
			writers[e.Position] = strings.ToLower(by)
			entries = append(entries, e)
		}
		if err := d.oneFence(entries); (err == nil) != test.fence {
			t.Errorf("%s: fences: %v", test.name, err)
		}
		if err := oneWriter(entries, writers); (err == nil) != test.writer {
			t.Errorf("%s: writers: %v", test.name, err)
		}
	}
}
