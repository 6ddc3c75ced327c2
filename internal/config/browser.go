package config

import (
	"path/filepath"
	"slices"
	"strings"

	"wield/internal/browser"
)

// Browser says what a page is made of that a model is behind, and how the browser is run that shows it (kind browser).
type Browser struct {
	Prompt  string `key:"prompt" doc:"CSS selector of the field that prompts are typed into."`
	Answer  string `key:"answer" doc:"CSS selector of the answers; the last one on the page is the newest."`
	Send    string `key:"send" doc:"CSS selector of the button that sends the prompt. Empty: the Enter key does."`
	Stop    string `key:"stop" doc:"CSS selector of the button that stops an answer, which is there only while one is written. An answer ends when it goes away; a client that goes away has it pressed."`
	Done    string `key:"done" doc:"CSS selector of something that is in or behind an answer only once it is whole."`
	NewChat string `key:"new_chat" doc:"CSS selector of the button that begins a conversation. Empty: a page that was just loaded has none yet."`
	Login   string `key:"login" doc:"CSS selector of something that is there only when nobody is logged in."`
	Ignore  string `key:"ignore" doc:"CSS selector of what is in answers but is no part of them, beside buttons and what is hidden."`

	Profile   string   `key:"profile" doc:"Directory of the browser's profile, which keeps a login; see wield browser login. Empty: a new one, gone with the browser."`
	Program   string   `key:"program" doc:"Name or path of the browser. Empty: the first Chromium or Chrome that is found."`
	Visible   bool     `key:"visible" doc:"Whether the browser has a window."`
	Sandbox   bool     `key:"sandbox" doc:"Whether the browser puts walls between pages and this machine. It cannot for root and in some containers; false takes them down."`
	Proxy     string   `key:"proxy" doc:"Proxy of the browser, such as http://127.0.0.1:3128."`
	Hosts     []string `key:"hosts" doc:"The only hosts that pages may reach, * standing for any characters. Empty: all."`
	Load      Duration `key:"load" min:"100ms" doc:"Until a page has its prompt field, and until it has taken a prompt."`
	Settle    Duration `key:"settle" min:"100ms" doc:"Without a change, after which an answer is whole if neither stop nor done tells."`
	Keep      Duration `key:"keep" min:"1s" doc:"That a page stays open for the next turn of its conversation. The browser ends with the last page."`
	Pages     int      `key:"pages" min:"1" max:"64" doc:"Pages at a time, in use or kept."`
	MaxAnswer Size     `key:"max_answer" min:"1KiB" max:"64MiB" doc:"Size of an answer."`
}

func defaultBrowser() Browser {
	return Browser{Sandbox: true, Load: Duration(browser.DefaultLoad), Settle: Duration(browser.DefaultSettle),
		Keep: Duration(browser.DefaultKeep), Pages: browser.DefaultPages, MaxAnswer: browser.DefaultMaxAnswer}
}

// browserDialect is what models behind a page are taught: a page shows a fenced code block as it was written, and drops tags.
const browserDialect = "json-fence"

// surviving are the dialects whose calls stand in code blocks.
var surviving = []string{browserDialect, "cli-block"}

// applyBrowser gives models behind a page the values that suit it, where the file does not say otherwise: a page takes neither tools
// nor instructions but in the text.
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
	if dialect := string(m.Dialect); dialect != "auto" && !slices.Contains(surviving, dialect) && d.has(path+".dialect") {
		d.warn(path+".dialect", "a page may drop or change what is not in a code block, and %s is not written in one: %s is", dialect, browserDialect)
	}
}
