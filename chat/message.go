package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Role says who wrote a message.
type Role string

// The roles. RoleDeveloper is OpenAI's newer word for system; backends that do not know it are sent system instead.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Message is one entry of a conversation.
//
// An assistant's message may hold text parts, reasoning and calls together. A tool's message holds the
// content of exactly one result: CallID and Name say which call it answers, IsError that the call failed.
type Message struct {
	Role  Role   `json:"role"`
	Name  string `json:"name,omitempty"` // of the participant; in a tool's message, the tool's name if it is known
	Parts []Part `json:"parts,omitempty"`
	// what the model thought before it wrote, where the protocol carries it
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"` // assistant only, in the order of the text

	CallID  string `json:"call_id,omitempty"`  // tool only: the call that this answers
	IsError bool   `json:"is_error,omitempty"` // tool only: the call failed, the content says why

	// parts of the protocol that only a backend of the same protocol understands (signatures, cache marks)
	Opaque []Extra `json:"opaque,omitempty"`
}

// PartKind tells what a Part holds.
type PartKind uint8

// The kinds of parts. PartOpaque is a part that the front did not understand; Raw holds it for a backend of the same
// protocol.
const (
	PartText PartKind = iota
	PartImage
	PartAudio
	PartFile
	PartOpaque
)

var partKindNames = []string{"text", "image", "audio", "file", "opaque"}

// String returns the kind's name.
func (k PartKind) String() string { return nameOf(partKindNames, int(k)) }

// MarshalText writes the kind's name.
func (k PartKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *PartKind) UnmarshalText(text []byte) error {
	i := slices.Index(partKindNames, string(text))
	if i < 0 {
		return fmt.Errorf("chat: no kind of part is called %q", text)
	}
	*k = PartKind(i)
	return nil
}

// A Part is a piece of a message's content.
type Part struct {
	Kind      PartKind `json:"kind,omitempty"`
	Text      string   `json:"text,omitempty"`       // PartText
	MediaType string   `json:"media_type,omitempty"` // of Data, such as image/png; may be empty with a URL
	URL       string   `json:"url,omitempty"`        // where the content lies, a data: URL included
	Data      []byte   `json:"data,omitempty"`       // the content itself, decoded
	Name      string   `json:"name,omitempty"`       // file name, if any
	Detail    string   `json:"detail,omitempty"`     // image detail hint of the OpenAI protocol
	// Raw is the whole of a PartOpaque. Of another part it is an object with what the vocabulary has no place
	// for: further members (a cache mark), or, if it has a type, the part as its protocol has it, of which
	// the rest is what others can use.
	Raw      json.RawMessage `json:"raw,omitempty"`
	Protocol Protocol        `json:"protocol,omitempty"` // of Raw
}

// Besides returns the members of Raw that a server of a protocol is not sent because it has no place for them, unless
// it knows their names. Of a whole part the text repeats some.
func (p *Part) Besides(speaks Protocol) (keys []string) {
	if len(p.Raw) == 0 || p.Kind == PartOpaque || p.Text == string(p.Raw) {
		return nil
	}
	var members map[string]json.RawMessage
	json.Unmarshal(p.Raw, &members)
	whole := members["type"] != nil
	if whole && p.Protocol == speaks {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !whole || !slices.Contains(repeated, key) {
			keys = append(keys, key)
		}
	}
	var source struct{ Content []struct{ Type string } }
	json.Unmarshal(members["source"], &source)
	for _, block := range source.Content {
		if whole && block.Type != "text" {
			return append(keys, "source.content="+block.Type)
		}
	}
	return keys
}

// repeated are the members of a whole part that its text says again.
var repeated = []string{"type", "text", "title", "source", "content", "tool_name"}

// Describe says in a few words what a part is that cannot be shown, such as "image, image/png, 512 bytes".
func (p *Part) Describe() string {
	words := p.Kind.String()
	for _, s := range []string{p.Name, p.MediaType} {
		if s != "" {
			words += ", " + s
		}
	}
	if len(p.Data) > 0 {
		words += fmt.Sprintf(", %d bytes", len(p.Data))
	}
	return words
}

// Text returns a list of one text part, or nil for the empty string.
func Text(s string) []Part {
	if s == "" {
		return nil
	}
	return []Part{{Kind: PartText, Text: s}}
}

// Text returns the message's text parts joined by newlines, and ignores all others.
func (m *Message) Text() string {
	n, size := 0, 0
	var last string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText {
			n++
			size += len(p.Text) + 1
			last = p.Text
		}
	}
	if n <= 1 {
		return last
	}
	b := make([]byte, 0, size)
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText {
			if len(b) > 0 {
				b = append(b, '\n')
			}
			b = append(b, p.Text...)
		}
	}
	return string(b)
}

// Origin says through which channel a call arrived.
type Origin uint8

// The origins. The zero value is text, which the dialect decoder reads.
const (
	OriginText     Origin = iota // written by the model as text and read by a decoder
	OriginFunction               // the backend's function calling
	OriginNative                 // the backend's own pipeline, which also runs the tool
)

// String returns the origin's name.
func (o Origin) String() string { return nameOf(originNames[:], int(o)) }

var originNames = [...]string{"text", "function", "native"}

// MarshalText writes the origin's name.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads an origin's name.
func (o *Origin) UnmarshalText(text []byte) error {
	i := slices.Index(originNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("chat: no origin is called %q", text)
	}
	*o = Origin(i)
	return nil
}

// A Call is one request of the model to run one tool.
type Call struct {
	Index int `json:"index"` // position among the calls of the whole response, from 0
	// unique within the conversation once it leaves the bridge; a decoder gives the text's own id or call_<index>
	ID        string `json:"id"`
	Name      string `json:"name"`      // as declared in the request, without any prefix
	Arguments string `json:"arguments"` // JSON text of an object, as written or repaired; "{}" when there are none
	Complete  bool   `json:"complete"`  // false: the text ended inside the call. Such a call is never run
	Origin    Origin `json:"origin,omitempty"`
	Dialect   string `json:"dialect,omitempty"` // that it was read in; empty unless Origin is text
	// the reason the model gave beside the arguments, where the dialect has a place for one
	Reasoning string `json:"reasoning,omitempty"`
	// span in the turn's raw text, markup included; 0, 0 when the call did not arrive as text
	At  int `json:"at,omitempty"`
	End int `json:"end,omitempty"`

	// Reason and Problem are set where the call cannot be used and is answered with an error
	// (Request.Attempts): why, in a word and in words for the model. Arguments may be no JSON then.
	Reason  Reason `json:"reason,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// A Result holds the output or the error of a call.
type Result struct {
	CallID  string
	Name    string
	Parts   []Part
	IsError bool
}

// Message returns the result as a tool's message.
func (r *Result) Message() Message {
	return Message{Role: RoleTool, CallID: r.CallID, Name: r.Name, Parts: r.Parts, IsError: r.IsError}
}

func nameOf(names []string, i int) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return "unknown"
}
