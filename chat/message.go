package chat

import "encoding/json"

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
// An assistant's message may hold text parts, reasoning and calls together. A tool's message holds the content of exactly
// one result: CallID and Name say which call it answers, IsError that the call failed.
type Message struct {
	Role      Role
	Name      string // of the participant; in a tool's message, the tool's name if it is known
	Parts     []Part
	Reasoning string // what the model thought before it wrote, where the protocol carries it
	Calls     []Call // assistant only, in the order of the text

	CallID  string // tool only: the call that this answers
	IsError bool   // tool only: the call failed, the content says why

	Opaque []Extra // parts of the protocol that only a backend of the same protocol understands (signatures, cache marks)
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

// A Part is a piece of a message's content.
type Part struct {
	Kind      PartKind
	Text      string // PartText
	MediaType string // of Data, such as image/png; may be empty with a URL
	URL       string // where the content lies, a data: URL included
	Data      []byte // the content itself, decoded
	Name      string // file name, if any
	Detail    string // image detail hint of the OpenAI protocol
	// Raw is the whole of a PartOpaque. Of another part it is an object with what the vocabulary has no place for: further
	// members (a cache mark), or, if it has a type, the part as its protocol has it, of which the rest is what others can use.
	Raw      json.RawMessage
	Protocol Protocol // of Raw
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

// A Call is one request of the model to run one tool.
type Call struct {
	Index     int    // position among the calls of the whole response, from 0
	ID        string // unique within the conversation once it leaves the bridge; a decoder gives the text's own id or call_<index>
	Name      string // as declared in the request, without any prefix
	Arguments string // JSON text of an object, as written or repaired; "{}" when there are none
	Complete  bool   // false: the text ended inside the call. Such a call is never run
	Origin    Origin
	Dialect   string // that it was read in; empty unless Origin is text
	Reasoning string // the reason the model gave beside the arguments, where the dialect has a place for one
	At, End   int    // span in the turn's raw text, markup included; 0, 0 when the call did not arrive as text
}

// A Result is what came out of a call.
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
