package gateway

import (
	"strings"
	"testing"
)

// TestToolExecutionMode_ER22: one pass is what there is, whichever protocol asks; two are refused with the reason.
func TestToolExecutionMode_ER22(t *testing.T) {
	srv := serve(t, one(says(text("a"))))
	for _, front := range []struct{ path, body string }{
		{pathCompletions, `"messages":[{"role":"user","content":"x"}]`},
		{pathResponses, `"input":"x"`},
		{pathMessages, `"max_tokens":9,"messages":[{"role":"user","content":"x"}]`},
		{pathChat, `"messages":[{"role":"user","content":"x"}]`},
	} {
		for _, tt := range []struct {
			mode   string
			status int
			says   string
		}{
			{`"single_pass"`, 200, ""},
			{`null`, 200, ""},
			{`"dual_pass_all"`, 400, "tells of what was not done"},
			{`"dual_pass_write_only"`, 400, "tells of what was not done"},
			{`"twice"`, 400, "single_pass"},
			{`true`, 400, "single_pass"},
		} {
			for _, stream := range []string{"true", "false"} {
				resp, body := send(t, srv, "POST", front.path,
					`{"model":"m","stream":`+stream+`,"tool_execution_mode":`+tt.mode+`,`+front.body+`}`)
				if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
					t.Errorf("%s %s: %d %s", front.path, tt.mode, resp.StatusCode, body)
				}
			}
		}
	}
}
