package config

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"wield/bridge"
	"wield/chat"
	"wield/model/exchange"
	"wield/model/lumo"
	wire "wield/wire/lumo"
)

// Lumo says what is particular to a backend of kind lumo.
type Lumo struct {
	Version         int      `key:"version" min:"1" max:"2" doc:"Version of the protocol."`
	EnableWebSearch bool     `key:"enableWebSearch" doc:"Whether the native tools web_search, weather, stock and cryptocurrency are on beside proton_info."`
	Tools           []string `key:"tools" doc:"Further native tools that are on."`
	Titles          bool     `key:"titles" doc:"Whether a title is asked for with the first message of a conversation. It is an event, and an annotation where those are on."`
}

// Native says what becomes of native tools, those that the backend itself runs.
type Native struct {
	Off         []string `key:"off" doc:"Names of native tools that the backend may not run for this model."`
	Replace     []string `key:"replace" doc:"Names of native tools in whose place the tools of the same names stand that the client or wield offers."`
	Annotations bool     `key:"annotations" doc:"Whether the answer of a chat completion says in its annotations which native tools ran, and what they found."`
}

// lumoPrefix keeps the client's tools apart from Lumo's own.
const lumoPrefix = "user:"

// LumoBridge returns the options of the bridge in front of a backend of kind lumo that nothing more is configured of.
func LumoBridge() (bridge.Options, error) {
	const alone = "wield: " + Version + "\nbackends: {lumo: {kind: lumo, url: \"https://lumo.example/api\"}}\nmodels: {lumo: {backend: lumo}}\n"
	getenv := func(string) string { return "" }
	r, err := load("lumo", []byte(alone), Options{Getenv: getenv})
	if err != nil {
		return bridge.Options{}, err
	}
	_, o, done, err := r.Behind(Environment{Getenv: getenv}, "lumo")
	if err == nil {
		done()
	}
	return o, err
}

// lumoModels are the names of models at Lumo.
var lumoModels = []string{"lumo", "lumo-lite", "lumo-max"}

func lumoServer(b *Backend, o exchange.Options, key string) serverModel {
	return lumo.New(b.lumoOptions(o, key))
}

func (b *Backend) lumoOptions(o exchange.Options, key string) lumo.Options {
	return lumo.Options{URL: o.URL, Key: key, Headers: o.Headers, Version: b.Lumo.Version, WebSearch: b.Lumo.EnableWebSearch,
		Tools: b.Lumo.Tools, Titles: b.Lumo.Titles, Connect: o.Connect, FirstByte: o.FirstByte, Idle: o.Idle}
}

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
		if m.Dialect != "cli-block" && !d.has(path+".calls.prefix") && !d.has(path+".customTools.prefix") { // a block is no native call
			m.Calls.Prefix = lumoPrefix
		}
		if !d.has(path + ".instructions.injectInto") {
			m.Instructions.InjectInto = "first"
		}
		if m.Model == "" && !slices.Contains(lumoModels, wire.PlainModel(name)) {
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
					d.warn(path+".native."+key, "no native tool %q%s", name, didYouMean(name, known))
				}
			}
		}
	}
}

// natives returns the model with the native tools that are left for it.
func (m *Model) natives(b *Backend, served chat.Model) chat.Model {
	if b.Kind != "lumo" || len(m.Native.Off)+len(m.Native.Replace) == 0 {
		return served
	}
	o := b.lumoOptions(exchange.Options{}, "")
	left := slices.DeleteFunc(o.NativeTools(), func(name string) bool {
		return slices.Contains(m.Native.Off, name) || slices.Contains(m.Native.Replace, name)
	})
	list, _ := json.Marshal(left) // names always can be
	return withNatives{served, chat.Extra{Protocol: chat.ProtocolLumo, Key: wire.ExtraTools, Value: list}}
}

// withNatives asks a model with native tools of its own.
type withNatives struct {
	model chat.Model
	tools chat.Extra
}

func (m withNatives) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	r := *req
	r.Extra = append(slices.Clone(req.Extra), m.tools)
	return m.model.Stream(ctx, &r)
}
