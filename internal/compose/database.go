package compose

import (
	"fmt"
	"maps"
	"slices"

	"wield/internal/config"
	"wield/tool/builtin/database"
)

// databases looks up where the databases are.
func databases(c *config.Config, getenv func(string) string) (map[string]database.Source, error) {
	all := make(map[string]database.Source, len(c.Tools.Databases))
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Databases)) {
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
