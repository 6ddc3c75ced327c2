package script_test

import (
	"io/fs"
	"testing"

	"wield/chat"
	"wield/internal/script"
)

// FuzzParse: no file makes the reader panic, and what it accepts can be linted and played.
func FuzzParse(f *testing.F) {
	cat := script.Catalogue("")
	names, err := script.CatalogueNames(cat)
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range names {
		data, err := fs.ReadFile(cat, n+script.Suffix)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(
		[]byte(head +
			"turns: [{id: a, when: &x {user: \"/(?<a>b)|c/\"}, reply: [{raw: \"a|b\", split: \"a||b\"}, {pause: 1h}]}, {id: b, when: *x}]\nfaults: [{do: [reset, bad_utf8]}]\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? x\n: - y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := script.Parse("f.scenario.yaml", data)
		if err != nil {
			return
		}
		script.Lint(s)
		m := script.New(s, script.Options{Speed: -1})
		_, _ = collect(m,
			&chat.Request{Messages: []chat.Message{user("weather in Paris"), assistant("x"), user("again")}})
	})
}
