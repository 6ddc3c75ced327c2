//go:build unix

package dir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/tool/runner"
	"wield/tool/sandbox"
)

// TestX_E29_DescriptionsAreText loads tools whose tags try to be more than text: nothing of them runs, and the
// definition holds them as they stand, in JSON that reads back.
func TestX_E29_DescriptionsAreText(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	texts := []string{
		`"""` + " print('x') " + `"""; import os; os.system("touch ` + marker + `")`, `$(touch ` + marker + ")",
		"`touch " + marker + "`", `"; touch ` + marker + `; "`, `"}],"required":["x"],"parameters":{"`,
		`*/ init() { touch(); } /*`, `</script><script>x</script>`, `{{.Env}} %s %n ${HOME}`,
	}
	for _, text := range texts {
		dir := write(t,
			map[string]string{"one.sh+": "#!/bin/sh\n# description: " + text + "\n# param a string: " + text +
				"\necho done\n"})
		all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
		if err != nil || len(all) != 1 {
			t.Fatalf("%q: %d tools, %v", text, len(all), err)
		}
		if got := all[0].Definition.Description; got != text {
			t.Errorf("%q became %q", text, got)
		}
		var schema struct {
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(all[0].Definition.Parameters, &schema); err != nil ||
			schema.Properties["a"].Description != text || schema.Properties["a"].Type != "string" ||
			len(schema.Properties) != 1 || schema.Required != nil {
			t.Errorf("%q: %s, %v", text, all[0].Definition.Parameters, err)
		}
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a description was carried out")
	}
	for _, name := range []string{"a b", "../up", "a;b", "a\u200bb", "r\u0435ad", "a__b", strings.Repeat("n", 200)} {
		dir := write(t, map[string]string{"one.sh+": "#!/bin/sh\n# tool: " + name + "\n# description: d\necho done\n"})
		all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
		var r runner.Registry
		if err == nil {
			err = r.Add(all...)
		}
		if err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}
