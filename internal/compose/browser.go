package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wield/internal/browser"
	"wield/internal/browser/chromium"
	"wield/internal/config"
	"wield/model/exchange"
	"wield/schema/near"
)

func browserServer(b *config.Backend, o exchange.Options, _ string) serverModel {
	return browser.New(browserOptions(b, time.Duration(o.FirstByte), time.Duration(o.Idle)))
}

func browserOptions(b *config.Backend, first, idle time.Duration) browser.Options {
	p := &b.Browser
	return browser.Options{
		URL: string(b.URL),
		Selectors: browser.Selectors{Prompt: p.Prompt, Answer: p.Answer, Send: p.Send, Stop: p.Stop, Done: p.Done,
			NewChat: p.NewChat, Login: p.Login, Ignore: p.Ignore},
		Browser: chromium.Options{Program: p.Program, Profile: p.Profile, Visible: p.Visible, NoSandbox: !p.Sandbox,
			Proxy: p.Proxy, Hosts: p.Hosts},
		Load: time.Duration(p.Load), First: first, Idle: idle, Settle: time.Duration(p.Settle),
		Keep: time.Duration(p.Keep), Pages: p.Pages, MaxAnswer: int(p.MaxAnswer),
	}
}

// LoginOptions returns what a person needs to log in at the page of a backend: the one named, or the only one of kind
// browser.
func LoginOptions(c *config.Config, name string) (browser.Options, error) {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(c.Backends)) {
		if c.Backends[n].Kind == "browser" {
			names = append(names, n)
		}
	}
	switch {
	case name != "" && !slices.Contains(names, name):
		return browser.Options{}, fmt.Errorf("no backend %q of kind browser%s", name, near.Hint(name, names))
	case len(names) == 0:
		return browser.Options{}, fmt.Errorf("no backend of kind browser is configured")
	case name == "" && len(names) > 1:
		return browser.Options{}, fmt.Errorf("which backend? There are %s", strings.Join(names, ", "))
	case name == "":
		name = names[0]
	}
	b := c.Backends[name]
	if b.Browser.Profile == "" {
		return browser.Options{}, fmt.Errorf(
			"backends.%s.browser.profile is empty, so that a login would be forgotten with the browser: name a "+
				"directory", name)
	}
	o := browserOptions(&b, 0, 0)
	o.Browser.Visible = true
	return o, nil
}
