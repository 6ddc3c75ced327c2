package web_test

import (
	"net/http"
	"strings"
	"testing"
)

const hostileScenario = `wield: scenario/v1
name: talk
backend: {native_tools: true}
faults: [{on: fails, do: {status: 400, body: 'CANARY'}}]
turns:
  - {id: fails, when: {user: "/upstream/"}, reply: [{text: x}]}
  - {id: unknown, when: {user: "/unknown/", last: user}, reply: [{call: {name: "<img src=/pwned>", args: {"<svg onload=fetch('/pwned')>": 'CANARY'}}}]}
  - {id: calc, when: {user: "/calc/", last: user}, reply: [{text: 'CANARY'}, {call: {name: calculator, args: {expression: 'CANARY'}}}]}
  - {id: any, when: {}, reply: [{think: 'CANARY'}, {text: 'CANARY'}]}
`

// TestHostileViews puts a script into all that a model, a server, a tool's arguments, the name of a file, a
// person and an address can say, and then goes through every view with all that can be opened in it.
func TestHostileViews(t *testing.T) {
	b := browser(t)
	w := newWorld(t, talks, map[string]string{"talk.yaml": strings.ReplaceAll(hostileScenario, "CANARY", strings.ReplaceAll(canary, "'", "''")), "evil.html": canary})
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	s.drop(`<img src=/pwned onerror=fetch('/pwned')>.txt`, "text/plain", canary)
	s.wait(".chip", "<img src=")
	s.drop(`evil.svg`, "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" onload="fetch('/pwned')"><script>fetch('/pwned')</script></svg>`)
	s.says(canary)
	s.wait(".said-model", "<script>")
	s.wait(".foot-line")
	var views []string
	for _, input := range []string{"upstream " + canary, "unknown " + canary, "calc " + canary} {
		var r struct{ ID string }
		if status := w.ask(adminKey, "POST", "/runs", map[string]string{"agent": "helper", "input": input}, &r); status >= 300 {
			t.Fatalf("%d for %.20s", status, input)
		}
		views = append(views, "#/inspector/run/"+r.ID)
	}
	for _, view := range append(views, "#/", "#/chat", "#/chat/"+canary, "#/approvals", "#/approvals/"+canary, "#/inspector", "#/inspector/run/"+canary, "#/inspector?q="+canary,
		"#/analytics", "#/playground", "#/settings/models", "#/settings/models/"+canary, "#/settings/tools", "#/settings/tools/"+canary, "#/settings/policy", "#/settings/keys", "#/"+canary) {
		s.goTo(view)
		s.wait("main")
		s.evaluate(nil, `(async () => {
			for (let turn = 0; turn < 3; turn++) {
				for (const d of document.querySelectorAll('main details:not([open]) > summary, main [role=tab], main [aria-expanded=false]')) d.click();
				await new Promise((r) => setTimeout(r, 50));
			}
		})()`)
		var found int
		s.evaluate(&found, `document.querySelectorAll('script:not([src^="/web/"]), iframe, style, [onerror], [onload], a[href^="javascript"], img[src*="pwned"], object, embed').length`)
		if found > 0 {
			t.Errorf("%.40s: %d elements came out of a text", view, found)
		}
	}
	if n := w.ran.Load(); n > 0 {
		t.Errorf("a text has run %d times", n)
	}
	if status := w.ask(adminKey, "GET", "/sessions", nil, nil); status != http.StatusOK {
		t.Error(status)
	}
}
