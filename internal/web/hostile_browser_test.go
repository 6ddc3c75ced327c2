package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
	w := newWorld(t, talks,
		map[string]string{"talk.yaml": strings.ReplaceAll(hostileScenario, "CANARY",
			strings.ReplaceAll(canary, "'", "''")), "evil.html": canary})
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	s.drop(`<img src=/pwned onerror=fetch('/pwned')>.txt`, "text/plain", canary)
	s.wait(".chip", "<img src=")
	s.drop(`evil.svg`, "image/svg+xml",
		`<svg xmlns="http://www.w3.org/2000/svg" onload="fetch('/pwned')"><script>fetch('/pwned')</script></svg>`)
	s.says(canary)
	s.wait(".said-model", "<script>")
	s.wait(".foot-line")
	var views []string
	for _, input := range []string{"upstream " + canary, "unknown " + canary, "calc " + canary} {
		var r struct{ ID string }
		if status := w.ask(adminKey, "POST", "/runs", map[string]string{"agent": "helper", "input": input},
			&r); status >= 300 {
			t.Fatalf("%d for %.20s", status, input)
		}
		views = append(views, "#/inspector/run/"+r.ID)
	}
	for _, view := range append(views, "#/", "#/chat", "#/chat/"+canary, "#/approvals", "#/approvals/"+canary,
		"#/inspector", "#/inspector/run/"+canary, "#/inspector?q="+canary, "#/analytics", "#/playground",
		"#/settings/models", "#/settings/models/"+canary, "#/settings/tools", "#/settings/tools/"+canary,
		"#/settings/policy", "#/settings/keys", "#/"+canary) {
		s.goTo(view)
		s.wait("main")
		s.evaluate(nil, `(async () => {
			for (let turn = 0; turn < 3; turn++) {
				for (const d of document.querySelectorAll('main details:not([open]) > summary, main [role=tab], main [aria-expanded=false]')) d.click();
				await new Promise((r) => setTimeout(r, 50));
			}
		})()`)
		var found int
		s.evaluate(&found,
			`document.querySelectorAll('script:not([src^="/web/"]), iframe, style, [onerror], [onload], a[href^="javascript"], img[src*="pwned"], object, embed').length`)
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

// markdownAttacks would run something, load something or lead to code if markdown were read as HTML, or its addresses
// were taken as they are.
var markdownAttacks = []string{
	`[a](javascript:fetch('/pwned'))`, `[a](JaVaScRiPt:fetch('/pwned'))`, `[a]( javascript:fetch('/pwned'))`,
	"[a](java\tscript:fetch('/pwned'))", `[a](&#106;avascript:fetch('/pwned'))`,
	`[a](javascript&colon;fetch('/pwned'))`, `[a](\x01javascript:fetch('/pwned'))`,
	"[a](\u0001javascript:fetch('/pwned'))", `[a](javascript://%0afetch('/pwned'))`,
	`[a](data:text/html;base64,PHNjcmlwdD5mZXRjaCgnL3B3bmVkJyk8L3NjcmlwdD4=)`, `[a](blob:http://x/1)`,
	`[a](filesystem:x)`, `[a](view-source:/pwned)`, `[a](file:///etc/passwd)`, `[a](intent://pwned#Intent;end)`,
	`[a](ms-msdt:/id)`, `[a](<javascript:fetch('/pwned')>)`, `[a](https://x.example/" onmouseover="fetch('/pwned'))`,
	`[a](https://x.example 'x" autofocus onfocus="fetch(1)')`, "[a][b]\n\n[b]: javascript:fetch('/pwned')",
	`<javascript:fetch('/pwned')>`, `javascript:fetch('/pwned')`, `https://x.example/"onclick="fetch('/pwned')`,
	`https://x.example/<img/src=/pwned>`, `www.x.example/'onfocus='fetch(1)`, `a@b.example"onclick="fetch('/pwned')`,
	`![a](/pwned)`, `![a](//127.0.0.1:1/pwned)`, `![" onerror="fetch('/pwned')](x)`,
	`![a](x "t" onerror=fetch('/pwned'))`, `![a](data:image/svg+xml;utf8,<svg onload=fetch('/pwned')/>)`,
	`[![a](/pwned)](javascript:fetch('/pwned'))`, "![a][b]\n\n[b]: /pwned", `<img src=x onerror=fetch('/pwned')>`,
	`<IMG """><SCRIPT>fetch('/pwned')</SCRIPT>">`, `<svg><script>fetch('/pwned')</script></svg>`,
	`<svg><animate onbegin=fetch('/pwned') attributeName=x dur=1s>`, `<svg><image href=/pwned></svg>`,
	`<svg><a xlink:href="javascript:fetch('/pwned')"><text y=9>x</text></a></svg>`,
	`<math href="javascript:fetch('/pwned')">x</math>`,
	`<math><annotation-xml encoding="text/html"><img src=/pwned></annotation-xml></math>`,
	`$$\href{javascript:fetch('/pwned')}{x}$$`, `$\includegraphics{/pwned}$`, `\(\unicode{<img src=/pwned>}\)`,
	`<object data=/pwned></object>`, `<embed src=/pwned>`, `<iframe src=/pwned></iframe>`, `<portal src=/pwned>`,
	`<link rel=prefetch href=/pwned>`, `<link rel=dns-prefetch href=//pwned.example>`, `<audio src=/pwned autoplay>`,
	`<video poster=/pwned>`, `<input type=image src=/pwned>`, `<input autofocus onfocus=fetch('/pwned')>`,
	`<body onload=fetch('/pwned')>`, `<marquee onstart=fetch('/pwned')>`,
	`<style>@import url(/pwned);*{background:url(/pwned)}</style>`, `<p style="background:url(/pwned)">x</p>`,
	`<table background=/pwned><tr><td>x</table>`, `<base href=//127.0.0.1:1/>`,
	`<meta http-equiv=refresh content="0;url=/pwned">`, `<form action=/pwned><button id=go>go</button></form>`,
	`<details open ontoggle=fetch('/pwned')>`, `<dialog open onclose=fetch('/pwned')>`,
	`<template><img src=/pwned></template>`, `<noscript><img src=/pwned></noscript>`, `<xmp><img src=/pwned></xmp>`,
	`<!--><img src=/pwned>-->`, `<![CDATA[><img src=/pwned>]]>`, `<?x ><img src=/pwned>?>`,
	`</code></pre><img src=/pwned>`, `</textarea><img src=/pwned>`, `</title><img src=/pwned>`,
	`<a id=location href=x>`, `<img name=getElementById>`, `<form id=document>`, "```\"><img src=/pwned>\nx\n```",
	"```js onload=fetch('/pwned')\nx\n```", "~~~<svg/onload=fetch('/pwned')>\nx\n~~~", "`</code><img src=/pwned>`",
	`**<img src=/pwned>**`, `# <img src=/pwned>`, `> <img src=/pwned>`, `- <img src=/pwned>`,
	"| <img src=/pwned> | [a](javascript:fetch('/pwned')) |\n|---|---|\n| <svg onload=fetch('/pwned')> | ![a](/pwned) |",
	`[^1]: <img src=/pwned>`, `- [ ] <img src=/pwned>`, `:::<img src=/pwned>`,
	`{{constructor.constructor("fetch('/pwned')")()}}`, "${fetch('/pwned')}", `<%= fetch('/pwned') %>`,
	`&lt;img src=/pwned&gt;`, "\u202e<img src=/pwned>", "<img\u00a0src=/pwned>", "<\u0000img src=/pwned>",
	"\ufeff<script>fetch('/pwned')</script>", `＜img src=/pwned＞`, `<a ping=/pwned href=#>x</a>`,
	`<div popover onbeforetoggle=fetch(1)>x</div>`, `<div draggable=true ondragstart=fetch(1)>x</div>`,
	`<x-app onclick=fetch(1)>x</x-app>`, `<slot onslotchange=fetch(1)>`, `<img srcset="/pwned 1x">`,
	`<picture><source srcset=/pwned><img></picture>`,
}

// TestHostileMarkdown puts each attack into an answer, alone and within the forms of markdown: nothing runs, nothing is
// asked for, and no address leads to code.
func TestHostileMarkdown(t *testing.T) {
	b := browser(t)
	var all []string
	for _, attack := range markdownAttacks {
		for _, form := range []string{"%s", "- one %s\n  - two %s", "> %s", "**%s** and *%s*", "| a |\n|---|\n| %s |",
			"# %s",
			"[%s](https://x.example)", "```html\n%s\n```"} {
			all = append(all, strings.ReplaceAll(form, "%s", attack))
		}
	}
	text := yamlString(strings.Join(all, "\n\n") + "\n\nThe last line.")
	scenario := "wield: scenario/v1\nname: talk\nturns:\n  - {id: any, when: {}, reply: [{text: " + text + "}]}\n"
	w := newWorld(t, talks, map[string]string{"talk.yaml": scenario})
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "plain")
	s.call(nil, "choose", "select", "plain")
	s.says("go on")
	s.wait(".said-model", "The last line.")
	s.wait(".foot-line")
	for _, f := range s.strange(".said-model", "") {
		t.Error(f)
	}
	t.Logf("%d texts", len(all))
	if n := w.ran.Load(); n > 0 {
		t.Errorf("a text has run %d times", n)
	}
}

// strange lists what within the selected elements no text may become: elements that run or load something, but for
// those of the page's own, and attributes that do. It also lists what was asked for elsewhere.
func (s *sheet) strange(selector, own string) (found []string) {
	s.evaluate(&found, `((selector, own) => {
		const list = [], elements = 'script img svg math iframe object embed style link meta base form input video audio template details dialog';
		const strange = new RegExp('^(' + elements.split(' ').filter((e) => !own.split(' ').includes(e)).join('|') + '|picture|source|slot|portal|noscript)$', 'i');
		for (const e of document.querySelectorAll(selector + ' :not(.icon, .icon *)')) { // which are the page's own
			if (strange.test(e.localName)) list.push(e.outerHTML.slice(0, 120));
			for (const a of e.attributes) {
				const leads = /^(href|src|xlink:href|action)$/i.test(a.name), loads = /^on|^(ping|srcset|background|poster|formaction)$/i.test(a.name) || a.name === 'style' && /[:(]/.test(a.value.replace(/\b(height|top): -?[\d.]+px/g, ''));
				if (loads || leads && !/^https?:$/.test(new URL(a.value, location).protocol)) list.push(a.name + '=' + a.value.slice(0, 80));
			}
		}
		for (const r of performance.getEntriesByType('resource')) {
			if (new URL(r.name).origin !== location.origin || r.name.includes('pwned')) list.push('asked for ' + r.name);
		}
		return list;
	})('`+selector+`', '`+own+`')`)
	return found
}

// TestHostileQuestions puts each attack into what a person is asked about: the name and the text of a new file, both
// sides of a change, a command, and the form in which the arguments can be edited.
func TestHostileQuestions(t *testing.T) {
	b := browser(t)
	text := strings.ReplaceAll(strings.Join(markdownAttacks, "\n"), "\x00", "")
	call := func(id, tool, args string) string {
		return "  - {id: " + id + ", when: {user: " + id + ", last: user}, reply: [{call: {name: " + tool + ", args: {" +
			args + "}}}]}\n"
	}
	w := newWorld(t, shop, map[string]string{"work/hours.md": text + "\nan end\n",
		"trick.scenario.yaml": "wield: scenario/v1\nname: trick\nturns:\n" +
			call("fresh", "write_file", `path: "<img src=pwned onerror=fetch(1)>.txt", content: `+yamlString(text)) +
			call("change", "write_file", `path: hours.md, content: `+yamlString("a beginning\n"+text)) +
			call("command", "command_exec", `shell: `+yamlString("cat << 'THE END'\n"+text+"\nTHE END"))})
	s := w.open(b, adminKey, "#/approvals")
	for _, place := range []string{"fresh", "change", "command"} {
		s.goTo("#/approvals/" + w.begins("trick", place))
		s.wait(".approval", "<img src=")
		for _, f := range s.strange(".approval", "details input form") {
			t.Errorf("%s: %s", place, f)
		}
		s.press("e")
		s.wait(".form")
		for _, f := range s.strange("main", "details input form") {
			t.Errorf("%s, edited: %s", place, f)
		}
	}
	if n := w.ran.Load(); n > 0 {
		t.Errorf("a text has run %d times", n)
	}
}

// TestHostileServer has an MCP server say each attack of itself, its tools, their arguments and their results, and looks
// at the views that show them.
func TestHostileServer(t *testing.T) {
	server := newAppServer(t, talkingApp)
	server.says = strings.Trim(yamlString(strings.ReplaceAll(strings.Join(markdownAttacks, "\n"), "\x00", "")), `"`)
	b := browser(t)
	w := server.world(t, true, "allow")
	var run struct{ ID, Session string }
	if status := w.ask(adminKey, "POST", "/runs", map[string]string{"agent": "helper", "input": "show"},
		&run); status != http.StatusCreated {
		t.Fatal(status)
	}
	s := w.open(b, adminKey, "#/chat/"+run.Session)
	s.wait(".said-model", "It is warm.")
	s.click("board__show", ".card")
	s.wait(".card-result", "note:")
	check := func(view string) {
		for _, f := range s.strange("main", "details input form") {
			t.Errorf("%s: %s", view, f)
		}
	}
	check("the call")
	asking := server.world(t, true, "ask")
	for _, view := range []string{"#/settings/tools", "#/settings/tools/board__show", "#/settings/mcp", "#/inspector"} {
		s.goTo(view)
		s.wait("main")
		check(view)
	}
	s = asking.open(b, adminKey, "#/approvals/"+asking.begins("helper", "show"))
	s.wait(".approval", "Lisbon")
	s.press("e")
	s.wait(".form")
	check("the question")
	if n := w.ran.Load() + asking.ran.Load(); n > 0 {
		t.Errorf("a text has run %d times", n)
	}
}

// TestHostileForms has an MCP server ask a person with each attack in the words and the address of its question, and in
// the names, titles, descriptions, choices and defaults of its form.
func TestHostileForms(t *testing.T) {
	// a form that has a word for secrets in it is refused
	text := strings.NewReplacer("\x00", "", "passwd", "hosts").Replace(strings.Join(markdownAttacks, "\n"))
	quoted, _ := json.Marshal(text)
	choices, _ := json.Marshal(strings.Split(text, "\n"))
	schema := strings.NewReplacer("TEXT", string(quoted), "LIST", string(choices)).Replace(`{"type":"object","title":TEXT,
		"description":TEXT,"properties":{
		TEXT:{"type":"string","title":TEXT,"description":TEXT,"default":TEXT},
		"choice":{"enum":LIST,"enumNames":LIST,"default":TEXT,"description":TEXT},
		"one":{"oneOf":[{"const":TEXT,"title":TEXT}],"description":TEXT},
		"many":{"type":"array","items":{"anyOf":[{"const":TEXT,"title":TEXT}],"enum":LIST},"default":LIST},
		"deep":{"type":"object","properties":{TEXT:{"type":"string","title":TEXT}},"default":{TEXT:TEXT}},
		"__proto__":{"type":"string","default":TEXT},"constructor":{"default":TEXT}},"required":[TEXT,"choice","one"]}`)
	server := sdk.NewServer(&sdk.Implementation{Name: "asks", Version: "1"}, nil)
	asks := func(name string, p *sdk.ElicitParams) {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": p}}, nil
			})
	}
	asks("form", &sdk.ElicitParams{Message: text, RequestedSchema: json.RawMessage(schema)})
	asks("link", &sdk.ElicitParams{Mode: "url", Message: text,
		URL: `https://x.example/"><img/src=/pwned>?a='onfocus='fetch(1)#[a](javascript:fetch('/pwned'))`})
	service := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		service.CloseClientConnections()
		service.Close()
	})
	b := browser(t)
	w := newWorld(t, `backends:
  b: {kind: script, scenario: "DIR/talk.yaml"}
models:
  helper: {backend: b, model: helper, mode: native, agent: {tools: [asks__form, asks__link]}}
policies:
  default: {default: allow}
mcp:
  servers:
    asks: {url: "`+service.URL+`"}
`, map[string]string{"talk.yaml": `wield: scenario/v1
name: talk
backend: {native_tools: true}
turns:
  - {id: form, when: {user: form, last: user}, reply: [{call: {name: asks__form, args: {}}}]}
  - {id: link, when: {user: link, last: user}, reply: [{call: {name: asks__link, args: {}}}]}
  - {id: done, when: {}, reply: [{text: "So it is."}]}
`})
	s := w.open(b, adminKey, "#/approvals")
	for place, seen := range map[string]string{"form": "__proto__", "link": "https://x.example/"} {
		id := w.begins("helper", place)
		s.goTo("#/approvals/" + id)
		s.wait(".approval", "<img src=", seen)
		s.evaluate(nil, `for (const e of document.querySelectorAll('main details:not([open]) > summary')) e.click()`)
		for _, f := range s.strange("main", "details input form") {
			t.Errorf("%s: %s", place, f)
		}
		// else the call would wait on
		if status := w.ask(adminKey, "POST", "/approvals/"+id, map[string]string{"decision": "deny"}, nil); status >= 300 {
			t.Errorf("%s: status %d", place, status)
		}
	}
	if n := w.ran.Load(); n > 0 {
		t.Errorf("a text has run %d times", n)
	}
}
