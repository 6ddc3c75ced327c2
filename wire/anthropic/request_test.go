package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/wire/jsonbody"
)

func TestRequests(t *testing.T) {
	for _, c := range goldens(t, "requests.txt", 50) {
		t.Run(c.name, func(t *testing.T) {
			req, err := DecodeRequest([]byte(c.sections["in"]))
			if want, ok := c.sections["refused"]; ok {
				checkRefused(t, err, want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "images" && len(req.Unread) > 0 { // one is kept whole
				t.Errorf("%v are said to be lost", req.Unread)
			}
			o := RequestOptions{Stream: req.Stream}
			out, err := AppendRequest(nil, req, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.sections["out"], string(out)); diff != "" {
				t.Errorf("written request differs (-want +got):\n%s", diff)
			}
			if !json.Valid(out) {
				t.Error("written request is no JSON")
			}
			again, err := DecodeRequest(out)
			if err != nil {
				t.Fatalf("what was written is refused: %v", err)
			}
			twice, _ := AppendRequest(nil, again, o)
			if diff := cmp.Diff(string(out), string(twice)); diff != "" {
				t.Errorf("second round differs:\n%s", diff)
			}
		})
	}
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	var field *jsonbody.FieldError
	if !errors.As(err, &field) {
		t.Fatalf("error %v, want a FieldError", err)
	}
	if got := strings.TrimSpace(fmt.Sprintf("%s | %s | %s", field.Param, field.Code, field.Message)); got != want {
		t.Errorf("refused with %s\nwant %s", got, want)
	}
	if e := chat.AsError(err); e.Kind != chat.ErrBadRequest || e.Param != field.Param || e.Code != field.Code {
		t.Errorf("as a chat.Error it is %+v", e)
	}
}

// TestOlderFormat shows that output_format is read as the format of output_config, whose other members stay.
func TestOlderFormat(t *testing.T) {
	const rest = `"messages":[{"role":"user","content":"hi"}],"max_tokens":1`
	for _, c := range []struct{ fields, want string }{
		{`"output_format":{"type":"json_schema","schema":{"type":"object"}}`,
			`{"format":{"type":"json_schema","schema":{"type":"object"}}}`},
		{`"output_format":{"type":"json_schema","schema":{}},"output_config":{"effort":"low","format":null}`,
			`{"format":{"type":"json_schema","schema":{}},"effort":"low"}`},
		{`"output_format":null`, ""},
	} {
		req, err := DecodeRequest([]byte("{" + rest + "," + c.fields + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if (req.Format != nil) != (c.want != "") {
			t.Errorf("%s: the format is %v", c.fields, req.Format)
		}
		out, err := AppendRequest(nil, req, RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Config json.RawMessage `json:"output_config"`
			Format json.RawMessage `json:"output_format"`
		}
		if err := json.Unmarshal(out, &sent); err != nil || string(sent.Config) != c.want || sent.Format != nil {
			t.Errorf("%s: sent %s, want %s (%v)", c.fields, out, c.want, err)
		}
	}
}
