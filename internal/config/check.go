package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"wield/prompt"
	"wield/schema/near"
)

// check looks at what no key can tell by itself: references, and values that exclude each other.
func (c *Config) check(d *decoder) {
	c.checkKeys(d)
	c.TLS.check(d)
	c.Trace.check(d)
	c.Journal.check(d)
	c.Tools.Local.check(d)
	for _, name := range slices.Sorted(maps.Keys(c.Backends)) {
		b := c.Backends[name]
		b.check(d, "backends."+name)
	}
	if len(c.Backends) > 0 && len(c.Models) == 0 && len(d.problems) == 0 {
		// among others it would hide which one matters
		d.at("backends", "no model is configured: add one, such as models: {NAME: {backend: %s}}",
			slices.Sorted(maps.Keys(c.Backends))[0])
	}
	for _, name := range c.ModelNames() {
		m := c.Models[name]
		m.adopt(d, "models."+name)
		c.Models[name] = m
		m.check(d, "models."+name, name, c)
	}
	c.checkProfiles(d)
	c.checkPrices(d)
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		m := c.Modules[name]
		m.check(d, "modules."+name, c)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Policies)) {
		p := c.Policies[name]
		p.check(d, "policies."+name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Sh)) {
		s := c.Tools.Sh[name]
		s.check(d, "tools.sh."+name, name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools.HTTP)) {
		h := c.Tools.HTTP[name]
		h.check(d, "tools.http."+name)
	}
	c.MCP.Serve.check(d, "mcp.serve", c)
	c.Workers.check(d, "workers", c)
	c.Worker.check(d, "worker", c)
	c.Cluster.check(d, c)
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		m := c.MCP.Servers[name]
		m.check(d, "mcp.servers."+name)
		if err := CheckMCPName(name); err != nil {
			d.at("mcp.servers."+name, "%v", err)
		}
	}
	if !c.Listen.Loopback() && len(c.Keys) == 0 {
		d.at("listen", "other machines can reach %s, but there are no keys: %s", c.Listen, FixOpenListener)
	}
}

// FixOpenListener tells how to mend a service that anybody could use.
const FixOpenListener = "add one, such as keys: [{name: me, secret: env:WIELD_KEY}], or listen on 127.0.0.1"

func (c *Config) checkKeys(d *decoder) {
	seen := map[string]bool{}
	for i, k := range c.Keys {
		path := fmt.Sprintf("keys[%d]", i)
		if k.Name != "" && seen[k.Name] {
			d.at(path+".name", "a second key of the name %q", k.Name)
		}
		seen[k.Name] = true
		for j, pattern := range k.Models {
			if pattern != "" && !strings.ContainsAny(string(pattern), "*?") && len(c.Models) > 0 {
				if _, ok := c.Models[string(pattern)]; !ok {
					d.at(fmt.Sprintf("%s.models[%d]", path, j), "no model %q%s", pattern,
						near.Hint(string(pattern), c.ModelNames()))
				}
			}
		}
	}
}

func (b *Backend) check(d *decoder, path string) {
	kind, served := Kinds[b.Kind]
	switch {
	case !served && b.Kind != "script":
		d.at(path+".kind", "kind %s is not built yet; kinds that are: %s", b.Kind, kindNames())
	case served && b.URL == "" && !d.failed(path+".url"):
		d.at(path, "the key url is missing: the base address of the server, such as %s", kind.example)
	case b.Kind == "script" && b.Scenario == "":
		d.at(path, "the key scenario is missing: a scenario file, a directory of them, or the name of a built-in one")
	case b.Kind == "script" && b.URL != "":
		d.at(path+".url",
			"a backend of kind script runs inside wield and has no URL; to use a scripted server, write kind: openai")
	}
	if b.Kind == "script" {
		for _, key := range []string{"key", "headers", "concurrent", "queue", "retry", "constrain", "forward"} {
			if d.has(path + "." + key) {
				d.warn(path+"."+key, "no effect on a backend of kind script, which runs inside wield")
			}
		}
	}
	b.checkLumo(d, path)
	b.checkBrowser(d, path)
	for _, name := range slices.Sorted(maps.Keys(b.Headers)) {
		checkHeader(d, path+".headers."+name, name, b.Headers[name])
	}
}

var (
	headerName   = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password|credential`)
)

func checkHeader(d *decoder, path, name string, value Value) {
	switch {
	case !headerName.MatchString(name):
		d.at(path, "not a header name")
	case secretHeader.MatchString(name) && !value.IsSecret() && value.String() != "":
		d.at(path,
			"by its name this header carries a secret, which does not stand in the file: write env:NAME or file:PATH")
		d.hide(d.places[path].value)
	}
}

func (m *Model) check(d *decoder, path, name string, c *Config) {
	if _, ok := c.Backends[m.Backend]; !ok && m.Backend != "" {
		d.at(path+".backend", "no backend %q%s", m.Backend, near.Hint(m.Backend, slices.Sorted(maps.Keys(c.Backends))))
	}
	for i, next := range m.Fallback {
		at := fmt.Sprintf("%s.fallback[%d]", path, i)
		if _, ok := c.Models[next]; !ok {
			d.at(at, "no model %q%s", next, near.Hint(next, c.ModelNames()))
		} else if next == name {
			d.at(at, "a model cannot be its own fallback")
		}
	}
	if m.Dialect == "tool-request" && m.Repair != "off" && d.has(path+".repair") {
		d.at(path+".repair", "the dialect tool-request is always read without repair: write off, or leave the key out")
	}
	m.checkTemplate(d, path, c)
	if m.Expose == "tool_request" && m.Mode == "native" {
		d.at(path+".expose", "tool_request is text, which mode native does not read")
	}
	for i, p := range m.Instructions.ReplacePatterns {
		p.check(d, fmt.Sprintf("%s.instructions.replacePatterns[%d].pattern", path, i))
	}
	m.checkProfile(d, path+".profile", c)
	m.Agent.Context.check(d, path+".agent.context")
	m.checkNative(d, path, c)
	m.checkModules(d, path, c)
	m.checkAgent(d, path, c)
	m.checkBrowserModel(d, path, c)
	m.Instructions.checkTemplate(d, path+".instructions.template")
}

// checkTemplate looks at what mode template needs.
func (m *Model) checkTemplate(d *decoder, path string, c *Config) {
	kind := c.Backends[m.Backend].Kind
	switch {
	case m.Mode != "template":
		if m.ChatTemplate != "" {
			d.warn(path+".chat_template", "no effect unless mode is template")
		}
	case kind == "script" && m.ChatTemplate == "":
		d.at(path+".mode", "template needs chat_template: a script has no template of its own")
	case kind != "" && kind != "script" && !slices.Contains(Completing, kind):
		d.at(path+".mode", "a backend of kind %s takes no rendered prompt; template needs kind %s", kind,
			strings.Join(Completing, " or "))
	}
}

func (r *Replace) check(d *decoder, path string) {
	if _, err := prompt.NewPattern(r.Pattern, r.Replacement); err != nil {
		d.at(path, "%v", err)
	}
}

// checkTemplate warns of a template that leaves out what the model has to know.
func (in *Instructions) checkTemplate(d *decoder, path string) {
	if in.Template == "" {
		return
	}
	for _, name := range prompt.Missing(in.Template) {
		d.warn(path, "the template does not hold {{%s}}, so that the model never sees it", name)
	}
}
