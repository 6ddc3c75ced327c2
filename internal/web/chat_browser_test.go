package web_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"wield/internal/browser/chromium"
)

// talks is a service whose scripted models do what the tests of the chat need: compute after asking, write
// text that would like to be a script, call a tool that is not there, write for long, and see what they are
// sent.
const talks = `backends:
  b: {kind: script, scenario: "DIR/talk.yaml"}
models:
  helper: {backend: b, model: helper, mode: native, agent: {tools: [calculator, read_file]}}
  plain: {backend: b, model: plain, mode: text}
policies:
  default: {default: allow, rules: [{ask: {tool: [calculator]}}]}
tools: {root: DIR}
`

// canary is a script in every form in which a text could become one.
const canary = `<script>fetch('/pwned')</script><img src=/pwned onerror="fetch('/pwned')"><svg onload=fetch('/pwned')>[a](javascript:fetch('/pwned')) ![b](/pwned) ![c](http://127.0.0.1:1/pwned) <a href="javascript:fetch('/pwned')">d</a> <iframe srcdoc="<script>fetch('/pwned')</script>"></iframe><style>@import '/pwned'</style>` +
	` <math><mtext><table><mglyph><style><!--</style><img title="--><img src=/pwned onerror=fetch('/pwned')>"> <svg><use href="data:image/svg+xml;base64,PHN2Zy8+#a"/></svg>` +
	` <base href=//127.0.0.1:1/> <meta http-equiv=refresh content="0;url=javascript:fetch('/pwned')"> <form action=javascript:fetch('/pwned')><button autofocus onfocus=fetch('/pwned')>go</button></form>` +
	` <details open ontoggle=fetch('/pwned')> <template shadowrootmode=open><img src=/pwned></template> <link rel=stylesheet href=/pwned> <video><source onerror=fetch('/pwned')></video>` +
	` [e](java&#10;script:fetch('/pwned')) [f](vbscript:x) [g](data:text/html,<script>fetch('/pwned')</script>) [h](//127.0.0.1:1/pwned) [i](/\127.0.0.1:1/pwned) <javascript:fetch('/pwned')>` +
	` ![j](data:image/svg+xml,<svg/onload=fetch('/pwned')>) {{constructor.constructor('fetch("/pwned")')()}} ");fetch('/pwned')//`

const talkScenario = `wield: scenario/v1
name: talk
seed: 1
backend: {native_tools: true}
defaults: {chunk: 12}
turns:
  - {id: sum, when: {user: "/sum of (?<x>[0-9 +]+)/", last: user, tools_offered: [calculator]}, reply: [{text: "Let me compute.\n"}, {call: {name: calculator, args: {expression: "${x}"}}}]}
  - {id: sum-done, when: {last: tool, tool: calculator}, reply: [{text: "The **answer** is in BTthe resultBT."}]}
  - id: script
    when: {user: "/script/", last: user, tools_offered: [read_file]}
    reply: [{think: 'CANARY'}, {text: 'CANARY'}, {call: {name: read_file, args: {path: evil.html}}}]
  - {id: script-done, when: {last: tool}, reply: [{text: "I have read it."}]}
  - id: markdown
    when: {user: "/markdown/"}
    reply: [{text: "# Title\n\n- one\n- two, with a [link](https://example.com)\n\nBTBTBTgo\nfunc main() {}\nBTBTBT\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\n> Said before\n\nThe end."}]
  - id: slowly
    when: {user: "/slowly/"}
    tps: 20
    chunk: 13
    reply: [{text: "SLOW finished."}]
  - {id: anything, when: {}, reply: [{text: "You said: "}, {echo: user}]}
`

func chatWorld(t *testing.T) *world {
	t.Helper()
	scenario := strings.NewReplacer("CANARY", strings.ReplaceAll(canary, "'", "''"), "SLOW",
		strings.Repeat("word by word ", 4000), "BT", "`").Replace(talkScenario)
	return newWorld(t, talks, map[string]string{"talk.yaml": scenario, "evil.html": canary})
}

// says sends a message.
func (s *sheet) says(text string) {
	s.t.Helper()
	s.write("textarea[aria-label=Message]", text)
	s.press("Enter")
}

// says opens the chat in a browser and says something to the helper.
func (w *world) says(b *chromium.Browser, key, text string) *sheet {
	w.t.Helper()
	s := w.open(b, key, "#/chat")
	s.wait("select", "helper")
	s.says(text)
	return s
}

// TestChat: a message, a call that is asked about and allowed in place, the answer in Markdown, and the same again
// after loading.
func TestChat(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.says(b, adminKey, "the sum of 1 + 2, please")
	s.wait(".said-user", "the sum of 1 + 2")
	s.wait(".card .badge", "needs approval")
	s.wait(".question", "Why this needs approval", "expression", "1 + 2")
	s.pictures("chat-asks")
	s.click("Approve", ".question")
	s.wait(".card .badge", "done")
	s.wait(".said-model strong", "answer")
	s.wait(".said-model code", "the result")
	s.wait(".session-list", "the sum of 1 + 2, please")
	check := func() {
		t.Helper()
		s.wait(".said-user", "the sum of 1 + 2")
		s.wait(".card .badge", "done")
		s.wait(".said-model strong", "answer")
		if n := s.count(".run"); n != 1 {
			t.Errorf("%d runs are shown", n)
		}
		if n := s.count(".said-model"); n != 2 {
			t.Errorf("%d answers are shown", n)
		}
		if n := s.count(".card"); n != 1 {
			t.Errorf("%d calls are shown", n)
		}
	}
	check()
	s.reload()
	s.wait(".foot-line", "What happened")
	check()
	s.pictures("chat-done")
	var back string
	s.call(&back, "hash")
	s.click("What happened")
	s.wait(".inspect-main .waterfall", "calculator")
	s.goTo(back)
	s.wait(".foot-line")
	s.says("show me markdown")
	s.wait("h2.heading-1", "Title")
	s.wait(".code-block", "func main() {}")
	s.wait(".markdown td", "2")
	s.wait(".markdown", "The end.")
	s.pictures("chat-markdown")
}

// seesApprove checks that the button is on the screen.
func (s *sheet) seesApprove(when string) {
	s.t.Helper()
	var seen bool
	s.evaluate(&seen, `(() => {
		const b = [...document.querySelectorAll('.approval-bar button')].find((b) => b.innerText.trim() === 'Approve');
		const r = b.getBoundingClientRect();
		return b.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
	})()`)
	if !seen {
		s.t.Errorf("Approve is not seen %s", when)
	}
}

// TestChatSecondQuestion: whoever has answered a question sees the next one without scrolling.
func TestChatSecondQuestion(t *testing.T) {
	b := browser(t)
	s := newWorld(t, shop, shopFiles).open(b, adminKey, "#/chat")
	s.view(390, 600, false)
	s.wait("select", "shop")
	s.call(nil, "choose", "select", "shop")
	s.says("Open the shop on Sundays.")
	s.wait(".question .diff", "Sunday: closed", "Sunday: 11:00 to 15:00")
	s.wait(".question .soft", "in ")
	s.evaluate(nil, `document.querySelector('.approval-bar').scrollIntoView()`)
	s.click("Approve", ".question")
	s.wait(".question .command", "grep -n Sunday hours.md")
	s.call(nil, "quiet")
	s.seesApprove("of the second question")
}

// TestChatApproveNarrow: whoever holds a telephone sees Approve without scrolling, when a question comes and when the
// page is loaded anew.
func TestChatApproveNarrow(t *testing.T) {
	b := browser(t)
	s := chatWorld(t).open(b, adminKey, "#/chat")
	s.view(390, 844, false)
	s.wait("select", "helper")
	s.says("the sum of 1 + 2, please")
	seen := func(when string) {
		t.Helper()
		s.wait(".question", "Why this needs approval", "1 + 2")
		s.call(nil, "quiet")
		s.seesApprove(when)
		var rows int
		s.evaluate(&rows,
			`new Set([...document.querySelectorAll('.composer-bar > :is(select, button):not([hidden])')].map((e) => {
			const r = e.getBoundingClientRect();
			return Math.round(r.top + r.height / 2);
		})).size`)
		if rows != 1 {
			t.Errorf("the controls below the message take %d rows %s", rows, when)
		}
	}
	seen("when the question comes")
	s.reload()
	seen("when the page is loaded anew")
	s.click("Approve", ".question")
	s.wait(".said-model strong", "answer")
}

// TestChatSessions: find, rename, export and delete.
func TestChatSessions(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, clientKey, "#/chat")
	s.wait("select", "helper")
	for _, text := range []string{"hello zebra", "hello lion"} {
		s.says(text)
		s.wait(".said-model", "You said: "+text)
		s.wait(".session-list", text)
		s.press("Alt+x")
		s.click("New chat")
		s.gone(".said-user")
	}
	s.press("Tab")
	s.write("input[type=search]", "zebra")
	s.gone(".session-list", "lion")
	s.click("hello zebra", ".session-list")
	s.wait(".said-model", "zebra")
	s.click("Rename")
	s.write("dialog input", "Stripes")
	s.press("Enter")
	s.wait(".talk-head h1", "Stripes")
	s.click("Delete", ".talk-head")
	s.wait("dialog", "for good")
	s.click("Delete", "dialog")
	s.wait(".session-list", "No chat matches.")
	var page struct{ Items []struct{ Title string } }
	if w.ask(clientKey, "GET", "/sessions", nil, &page); len(page.Items) != 1 || page.Items[0].Title != "hello lion" {
		t.Errorf("left are %+v", page.Items)
	}
	s.goTo("#/chat/ses_none")
	s.wait("[role=alert]", "This chat does not exist")
}

// TestChatEdits: a message that is edited goes on as a chat of its own, and the other stays.
func TestChatEdits(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, clientKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	s.says("first words")
	s.wait(".said-model", "You said: first words")
	s.wait(".foot-line")
	s.says("second words")
	s.wait(".said-model", "You said: second words")
	var hash string
	s.call(&hash, "hash")
	s.wait(".run:nth-child(2) .foot-line")
	s.click("Edit and send again", ".run:nth-child(2)")
	s.write("textarea[aria-label='Edited message']", "other words")
	s.press("Enter")
	s.wait(".said-model", "You said: other words")
	s.gone(".said-user", "second words")
	var after string
	if s.call(&after, "hash"); after == hash {
		t.Error("the branch is the same chat")
	}
	s.goTo(hash)
	s.wait(".said-model", "You said: second words")
	s.click("Go on from here", ".run:nth-child(1)")
	s.wait(".chip", "goes on from an earlier answer")
	s.says("third words")
	s.wait(".said-model", "You said: third words")
	s.gone(".said-user", "second words")
	s.wait(".session-list", "third words")
	var page struct{ Items []struct{ Title string } }
	if w.ask(clientKey, "GET", "/sessions", nil, &page); len(page.Items) != 3 {
		t.Errorf("there are %+v", page.Items)
	}
}

// TestChatStops: an answer that is being written can be stopped, by a key alone.
func TestChatStops(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.says(b, clientKey, "write slowly")
	s.wait(".said-model", "word by word")
	s.press("Alt+s")
	s.wait(".run-foot", "It was stopped")
	if text := s.text(".said-model"); strings.Contains(text, "finished") || !strings.Contains(text, "word by word") {
		t.Errorf("what is left of the answer: %q", text)
	}
	s.gone("button", "Stop")
}

// TestChatScripts: nothing that a model, a tool, a person or a title says can run or fetch anything.
func TestChatScripts(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.says(b, adminKey, "a script: "+canary)
	s.wait(".card .badge", "done")
	s.wait(".said-model", "I have read it.")
	s.wait(".foot-line")
	s.click("read_file", "details.card")
	s.wait(".card-result", "<script>")
	var page struct{ Items []struct{ ID string } }
	w.ask(adminKey, "GET", "/sessions", nil, &page)
	if status := w.ask(adminKey, "PATCH", "/sessions/"+page.Items[0].ID, map[string]string{"title": canary[:150]},
		nil); status != http.StatusOK {
		t.Fatal(status)
	}
	s.wait(".session-list", "<script>")
	s.wait(".talk-head h1", "<script>")
	s.goTo("#/chat/" + canary)
	s.wait("main", "This chat does not exist")
	var found int
	s.evaluate(&found,
		`document.querySelectorAll('script:not([src^="/web/"]), iframe, style, [onerror], [onload], a[href^="javascript"], img[src*="pwned"]').length`)
	if found > 0 {
		t.Errorf("%d elements came out of a text", found)
	}
	if n := w.ran.Load(); n > 0 {
		t.Errorf("a text has run %d times", n)
	}
}

// drop drops a file on the conversation.
func (s *sheet) drop(name, kind, content string) {
	s.t.Helper()
	s.evaluate(nil,
		fmt.Sprintf(
			`(() => { const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q, {type: %q}));
		document.querySelector('.talk').dispatchEvent(new DragEvent('drop', {dataTransfer: d, bubbles: true, cancelable: true})); })()`, base64.StdEncoding.EncodeToString([]byte(content)), name, kind))
}

// TestChatFiles: a text and a picture go along with a message; too much is said at once.
func TestChatFiles(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, clientKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	s.drop("notes.txt", "text/plain", "inside the notes")
	s.wait(".chip", "notes.txt")
	s.says("what is in it?")
	s.wait(".said-model", "inside the notes")
	s.wait(".foot-line")
	s.evaluate(nil,
		`(() => { const d = new DataTransfer(); d.items.add(new File([new Uint8Array(9 << 20)], 'huge.bin'));
		document.querySelector('.talk').dispatchEvent(new DragEvent('drop', {dataTransfer: d, bubbles: true, cancelable: true})); })()`)
	s.wait(".toast", "huge.bin is too large (9.0 MiB)")
	s.drop("x.zip", "application/zip", "\x00\x01\x02")
	s.wait(".chip", "x.zip")
	s.says("and this?")
	s.wait(".toast", "is neither text nor a picture")
	if got := strings.TrimSpace(s.text("textarea[aria-label=Message]")); got != "and this?" {
		t.Errorf("what was written is %q after it was refused", got)
	}
}

// TestChatTabs: two tabs show the same, and go on after the service was away without losing or doubling anything.
func TestChatTabs(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	one := w.says(b, adminKey, "the sum of 4 + 5")
	one.wait(".question .button", "Approve")
	var hash string
	one.call(&hash, "hash")
	two := w.open(b, adminKey, hash)
	two.wait(".question .button", "Approve")
	two.click("Approve", ".question")
	two.wait(".card .badge", "done")
	one.front() // it had rested, unseen
	one.wait(".card .badge", "done")
	one.wait(".said-model strong", "answer")
	two.front()
	two.wait(".foot-line") // the run is over, and what is said now begins another one
	two.says("hello again")
	two.wait(".said-model", "You said: hello again")
	one.front()
	one.wait(".said-user", "hello again")
	one.wait(".said-model", "You said: hello again")
	before := one.text(".stream")
	two.tab.Close()
	w.stop()
	one.wait(".offline", "lost")
	w.start()
	one.wait("label", "Key")
	one.write("#key", adminKey)
	one.press("Enter")
	one.wait(".said-model", "You said: hello again")
	one.wait(".run:nth-child(2) .foot-line")
	one.wait(".run:nth-child(1) .foot-line")
	if after := one.text(".stream"); strings.ReplaceAll(after, " ", "") == "" ||
		strings.Count(after, "hello again") != strings.Count(before, "hello again") ||
		strings.Count(after, "Let me compute.") != 1 {
		t.Errorf("after the service was away the chat shows\n%s\nand before\n%s", after, before)
	}
	one.says("and once more")
	one.wait(".said-model", "You said: and once more")
}

// TestChatConnection: the connection breaks off again and again while an answer is written, and the answer is shown
// whole, each word once.
func TestChatConnection(t *testing.T) {
	b := browser(t)
	const words = 400
	var text strings.Builder
	for i := range words {
		fmt.Fprintf(&text, "w%03d ", i)
	}
	w := newWorld(t, curious,
		map[string]string{
			"sums.yaml": "wield: scenario/v1\nname: sums\ndefaults: {chunk: 5, tps: 200}\nturns:\n  - id: a\n    when: {}\n    reply: [{text: " + yamlString(text.String()) + "}]\n"})
	s := w.open(b, adminKey, "#/chat")
	s.call(nil, "choose", `select[aria-label="Model"]`, "sums")
	s.says("Count.")
	for i := 0; i < words; i += 80 {
		s.wait(".said-model", fmt.Sprintf("w%03d", i))
		w.door.cut()
	}
	s.wait(".said-model", fmt.Sprintf("w%03d", words-1))
	s.wait(".foot-line")
	if got, want := strings.Join(strings.Fields(s.text(".said-model")), " "),
		strings.TrimSpace(text.String()); got != want {
		t.Errorf("the answer is shown as\n%s", got)
	}
}

// TestChatDown: that a model's server is not there is said before anything was written.
func TestChatDown(t *testing.T) {
	b := browser(t)
	const nobody = "http://127.0.0.1:1/v1" // a port that nothing is given by chance
	w := newWorld(t, "backends:\n  off: {kind: openai, url: \""+nobody+
		"\"}\nmodels:\n  away: {backend: off, model: m}\n", nil)
	s := w.open(b, clientKey, "#/chat")
	s.wait(".notice", "The model away cannot be asked now", "the backend off cannot be reached", "Start the server")
	s.pictures("chat-down")
}

// TestChatTools: a message has no tools but those that were chosen for it.
func TestChatTools(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	s := w.open(b, clientKey, "#/chat")
	s.click("Tools: 3")
	s.click("calculator", "dialog")
	s.press("Escape")
	s.wait("button", "Tools: 2 of 3")
	s.says("the sum of 1 + 2")
	s.wait(".said-model", "You said: the sum of 1 + 2")
}

// TestChatDecides: what is asked about is looked at, edited and answered in the chat itself, by keys alone, and what
// comes of it is shown there.
func TestChatDecides(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "shop")
	s.call(nil, "choose", "select", "shop")
	s.says("Open the shop on Sundays.")
	s.wait(".question .diff", "Sunday: closed", "Sunday: 11:00 to 15:00")
	s.wait(".question", "no rule of the policy default matches", "expires in")
	s.press("Escape", "w")
	s.click("Edit", ".question")
	s.click("As JSON", ".question")
	s.write(".question .form textarea", `{"path": "hours.md", "old_string": 3}`)
	s.wait(".question .form .bad-words", "string")
	s.write(".question .form textarea",
		`{"path": "hours.md", "old_string": "Sunday: closed", "new_string": "Sunday: <i>noon</i>"}`)
	s.wait(".question .diff", "Sunday: <i>noon</i>")
	s.pictures("chat-edits")
	s.click("Approve with changes", ".question")
	s.wait(".card summary", "edited", "Sunday: <i>noon</i>")
	s.wait(".question .command", "grep -n Sunday hours.md")
	s.click("edit_file", "details.card")
	s.wait(".card-question", "Allowed with other arguments by ada", "Ran with")
	if text := w.read("work/hours.md"); !strings.Contains(text, "\nSunday: <i>noon</i>\n") {
		t.Errorf("the file says %s", text)
	}
	s.wait(".question .keep", `command: [grep]`)
	s.call(nil, "press", ".question .keep input")
	s.click("Approve", ".question")
	s.wait(".foot-line")
	// as a person, so that they stay open
	s.evaluate(nil, `document.querySelectorAll('details.card:not([open]) > summary').forEach((el) => el.click())`)
	s.wait(".card-question", "Allowed by ada", "Rule remembered")
	s.wait(".foot-line")
	if n := s.count(".question"); n != 0 {
		t.Errorf("%d questions are left", n)
	}

	// A second time it is denied, and the run ends with that.
	s.click("New chat")
	s.gone(".run")
	s.says("Open the shop on Sundays.")
	s.wait(".question .diff")
	s.write(".question input[type=text]", "not today")
	s.click("Deny and end the run", ".question")
	s.wait(`.card[data-state="denied"] .card-question`, "Denied by ada: not today")
	s.wait(".run-foot", "It was stopped")
}

// TestCodeInPieces: a block of code of a megabyte is shown in pieces, with time for others in between. While it
// grows, what is there stays; in the end all of it is there, in whatever steps it came.
func TestCodeInPieces(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, adminKey, "#/playground")
	var got struct {
		Steps, Parts, First, Kept int
		Same, Redone, Short       bool
		After                     string
	}
	s.evaluate(&got, `import('/web/lib/markdown.js').then(async ({growing}) => {
		let now = 0, asked = 0;
		performance.now = () => now += 3; // as if each look at the clock came after 3 ms of work
		const out = {}, body = [];
		for (let i = 0; i < 20_000; i++) body.push(i % 7 ? 'line ' + i + ' of the code, which has some words in it' : '');
		const md = growing(() => asked++);
		document.body.append(md.el);
		const text = (el) => { const parts = [...el.querySelectorAll('.code-part')]; return parts.length ? parts.map((p) => p.textContent).join('\n') : el.querySelector('code').textContent; };
		const all = (source) => { let n = 0; for (let last = -1; asked !== last && n < 10_000; n++) { last = asked; md.set(source); } return n; };
		const half = 'Before.\n\n`+"```js"+`\n' + body.slice(0, 10_000).join('\n'), whole = 'Before.\n\n`+"```js"+
		`\n' + body.join('\n') + '\n`+"```"+`\n\nAfter.';
		md.set(half);
		out.first = md.el.querySelectorAll('.code-part').length;
		md.set(half); // it grows before all of it was there
		const old = [...md.el.querySelectorAll('.code-part')];
		out.steps = all(whole);
		const now2 = [...md.el.querySelectorAll('.code-part')];
		out.kept = old.filter((el, i) => el === now2[i]).length;
		out.parts = now2.length;
		out.same = text(md.el) === body.join('\n');
		out.after = md.el.lastChild.textContent;
		all('`+"```"+`\nother\n' + body.join('\n'));
		out.redone = text(md.el) === 'other\n' + body.join('\n') && md.el.childNodes.length === 1;
		all('`+"```"+`\nshort\n`+"```"+`');
		out.short = text(md.el) === 'short' && md.el.querySelectorAll('.code-part').length === 0;
		md.el.remove();
		return out;
	})`)
	if got.Parts < 60 || got.First < 1 || got.First > 5 || got.Steps < 20 || got.Kept < 2 || !got.Same ||
		got.After != "After." || !got.Redone || !got.Short {
		t.Errorf("%+v", got)
	}
}
