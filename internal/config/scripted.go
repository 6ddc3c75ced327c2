package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"wield/internal/script"
)

// AddScripted adds a model that answers from a scenario: a file, or the name of one of the catalogue.
func (c *Config) AddScripted(name, scenario string) {
	b := DefaultBackend()
	b.Kind = "script"
	b.Scenario = scenario
	backend := "script:" + name // no name that a file is likely to use
	m := DefaultModel(backend)
	m.Mode = "text" // a scenario writes text
	put(&c.Backends, backend, b)
	put(&c.Models, name, m)
}

// AddScriptedAgent adds a model that answers from a scenario and has built-in tools, which may change what is in root.
func (c *Config) AddScriptedAgent(name, scenario, root string, tools ...string) {
	c.AddScripted(name, scenario)
	m := c.Models[name]
	m.Agent.Tools = tools
	c.Models[name] = m
	c.Tools.Root = root
	for _, one := range tools {
		b := c.Tools.Builtin[one]
		b.setDefaults()
		b.Mode = "rw"
		put(&c.Tools.Builtin, one, b)
	}
}

// AddScenarios adds a model for each scenario in the directory, under the name of its file.
func (c *Config) AddScenarios(dir string) error {
	names, err := script.CatalogueNames(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("scenarios: %w", err)
	}
	if len(names) == 0 {
		return fmt.Errorf("scenarios: no file in %s ends with %s: %w", dir, script.Suffix, fs.ErrNotExist)
	}
	for _, name := range names {
		c.AddScripted(name, filepath.Join(dir, name+script.Suffix))
	}
	return nil
}
