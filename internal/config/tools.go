package config

import (
	"fmt"
	"slices"
	"time"

	"wield/tool"
	"wield/tool/builtin/local"
)

// Tools describes what wield can run.
type Tools struct {
	Root      string                  `key:"root" doc:"Workspace of tools. Empty: the current directory."`
	Dirs      []string                `key:"dirs" doc:"Directories with your tools, relative to this file."`
	LLF       LLFTools                `key:"llf" doc:"Tools of LLF."`
	Builtin   map[string]Builtin      `key:"builtin" doc:"Built-in tools; see wield tool list."`
	Search    Search                  `key:"search" doc:"Where search_internet looks."`
	Wikipedia Wikipedia               `key:"wikipedia" doc:"Where wikipedia_search and wikipedia_get_article look."`
	Silver    SilverBullet            `key:"silverbullet" doc:"Where silver_bullet_get reads pages."`
	Results   Results                 `key:"results" doc:"Results that tools with cache reuse."`
	Databases map[string]Database     `key:"databases" doc:"Databases that query_database may ask, by name."`
	Local     LocalActions            `key:"localActions" doc:"Tools for models that write text blocks."`
	Around    []AroundProgram         `key:"around" doc:"Hook programs that check calls; the first is outermost."`
	Disable   []string                `key:"disable" names:"tools" doc:"Tools never to offer; * is a wildcard."`
	Sh        map[string]ShTool       `key:"sh" doc:"Tools that are one line of shell, by name."`
	HTTP      map[string]HTTPTool     `key:"http" doc:"Tools that are one HTTP request, by name."`
	OpenAPI   map[string]OpenAPITools `key:"openapi" doc:"Tools from OpenAPI documents, by name."`
}

// Search says where search_internet looks.
type Search struct {
	Engine string `key:"engine" enum:"|searxng|brave|google|duckduckgo" doc:"Search engine. Empty: SearXNG if url is set, Google if id is, Brave if key is, else DuckDuckGo."`
	URL    URL    `key:"url" doc:"Address of a SearXNG server."`
	Key    Secret `key:"key" doc:"Key for Brave or Google, as env:NAME or file:PATH."`
	ID     string `key:"id" doc:"ID of a Programmable Search Engine of Google."`
}

// Wikipedia says which wiki is asked.
type Wikipedia struct {
	URL URL `key:"url" doc:"Address of a MediaWiki api.php. Empty: Wikipedia."`
}

// SilverBullet says where notes are.
type SilverBullet struct {
	URL   URL    `key:"url" doc:"Address of a SilverBullet server."`
	Token Secret `key:"token" doc:"Its token, as env:NAME or file:PATH."`
}

// Builtin configures one built-in tool.
// LLFTools says where tools of LLF are, beside those in tools.dirs.
type LLFTools struct {
	Dir      string `key:"dir" doc:"Directory of LLF tools. Empty: LLF_TOOLS_DIR, else that of the registry."`
	Registry string `key:"registry" doc:"Registry. Empty: LLF_TOOLS_REGISTRY, else tools_registry.json in dir."`
}

type Builtin struct {
	Enabled          bool     `key:"enabled" doc:"Offer it."`
	Auto             []string `key:"auto" doc:"Offer only if the user's message contains one of these words."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"rw: it may change things."`
	Whitelist        []string `key:"whitelist" doc:"Paths or programs it may touch. Unset: what the policy allows; empty: none."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"Timeout of one call."`
	Cache            Duration `key:"cache" doc:"Reuse results of identical calls for this long; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls within this time share one run."`
	RequiresApproval bool     `key:"requires_approval" doc:"Ask a person before each call."`
}

// What a tool has where neither the configuration nor the tool itself says another time, and the most that there is.
const (
	defaultToolTimeout = 60 * time.Second
	maxToolTimeout     = 300 * time.Second
)

func (b *Builtin) setDefaults() {
	b.Mode = "ro"
	b.Timeout = Duration(defaultToolTimeout)
}

// BuiltinTool returns a built-in tool as the configuration wants it.
func (c *Config) BuiltinTool(one *tool.Tool) *tool.Tool {
	b, ok := c.Tools.Builtin[one.Name()]
	if !ok {
		b.setDefaults()
		if one.Source == local.Source && c.Tools.Local.Enabled {
			b.Enabled, b.Mode = true, string(tool.ModeRW)
		}
	}
	switch own := one.Limits.Timeout; {
	case b.Timeout != Duration(defaultToolTimeout): // it is configured
	case own > 0:
		b.Timeout = Duration(min(own, maxToolTimeout))
	case c.Timeouts.Tool > 0:
		b.Timeout = c.Timeouts.Tool
	}
	return b.Configured(one)
}

// Configured returns a tool as its part of the configuration wants it.
func (b Builtin) Configured(builtin *tool.Tool) *tool.Tool {
	t := *builtin
	t.State = tool.StateDisabled
	if b.Enabled {
		t.State = tool.StateEnabled
	}
	if len(b.Auto) > 0 {
		t.Auto.Words = b.Auto
		if b.Enabled {
			t.State = tool.StateAuto
		}
	}
	guard := tool.Guard{}
	if t.Guard != nil {
		guard = *t.Guard
	}
	guard.Mode, guard.Whitelist, guard.RequiresApproval = tool.Mode(b.Mode), b.Whitelist, guard.RequiresApproval ||
		b.RequiresApproval
	guard.Timeout = time.Duration(b.Timeout)
	if b.Cache > 0 {
		t.Cache.TTL = time.Duration(b.Cache)
	}
	if b.Debounce > 0 {
		t.Debounce = time.Duration(b.Debounce)
	}
	t.Guard = &guard
	return &t
}

// ParseToolTimeout reads the timeout of a tool, which is held to the same bounds as in the configuration.
func ParseToolTimeout(text string) (time.Duration, error) {
	var d Duration
	if err := d.Parse(text); err != nil {
		return 0, err
	}
	if v := time.Duration(d); v < time.Second || v > maxToolTimeout {
		return 0, fmt.Errorf("timeout %s: it is from 1s to 300s", text)
	}
	return time.Duration(d), nil
}

// Disabled reports whether the configuration says that a tool is never offered.
func (c *Config) Disabled(name string) bool {
	return slices.ContainsFunc(c.Tools.Disable, func(n string) bool { return Glob(n).Matches(name) })
}
