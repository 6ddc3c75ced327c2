package config

import (
	"strings"
	"testing"
)

// TestSeedKeys: keys of lumo-tamer's configuration mean what the own ones mean, and may not contradict them.
func TestSeedKeys(t *testing.T) {
	const head = "wield: config/v1\nbackends: {a: {url: \"http://h/v1\"}}\nmodels: {m: {backend: a, "
	for _, tc := range []struct{ keys, err string }{
		{`customTools: {prefix: "user:", enabled: false}}}`, ""},
		{`customTools: {prefix: "user:", enabled: false}, calls: {prefix: "user:"}}}`, ""},
		{`calls: {prefix: "user:", enabled: false}}}`, ""},
		{`customTools: {prefix: "user:"}, calls: {prefix: "x"}}}`,
			`models.m.customTools.prefix: "user:", but calls.prefix, which is the same key, is "x"`},
		{`customTools: {enabled: true}, calls: {enabled: false}}}`,
			`models.m.customTools.enabled: true, but calls.enabled, which is the same key, is false`},
	} {
		r, err := parse(t, head+tc.keys)
		switch {
		case tc.err != "":
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", tc.keys, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tc.keys, err)
		case r.Models["m"].Calls.Prefix != "user:" || r.Models["m"].Calls.Enabled:
			t.Errorf("%s: %+v", tc.keys, r.Models["m"].Calls)
		}
	}
}
