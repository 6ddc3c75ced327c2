package config

import (
	"slices"

	"wield/internal/lumo"
	"wield/schema/near"
)

// Lumo says what is particular to a backend of kind lumo.
type Lumo struct {
	Version         int      `key:"version" min:"1" max:"2" doc:"Version of the protocol."`
	EnableWebSearch bool     `key:"enableWebSearch" doc:"Turn on web_search, weather, stock and cryptocurrency."`
	Tools           []string `key:"tools" doc:"Further native tools to turn on."`
	Titles          bool     `key:"titles" doc:"Ask for a title with the first message."`
}

// Native says what becomes of native tools, those that the backend itself runs.
type Native struct {
	Off         []string `key:"off" doc:"Native tools (run by the server) to turn off."`
	Replace     []string `key:"replace" doc:"Native tools that the client's tools of the same name replace."`
	Annotations bool     `key:"annotations" doc:"Report native tools in annotations of chat completions."`
}

// lumoPrefix keeps the client's tools apart from Lumo's own.
const lumoPrefix = "user:"

// lumoModels are the names of models at Lumo.
var lumoModels = []string{"lumo", "lumo-lite", "lumo-max"}

// applyLumo gives models on a backend of kind lumo the values that suit it, where the file does not say
// otherwise: Lumo takes neither tools nor instructions but in the text, and takes tools without a prefix for
// its own.
func (c *Config) applyLumo(d *decoder) {
	for _, name := range c.ModelNames() {
		m := c.Models[name]
		if c.Backends[m.Backend].Kind != "lumo" {
			continue
		}
		path := "models." + name
		if m.Mode == "auto" {
			m.Mode = "text"
		}
		if m.Dialect != "cli-block" && !d.has(path+".calls.prefix") && !d.has(path+".customTools.prefix") {
			// a block is no native call
			m.Calls.Prefix = lumoPrefix
		}
		if !d.has(path + ".instructions.injectInto") {
			m.Instructions.InjectInto = "first"
		}
		if m.Model == "" && !slices.Contains(lumoModels, lumo.PlainModel(name)) {
			m.Model = lumoModels[0]
		}
		c.Models[name] = m
	}
}

// checkLumo looks at what only a backend of kind lumo has, and at what it does not have.
func (b *Backend) checkLumo(d *decoder, path string) {
	if b.Kind != "lumo" && d.has(path+".lumo") {
		d.warn(path+".lumo", "no effect on a backend of kind %s", b.Kind)
	}
}

func (m *Model) checkNative(d *decoder, path string, c *Config) {
	b, ok := c.Backends[m.Backend]
	switch {
	case !ok:
	case b.Kind == "lumo" && m.Mode == "native":
		d.at(path+".mode", "Lumo takes no tools of others through function calling: write text, or leave the key out")
	case b.Kind != "lumo" && d.has(path+".native"):
		d.warn(path+".native", "no effect on a backend of kind %s, which runs no tools of its own", b.Kind)
	case b.Kind == "lumo":
		known := (&lumo.Options{WebSearch: true, Tools: b.Lumo.Tools}).NativeTools()
		for key, names := range map[string][]string{"off": m.Native.Off, "replace": m.Native.Replace} {
			for _, name := range names {
				if !slices.Contains(known, name) {
					d.warn(path+".native."+key, "no native tool %q%s", name, near.Hint(name, known))
				}
			}
		}
	}
}
