package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAppOf: what is wrong with one member of _meta.ui hides no other, and a tool whose visibility cannot be read is no
// model's.
func TestAppOf(t *testing.T) {
	for _, tt := range []struct {
		ui, address string
		forModels   bool
		wrong       bool
	}{
		{`null`, "", true, false},
		{`"ui://board/view"`, "", true, false},
		{`{"resourceUri":"ui://board/view"}`, "ui://board/view", true, false},
		{`{"resourceUri":"https://board/view"}`, "", true, false},
		{`{"resourceUri":"ui://board/view","visibility":["app"]}`, "ui://board/view", false, false},
		{`{"resourceUri":"ui://board/view","visibility":["app","model"]}`, "ui://board/view", true, false},
		{`{"resourceUri":7,"visibility":["app"]}`, "", false, false},
		{`{"resourceUri":["ui://board/view"],"visibility":["model"]}`, "", true, false},
		{`{"visibility":["app"],"csp":7,"permissions":"all"}`, "", false, false},
		{`{"visibility":["app"],"Visibility":["model"]}`, "", false, false},
		{`{"visibility":[]}`, "", false, false},
		{`{"visibility":"app"}`, "", false, true},
		{`{"visibility":["app",7]}`, "", false, true},
		{`{"visibility":null}`, "", false, true},
		{`{"resourceUri":"ui://board/view","visibility":{"app":true}}`, "ui://board/view", false, true},
	} {
		one := &sdk.Tool{}
		if err := json.Unmarshal([]byte(`{"name":"show","_meta":{"ui":`+tt.ui+`}}`), one); err != nil {
			t.Fatal(err)
		}
		address, forModels, err := appOf(one)
		if address != tt.address || forModels != tt.forModels || (err != nil) != tt.wrong {
			t.Errorf("%s: %q, for models %v, %v", tt.ui, address, forModels, err)
		}
	}
}
