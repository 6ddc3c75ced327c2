package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// TestBackgroundCutOff: what was cut off, and is kept in memory alone, is shown as it was, and is nobody's to cancel.
func TestBackgroundCutOff(t *testing.T) {
	g := aService(t, one(says(text("hi"))))
	body := `{"id":"resp_x","status":"in_progress","background":true}`
	g.responses.cache(&stored{key: recordKey{"", "resp_x"}, kind: keptResponseKind, body: []byte(body),
		making: &making{Model: "m"}})
	if code, got := direct(t.Context(), g, "GET", pathResponses+"/resp_x", ""); code != 200 || got != body {
		t.Errorf("%d %s", code, got)
	}
	if code, got := direct(t.Context(), g, "POST", pathResponses+"/resp_x/cancel", ""); code != 409 {
		t.Errorf("%d %s", code, got)
	}
}

// A paced model says a word whenever it is given one, and ends when there are no more.
type paced chan string

func newPaced() paced { return make(paced) }

func (p paced) model() fake {
	return func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		for {
			select {
			case w, ok := <-p:
				if !ok {
					emit(finish(chat.FinishStop))
					return nil
				}
				if !emit(text(w)) {
					return nil
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// direct sends a request to a gateway without a network, so that time can be the test's own.
func direct(ctx context.Context, g *Gateway, method, path, body string, header ...string) (int, string) {
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	req.Host = "localhost"
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// aService is a gateway under test, whose jobs are ended with it.
func aService(t *testing.T, o Options) *Gateway {
	t.Helper()
	g := New(o)
	t.Cleanup(func() { stop(g) })
	return g
}

func stop(g *Gateway) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.jobs.drain(ctx)
}

// begin asks for a response in the background and returns its id.
func begin(t *testing.T, g *Gateway, body string, header ...string) string {
	t.Helper()
	code, answer := direct(t.Context(), g, "POST", pathResponses, body, header...)
	r := readResponse(t, answer)
	if code != 200 || r.Status != "queued" || len(r.Output) != 0 || !strings.Contains(answer, `"background":true`) {
		t.Fatalf("%d %s", code, answer)
	}
	return r.ID
}

func look(t *testing.T, g *Gateway, id string, header ...string) responded {
	t.Helper()
	code, answer := direct(t.Context(), g, "GET", pathResponses+"/"+id, "", header...)
	if code != 200 {
		t.Fatalf("%d %s", code, answer)
	}
	return readResponse(t, answer)
}

// An event of a stream.
type streamed struct {
	name   string
	number int
	data   string
}

func streamedEvents(t *testing.T, body string) (list []streamed) {
	t.Helper()
	for _, block := range strings.Split(body, "\n\n") {
		name, data, ok := strings.Cut(block, "\ndata: ")
		if !ok {
			continue
		}
		_, number, _ := strings.Cut(data, `"sequence_number":`)
		number, _, _ = strings.Cut(number, ",")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("event without a number: %s", block)
		}
		list = append(list, streamed{strings.TrimPrefix(name, "event: "), n, data})
	}
	return list
}

func eventNames(list []streamed) string {
	var all []string
	for _, e := range list {
		all = append(all, strings.TrimPrefix(e.name, "response."))
	}
	return strings.Join(all, " ")
}

const inBackground = `{"model":"m","input":"go","background":true}`

// withAndWithout runs a test with what is kept in memory and in a journal.
func withAndWithout(t *testing.T, run func(t *testing.T, store journal.Store)) {
	t.Run("Memory", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { run(t, nil) }) })
	t.Run("Journal", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { run(t, &journal.Memory{}) }) })
}

// begun begins a response in the background, whose model writes what p is sent.
func begun(t *testing.T, store journal.Store) (p paced, g *Gateway, id string) {
	t.Helper()
	p = newPaced()
	o := one(p.model())
	o.Journal = store
	g = aService(t, o)
	return p, g, begin(t, g, inBackground)
}

// TestBackground: a response goes through its states while nobody waits for it, and is then like any other.
func TestBackground(t *testing.T) {
	withAndWithout(t, func(t *testing.T, store journal.Store) {
		p, g, id := begun(t, store)
		synctest.Wait()
		if r := look(t, g, id); r.Status != "in_progress" {
			t.Errorf("status %s", r.Status)
		}
		if code, body := direct(t.Context(), g, "POST", pathResponses,
			`{"model":"m","input":"and?","previous_response_id":"`+id+`"}`); code != 400 ||
			!strings.Contains(body, codeUnfinished) {
			t.Errorf("continued before its end: %d %s", code, body)
		}
		p <- "one "
		p <- "two"
		close(p)
		synctest.Wait()
		r := look(t, g, id)
		if r.Status != "completed" || len(r.Output) != 1 || r.Output[0].Content[0].Text != "one two" {
			t.Errorf("%+v", r)
		}
		if code, body := direct(t.Context(), g, "POST", pathResponses,
			`{"model":"m","input":"and?","previous_response_id":"`+id+`"}`); code != 200 {
			t.Errorf("%d %s", code, body)
		}
		if code, body := direct(t.Context(), g, "GET", pathResponses+"/"+id+"/input_items", ""); code != 200 ||
			len(readResponse(t, body).Data) != 1 {
			t.Errorf("%d %s", code, body)
		}
		if code, body := direct(t.Context(), g, "POST", pathResponses+"/"+id+"/cancel", ""); code != 200 ||
			readResponse(t, body).Status != "completed" {
			t.Errorf("cancelled after its end: %d %s", code, body)
		}
		if code, _ := direct(t.Context(), g, "DELETE", pathResponses+"/"+id, ""); code != 200 {
			t.Errorf("delete: %d", code)
		}
		if code, _ := direct(t.Context(), g, "GET", pathResponses+"/"+id+"?stream=true", ""); code != 404 {
			t.Errorf("after delete: %d", code)
		}
	})
}

// A slow journal takes a second for what is written.
type slowJournal struct{ journal.Store }

func (s slowJournal) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	time.Sleep(time.Second)
	return s.Store.Append(ctx, stream, after, records...)
}

// TestBackgroundKept: who is shown that a response is completed can go on from it at once.
func TestBackgroundKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, g, id := begun(t, slowJournal{new(journal.Memory)})
		p <- "one"
		close(p)
		synctest.Wait() // its end is being written
		if r := look(t, g, id); r.Status != "in_progress" {
			t.Errorf("before its end is kept: %+v", r)
		}
		for look(t, g, id).Status != "completed" {
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if code, body := direct(t.Context(), g, "POST", pathResponses,
			`{"model":"m","input":"and?","previous_response_id":"`+id+`"}`); code != 200 {
			t.Errorf("%d %s", code, body)
		}
	})
}

// TestBackgroundConversation: what is said in the background stands in its conversation when it is whole.
func TestBackgroundConversation(t *testing.T) {
	withAndWithout(t, func(t *testing.T, store journal.Store) {
		rec := &recorder{}
		o := one(rec.model())
		o.Journal = store
		g := aService(t, o)
		_, body := direct(t.Context(), g, "POST", pathConversations, `{}`)
		conv := readResponse(t, body).ID
		begin(t, g, `{"model":"m","input":"one","background":true,"conversation":"`+conv+`"}`)
		synctest.Wait()
		if code, body := direct(t.Context(), g, "POST", pathResponses, `{"model":"m","input":"two","conversation":"`+
			conv+`"}`); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if want := "user:one|assistant:answer 0|user:two"; rec.last() != want {
			t.Errorf("asked %s", rec.last())
		}
	})
}

// TestBackgroundStream: a client that leaves misses nothing, from whatever event it comes back behind.
func TestBackgroundStream(t *testing.T) {
	withAndWithout(t, func(t *testing.T, store journal.Store) {
		p := newPaced()
		o := one(p.model())
		o.Journal = store
		g := aService(t, o)
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan string)
		go func() {
			_, body := direct(ctx, g, "POST", pathResponses,
				`{"model":"m","input":"go","background":true,"stream":true}`)
			first <- body
		}()
		p <- "one "
		synctest.Wait()
		leave()
		seen := streamedEvents(t, <-first)
		if got := eventNames(
			seen); got != "created queued in_progress output_item.added content_part.added output_text.delta" {
			t.Fatalf("events %s", got)
		}
		id := readID(t, seen[0].data)
		rest := make(chan string)
		go func() {
			_, body := direct(t.Context(), g, "GET", pathResponses+"/"+id+"?stream=true&starting_after="+
				strconv.Itoa(seen[len(seen)-1].number), "")
			rest <- body
		}()
		synctest.Wait()
		p <- "two"
		close(p)
		seen = append(seen, streamedEvents(t, <-rest)...)
		for i, e := range seen {
			if e.number != i {
				t.Errorf("event %d has the number %d", i, e.number)
			}
		}
		if last := seen[len(seen)-1]; last.name != "response.completed" || !strings.Contains(last.data, "one two") {
			t.Errorf("the last event is %s %s", last.name, last.data)
		}
		for after := -1; after < len(seen); after++ {
			path := pathResponses + "/" + id + "?stream=true"
			if after >= 0 {
				path += "&starting_after=" + strconv.Itoa(after)
			}
			code, body := direct(t.Context(), g, "GET", path, "")
			if again := streamedEvents(t, body); after < len(seen) &&
				(code != 200 || fmt.Sprint(again) != fmt.Sprint(seen[after+1:])) {
				t.Errorf("behind %d: %d %v", after, code, again)
			}
		}
		for _, wrong := range []string{"x", "-3", "99"} {
			if code, body := direct(t.Context(), g, "GET", pathResponses+"/"+id+"?stream=true&starting_after="+wrong,
				""); code != 400 || !strings.Contains(body, `"param":"starting_after"`) {
				t.Errorf("starting_after %s: %d %s", wrong, code, body)
			}
		}
	})
}

func readID(t *testing.T, data string) string {
	t.Helper()
	_, id, ok := strings.Cut(data, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if !ok {
		t.Fatalf("no id in %s", data)
	}
	return id
}

// TestBackgroundCancel: a response can be cancelled while it is made, as often as one likes, and nothing of it runs any
// more.
func TestBackgroundCancel(t *testing.T) {
	withAndWithout(t, func(t *testing.T, store journal.Store) {
		p, g, id := begun(t, store)
		follower := make(chan string)
		go func() {
			_, body := direct(t.Context(), g, "GET", pathResponses+"/"+id+"?stream=true", "")
			follower <- body
		}()
		p <- "one"
		synctest.Wait()
		for range 2 {
			code, body := direct(t.Context(), g, "POST", pathResponses+"/"+id+"/cancel", "")
			if r := readResponse(t, body); code != 200 || r.Status != "cancelled" || len(r.Output) != 1 {
				t.Errorf("%d %s", code, body)
			}
		}
		if got := eventNames(streamedEvents(t, <-follower)); !strings.HasSuffix(got, "output_text.delta cancelled") {
			t.Errorf("events %s", got)
		}
		if n := g.running.Load(); n != 0 {
			t.Errorf("%d are running", n)
		}
	})
}

// TestBackgroundRefused: what cannot be done is said.
func TestBackgroundRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced()
		blocked := Model{Name: "blocked", Model: p.model()}
		plain := Model{Name: "m", Model: says(text("hi"))}
		keys := []Key{{Name: "a", Hash: HashKey("k-a")}, {Name: "b", Hash: HashKey("k-b")},
			{Name: "few", Hash: HashKey("k-few"), Concurrent: 1}}
		g := aService(t, Options{Models: []Model{plain, blocked}, Keys: keys})
		a, b, few := []string{"Authorization", "Bearer k-a"}, []string{"Authorization", "Bearer k-b"},
			[]string{"Authorization", "Bearer k-few"}
		id := begin(t, g, `{"model":"blocked","input":"go","background":true}`, a...)
		_, body := direct(t.Context(), g, "POST", pathResponses, `{"model":"m","input":"go"}`, a...)
		whole := readResponse(t, body).ID
		begin(t, g, `{"model":"blocked","input":"go","background":true}`, few...)
		for _, test := range []struct {
			method, path, body string
			key                []string
			status             int
			say                string
		}{
			{"POST", "", `{"model":"m","input":"x","background":true,"store":false}`, a, 400, `"param":"background"`},
			{"POST", "", `{"model":"m","input":"x","background":"yes"}`, a, 400, `"param":"background"`},
			{"GET", "/" + id, "", b, 404, "there is no response"},
			{"GET", "/" + id + "?stream=true", "", b, 404, "there is no response"},
			{"POST", "/" + id + "/cancel", "", b, 404, "there is no response"},
			{"DELETE", "/" + id, "", b, 404, "there is no response"},
			{"POST", "/" + whole + "/cancel", "", a, 400, codeNotBackground},
			{"GET", "/" + whole + "?stream=true", "", a, 400, codeFrames},
			{"POST", "/resp_none/cancel", "", a, 404, "there is no response"},
			// its place is taken by what is made in the background
			{"POST", "", `{"model":"m","input":"x"}`, few, 429, "under way at a time"},
		} {
			code, body := direct(t.Context(), g, test.method, pathResponses+test.path, test.body, test.key...)
			if code != test.status || !strings.Contains(body, test.say) {
				t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, code, body)
			}
		}
		if code, body := direct(t.Context(), g, "DELETE", pathResponses+"/"+id, "", a...); code != 200 {
			t.Errorf("deleting what is made: %d %s", code, body)
		}
		if code, _ := direct(t.Context(), g, "GET", pathResponses+"/"+id, "", a...); code != 404 {
			t.Errorf("deleted, and there: %d", code)
		}
	})
}

// TestBackgroundFails: an error of the model is the response's, and so is a panic.
func TestBackgroundFails(t *testing.T) {
	const oddity = "an oddity inside" // stands in no random id
	for name, m := range map[string]fake{
		"error":      fails(chat.Errorf(chat.ErrRateLimit, "too fast"), text("so")),
		"panic":      func(context.Context, *chat.Request, func(chat.Event) bool) error { panic(oddity) },
		"unfinished": func(context.Context, *chat.Request, func(chat.Event) bool) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			withAndWithout(t, func(t *testing.T, store journal.Store) {
				o := one(m)
				o.Journal = store
				g := aService(t, o)
				id := begin(t, g, inBackground)
				synctest.Wait()
				r := look(t, g, id)
				if r.Status != "failed" || r.Error == nil || r.Error.Message == "" ||
					strings.Contains(r.Error.Message, oddity) {
					t.Errorf("%+v", r)
				}
				if name == "error" && (r.Error.Code != "rate_limit_exceeded" || len(r.Output) != 1) {
					t.Errorf("%+v %+v", r.Error, r.Output)
				}
			})
		})
	}
}

// TestBackgroundBounds: there are only so many jobs at a time, and only so many events are kept of each.
func TestBackgroundBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced()
		g := aService(t, one(p.model()))
		var id string
		for range maxJobs {
			id = begin(t, g, inBackground)
		}
		if code, body := direct(t.Context(), g, "POST", pathResponses, inBackground); code != 429 ||
			!strings.Contains(body, strconv.Itoa(maxJobs)) {
			t.Errorf("%d %s", code, body)
		}
		if code, _ := direct(t.Context(), g, "POST", pathResponses+"/"+id+"/cancel", ""); code != 200 {
			t.Errorf("cancel: %d", code)
		}
		begin(t, g, inBackground)
	})
	var f frameLog
	big := strings.Repeat("x", maxFrameBytes/4) + "\n\n"
	for range 10 {
		f.add([]byte(big + "y\n\n"))
	}
	if f.bytes > maxFrameBytes || f.next() != 20 || f.first == 0 || len(f.list) != 20-f.first ||
		string(f.list[len(f.list)-1]) != "y\n\n" {
		t.Errorf("%d bytes, from %d, %d frames", f.bytes, f.first, len(f.list))
	}
	f.add([]byte(strings.Repeat("z", 2*maxFrameBytes) + "\n\n"))
	if len(f.list) != 1 || f.next() != 21 {
		t.Errorf("%d frames up to %d", len(f.list), f.next())
	}
	j := &job{frames: f}
	if err := j.checkPlace(3); err == nil || err.err.Code != codeFrames {
		t.Errorf("following forgotten events: %+v", err)
	}
}

// TestBackgroundTaken: a process that could not renew its lease stops making a response that another one has taken over,
// and writes nothing more of it.
func TestBackgroundTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(journal.Memory)
		store := &runtest.CutOff{Store: memory}
		p, g, id := begun(t, store)
		p <- "one"
		synctest.Wait()
		store.Off.Store(true)
		time.Sleep(2 * jobLease)
		stream := recordKey{id: id}.stream()
		other, err := memory.Claim(t.Context(), stream, "own_other", journal.MaxLease)
		if err != nil {
			t.Fatal(err)
		}
		store.Off.Store(false)
		time.Sleep(jobLease)
		if r := look(t, g, id); r.Status != "queued" { // as the journal has it
			t.Errorf("it is %s", r.Status)
		}
		if g.jobs.get(recordKey{id: id}) != nil {
			t.Error("it is still made here")
		}
		for h := range memory.Heads(t.Context(), journal.HeadQuery{Stream: stream}) {
			if h.Seq != other.Seq {
				t.Errorf("written after it was taken over: %d entries, then %d", other.Seq, h.Seq)
			}
		}
	})
}

// A gated journal gives leases back when the test lets it.
type gatedJournal struct {
	journal.Store
	gate chan struct{}
}

func (s gatedJournal) Release(ctx context.Context, l journal.Lease) error {
	<-s.gate
	return s.Store.Release(ctx, l)
}

// TestBackgroundReleased: nobody is told that a response has ended before it can be deleted, whether they follow it or
// ask. Who deletes it meanwhile waits.
func TestBackgroundReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		p, g, id := begun(t, gatedJournal{new(journal.Memory), gate})
		followed, deleted := make(chan struct{}), make(chan int)
		go func() {
			direct(t.Context(), g, "GET", pathResponses+"/"+id+"?stream=true", "")
			close(followed)
		}()
		p <- "one"
		close(p)
		synctest.Wait()
		if r := look(t, g, id); r.Status != "in_progress" {
			t.Errorf("while it is held, it is %s", r.Status)
		}
		select {
		case <-followed:
			t.Error("its stream has ended while it is held")
		default:
		}
		go func() {
			code, _ := direct(t.Context(), g, "DELETE", pathResponses+"/"+id, "")
			deleted <- code
		}()
		synctest.Wait()
		close(gate)
		<-followed
		if code := <-deleted; code != 200 {
			t.Errorf("deleted at its end: %d", code)
		}
	})
}

// A muteLog keeps whoever says one thing waiting.
type muteLog struct {
	slog.Handler
	message string
	until   chan struct{}
}

func (l muteLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == l.message {
		<-l.until
	}
	return nil
}

func (l muteLog) Enabled(context.Context, slog.Level) bool { return true }

// TestBackgroundPlaces: when a client is told that its response has ended, it may ask for the next one, whatever is
// left to do.
func TestBackgroundPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		p := newPaced()
		o := one(p.model())
		o.Keys = []Key{{Name: "k", Hash: HashKey("k"), Concurrent: 1}}
		o.Log = slog.New(muteLog{slog.DiscardHandler, "background response completed", until})
		g, key := New(o), []string{"Authorization", "Bearer k"}
		ids := []string{begin(t, g, inBackground, key...)}
		p <- "one"
		close(p)
		synctest.Wait()
		ids = append(ids, begin(t, g, inBackground, key...))
		synctest.Wait()
		for _, id := range ids {
			if r := look(t, g, id, key...); r.Status != "completed" {
				t.Errorf("%s is %s", id, r.Status)
			}
		}
		g.jobs.mu.Lock()
		defer g.jobs.mu.Unlock()
		if n := len(g.jobs.running); n != 0 {
			t.Errorf("%d count as running", n)
		}
	})
}

// TestBackgroundSlowFollower: who takes events more slowly than they are made is told that some are missing, and is
// sent none twice.
func TestBackgroundSlowFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, g, id := begun(t, nil)
		synctest.Wait()
		w := &stuckWriter{ResponseRecorder: httptest.NewRecorder(), goes: make(chan struct{})}
		req := httptest.NewRequestWithContext(t.Context(), "GET", pathResponses+"/"+id+"?stream=true", nil)
		req.Host = "localhost"
		followed := make(chan struct{})
		go func() {
			g.ServeHTTP(w, req)
			close(followed)
		}()
		synctest.Wait()
		for range 6 {
			p <- strings.Repeat("x", maxFrameBytes/4)
		}
		synctest.Wait()
		close(w.goes)
		<-followed
		seen := streamedEvents(t, w.Body.String())
		for i, e := range seen {
			if e.number != i {
				t.Errorf("event %d has the number %d", i, e.number)
			}
		}
		if last := seen[len(seen)-1]; !strings.Contains(last.data, "not kept any more") {
			t.Errorf("the last event is %s %s", last.name, last.data)
		}
	})
}

// A stuckWriter is a client that takes nothing for a while.
type stuckWriter struct {
	*httptest.ResponseRecorder
	goes chan struct{}
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	<-w.goes
	return w.ResponseRecorder.Write(b)
}

// TestBackgroundDrain: a response that is not whole when the service has to end has failed, and that is on record.
func TestBackgroundDrain(t *testing.T) {
	withAndWithout(t, func(t *testing.T, store journal.Store) {
		p := newPaced()
		o := one(p.model())
		o.Journal = store
		g := aService(t, o)
		quick, slow := begin(t, g, inBackground), ""
		ctx, end := context.WithCancel(t.Context())
		l := newPipeListener()
		served := make(chan error)
		go func() { served <- g.Serve(ctx, l, 10*time.Second) }()
		synctest.Wait()
		slow = begin(t, g, inBackground)
		synctest.Wait()
		end()
		synctest.Wait()
		if code, body := direct(t.Context(), g, "POST", pathResponses, inBackground); code != 503 {
			t.Errorf("begun while the service ends: %d %s", code, body)
		}
		p <- "a word, for one of both"
		time.Sleep(time.Minute)
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{quick, slow} {
			r := look(t, g, id)
			if r.Status != "failed" || !strings.Contains(r.Error.Message, "stopped before the answer was whole") {
				t.Errorf("%+v", r)
			}
		}
		if store != nil {
			for _, id := range []string{quick, slow} {
				if r := look(t, aService(t, o), id); r.Status != "failed" {
					t.Errorf("in the journal it is %s", r.Status)
				}
			}
		}
	})
}

// TestBackgroundKilled: after a restart a plain model's response has failed, with the reason, whether somebody asks for
// it or not. While the process that was killed may still live, nobody else says so.
func TestBackgroundKilled(t *testing.T) {
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				whole := &journal.Memory{}
				dying := &runtest.Dying{Store: whole, At: 2}
				p := newPaced()
				o := one(p.model())
				o.Journal = dying
				g := aService(t, o)
				id := begin(t, g, `{"model":"m","input":"go","background":true,"metadata":{"a":"b"}}`)
				p <- "half"
				// it dies
				_, _ = dying.Append(t.Context(), "x", 0,
					record.Record{Kind: record.KindObject, Object: &record.Object{Session: "x", Type: "x"}})

				o.Journal = whole
				next := aService(t, o)
				next.Recover(t.Context())
				synctest.Wait()
				if r := look(t, next, id); r.Status != "queued" {
					t.Errorf("the process may live, and the response is %s", r.Status)
				}
				for path, method := range map[string]string{"?stream=true": "GET", "/cancel": "POST", "": "DELETE"} {
					if code, body := direct(t.Context(), next, method, pathResponses+"/"+id+path, ""); code != 409 ||
						!strings.Contains(body, codeElsewhere) {
						t.Errorf("%s %s: %d %s", method, path, code, body)
					}
				}
				if time.Sleep(2 * jobLease); asked {
					look(t, next, id)
				}
				synctest.Wait()
				o.Journal = whole
				r := look(t, aService(t, o), id)
				if r.Status != "failed" || !strings.Contains(r.Error.Message, "process") || r.ID != id ||
					r.Model != "m" {
					t.Errorf("%+v", r)
				}
				if !asked {
					journaltest.Whole(t, whole)
				}
				if code, body := direct(t.Context(), next, "GET", pathResponses+"/"+id+"?stream=true&starting_after=4",
					""); code != 400 || !strings.Contains(body, "started again") {
					t.Errorf("%d %s", code, body)
				}
				_, body := direct(t.Context(), next, "GET", pathResponses+"/"+id+"?stream=true", "")
				if got := eventNames(streamedEvents(t, body)); got != "created queued in_progress error failed" {
					t.Errorf("events %s", got)
				}
				if _, body := direct(t.Context(), next, "GET", pathResponses+"/"+id, ""); !strings.Contains(body,
					`"metadata":{"a":"b"}`) {
					t.Errorf("what was asked is not repeated: %s", body)
				}
			})
		})
	}
}

// agentService is a service with an agent whose model is paced, over a journal.
func agentService(t *testing.T, store journal.Store, m chat.Model) (*Gateway, *runs.Hub) {
	t.Helper()
	asks := &tool.Tool{Definition: chat.Tool{Name: "asks", Description: "A tool."}, Dangerous: true,
		Guard: &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true},
		Handler: tool.HandlerFunc(func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text("did"), nil
		})}
	reg := new(runner.Registry)
	if err := reg.Add(asks); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: reg, Shared: &runner.Shared{Temp: t.TempDir()}})
	hub := runs.New(runs.Options{Journal: store, Agents: []runs.Agent{{Name: "m", Model: m, Runner: r}}})
	g := New(Options{Models: []Model{{Name: "m", Model: hub.Model("m"), Lasting: hub.Answers("m")}}, Journal: store})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		hub.Drain(ctx)
		stop(g)
		r.Settings().Shared.Close()
	})
	return g, hub
}
