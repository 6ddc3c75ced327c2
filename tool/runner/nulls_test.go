package runner_test

import (
	"context"
	"encoding/json"
	"testing"

	"wield/tool"
	"wield/tool/runner"
)

// TestNulls checks that null for an optional argument is as good as none, and that null is kept or refused everywhere
// else.
func TestNulls(t *testing.T) {
	echo := tool.Raw("echo", "Gives back its arguments.",
		json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"},
		"c":{"type":["string","null"]},"d":{}},"required":["a"]}`), func(_ context.Context, c *tool.Call) (tool.Result,
			error) {
			return tool.Result{OK: true, Data: json.RawMessage(c.Arguments)}, nil
		})
	var reg runner.Registry
	if err := reg.Add(echo); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg})
	for in, want := range map[string]string{
		`{"a":"x","b":null}`:                   `{"a":"x"}`,
		`{"b":null,"c":null,"d":null,"a":"x"}`: `{"c":null,"d":null,"a":"x"}`,
		`{"a":null,"b":null}`:                  "",
		`{"a":"x","b":true}`:                   `{"a":"x","b":true}`,
	} {
		result, err := r.Call(t.Context(), "echo", in)
		if err != nil || string(result.Data) != want || result.OK != (want != "") {
			t.Errorf("%s: %+v, %v; want %s", in, result, err, want)
		}
	}
}
