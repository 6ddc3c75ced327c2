package web_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"wield/internal/browser/chromium"
)

// looked are the views that axe looks at, with something in them. Each is a service of its own; look is
// called for each state of it.
var looked = []struct {
	name string
	open func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string))
}{
	{"chat", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		s := chatWorld(t).open(b, "", "")
		s.wait("label", "Key")
		look(s, "login")
		s.write("#key", adminKey)
		s.press("Enter")
		s.wait("select", "helper")
		look(s, "an empty chat")
		s.says("show me markdown")
		s.wait(".foot-line", "What happened")
		s.says("a script")
		s.wait(".said-model", "I have read it.")
		s.wait(".run:nth-child(2) .foot-line")
		s.evaluate(nil, `document.querySelectorAll('.stream details').forEach((d) => { d.open = true; }), true`)
		look(s, "a chat")
		s.says("the sum of 1 + 2")
		s.wait(".question .button", "Approve")
		look(s, "a chat that asks")
		s.click("Rename")
		look(s, "a dialog")
		s.press("Escape")
		s.click("Tools: 3")
		look(s, "the choice of tools")
		s.press("Escape")
		s.press("Escape", "?")
		look(s, "the keys")
	}},
	{"approvals", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		w := newWorld(t, shop, shopFiles)
		w.begins("trick", "hidden")
		id := w.begins("shop", "Open the shop on Sundays.")
		s := w.open(b, adminKey, "#/approvals/"+id)
		s.wait(".diff", "Sunday: 11:00")
		look(s, "an edit")
		s.press("e")
		s.wait(".form", "new_string")
		s.write(".form .field:nth-child(2) input", "what is not there")
		s.wait(".approval", "what is not there")
		look(s, "an edit that is edited")
		s.press("Escape")
		s.goTo("#/approvals")
		s.wait(".queue-item", "command_exec")
		s.click("command_exec", ".queue-list")
		s.wait(".command", "⟨U+202E⟩")
		look(s, "a command")
		s.goTo("#/approvals?state=all")
		s.wait(".queue-item")
		look(s, "all questions")
	}},
	{"inspector", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		w, run := curiousWorld(t)
		s := w.open(b, adminKey, "#/inspector/run/"+run+"/1")
		s.wait(".split-call", "calculator")
		s.wait(".asides", "trailing_comma")
		s.evaluate(nil,
			`document.querySelectorAll('.inspect-main details').forEach((d) => { d.open = true; }), document.querySelector('.split-calls .tree-leaf').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))`)
		look(s, "a run with a call that was sent back")
		s.click("Run again")
		s.wait("dialog textarea", "6 * 7")
		look(s, "a tool that is run again")
		s.press("Escape")
		s.click("Share")
		s.wait("dialog textarea", "6 * 7")
		look(s, "what is shared")
		s.press("Escape")
		s.click("Filters")
		look(s, "the filters")
		s.press("Escape")
		s.goTo("#/inspector?q=colour:red")
		s.wait(".filter-note", "there is no field")
		look(s, "a search that is wrong")
		s.goTo("#/inspector?q=kind%3Aexchange")
		s.click("What is it?", ".inspect-list")
		s.wait(".split-call", "calculator")
		look(s, "an exchange")
	}},
	{"connect", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		s := newWorld(t, "", nil).open(b, adminKey, "#/chat")
		s.write(".connect input[name=url]", "127.0.0.1:9")
		s.press("Enter")
		s.wait(".connect .said", "Nothing listens")
		look(s, "a server that is not there")
	}},
	{"playground", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		s := newWorld(t, plain, nil).open(b, approverKey, "#/playground")
		s.click("Read")
		s.wait(".split-call", "get_weather")
		look(s, "a text with calls")
		s.click("Broken")
		s.wait(".reading")
		s.call(nil, "quiet")
		look(s, "a broken text")
	}},
	{"analytics", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		w := newWorld(t, plain, nil)
		w.countedEvenly()
		s := w.open(b, adminKey, "#/analytics")
		s.wait(".heat", "raw-json")
		look(s, "a week")
		s.goTo("#/analytics?heat=first_try&tool=edit_file")
		s.wait(".heat", "raw-json")
		look(s, "a tool")
	}},
	{"settings", func(t *testing.T, b *chromium.Browser, look func(s *sheet, what string)) {
		s := newWorld(t, shop, shopFiles).open(b, adminKey, "#/settings")
		s.wait("table", "shop")
		look(s, "models")
		for _, at := range []struct{ path, selector, words string }{
			{"models/shop", "table", "scenario"}, {"tools", "table", "edit_file"},
			{"tools/edit_file", ".form", "Add an argument"}, {"keys", "table", "ada"},
			{"values", "table", "sandbox.level"}, {"log", ".log", "the service of a test starts"},
			{"policy", ".settings", "Try the rules"},
		} {
			s.goTo("#/settings/" + at.path)
			s.wait(at.selector, at.words)
			look(s, at.path)
		}
		s.write(".settings textarea", "ls | wc -l && shred hours.md > /dev/null")
		s.wait(".settings", "shred hours.md")
		look(s, "a command that is tried")
		first, address := pair(t)
		offer(t, address, "rack")
		s.w.cluster.Store(first)
		s.goTo("#/settings/cluster")
		s.wait("table", "build/rack")
		look(s, "cluster")
	}},
}

// TestAxe looks with axe-core for what keeps people out who see, hear or move otherwise. WIELD_AXE names its
// file, axe.min.js.
func TestAxe(t *testing.T) {
	axe := axeScript(t)
	b := browser(t)
	for _, v := range looked {
		t.Run(v.name, func(t *testing.T) {
			v.open(t, b, func(s *sheet, what string) {
				s.t.Helper()
				for _, view := range []struct {
					width int
					dark  bool
				}{{1440, false}, {390, true}} {
					s.view(view.width, 900, view.dark)
					s.call(nil, "quiet")
					for _, f := range s.axe(axe) {
						s.t.Errorf("%s, %v: %s", what, view, f)
					}
				}
				s.view(1440, 900, false)
			})
		})
	}
}

// TestAxeFinds: axe finds what is planted, so that finding nothing means something.
func TestAxeFinds(t *testing.T) {
	axe := axeScript(t)
	b := browser(t)
	s := newWorld(t, plain, nil).open(b, "", "")
	s.wait("label", "Key")
	if found := s.axe(axe); len(found) > 0 {
		t.Fatalf("before anything is planted it finds %q", found)
	}
	for _, tt := range []struct{ name, plant, id string }{
		{"a field without a label", `document.querySelector('label[for=key]').removeAttribute('for')`, "label"},
		{"a button without a name", `document.querySelector('form button').textContent = ''`, "button-name"},
		{"words that are hard to see", `document.querySelector('main p.soft').style.color = '#c8c8c8'`,
			"color-contrast"},
		{"a picture without words", `document.querySelector('main img').removeAttribute('alt')`, "image-alt"},
	} {
		s.evaluate(nil, tt.plant+", true")
		if found := strings.Join(s.axe(axe), "\n"); !strings.Contains(found, tt.id+" ") {
			t.Errorf("%s: it finds %q", tt.name, found)
		}
	}
}

// axeScript reads axe-core, or skips the test loudly.
func axeScript(t *testing.T) string {
	t.Helper()
	file := os.Getenv("WIELD_AXE")
	if file == "" {
		t.Skip("SKIPPED, the page is not looked at by axe: WIELD_AXE names no file axe.min.js of the package axe-core")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// axe returns what is serious of what axe finds in the page as it is shown now.
func (s *sheet) axe(script string) (list []string) {
	s.t.Helper()
	s.evaluate(nil, "if (!globalThis.axe) { "+script+"\n} true")
	var found []struct {
		ID, Help string
		Nodes    []string
	}
	s.evaluate(&found,
		`axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
		.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 5).map((n) => n.html.slice(0, 160) + ' ' + n.any.map((a) => a.message).join(' ').slice(0, 200))})))`)
	for _, f := range found {
		list = append(list, fmt.Sprintf("%s (%s)\n\t%s", f.ID, f.Help, strings.Join(f.Nodes, "\n\t")))
	}
	return list
}
