package web_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/agent"
	"wield/internal/api"
	"wield/internal/browser/chromium"
	"wield/internal/capture"
	"wield/internal/cluster"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/runs"
	"wield/internal/stats"
	"wield/internal/testlevel"
	"wield/internal/web"
	"wield/journal"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main() // this program is also what starts commands
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		// tests wait for a browser half of their time
		_ = f.Value.Set(strconv.Itoa(max(4, runtime.GOMAXPROCS(0))))
	}
	var s shared
	started = s.start
	code := m.Run()
	s.close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// A shared is the browser that all tests use, each as a guest of its own. To start one for each would take
// most of their time.
type shared struct {
	mu      sync.Mutex
	dir     string
	browser *chromium.Browser
}

// started returns the shared browser, which is started with the first test that needs it. TestMain sets it.
var started func() (*chromium.Browser, error)

func (s *shared) start() (*chromium.Browser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.browser != nil {
		select {
		case <-s.browser.Done(): // it crashed; the others need not fail with it
			s.close()
		default:
			return s.browser, nil
		}
	}
	var err error
	if s.dir, err = chromium.TestDir(); err != nil {
		return nil, err
	}
	env, err := pinFont(s.dir)
	if err != nil {
		return nil, err
	}
	before, had := os.LookupEnv("TMPDIR")
	os.Setenv("TMPDIR", s.dir)
	s.browser, err = chromium.Start(context.Background(),
		chromium.Options{NoSandbox: os.Getuid() == 0, Hosts: []string{"127.0.0.1"}, Env: env, Patience: patience})
	if had {
		os.Setenv("TMPDIR", before)
	} else {
		os.Unsetenv("TMPDIR")
	}
	return s.browser, err
}

func (s *shared) close() {
	if s.browser != nil {
		s.browser.Close()
	}
	s.browser = nil
	os.RemoveAll(s.dir)
}

// Keys of the services under test.
const (
	adminKey    = "k-admin-of-the-tests"
	clientKey   = "k-client-of-the-tests"
	approverKey = "k-approver-of-the-tests"
)

// head begins the configuration of every service under test.
const head = `wield: config/v1
keys:
  - {name: ada, secret: env:ADMIN_KEY, role: admin}
  - {name: cleo, secret: env:CLIENT_KEY, role: client}
  - {name: amy, secret: env:APPROVER_KEY, role: approver}
capture: {requests: memory, keep: 500}
`

// A world is a service with all that it keeps, which can be stopped and started again at its address.
type world struct {
	t       testing.TB
	dir     string
	text    string // of its configuration
	journal journal.Store
	capture *capture.Ring
	stats   *stats.Store
	door    *door
	base    string // http://HOST:PORT
	api     *api.Server
	hub     *runs.Hub
	stop    func()
	guest   *chromium.Guest // who opens its page; nil: nobody yet
	// how often something asked for /pwned, which texts do that should not run
	ran  atomic.Int32
	post post // the answers on their way to the page
	// the model that was connected in the page; it cannot be asked before a restart
	connected string
	// of type func() time.Time: what the journal's records are dated by; none: the time
	clock   atomic.Value
	cluster atomic.Pointer[cluster.Cluster] // that it belongs to; nil: none
}

// today is when the statistics of every service under test are asked for, and when they count: in the middle
// of a step of the picture that the page draws of a week. Whoever writes numbers before and looks at them
// later sees them in the same places, whatever hour strikes in between.
var today = time.Date(2026, 3, 4, 9, 26, 53, 0, time.UTC)

// newWorld starts a service. The configuration is head and the text, in which DIR stands for a directory of
// the test's own; files are put there before, such as scenarios for backends of kind script.
func newWorld(t testing.TB, text string, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.journal = &journal.Memory{Options: journal.Options{Now: w.now}}
	for name, content := range files {
		path := filepath.Join(w.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "DIR", filepath.ToSlash(w.dir))),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.text = head + "data: DIR/data\n" + text
	w.stats = stats.New(filepath.Join(w.dir, "stats"), stats.Options{Now: func() time.Time { return today }})
	w.journal = w.stats.Journal(w.journal)
	var err error
	if w.capture, err = capture.New(capture.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.door, err = newDoor(); err != nil {
		t.Fatal(err)
	}
	w.base = "http://" + w.door.Addr().String()
	w.start()
	t.Cleanup(func() {
		w.stop()
		w.door.Listener.Close()
		if err := w.journal.Close(); err != nil {
			t.Error(err)
		}
		if err := w.capture.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// A connector keeps a first model in the file of a world.
type connector struct {
	w      *world
	wanted bool
}

func (c *connector) Wanted() bool { return c.wanted }

func (c *connector) Find(context.Context) []api.FoundServer { return nil }

func (c *connector) Connect(ctx context.Context, in api.Connection) (*api.Connected, error) {
	getenv := func(string) string { return "" }
	out := compose.Try(ctx, in, getenv)
	if !out.OK || !in.Keep {
		return out, nil
	}
	in.URL, in.Model, out.File = out.URL, out.Model, filepath.Join(c.w.dir, "connected.yaml")
	c.w.connected, c.wanted = out.Model, false
	return out, compose.Keep(out.File, in, getenv)
}

// now tells the journal the time.
func (w *world) now() time.Time {
	if clock, ok := w.clock.Load().(func() time.Time); ok {
		return clock()
	}
	return time.Now()
}

// start starts the service, at the address that it had before.
func (w *world) start() {
	t := w.t
	t.Helper()
	env := map[string]string{"ADMIN_KEY": adminKey, "CLIENT_KEY": clientKey, "APPROVER_KEY": approverKey}
	getenv := func(name string) string { return env[name] }
	file := filepath.Join(w.dir, "wield.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(w.text, "DIR", filepath.ToSlash(w.dir))),
		0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{File: file, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	w.hub = runs.New(runs.Options{Journal: w.journal})
	service, err := compose.New(c.Config, compose.Environment{Getenv: getenv, Capture: w.capture, Stats: w.stats,
		Hub: w.hub, File: file})
	if err != nil {
		t.Fatal(err)
	}
	w.hub.Replace(append(service.Agents, service.Plain...))
	var g *gateway.Gateway
	lines := new(api.Log)
	logger := slog.New(lines.Handler(slog.NewTextHandler(io.Discard, nil)))
	logger.Info("the service of a test starts", "directory", w.dir)
	o := api.Options{Settings: func() api.Settings { return compose.Settings(c) }, Lines: lines, Log: logger,
		Journal: w.journal, Hub: w.hub, Captures: w.capture, Stats: w.stats, Version: "test", KeepAlive: time.Second,
		Holder: func(hash [sha256.Size]byte) (api.Caller, bool) {
			who, ok := g.WhoHas(hash)
			return api.Caller{Name: who.Name, Role: api.Role(who.Role),
				Sees: func(model string) bool { return g.Sees(who.Name, model) }}, ok
		},
		Cluster: func() (cluster.Status, bool) {
			c := w.cluster.Load()
			if c == nil {
				return cluster.Status{}, false
			}
			return c.Status(), true
		},
		Connector: &connector{w: w, wanted: len(c.Models) == 0},
		Probe:     func(ctx context.Context, model string) error { return compose.Reach(c.Config, ctx, model) },
		Prices:    func(model string) agent.Prices { return compose.AgentPrices(c.Config, model) },
		Tools: func() []*runner.Entry {
			if service.Tools == nil {
				return nil
			}
			return service.Tools.Registry.Entries()
		},
		MCP: func() api.MCP {
			if service.Tools == nil {
				return nil
			}
			return service.Tools
		},
		Models: func() (list []api.Model) {
			tools := map[string][]string{}
			for i := range service.Agents {
				a := &service.Agents[i]
				tools[a.Name] = []string{}
				for _, offered := range a.Runner.Offered("") {
					tools[a.Name] = append(tools[a.Name], offered.Name)
				}
			}
			for i := range service.Gateway.Models {
				name := service.Gateway.Models[i].Name
				names, ok := tools[name]
				list = append(list, api.Model{Name: name, Agent: ok, Tools: names})
			}
			if w.connected != "" {
				list = append(list, api.Model{Name: w.connected})
			}
			return list
		},
	}
	if w.api, err = api.New(o); err != nil {
		t.Fatal(err)
	}
	page, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	a := w.api
	show := func(rw http.ResponseWriter, r *http.Request, _ gateway.Caller) { page.ServeHTTP(rw, r) }
	service.Gateway.Journal = w.journal
	service.Gateway.Mounts = []gateway.Mount{
		{Prefix: api.Prefix + "/",
			Serve: func(rw http.ResponseWriter, r *http.Request, _ gateway.Caller) { w.post.carry(a, rw, r) }},
		{Prefix: web.Root, Linked: true, Serve: show}, {Prefix: web.Prefix, Serve: show},
		{Prefix: "/pwned", Linked: true,
			Serve: func(http.ResponseWriter, *http.Request, gateway.Caller) { w.ran.Add(1) }},
	}
	g = gateway.New(service.Gateway)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	l := w.door.open()
	go func() { over <- g.Serve(ctx, l, 5*time.Second) }()
	if err := w.hub.Recover(ctx); err != nil {
		t.Error(err)
	}
	hub, done := w.hub, false
	w.stop = func() {
		if done {
			return
		}
		done = true
		a.Close()
		cut, cutNow := context.WithTimeout(context.Background(), time.Millisecond)
		defer cutNow()
		_ = hub.Drain(cut) // what is under way continues with the next start
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := service.Release(); err != nil {
			t.Error(err)
		}
		service.Close()
	}
}

// A door is the address of a world, which nobody else gets while the service is stopped: who comes then is turned away.
type door struct {
	net.Listener
	mu     sync.Mutex
	inside chan net.Conn // to the service; nil: there is none
	gone   chan bool     // closed when that service listens no more
	list   []net.Conn
}

func newDoor() (*door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &door{Listener: l}
	go d.keep()
	return d, nil
}

// keep lets in who comes, until the door is closed for good.
func (d *door) keep() {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		inside, gone := d.inside, d.gone
		if inside != nil {
			d.list = append(d.list, c)
		}
		d.mu.Unlock()
		select {
		case inside <- c: // never, if there is no service
		case <-gone:
			c.Close()
		}
	}
}

// open lets people in to a service that starts.
func (d *door) open() *hall {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside, d.gone = make(chan net.Conn), make(chan bool)
	return &hall{d, d.inside, d.gone}
}

// shut turns away who comes from now on.
func (d *door) shut(gone chan bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone == gone && d.inside != nil {
		d.inside = nil
		close(gone)
	}
}

// cut breaks all connections off, and returns the addresses of those who had them.
func (d *door) cut() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	broken := map[string]bool{}
	for _, c := range d.list {
		broken[c.RemoteAddr().String()] = true
		c.Close() // one that has ended is closed already
	}
	d.list = nil
	return broken
}

// A hall is a door as one service sees it.
type hall struct {
	door   *door
	inside chan net.Conn
	gone   chan bool
}

func (l *hall) Accept() (net.Conn, error) {
	select {
	case c := <-l.inside:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}

func (l *hall) Close() error   { l.door.shut(l.gone); return nil }
func (l *hall) Addr() net.Addr { return l.door.Addr() }

// patience is how long something may take that takes no time on a machine which does nothing else.
const patience = 3 * time.Minute

// ask sends a request to the interface with a key, and reads the answer into out, if that is not nil.
func (w *world) ask(key, method, path string, body, out any) int {
	w.t.Helper()
	var send bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&send).Encode(body); err != nil {
			w.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+api.Prefix+path, &send)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if out != nil && resp.StatusCode < 300 {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			w.t.Fatal(err)
		}
	}
	return resp.StatusCode
}

// browser returns a Chromium, or skips the test loudly where there is none. Tests that use it run at once
// with others: most of the time of each goes by with waiting.
func browser(t *testing.T) *chromium.Browser {
	t.Helper()
	b := only(t) // before that, since others would find its directory in TMPDIR
	t.Parallel()
	return b
}

// only is browser for what is measured, and has the machine for itself.
func only(t testing.TB) *chromium.Browser {
	t.Helper()
	testlevel.Long(t)
	if _, err := chromium.Find(""); err != nil {
		t.Skipf("SKIPPED, the page is not tested in a browser: %v", err)
	}
	b, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A sheet is the page in one tab of a browser, as a person uses it: by words that are seen, and keys.
type sheet struct {
	t      testing.TB
	w      *world
	tab    *chromium.Tab
	faults func() []string
	may    map[string]bool // faults that the test provokes
}

// library holds the tests' functions for the page, in a world of its own: the page's scripts do not see it.
const library = `(() => {
  const violations = [];
  document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile + ':' + e.lineNumber));
  const told = []; // what notices have said: most of them are gone before a machine that is busy comes to look
  new MutationObserver((list) => { for (const r of list) for (const el of r.addedNodes) if (el instanceof Element && el.matches('.toast')) told.push(el.textContent); }).observe(document, {subtree: true, childList: true});
  const seen = (el) => el.getClientRects().length > 0 && getComputedStyle(el).visibility !== 'hidden';
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  const name = (el) => (el.getAttribute('aria-label') || (el.labels && el.labels[0] && el.labels[0].innerText) || el.innerText || el.textContent || '').trim();
  const named = (selector, words) => all(selector).find((el) => name(el) === words) || all(selector).find((el) => name(el).includes(words));
  const change = () => new Promise((done) => { // of the page; values of fields change without being seen to
    const end = () => { watch.disconnect(); clearTimeout(late); setTimeout(done, 5); };
    const watch = new MutationObserver(end), late = setTimeout(end, 60);
    watch.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
  });
  const until = async (f, what) => {
    for (const end = Date.now() + 170000; Date.now() < end;) {
      const got = f();
      if (got) return got;
      await change();
    }
    throw new Error('waited in vain for ' + what + '; the page shows:\n' + document.body.innerText.slice(0, 3000));
  };
  const controls = 'button, a[href], [role=button], [role=tab], [role=option], summary, input, select, textarea, tr[tabindex]';
  const inside = (el, words) => el && (words === undefined || el.innerText.includes(words) || ('value' in el && String(el.value).includes(words)));
  return {
    text: (selector) => { const el = all(selector)[0]; return el ? ('value' in el && typeof el.value === 'string' && el.tagName !== 'LI' && el.tagName !== 'BUTTON' ? el.value : el.innerText) : null; },
    count: (selector) => all(selector).length,
    ready: () => until(() => {
      const main = document.querySelector('main');
      return main && (main.classList.contains('login') || main.dataset.shown !== undefined && main.dataset.shown === location.hash.split('?')[0].split('/')[1]);
    }, 'the view of ' + location.hash).then(() => true),
    wait: (selector, words) => until(() => all(selector).some((el) => inside(el, words)), selector + (words === undefined ? '' : ' with ' + JSON.stringify(words))).then(() => true),
    told: (words) => until(() => { const i = told.findIndex((text) => text.includes(words)); return i >= 0 && told.splice(i, 1); }, 'a notice with ' + JSON.stringify(words)).then(() => true),
    gone: (selector, words) => until(() => !all(selector).some((el) => inside(el, words)), 'the end of ' + selector + (words === undefined ? '' : ' with ' + JSON.stringify(words))).then(() => true),
    click: async (words, within) => { const el = await until(() => { const e = named((within ? controls.split(', ').map((c) => within + ' ' + c).join(', ') : controls), words); return e && !e.disabled && e; }, 'a control ' + words); el.scrollIntoView({block: 'nearest'}); el.focus(); el.click(); return true; },
    press: async (selector) => { const el = await until(() => { const e = all(selector)[0]; return e && !e.disabled && e; }, selector); el.scrollIntoView({block: 'nearest'}); el.focus(); el.click(); return true; },
    focus: async (selector) => { const el = await until(() => all(selector)[0], selector); el.focus(); if (el.select) el.select(); return true; },
    focused: () => { const el = document.activeElement; return el ? el.tagName.toLowerCase() + ' ' + name(el).slice(0, 60) : ''; },
    place: async (selector) => { const el = await until(() => all(selector)[0], selector); const r = el.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; },
    choose: async (selector, value) => {
      const el = await until(() => all(selector).find((e) => e.tagName !== 'SELECT' || [...e.options].some((o) => o.value === value)), selector + ' with the choice ' + JSON.stringify(value));
      el.value = value;
      if (el.value !== value) throw new Error(selector + ' does not take ' + JSON.stringify(value) + ' but ' + JSON.stringify(el.value));
      el.dispatchEvent(new Event('input', {bubbles: true}));
      el.dispatchEvent(new Event('change', {bubbles: true}));
      return true;
    },
    rested: () => until(() => document.hidden, 'the page to be hidden').then(() => true),
    evaluate: (source) => (0, eval)(source),
    attribute: (selector, a) => { const el = document.querySelector(selector); return el && el.getAttribute(a); },
    arrived: (path, n) => until(() => performance.getEntriesByType('resource').filter((e) => e.responseEnd > 0 && new URL(e.name).pathname === '/api/v1' + path).length >= n, n + ' answers to ' + path).then(() => true),
    hash: () => location.hash, title: () => document.title,
    wide: () => [document.documentElement.scrollWidth, innerWidth],
    violations: () => violations,
    quiet: async () => { // a page that nobody sees has no frames
      await document.fonts.ready;
      for (let n = 0; n < 2; n++) await new Promise((r) => { requestAnimationFrame(r); setTimeout(r, 1000); });
      return true;
    },
  };
})()`

// open opens the page in a new tab, as who holds a key; with the empty key nobody is logged in. The path is
// what stands behind the #.
func (w *world) open(b *chromium.Browser, key, path string) *sheet {
	w.t.Helper()
	var err error
	if w.guest == nil {
		if w.guest, err = b.Guest(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(w.guest.Close)
	}
	tab, err := w.guest.Open(w.t.Context(), w.base+"/web/icon.svg", library)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(tab.Close)
	s := &sheet{t: w.t, w: w, tab: tab, may: map[string]bool{}}
	if s.faults, err = tab.Faults(); err != nil {
		w.t.Fatal(err)
	}
	s.view(1440, 900, false)
	if key != "" {
		s.call(nil, "evaluate",
			fmt.Sprintf(
				`fetch('/api/v1/login', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({key: %q})}).then((r) => r.status)`, key))
	}
	s.goTo(path)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			s.picture("failed-" + strings.ReplaceAll(w.t.Name(), "/", "-"))
		}
		s.checkClean()
	})
	return s
}

// checkClean reports what the page's scripts have thrown, and what the policy has refused.
func (s *sheet) checkClean() {
	s.t.Helper()
	for _, f := range s.faults() {
		if !s.may[f] {
			s.t.Errorf("the page's scripts: %s", f)
		}
	}
	if s.tab.Closed() {
		return
	}
	var refused []string
	if _, err := s.tab.Call(context.WithoutCancel(s.t.Context()), &refused, "violations"); err != nil {
		return
	}
	for _, v := range refused {
		if !s.may[v] {
			s.t.Errorf("the policy refused %s", v)
		}
	}
}

// call asks the page something; what goes wrong ends the test.
func (s *sheet) call(result any, function string, args ...any) {
	s.t.Helper()
	if _, err := s.tab.Call(context.WithoutCancel(s.t.Context()), result, function, args...); err != nil {
		s.t.Fatalf("%s %q: %v", function, args, err)
	}
}

// goTo shows a view.
func (s *sheet) goTo(path string) {
	s.t.Helper()
	if err := s.tab.Go(s.t.Context(), s.w.base+"/"+path); err != nil {
		s.t.Fatal(err)
	}
	s.call(nil, "ready")
}

// reload loads the page anew. What is asked afterwards is asked of the new one.
func (s *sheet) reload() {
	s.t.Helper()
	s.evaluate(nil, "document.documentElement.dataset.old = '', location.reload(), true")
	s.wait("html:not([data-old])")
	s.call(nil, "ready")
}

// wait waits until an element is seen, with some words in it.
func (s *sheet) wait(selector string, words ...string) {
	s.t.Helper()
	if len(words) == 0 {
		s.call(nil, "wait", selector)
	}
	for _, word := range words {
		s.call(nil, "wait", selector, word)
	}
}

// told waits until a notice has said something, whether or not it is still there. Each says it once.
func (s *sheet) told(words string) {
	s.t.Helper()
	s.call(nil, "told", words)
}

// gone waits until no element is seen, with some words in it.
func (s *sheet) gone(selector string, words ...string) {
	s.t.Helper()
	if len(words) == 0 {
		s.call(nil, "gone", selector)
	}
	for _, word := range words {
		s.call(nil, "gone", selector, word)
	}
}

// front makes the tab the one that is seen, where a browser has several.
func (s *sheet) front() {
	s.t.Helper()
	if err := s.tab.Front(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// click clicks what a person would call by these words, within a part of the page if one is named.
func (s *sheet) click(words string, within ...string) {
	s.t.Helper()
	args := []any{words}
	for _, w := range within {
		args = append(args, w)
	}
	s.call(nil, "click", args...)
}

// press presses keys, one after the other. Before each it waits for the view that the address names, which
// may hear the key.
func (s *sheet) press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		s.call(nil, "ready")
		if err := s.tab.Press(s.t.Context(), k); err != nil {
			s.t.Fatalf("key %s: %v", k, err)
		}
	}
}

// write types a text where the focus is, or into a field.
func (s *sheet) write(selector, text string) {
	s.t.Helper()
	if selector != "" {
		s.call(nil, "focus", selector)
	}
	if err := s.tab.Insert(s.t.Context(), text); err != nil {
		s.t.Fatal(err)
	}
}

// text returns what is seen in the first element.
func (s *sheet) text(selector string) (text string) {
	s.t.Helper()
	s.call(&text, "text", selector)
	return text
}

// count returns how many elements are seen.
func (s *sheet) count(selector string) (n int) {
	s.t.Helper()
	s.call(&n, "count", selector)
	return n
}

// evaluate returns what a script in the world of the tests gives, which sees the page's elements and none of
// its values.
func (s *sheet) evaluate(result any, script string) {
	s.t.Helper()
	s.call(result, "evaluate", script)
}

func (s *sheet) view(width, height int, dark bool) {
	s.t.Helper()
	if err := s.tab.Show(s.t.Context(), chromium.View{Width: width, Height: height, Dark: dark,
		Still: true}); err != nil {
		s.t.Fatal(err)
	}
}

// pictures takes the four pictures of a view: wide and narrow, light and dark. Nothing may be wider than the screen.
func (s *sheet) pictures(name string) {
	s.t.Helper()
	for _, v := range []struct {
		word          string
		width, height int
		dark          bool
	}{{"1440-light", 1440, 900, false}, {"1440-dark", 1440, 900, true}, {"390-light", 390, 844, false},
		{"390-dark", 390, 844, true}} {
		s.view(v.width, v.height, v.dark)
		var wide [2]int
		s.call(nil, "quiet")
		if s.call(&wide, "wide"); wide[0] > wide[1] {
			s.t.Errorf("%s at %d pixels is %d wide", name, wide[1], wide[0])
		}
		s.picture(name + "-" + v.word)
	}
	s.view(1440, 900, false)
}

// picture takes a picture of what is seen. It is kept if WIELD_PICTURES names a directory.
func (s *sheet) picture(name string) image.Image {
	s.t.Helper()
	if os.Getenv("WIELD_PICTURES") == "" && !s.t.Failed() {
		return nil
	}
	raw, err := s.tab.Picture(context.WithoutCancel(s.t.Context()))
	if err != nil {
		s.t.Logf("no picture %s: %v", name, err)
		return nil
	}
	if dir := os.Getenv("WIELD_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o644); err != nil {
			s.t.Error(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	return img
}

// cookies returns a client that is logged in, for requests that a browser's page would send.
func (w *world) cookies(key string) *http.Client {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Post(w.base+api.Prefix+"/login", "application/json",
		strings.NewReader(fmt.Sprintf(`{"key":%q}`, key)))
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("the login is answered with %s", resp.Status)
	}
	return c
}
