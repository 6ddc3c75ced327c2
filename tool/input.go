package tool

import "encoding/json"

// A Form asks a person for something that a call needs to go on.
type Form struct {
	Why    string          `json:"why"`             // what it is for, in words
	Schema json.RawMessage `json:"schema"`          // of the answer, which is an object
	Draft  json.RawMessage `json:"draft,omitempty"` // an answer to begin with; empty: {}
	State  json.RawMessage `json:"state,omitempty"` // what the tool needs to go on with the answer
}

// An InputError says that a handler needs an answer of a person. The call waits for it as it would for
// an approval, maybe in another process, and then the handler runs again with the Reply.
type InputError struct{ Form }

func (e *InputError) Error() string { return "tool: an answer of a person is needed: " + e.Why }

// A Reply holds a person's answer to a Form.
type Reply struct {
	Accepted bool            // false: the person did not want to answer
	Content  json.RawMessage // the answer; it fits the form's schema
	State    json.RawMessage // of the form
}
