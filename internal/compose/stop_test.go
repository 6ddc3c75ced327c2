package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStopSequences: an answer ends at the client's stop sequence whatever the backend, also where the backend knows
// none and sends the sequence in pieces. What was said before is kept.
func TestStopSequences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stop.scenario.yaml")
	text := "wield: scenario/v1\nname: stop\nbackend: {SPEAKS}\nturns:\n  - {id: a, reply: [{text: 'one t'}, {text: 'wo ST'}, {text: 'OP three'}, {text: ' four'}]}\n"
	for _, b := range []struct{ name, speaks, text string }{
		{"lumo, version 1", "speaks: lumo", `kind: lumo, url: "URL", lumo: {version: 1}`},
		{"lumo, version 2", "speaks: lumo", `kind: lumo, url: "URL", lumo: {version: 2}`},
		{"script", "", `kind: script, scenario: "FILE"`},
	} {
		if err := os.WriteFile(file, []byte(strings.Replace(text, "SPEAKS", b.speaks, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		front := matrixService(t, strings.NewReplacer("URL", scripted(t, file), "FILE", file).Replace(b.text), "", "2m")
		for _, f := range []struct {
			path, stop, ended string
			hear              func([]string, *heard)
		}{
			{"/v1/chat/completions", `"stop":["STOP","never"]`, `"finish_reason":"stop"`, hearChat},
			{"/v1/messages", `"max_tokens":9,"stop_sequences":["STOP"]`,
				`"stop_reason":"stop_sequence","stop_sequence":"STOP"`, hearMessages},
			{"/api/chat", `"options":{"stop":["STOP"]}`, `"done_reason":"stop"`, hearOllama},
		} {
			for _, stream := range []bool{false, true} {
				body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"count"}],%s}`,
					stream, f.stop)
				h := post(t, front+f.path, rawBody(body), f.hear)
				if h.status != 200 || h.text != "one two " || !h.ended || !strings.Contains(h.body, f.ended) {
					t.Errorf("%s, %s, stream %v: %+v", b.name, f.path, stream, h)
				}
			}
		}
	}
}

// rawBody is a body that is written out.
type rawBody string

func (b rawBody) MarshalJSON() ([]byte, error) { return []byte(b), nil }
