package dialect_test

import (
	"testing"

	"wield/dialect"
)

// TestUnread: what was written as a call and is none is found; mentions and whole calls are not.
func TestUnread(t *testing.T) {
	for _, tt := range []struct {
		text, raw, dialect string
	}{
		{"<TOOL_CALL>{invalid json}</TOOL_CALL>", "<TOOL_CALL>{invalid json}</TOOL_CALL>", "tool-call-tag"},
		{"I look.\n<PTK_CALL>\n{\"tool\" \"x\"}\n</PTK_CALL> So.", "<PTK_CALL>\n{\"tool\" \"x\"}\n</PTK_CALL>",
			"tool-call-tag"},
		{"<tool_call>{oops}</tool_call>", "<tool_call>{oops}</tool_call>", "hermes"},
		{"<TOOL_CALL>{\"tool\": \"x\", \"args\": {}}</TOOL_CALL>", "", ""},
		{"Calls stand between <TOOL_CALL> and </TOOL_CALL>.", "", ""},
		{"<TOOL_CALL>{invalid json}", "", ""},
		{"a < b", "", ""},
	} {
		found := dialect.Unread(tt.text)
		switch {
		case tt.raw == "" && len(found) > 0:
			t.Errorf("%q: found %+v", tt.text, found)
		case tt.raw != "" && (len(found) != 1 || found[0].Raw != tt.raw || found[0].Dialect != tt.dialect ||
			tt.text[found[0].At:found[0].End] != tt.raw):
			t.Errorf("%q: found %+v", tt.text, found)
		}
	}
}
