package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/journal/record"
)

// curious is an agent whose model first calls its tool wrongly, then with a comma too many.
const curious = `backends:
  sums: {kind: script, scenario: DIR/sums.yaml}
models:
  sums: {backend: sums, model: sums, mode: text, agent: {tools: [calculator]}}
  plain: {backend: sums, model: sums, mode: text}
policies: {default: {default: allow}}
`

const curiousScenario = `wield: scenario/v1
name: sums
turns:
  - id: corrected
    when: {result_contains: "unknown property"}
    reply: &again [{text: "Right.\n<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"6 * 7\",}}</tool_call>"}]
  - id: answer
    when: {last: tool}
    reply: [{text: "It is done."}]
  - id: again
    when: {user_contains: "TOOL_ERROR"}
    reply: *again
  - id: wrong
    when: {}
    reply: [{text: "Let me see.\n<tool_call>{\"name\":\"calculator\",\"arguments\":{\"formula\":\"6 * 7\"}}</tool_call>"}]
`

// curiousWorld is a service in which one run and one exchange have happened.
func curiousWorld(t *testing.T) (w *world, run string) {
	t.Helper()
	w = newWorld(t, curious, map[string]string{"sums.yaml": curiousScenario})
	var r struct{ ID string }
	if status := w.ask(adminKey, "POST", "/runs",
		map[string]string{"agent": "sums", "input": "What is six times seven?"}, &r); status != http.StatusCreated {
		t.Fatalf("the run is answered with %d", status)
	}
	w.ended(r.ID)
	w.complete(
		`{"model":"plain","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is it? <b onclick=alert(1)>"}],
		"tools":[{"type":"function","function":{"name":"calculator","parameters":{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"],"additionalProperties":false}}}]}`)
	return w, r.ID
}

// ended waits until a run is over.
func (w *world) ended(id string) {
	w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var r struct{ State string }
		if w.ask(adminKey, "GET", "/runs/"+id, nil, &r); r.State == "ended" {
			return
		}
	}
	w.t.Fatal("the run does not end")
}

// complete sends a chat completion.
func (w *world) complete(body string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.base+"/v1/chat/completions",
		bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+clientKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("the completion is answered with %s", resp.Status)
	}
}

// TestInspector goes from the list to a run, sees why its call was sent back, which bytes became which value,
// and what came of it.
func TestInspector(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector")
	s.wait(".inspect-item", "What is six times seven?", "calculator", "refused", "repaired")
	s.pictures("inspector-list")

	s.click("What is six times seven?", ".inspect-list")
	s.wait(".inspect-main h2")
	s.wait(".panel", "Rejected call", "invalid")
	s.click("Next answer")
	s.wait(".waterfall .list-row", "calculator", "ran")
	s.wait(".split-call", "calculator", "hermes")
	s.wait(".asides", "trailing_comma", "accepted")
	s.wait(".panel", "allow", "42")
	s.pictures("inspector-run")
	if got := s.text(".split-where"); !strings.Contains(got, "Point at a value") {
		t.Errorf("at first %q is said", got)
	}

	// Pointing at the value in the tree lights up its bytes, and the other way round.
	over := `(() => { const el = [...document.querySelectorAll(%q)].find((e) => e.innerText.includes(%q)); el.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); return el.innerText; })()`
	lit := `[...document.querySelectorAll('.split-text .lit')].map((e) => e.innerText).join('')`
	s.evaluate(nil, fmt.Sprintf(over, ".split-calls .tree-leaf", "6 * 7"))
	s.wait(".split-where", "/expression: bytes", "as they are")
	s.wait(".split-text .lit")
	var text string
	if s.evaluate(&text, lit); text != "6 * 7" {
		t.Errorf("lit is %q", text)
	}
	raw := "Right.\n" + `<tool_call>{"name":"calculator","arguments":{"expression":"6 * 7",}}</tool_call>`
	at := func(what string) string { return fmt.Sprintf(`.split-text [data-at="%d"]`, strings.Index(raw, what)) }
	s.wait(at("expression"))
	s.view(1180, 790, false)
	s.evaluate(nil, `document.querySelector('.asides').scrollIntoView({block: 'end'})`)
	s.wait(".split-text .lit")
	s.picture("inspector-lit")
	s.view(1440, 900, false)
	s.call(nil, "quiet")
	s.wait(at("expression"))
	s.evaluate(nil, fmt.Sprintf(over, at("expression"), ""))
	s.wait(".split-where", "the name /expression")
	s.wait(at("6 * 7"))
	s.evaluate(nil, fmt.Sprintf(over, at("6 * 7"), ""))
	s.wait(".split-calls .tree-leaf.lit", "6 * 7")

	s.wait(`button[aria-label="Run again"]`)

	// The tool is run again by hand.
	s.click("Run again")
	s.wait("dialog textarea", "6 * 7")
	s.click("Run", "dialog .row.end")
	s.wait("dialog .badge", "ran")
	s.wait("dialog pre", "42")
	s.press("Escape")
	s.gone("dialog")

	// The address leads to the same place; another dialect reads something else.
	s.goTo("#/inspector/run/" + run)
	s.wait(".panel", "Rejected call", "invalid")
	s.call(nil, "focus", `select[aria-label="Read as"]`)
	s.wait(`select[aria-label="Read as"]`, "anthropic-xml")
	s.call(nil, "press", ".inspect-main .split + .asides, .inspect-main label input[type=checkbox]")
	s.call(nil, "choose", `select[aria-label="Read as"]`, "anthropic-xml")
	s.wait(".split-calls", "The text contains no call")
}

// TestInspectorExchange shows what stands behind an exchange of the gateway, and searches for it.
func TestInspectorExchange(t *testing.T) {
	b := browser(t)
	w, _ := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector?q=kind%3Aexchange")
	s.wait(".inspect-item", "What is it? <b onclick=alert(1)>")
	if n := s.count(".inspect-item"); n != 1 {
		t.Errorf("the filter lets %d through", n)
	}
	s.click("What is it?", ".inspect-list")
	s.wait(".split-call", "calculator")
	s.click("Prompt sent to the model")
	s.wait(".folded pre", "<b onclick=alert(1)>")
	s.click("Next answer")
	s.click("What the client received")
	s.wait(".folded pre", "tool_calls")
	s.pictures("inspector-exchange")

	s.press("/")
	var focused string
	if s.call(&focused, "focused"); !strings.HasPrefix(focused, "input") {
		t.Errorf("the focus is on %s", focused)
	}
	s.write("input[type=search]", "colour:red")
	s.press("Enter")
	s.wait(".filter-note", "there is no field")
	var prevented bool
	s.evaluate(&prevented,
		`!document.querySelector('input[type=search]').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}))`)
	if prevented {
		t.Error("Enter in the search is taken for a key of the view")
	}
	s.write(`input[type=search]`, "tool:nothing")
	s.press("Enter")
	s.wait(".filter-note", "No run or request matches the search.")
	s.write(`input[type=search]`, "bounced:true -kind:run")
	s.press("Enter")
	s.wait(".inspect-item", "What is it?")
	var hash string
	if s.call(&hash, "hash"); !strings.Contains(hash, "bounced%3Atrue") {
		t.Errorf("the address is %s", hash)
	}
}

// TestInspectorLive sees what happens while it is open.
func TestInspectorLive(t *testing.T) {
	b := browser(t)
	w, _ := curiousWorld(t)
	s := w.open(b, clientKey, "#/inspector")
	s.wait(".filter-note",
		"Nothing recorded yet. Send a message in Chat or a request to the API: it appears here with what the model wrote, its calls and their results.")
	if status := w.ask(clientKey, "POST", "/runs", map[string]string{"agent": "sums", "input": "Something new"},
		nil); status != http.StatusCreated {
		t.Fatalf("the run is answered with %d", status)
	}
	s.wait(".inspect-item", "Something new")
	s.press("j", "Enter")
	s.wait(".inspect-main .waterfall .list-row", "calculator")
}

// TestShare shows what a file of a run will hold before it is saved.
func TestShare(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/run/"+run)
	s.wait(".split-call", "calculator")
	s.click("Share")
	s.wait("dialog textarea", "6 * 7")
	s.write(`dialog input[type=text]`, "6 * 7, six")
	s.wait("dialog [role=status]", "more of your words left out")
	s.wait("dialog textarea", "[left out]")
	if got := s.text("dialog textarea"); strings.Contains(got, "6 * 7") || strings.Contains(got, "six") {
		t.Error("a word that was to be left out is in the file")
	}
	s.pictures("inspector-share")
}

// TestHostileTexts shows what models, tools and clients can write, as text.
func TestHostileTexts(t *testing.T) {
	b := browser(t)
	hostile := `<img src=x onerror="document.title='HIT'"><script>document.title='HIT'</script>` + "\u202e\u0007" +
		`[x](javascript:document.title='HIT')`
	w := newWorld(t, curious,
		map[string]string{
			"sums.yaml": "wield: scenario/v1\nname: sums\nturns:\n  - id: a\n    when: {}\n    reply: [{text: " +
				yamlString(hostile+`<tool_call>{"name":"calculator","arguments":{"expression":"`+
					strings.ReplaceAll(hostile, `"`, `\"`)+`"}}</tool_call>`) + "}]\n"})
	var r struct{ ID string }
	w.ask(adminKey, "POST", "/runs", map[string]string{"agent": "sums", "input": hostile}, &r)
	w.ended(r.ID)
	s := w.open(b, adminKey, "#/inspector/run/"+r.ID)
	s.wait(".inspect-main .split-call")
	s.wait(".split-text", "<img src=x onerror=", "⟨U+202E⟩")
	s.goTo("#/playground")
	s.write("textarea[aria-label='What the model wrote'], .inputs textarea", hostile)
	s.click("Read")
	s.wait(".reading", "auto")
	var title string
	if s.call(&title, "title"); strings.Contains(title, "HIT") {
		t.Error("a text was run")
	}
	if n := s.count("main img, main script"); n > 0 {
		t.Errorf("%d elements came out of a text", n)
	}
}

func yamlString(s string) string {
	b, _ := json.Marshal(s)
	return strings.ReplaceAll(string(b), "$", "$$")
}

// TestPlayground reads a text as every dialect, and goes through it chunk by chunk.
func TestPlayground(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, approverKey, "#/playground")
	s.click("Read")
	s.wait(".reading", "2 calls", "auto", "hermes")
	s.wait(".reading", "no call", "anthropic-xml")
	s.wait(".split-call", "get_weather", "hermes")
	s.wait(".asides", "coerced", "trailing_comma")
	s.pictures("playground")
	s.call(nil, "choose", "input[type=range]", "88")
	s.wait(".split-call pre", `{"city"`)
	s.gone(".split-call", "bytes 113")
	s.call(nil, "choose", "input[type=range]", "16")
	s.wait(".split-calls", "The text contains no call")
	s.click("anthropic-xml", ".readings")
	s.wait(`.readings [data-dialect="anthropic-xml"][aria-pressed="true"]`)
	s.wait(".split-calls", "The text contains no call")
	s.write(".inputs label:nth-child(2) textarea", "{")
	s.press("Control+Enter")
	s.wait("[role=alert]", "The tools are no JSON list")
	s.click("Tags")
	s.wait(".reading", "1 call", "qwen3-coder")
	s.click("qwen3-coder", ".readings")
	s.wait(".split-calls", "São Paulo")
}

// TestInspectorSize opens a run with a text of a megabyte and thousands of calls. What the page holds of it
// is what is seen.
func TestInspectorSize(t *testing.T) {
	b := browser(t)
	w := newWorld(t, curious, map[string]string{"sums.yaml": curiousScenario})
	w.appendBig(t)
	s := w.open(b, adminKey, "#/inspector")
	s.wait(".inspect-item", "run")
	t.Logf("the run opens in %.0f ms", s.openBig())
	s.wait(".split-call", "calculator")
	if n := s.count(".inspect-main *"); n > 2000 {
		t.Errorf("%d elements are in the page", n)
	}
	s.evaluate(nil,
		`(() => { const el = document.querySelector('.split-calls .tree-leaf'); el.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); })()`)
	s.wait(".split-text .lit", "at the end")
}

// appendBig records a run of 5 004 records, the text of whose first answer has a megabyte.
func (w *world) appendBig(t testing.TB) {
	t.Helper()
	def := []record.Definition{{Name: "calculator",
		Parameters: json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string"}}}`)}}
	long := strings.Repeat("a line of the answer with some words in it\n", 1<<20/43) +
		`<tool_call>{"name":"calculator","arguments":{"expression":"at the end"}}</tool_call>`
	records := []record.Record{{Kind: record.KindRun,
		Run: &record.Run{Session: "ses_big", Agent: "sums", By: "ada", Offered: def}},
		{Kind: record.KindTurn, Turn: &record.Turn{Model: "m"}},
		{Kind: record.KindTurnEnd,
			TurnEnd: &record.TurnEnd{Raw: record.Text(long),
				Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("x")}}}}
	for i := range 2500 {
		id := fmt.Sprint("call_", i)
		records = append(records, record.Record{Kind: record.KindTurn, Turn: &record.Turn{Turn: i + 1, Model: "m"}},
			record.Record{Kind: record.KindTurnEnd,
				TurnEnd: &record.TurnEnd{Turn: i + 1,
					Message: chat.Message{Role: chat.RoleAssistant,
						Calls: []chat.Call{{ID: id, Name: "calculator", Arguments: `{"expression":"1"}`,
							Complete: true}}}}})
	}
	records = append(records, record.Record{Kind: record.KindEnd, End: &record.End{Reason: "answer"}})
	for from := 0; from < len(records); from += 500 {
		if _, err := w.journal.Append(t.Context(), "run_big", int64(from),
			records[from:min(from+500, len(records))]...); err != nil {
			t.Fatal(err)
		}
	}
}

// openBig opens the run of appendBig, and returns how many milliseconds that took.
func (s *sheet) openBig() (took float64) {
	s.t.Helper()
	s.evaluate(&took,
		`new Promise((done) => { const at = performance.now(); location.hash = '#/inspector/run/run_big/0';
		const look = () => { if (document.querySelector('.split-text .list-row') && document.querySelector('.waterfall .list-row')) done(performance.now() - at); else requestAnimationFrame(look); }; look(); })`)
	return took
}

// TestInspectorRush has thousands of things recorded at once while the inspector is open. What the page holds
// of them does not grow.
func TestInspectorRush(t *testing.T) {
	b := browser(t)
	w := newWorld(t, curious, map[string]string{"sums.yaml": curiousScenario})
	s := w.open(b, adminKey, "#/inspector")
	s.wait(".filter-note",
		"Nothing recorded yet. Send a message in Chat or a request to the API: it appears here with what the model wrote, its calls and their results.")
	for i := range 5 {
		w.rush(t, i, 20, 100)
	}
	s.wait(".inspect-item", "a message among many")
	if n := s.count("*"); n > 1500 {
		t.Errorf("%d elements are in the page", n)
	}
}

// TestInspectorOlder goes to the end of a long list, where older runs are read by themselves, each once; and
// sees that what happens at the same time in great numbers does not pile up.
func TestInspectorOlder(t *testing.T) {
	b := browser(t)
	w := newWorld(t, curious, map[string]string{"sums.yaml": curiousScenario})
	w.rush(t, 0, 120, 2)
	s := w.open(b, adminKey, "#/inspector")
	s.wait(".inspect-item", "a message among many")
	size := func() (n int) {
		s.evaluate(&n, `Number(document.querySelector('.inspect-list [role=option]').getAttribute('aria-setsize'))`)
		return n
	}
	if n := size(); n != 50 {
		t.Errorf("at first %d are there", n)
	}
	s.evaluate(nil, `(() => { const el = document.querySelector('.inspect-list'); el.scrollTop = el.scrollHeight; })()`)
	s.wait(`.inspect-list [aria-setsize="100"]`)
	s.evaluate(nil, `(() => { const el = document.querySelector('.inspect-list'); el.scrollTop = el.scrollHeight; })()`)
	s.wait(`.inspect-list [aria-setsize="120"]`)
	s.gone("button", "Older")
	s.evaluate(nil, `(() => { document.querySelector('.inspect-list').scrollTop = 0; })()`)
	s.click("Live")      // so that it reads nothing meanwhile
	w.rush(t, 1, 200, 2) // more than the page reads at once
	s.click("Live")
	s.wait(`.inspect-list [aria-setsize="50"]`)
	s.wait("button", "Older")
}
