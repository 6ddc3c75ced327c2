package config

import (
	"path/filepath"
	"slices"
	"strings"

	"wield/internal/browser"
)

// Browser says what a page is made of that a model is behind, and how the browser is run that shows it (kind browser).
type Browser struct {
	Prompt  string `key:"prompt" doc:"CSS selector of the prompt field."`
	Answer  string `key:"answer" doc:"CSS selector of answers; the last is the newest."`
	Send    string `key:"send" doc:"CSS selector of the send button. Empty: press Enter."`
	Stop    string `key:"stop" doc:"CSS selector of the stop button, which exists only during an answer."`
	Done    string `key:"done" doc:"CSS selector of something that appears when an answer is complete."`
	NewChat string `key:"new_chat" doc:"CSS selector of the new-chat button. Empty: reload the page."`
	Login   string `key:"login" doc:"CSS selector of something shown only when logged out."`
	Ignore  string `key:"ignore" doc:"CSS selector of elements to skip in answers."`

	Profile   string   `key:"profile" doc:"Profile directory that keeps the login. Empty: a temporary one."`
	Program   string   `key:"program" doc:"Name or path of the browser. Empty: find Chromium or Chrome."`
	Visible   bool     `key:"visible" doc:"Show a window."`
	Sandbox   bool     `key:"sandbox" doc:"Use Chromium's sandbox, which root and some containers cannot."`
	Proxy     string   `key:"proxy" doc:"Proxy, such as http://127.0.0.1:3128."`
	Hosts     []string `key:"hosts" doc:"Hosts that pages may reach; * is a wildcard. Empty: all."`
	Load      Duration `key:"load" min:"100ms" doc:"Timeout for loading a page and for sending a prompt."`
	Settle    Duration `key:"settle" min:"100ms" doc:"Time without change that ends an answer when neither stop nor done is set."`
	Keep      Duration `key:"keep" min:"1s" doc:"How long a page stays open for the next turn."`
	Pages     int      `key:"pages" min:"1" max:"64" doc:"Open pages at most."`
	MaxAnswer Size     `key:"max_answer" min:"1KiB" max:"64MiB" doc:"Size of an answer."`
}

func defaultBrowser() Browser {
	return Browser{Sandbox: true, Load: Duration(browser.DefaultLoad), Settle: Duration(browser.DefaultSettle),
		Keep: Duration(browser.DefaultKeep), Pages: browser.DefaultPages, MaxAnswer: browser.DefaultMaxAnswer}
}

// browserDialect is the dialect of models behind a page: a page shows a fenced code block as it was written, and drops
// tags.
const browserDialect = "json-fence"

// surviving are the dialects whose calls stand in code blocks.
var surviving = []string{browserDialect, "cli-block"}

// applyBrowser gives models behind a page the values that suit it, where the file does not say otherwise: a page takes
// neither tools nor instructions but in the text.
func (c *Config) applyBrowser(d *decoder) {
	for _, name := range c.ModelNames() {
		m := c.Models[name]
		if c.Backends[m.Backend].Kind != "browser" {
			continue
		}
		if m.Mode == "auto" {
			m.Mode = "text"
		}
		if m.Dialect == "auto" {
			m.Dialect = browserDialect
		}
		if !d.has("models." + name + ".instructions.injectInto") {
			m.Instructions.InjectInto = "first"
		}
		c.Models[name] = m
	}
}

// checkBrowser looks at what only a backend of kind browser has, and at what it does not have.
func (b *Backend) checkBrowser(d *decoder, path string) {
	if b.Kind != "browser" {
		if d.has(path + ".browser") {
			d.warn(path+".browser", "no effect on a backend of kind %s", b.Kind)
		}
		return
	}
	for _, need := range []struct{ key, value, what string }{
		{"prompt", b.Browser.Prompt, "the field that prompts are typed into"},
		{"answer", b.Browser.Answer, "the answers"},
	} {
		if strings.TrimSpace(need.value) == "" && !d.failed(path+".browser."+need.key) {
			d.at(path, "the key browser.%s is missing: the CSS selector of %s", need.key, need.what)
		}
	}
	for _, key := range []string{"key", "headers", "constrain", "forward"} {
		if d.has(path + "." + key) {
			d.warn(path+"."+key, "no effect on a backend of kind browser, which is spoken to through its page")
		}
	}
	if !b.Browser.Sandbox && d.has(path+".browser.sandbox") {
		d.warn(path+".browser.sandbox", "nothing stands between the pages that are opened and this machine")
	}
	if p := b.Browser.Profile; p != "" && !filepath.IsAbs(p) {
		d.warn(path+".browser.profile", "a relative path begins where wield is started: write the whole path")
	}
}

// checkBrowserModel looks at what a model behind a page cannot be.
func (m *Model) checkBrowserModel(d *decoder, path string, c *Config) {
	if c.Backends[m.Backend].Kind != "browser" {
		return
	}
	if m.Mode == "native" {
		d.at(path+".mode", "a web page has no function calling: write text, or leave the key out")
	}
	if dialect := string(m.Dialect); dialect != "auto" && !slices.Contains(surviving, dialect) &&
		d.has(path+".dialect") {
		d.warn(path+".dialect",
			"a page may drop or change what is not in a code block, and %s is not written in one: %s is",
			dialect, browserDialect)
	}
}
