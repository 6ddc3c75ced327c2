package web_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/internal/api"
)

// A post carries the answers of the interface to the page. Some of them it keeps back, so that they
// come behind later ones.
type post struct {
	mu      sync.Mutex
	letters []*letter
	asked   map[string]int // how often something was asked for, by method and path
	broken  []breach
}

// A breach is an answer under which the connection breaks off: before it or in its middle.
type breach struct {
	path   string
	middle bool
}

// A letter is an answer that is kept back when it is made: it says what was so then.
type letter struct {
	t            testing.TB
	method, path string
	broken       map[string]bool // addresses of who asks for something else
	made, sent   chan bool
	send         func()
}

// late keeps back the answer to the next request that is like this. A path without a query stands for all queries.
func (w *world) late(method, path string) *letter {
	w.t.Helper()
	l := w.letter(method, path)
	w.post.mu.Lock()
	defer w.post.mu.Unlock()
	w.post.letters = append(w.post.letters, l)
	return l
}

func (w *world) letter(method, path string) *letter {
	l := &letter{t: w.t, method: method, path: api.Prefix + path, made: make(chan bool), sent: make(chan bool)}
	l.send = sync.OnceFunc(func() { close(l.sent) })
	w.t.Cleanup(l.send)
	return l
}

// lateAgain breaks all connections off, and keeps back the answer to the next such request on one that is
// made behind that: what was on its way over a broken one gets no answer at all.
func (w *world) lateAgain(method, path string) *letter {
	w.t.Helper()
	l := w.letter(method, path)
	w.post.mu.Lock()
	defer w.post.mu.Unlock()
	l.broken = w.door.cut()
	w.post.letters = append(w.post.letters, l)
	return l
}

// breaks lets connections break off under the answers to the next requests for a path, one after the other.
func (w *world) breaks(path string, middle ...bool) {
	w.post.mu.Lock()
	defer w.post.mu.Unlock()
	for _, m := range middle {
		w.post.broken = append(w.post.broken, breach{api.Prefix + path, m})
	}
}

// breach breaks the connection off if the answer to this request is to be lost.
func (p *post) breach(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	i := slices.IndexFunc(p.broken, func(b breach) bool { return r.Method == "GET" && b.path == r.URL.Path })
	if i < 0 {
		p.mu.Unlock()
		return
	}
	b := p.broken[i]
	p.broken = slices.Delete(p.broken, i, i+1)
	p.mu.Unlock()
	if b.middle {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":`)
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// breachesLeft returns how many answers are still to be lost.
func (w *world) breachesLeft() int {
	w.post.mu.Lock()
	defer w.post.mu.Unlock()
	return len(w.post.broken)
}

// wait waits until the answer is made.
func (l *letter) wait() {
	l.t.Helper()
	select {
	case <-l.made:
	case <-time.After(patience):
		l.t.Fatalf("nobody asks for %s %s", l.method, l.path)
	}
}

// times returns how often the page, or a test, has asked for something.
func (w *world) times(method, path string) int {
	w.post.mu.Lock()
	defer w.post.mu.Unlock()
	return w.post.asked[method+" "+api.Prefix+path]
}

// take counts a request, and returns the letter that its answer is to be, if it is one.
func (p *post) take(r *http.Request) *letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = map[string]int{}
	}
	p.asked[r.Method+" "+r.URL.Path]++
	for i, l := range p.letters {
		if l.method == r.Method && !l.broken[r.RemoteAddr] && (l.path == r.URL.Path || l.path == r.URL.RequestURI()) {
			p.letters = append(p.letters[:i:i], p.letters[i+1:]...)
			return l
		}
	}
	return nil
}

// carry answers a request.
func (p *post) carry(from http.Handler, w http.ResponseWriter, r *http.Request) {
	l := p.take(r)
	p.breach(w, r)
	if l == nil {
		from.ServeHTTP(w, r)
		return
	}
	kept := httptest.NewRecorder()
	from.ServeHTTP(kept, r)
	close(l.made)
	select {
	case <-l.sent:
	case <-r.Context().Done():
		return
	}
	maps.Copy(w.Header(), kept.Header())
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes()) // to who may have given it up
}

// comes sends an answer that was kept back, and waits until the page has it.
func (s *sheet) comes(l *letter) {
	s.t.Helper()
	l.wait()
	path := strings.TrimPrefix(strings.SplitN(l.path, "?", 2)[0], api.Prefix)
	var n int
	s.evaluate(&n,
		fmt.Sprintf(
			`performance.getEntriesByType('resource').filter((e) => e.responseEnd > 0 && new URL(e.name).pathname === %q).length`, api.Prefix+path))
	l.send()
	s.call(nil, "arrived", path, n+1)
	s.call(nil, "quiet") // it has been taken
}

// TestLateRun: how a run stood before it was stopped is of no interest afterwards.
func TestLateRun(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.says(b, clientKey, "write slowly")
	s.wait(".said-model", "word by word")
	l := w.lateAgain("GET", "/runs/"+w.only("/runs")) // it is looked at anew when the connection is back
	l.wait()
	s.press("Alt+s")
	s.wait(".run-foot", "It was stopped")
	s.comes(l)
	if n := s.count(".composer .danger"); n != 0 {
		t.Error("a run that was stopped can be stopped")
	}
}

// TestBrokenOff: an event lets the page look how a run stands, and it does, though the connections break off
// under the first answers.
func TestBrokenOff(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.says(b, clientKey, "write slowly")
	s.wait(".said-model", "word by word")
	run := w.only("/runs")
	w.breaks("/runs/"+run, true, true)
	s.press("Alt+s")
	s.wait(".run-foot", "It was stopped")
	s.gone(".composer .danger")
	if left := w.breachesLeft(); left != 0 {
		t.Errorf("%d answers were not asked for", left)
	}
}

// only returns the id of the one thing in a list.
func (w *world) only(path string) string {
	w.t.Helper()
	var page struct{ Items []struct{ ID string } }
	if w.ask(adminKey, "GET", path, nil, &page); len(page.Items) != 1 {
		w.t.Fatalf("%s has %+v", path, page.Items)
	}
	return page.Items[0].ID
}

// TestLateDecision: what was decided stays so, in the chat and in the queue, whatever comes from before.
func TestLateDecision(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	first := w.begins("shop", "Open the shop on Sundays.")
	var a struct{ Session string }
	w.ask(adminKey, "GET", "/approvals/"+first, nil, &a)
	s := w.open(b, adminKey, "#/chat/"+a.Session)
	s.wait(".question .diff")
	l := w.lateAgain("GET", "/approvals/"+first) // it is looked at anew when the connection is back
	l.wait()
	if status := w.ask(approverKey, "POST", "/approvals/"+first,
		map[string]string{"decision": "deny", "reason": "closed is closed"}, nil); status != 200 {
		t.Fatal(status)
	}
	s.wait(".card-question", "Denied by amy: closed is closed")
	s.comes(l)
	s.wait(".card-question", "Denied by amy: closed is closed")

	second := w.begins("shop", "Open the shop on Mondays.")
	s.goTo("#/approvals/" + second)
	s.wait(".diff")
	s.wait("nav a[data-view=approvals] .mark", "1")
	l = w.late("GET", "/approvals?limit=100&state=pending")
	mark := w.late("GET", "/approvals?limit=100")
	third := w.begins("trick", "long")
	l.wait()
	mark.wait()
	for _, id := range []string{second, third} {
		if status := w.ask(approverKey, "POST", "/approvals/"+id, map[string]string{"decision": "stop"},
			nil); status != 200 {
			t.Fatal(status)
		}
	}
	s.wait(".outcome", "Denied by amy")
	s.wait(".queue-list", "Nothing needs approval.")
	s.gone("nav a[data-view=approvals] .mark")
	s.comes(l)
	s.comes(mark)
	if n := s.count(".queue-item, .approval-bar button, nav a[data-view=approvals] .mark"); n != 0 {
		t.Errorf("what was decided is asked again:\n%s", s.text("body"))
	}
}

// TestLateQueue: a list that was not waited for does not take the place of the one that was chosen.
func TestLateQueue(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	id := w.begins("shop", "Open the shop on Sundays.")
	if status := w.ask(approverKey, "POST", "/approvals/"+id, map[string]string{"decision": "stop"},
		nil); status != 200 {
		t.Fatal(status)
	}
	l := w.late("GET", "/approvals?limit=100&state=pending")
	s := w.open(b, adminKey, "#/approvals")
	l.wait()
	s.call(nil, "choose", "select", "all")
	s.wait(".queue-item", "denied")
	s.comes(l)
	if n := s.count(".queue-item"); n != 1 {
		t.Errorf("of all questions %d are shown", n)
	}
}

// TestLateLogin: who has logged in again is not sent away by an answer to what was asked for before.
func TestLateLogin(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, adminKey, "#/playground")
	s.call(nil, "arrived", "/parse", 2)
	// at the beginning and with the connection: nothing is asked for by itself from now on
	s.call(nil, "arrived", "/approvals", 2)
	s.evaluate(nil,
		`fetch('/api/v1/logout', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}).then((r) => r.status)`)
	l := w.late("GET", "/settings")
	s.evaluate(nil, "location.hash = '#/settings', true")
	s.wait("[role=alert]", "Your login has expired.")
	l.wait()
	s.write("#key", adminKey)
	s.press("Enter")
	s.wait("table", "sums")
	s.comes(l)
	s.wait("table", "sums")
	s.wait(".who", "ada")
}

// TestLateMessage: who has gone elsewhere while a message was sent stays there. The message is said where it
// was written, and nothing else is lost.
func TestLateMessage(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	l := w.late("POST", "/runs")
	s.says("hello zebra")
	l.wait()
	s.press("Escape", "g", "a")
	s.wait("main h1", "Approvals")
	s.comes(l)
	if got := hash(s); got != "#/approvals" {
		t.Errorf("the person is taken to %s", got)
	}
	session := "/sessions/" + w.only("/sessions")
	for end := time.Now().Add(patience); w.times("PATCH", session) == 0; s.call(nil, "quiet") {
		// it is called by its first words when it was sent
		if time.Now().After(end) {
			t.Fatal("the chat gets no title")
		}
	}
	s.goTo("#/chat")
	s.wait("textarea:focus")
	if text := s.text("textarea:focus"); text != "" {
		t.Errorf("what was sent is written still: %q", text)
	}
	s.wait(".session-list", "hello zebra")
	s.says("hello lion")
	s.wait(".said-model", "You said: hello lion")
	s.wait(".session-list", "hello lion")
	s.click("hello zebra", ".session-list")
	s.wait(".said-model", "You said: hello zebra")
	s.wait(".foot-line")

	// From one chat to another, which has a draft.
	l = w.late("POST", "/runs")
	s.says("and once more")
	l.wait()
	s.click("hello lion", ".session-list")
	s.wait(".said-model", "You said: hello lion")
	s.write("textarea[aria-label=Message]", "a draft")
	s.drop("notes.txt", "text/plain", "some notes")
	s.comes(l)
	s.wait(".talk-head h1", "hello lion")
	s.wait(".chip", "notes.txt")
	if text := s.text("textarea[aria-label=Message]"); text != "a draft" {
		t.Errorf("of the draft %q is left", text)
	}
	s.click("hello zebra", ".session-list")
	s.wait(".said-model", "You said: and once more")
	s.wait(".talk-head h1", "hello zebra")
	if text := s.text("textarea[aria-label=Message]"); text != "" {
		t.Errorf("what was sent is written still: %q", text)
	}

	// What is attached while a message is sent belongs to the next one.
	s.wait(".run:nth-child(2) .foot-line")
	l = w.late("POST", "/runs")
	s.says("for the third time")
	l.wait()
	s.drop("notes.txt", "text/plain", "some notes")
	s.comes(l)
	s.wait(".said-model", "You said: for the third time")
	s.wait(".chip", "notes.txt")
}

// TestLateTitle: the title of a chat is not written over that of another one.
func TestLateTitle(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	for _, text := range []string{"hello zebra", "hello lion"} {
		s.says(text)
		s.wait(".said-model", "You said: "+text)
		s.wait(".session-list", text)
		if text == "hello zebra" {
			s.wait(".foot-line")
			s.click("New chat")
			s.gone(".said-user")
		}
	}
	s.wait(".talk-head h1", "hello lion")
	s.wait(".foot-line")
	l := w.late("PATCH", strings.Replace(hash(s), "#/chat", "/sessions", 1))
	s.click("Rename")
	s.write("dialog input", "Mane")
	s.press("Enter")
	l.wait()
	s.click("hello zebra", ".session-list")
	s.wait(".talk-head h1", "hello zebra")
	list := w.late("GET", "/sessions")
	s.comes(l)
	list.wait() // else it would make good what is wrong
	if got := s.text(".talk-head h1"); got != "hello zebra" {
		t.Errorf("the chat is called %q", got)
	}
	list.send()
	s.wait(".session-list", "Mane")
}

// TestLateChat: what begins while a chat is read is shown as well.
func TestLateChat(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	begin := func(input, session string) {
		t.Helper()
		var r struct{ ID string }
		if status := w.ask(adminKey, "POST", "/runs", map[string]string{"agent": "plain", "input": input,
			"session": session}, &r); status != http.StatusCreated {
			t.Fatal(status)
		}
		w.ended(r.ID)
	}
	begin("first words", "")
	session := w.only("/sessions")
	l := w.late("GET", "/sessions/"+session+"/transcript")
	s := w.open(b, adminKey, "#/chat/"+session)
	l.wait()
	begin("second words", session)
	s.wait(".session-list", "first words")
	s.call(nil, "arrived", "/sessions", 2) // it was heard of
	s.comes(l)
	s.wait(".said-model", "You said: first words")
	s.wait(".said-model", "You said: second words")
	if n := s.count(".run"); n != 2 {
		t.Errorf("%d runs are shown", n)
	}
}

// TestLateEdit: what is sent twice by a finger that is too quick is said once.
func TestLateEdit(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, clientKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	s.says("first words")
	s.wait(".said-model", "You said: first words")
	s.wait(".foot-line")
	s.click("Edit and send again")
	l := w.late("POST", "/runs")
	s.write("textarea[aria-label='Edited message']", "other words")
	s.press("Enter", "Enter")
	l.wait()
	s.evaluate(nil, `document.querySelector('[aria-label="Answer again"]').click(), true`)
	l.send()
	s.wait(".said-model", "You said: other words")
	if n := w.times("POST", "/runs"); n != 2 {
		t.Errorf("%d runs were begun", n)
	}
}

// TestLateReading: the reading of a text does not stand beside another one.
func TestLateReading(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, approverKey, "#/playground")
	l := w.late("POST", "/parse")
	s.click("Read")
	l.wait()
	s.click("Tags")
	s.wait(".reading", "1 call", "qwen3-coder")
	s.wait(".split-call", "get_weather")
	s.comes(l)
	s.wait(".reading", "1 call")
	s.gone(".reading", "2 calls")
}

// TestLateTrial: what was typed since the rules were asked has not been looked at, and cannot be run as if it had.
func TestLateTrial(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	s := w.open(b, adminKey, "#/settings/tools/edit_file")
	const offer = "Run it anyway"
	s.click("As JSON")
	s.write(".form textarea", `{"path": "hours.md", "old_string": "Sunday: closed", "new_string": "Sunday: open"}`)
	l := w.late("POST", "/tools/edit_file/run")
	s.click("Run")
	l.wait()
	s.write(".form textarea",
		`{"path": "hours.md", "old_string": "Sunday: closed", "new_string": "Sunday: burnt down"}`)
	s.comes(l)
	s.wait(".diff", "Sunday: open")
	s.gone("button", offer)
	s.click("Run")
	s.wait(".diff", "Sunday: burnt down")
	s.wait("button", offer)

	// The same in the inspector, where a second press runs nothing more.
	w.begins("shop", "Open the shop on Sundays.")
	s.goTo("#/inspector/run/" + w.only("/runs") + "/1")
	s.click("Run again")
	s.wait("dialog textarea", "Sunday: 11:00")
	n := w.times("POST", "/tools/edit_file/run")
	l = w.late("POST", "/tools/edit_file/run")
	s.click("Run", "dialog .row.end")
	l.wait()
	s.click("Run", "dialog .row.end")
	s.write("dialog textarea",
		`{"path": "hours.md", "old_string": "Sunday: closed", "new_string": "Sunday: burnt down"}`)
	s.comes(l)
	s.wait("dialog .badge", "asks")
	s.gone("dialog button", "Run it anyway")
	if now := w.times("POST", "/tools/edit_file/run"); now != n+1 {
		t.Errorf("the tool was tried %d times", now-n)
	}
	s.click("Run", "dialog .row.end")
	s.wait("dialog button", "Run it anyway")
	s.write("dialog textarea", "{}")
	s.gone("dialog button", "Run it anyway")
	if strings.Contains(w.read("work/hours.md"), "burnt") {
		t.Error("it ran")
	}
}

// TestLateList: the end of the list is reached while the page looks for what is new, and the older runs are
// read then. A list that stands still does so at once.
func TestLateList(t *testing.T) {
	b := browser(t)
	w := newWorld(t, curious, map[string]string{"sums.yaml": curiousScenario})
	w.rush(t, 0, 120, 2)
	s := w.open(b, adminKey, "#/inspector")
	s.wait(".inspect-item", "a message among many")
	s.wait(`.inspect-list [aria-setsize="50"]`)
	l := w.late("GET", "/inspect?limit=50")
	w.rush(t, 1, 1, 2)
	l.wait()
	s.evaluate(nil,
		`new Promise((r) => requestAnimationFrame(() => { const l = document.querySelector('.inspect-list'); l.scrollTop = l.scrollHeight; requestAnimationFrame(r); })).then(() => true)`)
	s.call(nil, "quiet") // it was heard of
	s.comes(l)
	s.wait(`.inspect-list [aria-setsize="101"]`)

	l = w.late("GET", "/inspect?limit=50")
	w.rush(t, 2, 1, 2)
	l.wait()
	s.click("Live")
	s.comes(l)
	s.wait(`.inspect-list [aria-setsize="101"]`)
	s.gone(`.inspect-list [aria-setsize="102"]`)
}

// TestCloseBeginnings: runs that began in the same instant, or almost, all stay in the list when another one begins.
func TestCloseBeginnings(t *testing.T) {
	b := browser(t)
	for _, tt := range []struct {
		name  string
		apart []time.Duration
		first int // how many are in the list at first
	}{
		{"the same decade", []time.Duration{5 * time.Microsecond}, 50}, // one is written with a digit less
		{"the same second", []time.Duration{0, time.Second}, 51},       // two at a time, which no page parts
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, curious, map[string]string{"sums.yaml": curiousScenario})
			var asked int
			at := today
			var mu sync.Mutex
			w.clock.Store(func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				at = at.Add(tt.apart[asked%len(tt.apart)])
				asked++
				return at
			})
			w.rush(t, 0, 120, 2)
			s := w.open(b, adminKey, "#/inspector")
			s.wait(fmt.Sprintf(`.inspect-list [aria-setsize="%d"]`, tt.first))
			for i := 1; i <= 2; i++ {
				w.rush(t, i, 1, 2)
				s.wait(fmt.Sprintf(`.inspect-list [aria-setsize="%d"]`, tt.first+i))
			}
		})
	}
}

// TestLateTimeline: an address that leads to another answer of the same run is followed, whatever the one
// before it brings.
func TestLateTimeline(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	l := w.late("GET", "/runs/"+run+"/timeline")
	s := w.open(b, adminKey, "#/inspector/run/"+run)
	l.wait()
	s.goTo("#/inspector/run/" + run + "/1")
	s.wait(".turn h3", "Answer 2 of 3")
	s.comes(l)
	s.wait(".turn h3", "Answer 2 of 3")
	s.gone(".turn h3", "Answer 1 of 3")

	// Another search at the same time does not lead back.
	s.evaluate(nil, "location.hash = '#/inspector/run/"+run+"/0?q=kind%3Arun', true")
	s.wait(".turn h3", "Answer 1 of 3")
	if got, want := hash(s), "#/inspector/run/"+run+"/0?q=kind%3Arun"; got != want {
		t.Errorf("the address is %s, want %s", got, want)
	}
}

// TestQueueFocus: who goes through the questions by keys stays where they are when another one comes, as on
// the button for notices.
func TestQueueFocus(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	w.begins("shop", "Open the shop on Sundays.")
	s := w.open(b, adminKey, "#/approvals")
	s.call(nil, "focus", ".queue-item")
	w.begins("trick", "long")
	s.wait(".queue-item", "write_file")
	s.wait(".queue-item:focus", "edit_file")
	s.call(nil, "focus", ".page-head button")
	s.press("Enter")
	s.wait(".toast", "The browser blocks notifications from this page.")
	s.wait(".page-head button:focus", "Notify me")
}
