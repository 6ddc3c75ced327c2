package dialect

import (
	"fmt"

	"wield/chat"
)

// A RenderError says why calls cannot be written in a dialect so that they would be read back unchanged.
type RenderError struct {
	Dialect string
	Name    string // of the tool whose call cannot be written, if one is to blame
	Why     string
}

func (e *RenderError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("dialect %s: %s", e.Dialect, e.Why)
	}
	return fmt.Sprintf("dialect %s: call of %q: %s", e.Dialect, e.Name, e.Why)
}

// AppendCalls appends calls as a model would write them in d, one message's worth, so that the text decodes to the same
// names and arguments. It fails with a *RenderError and leaves dst as it was when the format has no way to write one of them.
func (d *Dialect) AppendCalls(dst []byte, calls []chat.Call) ([]byte, error) { return dst, nil }

// AppendTools appends the definitions of tools in the form that models of d expect in their prompt.
func (d *Dialect) AppendTools(dst []byte, tools []chat.Tool) []byte { return dst }
