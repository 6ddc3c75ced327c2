package tool

import (
	"encoding/json"
	"fmt"
	"time"

	"wield/chat"
	"wield/tool/internal/value"
)

// A Result holds the output or the error of a call.
type Result struct {
	OK        bool            `json:"ok"`
	Data      json.RawMessage `json:"data,omitempty"`       // a JSON value; empty: null
	Parts     []chat.Part     `json:"parts,omitempty"`      // content that is no JSON: images, files, text blocks
	Error     string          `json:"error,omitempty"`      // what went wrong, for the model
	ErrorType ErrorKind       `json:"error_type,omitempty"` // its class
	Details   json.RawMessage `json:"details,omitempty"`    // more about the error, an object
	Timeout   time.Duration   `json:"timeout,omitempty"`    // the time a call had that took too long

	Code string `json:"error_code,omitempty"` // for programs, in the style c: MISSING_REQUIRED, TOOL_NOT_FOUND ..

	// DeniedPath is the path that the ignore file leaves out, if the call was refused for that.
	DeniedPath string `json:"denied_path,omitempty"`

	// Truncated says that Data or Parts are only the beginning of what came out. Spill then names the rest,
	// for the tool read_output, if it was kept.
	Truncated *Truncation `json:"truncated,omitempty"`
	Cached    bool        `json:"cached,omitempty"` // it is the result of another identical call

	// Edited are the arguments that ran in place of the model's, because a person changed them.
	Edited json.RawMessage `json:"edited,omitempty"`
	// Refused tells which parts of the call a person refused, if that is all that they changed.
	Refused string `json:"refused,omitempty"`
	// Denied tells which parts of the call were left out because they are denied, and why.
	Denied string `json:"denied,omitempty"`
}

// A Truncation says how much of an output is missing and where it can be read.
type Truncation struct {
	Shown  int    `json:"shown"`            // bytes of the output that the result holds
	Size   int    `json:"size"`             // bytes that there were
	Kept   int    `json:"kept,omitempty"`   // bytes that are in the spill
	Spill  string `json:"spill,omitempty"`  // its id; empty: the rest is gone
	Member string `json:"member,omitempty"` // of the data that was cut; empty: the data itself
}

// Text returns a result that holds text.
func Text(s string) Result { return Result{OK: true, Data: value.Quote(s)} }

// JSON returns a result that holds v as encoding/json writes it.
func JSON(v any) (Result, error) {
	raw, err := value.Marshal(v)
	if err != nil {
		return Result{}, &Error{Kind: ErrUnexpected, Cause: err}
	}
	return Result{OK: true, Data: raw}, nil
}

// Failure returns the result that err becomes.
func Failure(err error) Result {
	e := asError(err)
	code := e.Code
	if e.Kind == ErrNotFound {
		code = "TOOL_NOT_FOUND"
	}
	return Result{Error: e.Sentence(), ErrorType: e.Kind, Code: code, Details: e.Details, Timeout: e.Timeout,
		DeniedPath: e.DeniedPath}
}

// A Style tells how a result is written for a model.
type Style uint8

// The styles.
const (
	StylePlain Style = iota // the text itself, JSON for what is no text, "Error: .." for failures
	StyleC                  // {"success":..,"data":..,"error":..}
	StyleLLF                // {"success":true, and the members of the data}, or the data where it is a list
)

var styleNames = [...]string{"plain", "c", "llf"}

// String returns the style's name.
func (s Style) String() string {
	if int(s) < len(styleNames) {
		return styleNames[s]
	}
	return "unknown"
}

// ParseStyle returns the style of the given name.
func ParseStyle(name string) (Style, bool) {
	for i, n := range styleNames {
		if n == name {
			return Style(i), true
		}
	}
	return 0, false
}

// MarshalText writes the style's name.
func (s Style) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a style's name.
func (s *Style) UnmarshalText(text []byte) error {
	style, ok := ParseStyle(string(text))
	if !ok {
		return fmt.Errorf("tool: no style %q; there are plain, c and llf", text)
	}
	*s = style
	return nil
}

// ReadOutputName is the name of the tool that reads the rest of outputs that were too long.
const ReadOutputName = "read_output"
