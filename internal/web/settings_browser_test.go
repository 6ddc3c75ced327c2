package web_test

import (
	"strings"
	"testing"
)

// TestSettings goes through the parts of the settings: where models are configured, whose keys there are and no
// secret of them, a tool that is run by hand and asked about, rules that are tried, and the log as it is written.
func TestSettings(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	s := w.open(b, adminKey, "#/settings")
	s.wait("table", "shop", "trick", "agent", "wield.yaml:")
	s.pictures("settings-models")
	s.click("shop", "td")
	s.wait("table", "mode", "text", "scenario", "demo-agent")

	s.press("]")
	s.wait("table", "edit_file", "write_file", "disabled")
	s.write("input[type=search]", "replace text in")
	s.gone("table", "write_file")
	s.click("edit_file", "td")
	s.wait(".form", "Add an argument")
	s.click("As JSON")
	s.write(".form textarea", `{"path": "hours.md", "old_string": "Sunday: closed", "new_string": 3}`)
	s.click("Run")
	s.wait(".form .bad-words", "string")
	s.write(".form textarea",
		`{"path": "hours.md", "old_string": "Sunday: closed", "new_string": "Sunday: <b>open</b>"}`)
	s.click("Run")
	s.wait(".diff", "Sunday: <b>open</b>")
	s.wait(".settings", "The rules ask", "no rule of the policy default matches")
	if strings.Contains(w.read("work/hours.md"), "open") {
		t.Error("it ran before it was approved")
	}
	s.pictures("settings-tool")
	s.click("Run it anyway")
	s.wait(".result", "hours.md")
	if !strings.Contains(w.read("work/hours.md"), "Sunday: <b>open</b>") {
		t.Error("it did not run")
	}

	s.goTo("#/settings/policy")
	s.wait(".settings", "Try the rules", "No rules yet")
	s.write(".settings textarea", "ls | wc -l && shred hours.md > /dev/null")
	s.wait(".settings", "deny", "shred hours.md", "wield.yaml:", "The rule matches the command")
	s.pictures("settings-policy")
	s.call(nil, "choose", `select[aria-label="What"]`, "write")
	s.write(".settings textarea", "../x")
	s.wait(".settings", "the path leaves the root")

	id := w.begins("shop", "Open the shop on Sundays.")
	if status := w.ask(approverKey, "POST", "/approvals/"+id, map[string]any{"decision": "allow", "always": true},
		nil); status != 200 {
		t.Fatal(status)
	}
	s.wait("table", "amy", "allow: {tool: [write_file]")
	s.click("Take back")
	s.wait(".settings", "No rules yet")

	s.goTo("#/settings/keys")
	s.wait("table", "ada", "cleo", "amy", "env:ADMIN_KEY", "approver")
	if text := s.text("main"); strings.Contains(text, adminKey) || strings.Contains(text, clientKey) {
		t.Errorf("a secret is shown: %s", text)
	}
	s.goTo("#/settings/values")
	s.wait("table", "models.shop.agent.tools", "sandbox.level")
	s.write("input[type=search]", "sandbox")
	s.gone("table", "models.shop")

	s.goTo("#/settings/log")
	s.wait(".log", "the service of a test starts", "info")
	s.wait("[role=status]", "live")
	s.pictures("settings-log")
	s.write(`input[aria-label="Words"]`, "nothing has these words")
	s.gone(".log", "the service of a test starts")
	s.call(nil, "choose", `input[aria-label="Words"]`, "")
	s.wait(".log", "the service of a test starts")
	var part string
	s.evaluate(&part,
		`[...document.querySelectorAll('.log li')].find((li) => li.innerText.includes('the service of a test starts')).querySelector('.log-part').innerText`)
	s.call(nil, "choose", `select[aria-label="Category"]`, part)
	s.wait(".log", "the service of a test starts")
	s.gone(".log", "gateway ")
	s.call(nil, "choose", `select[aria-label="Level"]`, "error")
	s.gone(".log", "the service of a test starts")
	s.goTo("#/settings/nothing")
	s.wait(".settings", "There is no such settings page")
}
