package compose

import (
	"fmt"

	"wield/bridge"
	"wield/chat"
	"wield/internal/config"
	"wield/schema/near"
)

// Behind returns what stands behind the bridge of a model, as its backend serves it, and the options of that bridge.
// Close gives back its connections.
func Behind(c *config.Config, env Environment,
	name string) (model chat.Model, o bridge.Options, close func(), err error) {
	m, ok := c.Models[name]
	if !ok {
		return nil, o, nil, fmt.Errorf("no model %q is configured%s", name, near.Hint(name, c.ModelNames()))
	}
	if m.Model == "" {
		m.Model = name
	}
	w := newBuilder(c, env)
	if o, err = w.bridgeOptions(&m, name); err != nil {
		return nil, o, nil, err
	}
	if model, err = w.backend(&m); err != nil {
		return nil, o, nil, err
	}
	return model, o, (&Service{closers: w.closers}).Close, nil
}

// Served returns a model as clients are served it, without its fallbacks and what is counted of it. Close gives back
// its connections.
func Served(c *config.Config, env Environment, name string) (model chat.Model, close func(), err error) {
	if _, ok := c.Models[name]; !ok {
		return nil, nil, fmt.Errorf("no model %q is configured%s", name, near.Hint(name, c.ModelNames()))
	}
	w := newBuilder(c, env)
	if model, err = w.bridge(name); err != nil {
		return nil, nil, err
	}
	return model, (&Service{closers: w.closers}).Close, nil
}

// LumoBridge returns the options of the bridge in front of a backend of kind lumo that nothing more is configured of.
func LumoBridge() (bridge.Options, error) {
	const alone = "wield: " + config.Version +
		"\nbackends: {lumo: {kind: lumo, url: \"https://lumo.example/api\"}}\nmodels: {lumo: {backend: lumo}}\n"
	getenv := func(string) string { return "" }
	r, err := config.Parse("lumo", []byte(alone), config.Options{Getenv: getenv})
	if err != nil {
		return bridge.Options{}, err
	}
	_, o, done, err := Behind(r.Config, Environment{Getenv: getenv}, "lumo")
	if err == nil {
		done()
	}
	return o, err
}
