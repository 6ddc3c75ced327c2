package config

import (
	"fmt"

	"wield/tool/builtin/database"
)

// A Database is one that query_database knows by name.
type Database struct {
	URL Secret `key:"url" doc:"Address, as env:NAME or file:PATH: postgres://.., or sqlite:PATH."`
}

// databases looks up where the databases are.
func (c *Config) databases(getenv func(string) string) (map[string]database.Source, error) {
	all := make(map[string]database.Source, len(c.Tools.Databases))
	for _, name := range sortedKeys(c.Tools.Databases) {
		address, err := c.Tools.Databases[name].URL.Resolve(getenv)
		if err != nil {
			return nil, fmt.Errorf("tools.databases.%s.url: %w", name, err)
		}
		source := database.Source{URL: address}
		if err := source.Check(); err != nil {
			return nil, fmt.Errorf("tools.databases.%s.url: %w", name, err)
		}
		all[name] = source
	}
	return all, nil
}
