package openai

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedRequest_Agent reads what a server of this protocol was sent on the fourth turn of a coding agent's
// task, writes it again, and compares every field. The request was recorded, and every word of its texts replaced by
// another one of the same length, with every name of the machine.
func TestRecordedRequest_Agent(t *testing.T) {
	sent, err := os.ReadFile("testdata/agent.json")
	if err != nil {
		t.Fatal(err)
	}
	req, err := DecodeRequest(sent)
	if err != nil {
		t.Fatal(err)
	}
	var forward []string
	for _, x := range req.Extra {
		forward = append(forward, x.Key)
	}
	written, err := AppendRequest(nil, req, RequestOptions{Stream: req.Stream, Usage: IncludeUsage(req),
		Forward: forward})
	if err != nil {
		t.Fatal(err)
	}
	want := fieldsOf(t, sent)
	want["tool_choice"] = "auto" // which the client leaves to the server
	if diff := cmp.Diff(want, fieldsOf(t, written)); diff != "" {
		t.Errorf("(-sent +written):\n%s", diff)
	}
	var calls []string
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			calls = append(calls, c.Name)
		}
	}
	if len(sent) < 40_000 || len(req.Tools) != 12 || strings.Join(calls, " ") != "Read Edit Bash" {
		t.Errorf("%d bytes with %d tools, and the calls %q", len(sent), len(req.Tools), calls)
	}
}

func fieldsOf(t *testing.T, body []byte) (fields map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
