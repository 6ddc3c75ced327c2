package compose

import (
	"flag"
	"testing"

	"wield/internal/config"
)

var update = flag.Bool("update", false, "write what the cases give into their files")

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func parse(t *testing.T, text string) (*config.Result, error) {
	t.Helper()
	return config.Parse("config.yaml", []byte(text), config.Options{Getenv: env()})
}
