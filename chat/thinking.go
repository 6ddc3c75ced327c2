package chat

import (
	"encoding/json"
	"strings"
)

// Thinking gathers the reasoning of an answer in the form in which its server wants it back. The zero value is empty.
type Thinking struct {
	text  strings.Builder
	block int // length of the text at the last seal
	parts []Part
}

// Take takes in a Reasoning event.
func (t *Thinking) Take(e *Event) {
	t.text.WriteString(e.Text)
	opaque, _ := e.Detail.(Opaque)
	for _, x := range opaque {
		t.parts = append(t.parts, t.seal(x))
		t.block = t.text.Len()
	}
}

// Empty reports whether there was no reasoning.
func (t *Thinking) Empty() bool { return t.text.Len() == 0 }

// Message returns the answer with this reasoning and a text.
func (t *Thinking) Message(text string) Message {
	m := Message{Role: RoleAssistant, Reasoning: t.text.String(), Parts: t.parts}
	m.Parts = append(m.Parts, Text(text)...)
	return m
}

// keySignature is the key of what seals the thinking before it, in the protocol that has such seals. Under
// other keys there are whole blocks.
const keySignature = "signature"

// seal returns thinking as the server wants it back: as it was, with its signature.
func (t *Thinking) seal(x Extra) Part {
	raw := x.Value
	if x.Key == keySignature {
		raw, _ = json.Marshal(struct { // strings can always be written
			Type      string          `json:"type"`
			Thinking  string          `json:"thinking"`
			Signature json.RawMessage `json:"signature"`
		}{"thinking", t.text.String()[t.block:], x.Value})
	}
	return Part{Kind: PartOpaque, Name: "thinking", Raw: raw, Protocol: x.Protocol}
}
