package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"wield/internal/module"
	"wield/schema/near"
)

// A Module changes texts on their way to a model and back.
type Module struct {
	Kind  string `key:"kind" required:"true" enum:"redact|format|translate|exec" doc:"What it does: remove secrets, reformat, translate, or ask a program."`
	Order int    `key:"order" doc:"Position; the lowest sees requests first and responses last."`

	Words     []Secret `key:"words" doc:"Further secrets (kind redact)."`
	Patterns  []string `key:"patterns" doc:"Regular expressions (RE2) of further secrets, within a line (kind redact)."`
	With      string   `key:"with" doc:"Replacement of a secret (kind redact)."`
	Direction string   `key:"direction" enum:"both|in|out" doc:"Process requests, responses or both (kind redact)."`

	Markdown string `key:"markdown" enum:"keep|plain" doc:"plain removes Markdown (kind format)."`
	Trim     bool   `key:"trim" doc:"Remove trailing blanks and repeated empty lines (kind format)."`
	Wrap     int    `key:"wrap" min:"0" max:"10000" doc:"Line width; 0: unchanged (kind format)."`

	Model  string `key:"model" doc:"Model that translates (kind translate)."`
	Theirs string `key:"people" doc:"Language of the user, such as German (kind translate)."`
	Models string `key:"speaks" doc:"Language of the model (kind translate)."`

	Command  []string         `key:"command" doc:"Program and arguments (kind exec)."`
	Hooks    []string         `key:"hooks" enum:"on_message|on_llm_response_chunk|on_llm_response_complete" doc:"When the program is asked (kind exec)."`
	Roles    []string         `key:"roles" enum:"system|developer|user|assistant|tool" doc:"Roles whose messages it sees. Empty: user (kind exec)."`
	Timeout  Duration         `key:"timeout" min:"10ms" doc:"Timeout of one response (kind exec)."`
	Network  bool             `key:"network" doc:"Allow network access (kind exec)."`
	Settings map[string]Value `key:"settings" doc:"Settings passed to the program (kind exec)."`
}

func (m *Module) setDefaults() {
	m.With, m.Direction, m.Markdown, m.Models, m.Timeout = "[redacted]", "both", "keep", "English",
		Duration(10*time.Second)
}

// moduleKinds say which keys, beside kind and order, have an effect on a kind of modules, and which of these have to be
// there.
var moduleKinds = map[string]struct{ keys, needs []string }{
	"redact":    {keys: []string{"words", "patterns", "with", "direction"}},
	"format":    {keys: []string{"markdown", "trim", "wrap"}},
	"translate": {keys: []string{"model", "people", "speaks"}, needs: []string{"model", "people"}},
	"exec": {keys: []string{"command", "hooks", "roles", "timeout", "network", "settings"},
		needs: []string{"command", "hooks"}},
}

// check looks at what no key can tell by itself.
func (m *Module) check(d *decoder, path string, c *Config) {
	kind, ok := moduleKinds[m.Kind]
	if !ok {
		return // which the key itself says
	}
	for _, name := range kind.needs {
		if !d.has(path + "." + name) {
			d.at(path, "the key %s is missing, which a module of kind %s needs", name, m.Kind)
		}
	}
	for other, k := range moduleKinds {
		for _, name := range k.keys {
			if other != m.Kind && !slices.Contains(kind.keys, name) && d.has(path+"."+name) {
				d.at(path+"."+name, "a module of kind %s has no such key; it has %s", m.Kind,
					strings.Join(kind.keys, ", "))
			}
		}
	}
	for i, p := range m.Patterns {
		if _, err := regexp.Compile(p); err != nil {
			d.at(fmt.Sprintf("%s.patterns[%d]", path, i), "%v", err)
		}
	}
	if _, ok := c.Models[m.Model]; !ok && m.Model != "" {
		d.at(path+".model", "no model %q%s", m.Model, near.Hint(m.Model, c.ModelNames()))
	}
	if slices.Contains(m.Hooks, string(module.OnChunk)) && slices.Contains(m.Hooks, string(module.OnComplete)) {
		d.at(path+".hooks",
			"%s and %s exclude one another: an answer is given to the program as it comes or when it is whole",
			module.OnChunk, module.OnComplete)
	}
}

// checkModules looks at the modules that a model names.
func (m *Model) checkModules(d *decoder, path string, c *Config) {
	for i, name := range m.Agent.Modules {
		if _, ok := c.Modules[name]; !ok {
			d.at(fmt.Sprintf("%s.agent.modules[%d]", path, i), "no module %q%s", name,
				near.Hint(name, slices.Sorted(maps.Keys(c.Modules))))
		}
	}
}
