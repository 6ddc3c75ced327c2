package web_test

import (
	"fmt"
	"strings"
	"testing"
)

// steered gives what has the focus: its kind and name, and what is wrong with it for somebody who sees only where it
// is.
const steered = `(() => {
  const el = document.activeElement;
  if (!el || el === document.body) return {name: '', wrong: 'nothing has the focus'};
  const name = (el.getAttribute('aria-label') || (el.labels && el.labels[0] && el.labels[0].innerText) || el.innerText || el.title || '').trim().replace(/\s+/g, ' ').slice(0, 80);
  const r = el.getBoundingClientRect(), style = getComputedStyle(el), box = el.closest('.composer');
  const marked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) || (box && getComputedStyle(box).boxShadow !== 'none');
  let wrong = '';
  if (name === '') wrong = 'it has no name: ' + el.outerHTML.slice(0, 120);
  else if (el.tagName === 'MAIN') wrong = '';
  else if (!marked) wrong = 'it is not marked: ' + el.outerHTML.slice(0, 120);
  else if (r.width === 0 || r.bottom <= 0 || r.top >= innerHeight || r.right <= 0 || r.left >= innerWidth) wrong = 'it is not seen: ' + el.outerHTML.slice(0, 120);
  return {name, wrong};
})()`

// steer moves the focus with Tab, or with Shift+Tab, until something has it whose name begins with the words.
// Whatever has it on the way must be seen.
func (s *sheet) steer(key, words string) {
	s.t.Helper()
	var way []string
	for range 90 {
		s.press(key)
		if name := s.steered(); strings.HasPrefix(name, words) {
			return
		} else if way = append(way, name); len(way) > 60 && name == way[0] {
			break
		}
	}
	s.t.Fatalf("%s does not lead to %q, but to %q", key, words, way)
}

// steered returns the name of what has the focus, and reports what is wrong with it.
func (s *sheet) steered() string {
	s.t.Helper()
	var at struct{ Name, Wrong string }
	if s.evaluate(&at, steered); at.Wrong != "" && !strings.Contains(at.Wrong, "nothing has the focus") {
		s.t.Errorf("the focus is on %q: %s", at.Name, at.Wrong)
	}
	return at.Name
}

// held reports if nothing has the focus.
func (s *sheet) held(after string) {
	s.t.Helper()
	var at struct{ Name, Wrong string }
	if s.evaluate(&at, steered); strings.Contains(at.Wrong, "nothing has the focus") {
		s.t.Errorf("%s nothing has the focus", after)
	}
}

// TestKeyboard goes through the page with keys alone: in, through a conversation, questions, what happened, numbers
// and settings, and out.
func TestKeyboard(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	w.countedEvenly()
	s := w.open(b, "", "")
	s.wait("#key:focus")
	s.write("", adminKey)
	s.press("Enter")
	s.wait("textarea:focus")

	// The first stop skips what stands around the view.
	s.press("Escape")
	s.evaluate(nil, "document.activeElement.blur(), document.querySelector('.skip').focus(), true")
	s.wait(".skip:focus")
	s.press("Enter")
	s.wait("main:focus")

	// A model is chosen and asked.
	s.steer("Tab", "Model")
	for range 3 {
		if s.text("select:focus") == "shop" {
			break
		}
		s.press("Up")
	}
	s.steer("Shift+Tab", "Message")
	s.write("", "Open the shop on Sundays.")
	s.press("Enter")
	s.wait("nav a[data-view=approvals] .mark", "1")

	// Its question is answered with other arguments, the next one denied with a reason.
	s.press("Escape", "g", "a")
	s.wait(".queue-item", "edit_file")
	s.held("in another view")
	s.press("j")
	s.wait(".diff", "Sunday: 11:00")
	s.wait(".approval-bar .primary:not(:disabled)")
	s.press("e")
	s.wait(".form input:focus")
	s.steer("Tab", "new_string")
	s.press("Control+a")
	s.write("", "Sunday: by key alone")
	s.wait(".diff", "by key alone")
	s.steer("Tab", "Approve with changes")
	s.press("Enter")
	s.wait(".outcome", "Approved with changes by ada")
	s.held("after an answer")
	s.wait(".queue-item", "command_exec")
	s.press("j")
	s.wait(".command", "grep -n Sunday hours.md")
	s.wait(".approval-bar .primary:not(:disabled)")
	s.press("d")
	s.wait(".approval-bar input[type=text]:focus")
	s.write("", "not now")
	s.steer("Tab", "Deny")
	s.press("Enter")
	s.wait(".outcome", "Denied by ada")
	s.held("after a refusal")
	if text := w.read("work/hours.md"); !strings.Contains(text, "\nSunday: by key alone\n") {
		t.Errorf("the file says %s", text)
	}

	// What happened, and when; which bytes became which value; and how another dialect reads it.
	s.press("g", "i")
	s.wait(".inspect-item", "Open the shop on Sundays.")
	s.press("j", "Enter")
	s.wait(".waterfall .list-row", "edit_file")
	s.wait(".split-call")
	s.steer("Tab", "Timeline")
	s.press("Down", "Down")
	s.wait(`.waterfall .list-row[aria-selected=true]`)
	s.press("Home")
	s.wait(".split-calls .tree-leaf")
	s.steer("Tab", "alone")
	s.press(" ")
	s.steer("Shift+Tab", "Read as")
	s.wait(`select[aria-label="Read as"]`, "anthropic-xml")
	s.press("a")
	s.wait(".split-calls", "The text contains no call")
	s.press("Home")
	s.wait(".split-calls .tree-leaf")
	s.steer("Tab", "path")
	s.wait(".split-text .lit")
	s.wait(".split-where", "/path: bytes")

	// The playground, piece by piece.
	s.press("g", "p")
	s.wait("main h1", "Playground")
	s.press("Control+Enter")
	s.wait(".split-call", "get_weather")
	s.steer("Tab", "How much of the text has arrived")
	s.press("Home")
	s.wait(".split-calls", "The text contains no call")
	s.press("End")
	s.wait(".split-call", "get_weather")

	// Numbers of another time.
	s.press("g", "n")
	s.wait(".tiles", "Valid at first try")
	s.steer("Tab", "Time")
	s.press("Down")
	s.wait(".analytics:not([aria-busy]) .tiles", "Valid at first try")
	if got := hash(s); got != "#/analytics?since=30d" {
		t.Errorf("the address is %s", got)
	}
	var at string
	if s.call(&at, "focused"); at != "select Time" {
		t.Errorf("after a choice %q has the focus", at)
	}
	s.press("Down") // from there to the next one
	s.wait(".analytics:not([aria-busy]) .tiles", "Valid at first try")
	if got := hash(s); got != "#/analytics?since=90d" {
		t.Errorf("the address is %s", got)
	}
	s.steer("Tab", "Export") // letters choose in what has a choice

	// The settings, a tool by its form, and out.
	s.press("g", "s")
	s.wait("table", "shop")
	s.press("]")
	s.wait("table", "read_file")
	s.held("in another part")
	s.steer("Tab", "read_file")
	s.press("Enter")
	s.wait(".form", "path")
	s.steer("Tab", "path")
	s.write("", "hours.md")
	s.steer("Tab", "Run")
	s.press("Enter")
	s.wait(".result", "by key alone")
	s.press("?")
	s.wait("dialog", "Go to inspector")
	if name := s.steered(); name == "" {
		t.Error("nothing in the dialog has the focus")
	}
	s.press("Escape")
	s.gone("dialog")
	s.held("after a dialog")
	s.steer("Shift+Tab", "Log out")
	s.press("Enter")
	s.wait("[role=alert]", "You are logged out.")
	s.wait("#key:focus")
}

// TestKeyboardRing: from the first to the last, everything that takes the focus is marked, seen and has a name, in
// the order in which it is read.
func TestKeyboardRing(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	w.countedEvenly()
	id := w.begins("shop", "Open the shop on Sundays.")
	for _, at := range []struct{ path, wait string }{
		{"#/approvals/" + id, ".diff"}, {"#/chat", "select"}, {"#/inspector", ".inspect-item"},
		{"#/playground", ".inputs"}, {"#/analytics", ".tiles"}, {"#/settings/tools", "table"},
		{"#/settings/policy", "textarea"}, {"#/settings/log", ".log"},
	} {
		for _, wide := range []int{1440, 390} {
			s := w.open(b, adminKey, at.path)
			s.wait(at.wait)
			s.view(wide, 900, false)
			s.evaluate(nil, "document.querySelector('.skip').focus(), true")
			seen, last := 0, ""
			for range 80 {
				var now struct{ Name, Wrong string }
				if s.evaluate(&now, steered); now.Name == "" {
					break // past the end
				}
				if now.Wrong != "" {
					t.Errorf("%s at %d: after %q: %s", at.path, wide, last, now.Wrong)
				}
				last = now.Name
				seen++
				s.press("Tab")
			}
			if seen < 12 {
				t.Errorf("%s at %d: only %d things take the focus", at.path, wide, seen)
			}
			s.tab.Close()
		}
	}
}

// TestStill: who does not want movement gets none.
func TestStill(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.says(b, adminKey, "the sum of 1 + 2, please")
	s.wait(".question")
	var moving []string
	s.evaluate(&moving,
		`[...document.querySelectorAll('*')].filter((el) => { const c = getComputedStyle(el); return c.animationName !== 'none' || c.transitionDuration.split(',').some((d) => parseFloat(d) > 0) || c.scrollBehavior === 'smooth'; }).map((el) => el.outerHTML.slice(0, 80))`)
	if len(moving) > 0 {
		t.Error(fmt.Sprint("these move: ", moving))
	}
}
