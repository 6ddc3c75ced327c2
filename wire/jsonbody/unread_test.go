package jsonbody

import (
	"slices"
	"testing"
)

// TestUnread shows that members which nobody knows are named once, by where they stand, unless they say nothing.
func TestUnread(t *testing.T) {
	var r Reader
	body := `{"list":[{"a":1,"b":{"c":2}},{"a":true,"b":{"c":3,"d":null}},{"e":[],"f":{},"g":"","h":false}]}`
	if err := r.Init([]byte(body)); err != nil {
		t.Fatal(err)
	}
	r.Members(func(string) {
		r.Each(func() {
			r.Members(func(key string) {
				if key == "b" {
					r.Members(func(string) { r.Unread() })
				} else {
					r.Unread()
				}
			})
		})
	})
	if err := r.Done(); err != nil {
		t.Fatal(err)
	}
	if got, want := r.UnreadNames(), []string{"list.a", "list.b.c"}; !slices.Equal(got, want) {
		t.Errorf("unread: %q, want %q", got, want)
	}
}

// TestObjectSchema shows that servers which want the schema of an object get one.
func TestObjectSchema(t *testing.T) {
	for schema, want := range map[string]string{
		"": `{"type":"object","properties":{}}`, "true": `{"type":"object","properties":{}}`,
		"{}": `{"type":"object"}`, `{"type":"object","a":1}`: `{"type":"object","a":1}`,
		`{"properties":{"type":{}}}`: `{"type":"object","properties":{"type":{}}}`,
	} {
		if got := string(ObjectSchema([]byte(schema))); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
