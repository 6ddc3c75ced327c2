package chat

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestExtraFields: what is lost of a namespace is its description, not one that is called so.
func TestExtraFields(t *testing.T) {
	for value, want := range map[string][]string{
		`{"type":"namespace","name":"home","description":"the house"}`: {"namespace.description"},
		`{"type":"namespace","name":"description"}`:                    nil,
	} {
		x := Extra{Protocol: ProtocolResponses, Key: "namespace", Value: json.RawMessage(value)}
		if got := x.Fields(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
