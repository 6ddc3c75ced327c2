package config

import (
	"fmt"
	"log/slog"

	"wield/bridge"
	"wield/chat"
	"wield/model/script"
	"wield/prompt"
	"wield/schema"
)

// Behind returns what stands behind the bridge of a model, as its backend serves it, and the options of that bridge. Close gives back
// its connections.
func (c *Config) Behind(env Environment, name string) (model chat.Model, o bridge.Options, close func(), err error) {
	m, ok := c.Models[name]
	if !ok {
		return nil, o, nil, fmt.Errorf("no model %q is configured%s", name, didYouMean(name, c.ModelNames()))
	}
	if m.Model == "" {
		m.Model = name
	}
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	if env.Catalogue == nil {
		env.Catalogue = script.Catalogue("")
	}
	w := workshop{config: c, env: env, backends: map[string]chat.Model{}, schemas: &schema.Cache{}, blocks: &prompt.Cache{}}
	if o, err = w.bridgeOptions(&m, name); err != nil {
		return nil, o, nil, err
	}
	if model, err = w.backend(&m); err != nil {
		return nil, o, nil, err
	}
	return model, o, (&Service{closers: w.closers}).Close, nil
}
