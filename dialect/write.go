package dialect

import (
	"fmt"

	"wield/chat"
	"wield/dialect/internal/render"
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

// row returns how d is written. A dialect that has no row is written like json-fence, which any decoder reads.
func (d *Dialect) row() *render.Row {
	if d.write.Call == nil {
		fence, _ := Lookup("json-fence")
		return &fence.write
	}
	return &d.write
}

// AppendCalls appends calls as a model would write them in d, one message's worth, so that the text decodes to the same
// names and arguments. It fails with a *RenderError and returns dst as it was when the format has no way to write one
// of them: then json-fence always has, if the arguments are a JSON object.
//
// A format without types of its own gives values back as the schema of the tool says.
func (d *Dialect) AppendCalls(dst []byte, calls []chat.Call) ([]byte, error) {
	if len(calls) == 0 {
		return dst, nil
	}
	out, name, why := d.row().AppendCalls(dst, calls)
	if why != "" {
		return dst, &RenderError{Dialect: d.Name, Name: name, Why: why}
	}
	return out, nil
}

// AppendTools appends the definitions of tools in the form that models of d expect in their prompt, without a
// newline at the end. Whatever the definitions hold, the text keeps its lines and no dialect reads a call in
// it.
func (d *Dialect) AppendTools(dst []byte, tools []chat.Tool) []byte {
	return d.row().AppendTools(dst, tools)
}

// AppendResults appends results as one message's text in the form that models of d expect, without a newline
// at the end. Whatever the results hold, no dialect reads a call in the text, and [Results] reads them back:
// their texts (joined by a newline where a result has several; JSON without white space), names, call ids and
// whether they failed. A part that is no text is named in the text.
func (d *Dialect) AppendResults(dst []byte, results []chat.Result) []byte {
	return d.row().AppendResults(dst, results, nil)
}

// AppendResultsAmong is AppendResults for a model that has no tools but these. JSON that names none of them
// stays JSON, whatever its keys: no dialect takes it for a call.
func (d *Dialect) AppendResultsAmong(dst []byte, results []chat.Result, tools []chat.Tool) []byte {
	if tools == nil {
		tools = []chat.Tool{}
	}
	return d.row().AppendResults(dst, results, tools)
}

// Results reads back, in order, all results that stand in text, which may hold other text too. It knows the
// forms that [Dialect.AppendResults] writes, JSON over several lines included; the PTK_RESULT label with JSON
// or with its sentences "Tool executed successfully" and "Tool execution failed"; elements named
// tool_response with any content; and fenced JSON of type function_call_output. A result begins at the start
// of a line.
func Results(text string) []chat.Result { return render.Results(text) }
