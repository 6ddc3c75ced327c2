package compose

import (
	"strings"
	"testing"

	"wield/internal/webhook"
	"wield/journal"
)

func TestWebhooks(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"LONG": "0123456789abcdef", "SHORT": "0123"}[name]
	}
	for _, tt := range []struct{ name, text, want string }{
		{"good",
			`{url: "https://hooks.example/x", secret: env:LONG, events: [run.ended], answer: "https://wield.example"}`,
			""},
		{"a short secret", `{url: "https://hooks.example/x", secret: env:SHORT}`, "at least 16"},
		{"no secret", `{url: "https://hooks.example/x", secret: env:NONE}`, "webhooks[0].secret"},
	} {
		r, err := parse(t, "wield: config/v1\nwebhooks: ["+tt.text+"]\n")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Sender(r.Config, getenv, &journal.Memory{}, nil)
		switch {
		case tt.want == "" && (err != nil || s == nil):
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, kind := range webhook.Kinds() {
		if _, err := parse(t, "wield: config/v1\nwebhooks: [{url: \"https://h.example\", secret: env:X, events: ["+
			string(kind)+"]}]\n"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := parse(t,
		"wield: config/v1\nwebhooks: [{url: \"https://h.example\", secret: env:X, events: [run.over]}]\n"); err == nil {
		t.Error("an event that there is not is taken")
	}
}
