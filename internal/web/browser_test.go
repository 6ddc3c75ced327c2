package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// plain is a service with one agent that computes, and a model without tools.
const plain = `backends:
  sums: {kind: script, scenario: calculator}
  talk: {kind: script, scenario: demo}
models:
  sums: {backend: sums, model: calculator, agent: {tools: [calculator]}}
  talk: {backend: talk, model: demo, mode: text}
policies: {default: {default: allow}}
`

// TestLogin: a key lets in, a wrong one is told so, a printed address lets in once, and logging out ends it.
func TestLogin(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, "", "")
	s.wait("label", "Key")
	s.pictures("login")
	s.press("Enter")
	s.wait("[role=alert]", "Type a key.")
	s.write("#key", "wrong")
	s.press("Enter")
	s.wait("[role=alert]", "This key is not valid.")
	s.write("#key", adminKey)
	s.press("Enter")
	s.wait("nav", "Chat", "Approvals", "Inspector", "Playground", "Analytics", "Settings")
	s.wait(".who", "ada")
	s.wait("main h1", "New chat")
	s.click("Log out")
	s.wait("[role=alert]", "You are logged out.")
	s.goTo("#/approvals")
	s.wait("label", "Key")

	token := w.base + "/api/v1/login?token=" + w.api.Token()
	s.goTo(strings.TrimPrefix(token, w.base+"/"))
	s.wait(".who", "local")
	s.goTo(strings.TrimPrefix(token, w.base+"/")) // known by the cookie already
	s.wait(".who", "local")
	s.click("Log out")
	s.wait("[role=alert]", "You are logged out.")
	s.goTo(strings.TrimPrefix(token, w.base+"/"))
	s.wait("[role=alert]", "was already used")
}

// TestRoles: a view that is of no use to somebody is not offered, and its address leads elsewhere.
func TestRoles(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	for _, tt := range []struct{ key, first, views string }{
		{clientKey, "New chat", "Chat Approvals Inspector Playground Analytics"},
		{approverKey, "Approvals", "Approvals Playground"},
	} {
		s := w.open(b, tt.key, "#/settings")
		s.wait("main h1", tt.first)
		s.wait(".toast", "is not for the role")
		if got := strings.Join(strings.Fields(s.text("nav")), " "); got != tt.views {
			t.Errorf("%s is offered %q", tt.key, got)
		}
		s.tab.Close()
	}
}

// TestFrame: every view can be reached by its key alone, the colours can be chosen, and the views fit on a phone.
func TestFrame(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, adminKey, "")
	s.wait("textarea:focus") // a new chat takes the keys when it is shown, which may be after its first words
	for _, v := range []struct{ key, title string }{{"i", "Inspector"}, {"p", "Playground"}, {"n", "Analytics"},
		{"s", "Settings"}, {"a", "Approvals"}, {"c", "New chat"}} {
		s.press("Escape", "g", v.key) // out of the message
		s.wait("nav a[aria-current]")
		s.wait("main h1", v.title)
	}
	s.wait("textarea:focus")
	s.press("Escape", "?")
	s.wait("dialog", "Go to inspector")
	s.press("Escape")
	s.gone("dialog")
	if n := s.count("main"); n != 1 {
		t.Errorf("%d main parts", n)
	}
	if status := w.ask(clientKey, "GET", "/captures", nil, nil); status != http.StatusForbidden {
		t.Errorf("a client looks at captures: %d", status)
	}
	background := func() (colour string) {
		s.evaluate(&colour, `getComputedStyle(document.body).backgroundColor`)
		return colour
	}
	light := background()
	s.click("Colors: system")
	s.click("Colors: light")
	s.wait(`button[aria-label="Colors: dark"]`)
	if dark := background(); dark == light {
		t.Errorf("dark is as light: %s", dark)
	}
	s.goTo("#/approvals")
	s.wait(`button[aria-label="Colors: dark"]`)
	s.click("Colors: dark")
	s.view(390, 844, false)
	var wide [2]int
	if s.call(&wide, "wide"); wide[0] > wide[1] {
		t.Errorf("the page is %d wide on a screen of %d", wide[0], wide[1])
	}
	s.click("Analytics")
	s.wait("main h1", "Analytics")
}

// TestDown: a service that is gone is said to be, and found again.
func TestDown(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, adminKey, "#/settings")
	s.wait("main h1", "Settings")
	w.stop()
	s.wait(".offline", "Connection to the service lost")
	w.start()
	s.wait("label", "Key") // the new process knows nobody yet
	s.write("#key", adminKey)
	s.press("Enter")
	s.wait("main h1", "Settings")
	if c := w.cookies(adminKey); c.Jar == nil {
		t.Error("no cookies")
	}
	resp, err := http.Get(w.base + "/nothing")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown address is answered with %s", resp.Status)
	}
}

// TestToasts: what is said again is counted, of many notices a few are seen, and whoever wants to reaches all of them.
func TestToasts(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, adminKey, "#/playground")
	say := func(script string) { s.evaluate(nil, `import('/web/lib/ui.js').then(({toast}) => { `+script+` })`) }
	say(`for (let i = 0; i < 50; i++) toast(new Error('the disk is full'), {kind: 'bad'}); toast('the disk is full', {time: 0});`)
	if n := s.count(".toast"); n != 2 { // an error and a notice are not the same
		t.Fatalf("%d notices are seen", n)
	}
	s.wait(".toast.bad", "the disk is full (50 times)")
	say(`for (let i = 1; i < 6; i++) toast('number ' + i, {kind: 'bad'});`)
	if n := s.count(".toast"); n != 4 {
		t.Errorf("%d notices are seen", n)
	}
	s.gone(".toast", "the disk is full")
	s.pictures("toasts")
	s.click("3 earlier")
	if n := s.count(".toast"); n != 7 {
		t.Errorf("%d of 7 notices can be reached", n)
	}
	s.wait(".toast", "the disk is full (50 times)")
	s.wait(".toast-more [aria-expanded=true]", "The latest only")
	s.click("The latest only")
	s.gone(".toast", "the disk is full")
	say(`toast(new Error('the disk is full'), {kind: 'bad'});`) // it happens still, so it is seen
	s.wait(".toast", "the disk is full (51 times)")
	s.click("Close", ".toast:last-child")
	s.gone(".toast", "the disk is full (")
	var focused bool
	if s.evaluate(&focused, `document.activeElement.closest('.toast') !== null`); !focused {
		t.Error("the focus is lost with a notice that was closed")
	}
	say(`for (let i = 0; i < 500; i++) toast('again ' + i, {kind: 'bad'});`)
	s.wait(".toast-more", "96 earlier")
	var held int
	if s.evaluate(&held, `document.querySelectorAll('.toast').length`); held != 100 {
		t.Errorf("%d notices are held", held)
	}
	s.click("Close all")
	s.gone(".toast, .toast-more")
	say(`toast('for a moment', {time: 30}); toast('for a moment', {time: 30});`)
	s.gone(".toast")
}
