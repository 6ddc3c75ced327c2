package responsetemplate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
)

// reader reads texts with the reference implementation, which is part of Transformers from 5.13.
const reader = `
import json, sys
from transformers.utils.chat_parsing import parse_response
for line in sys.stdin:
    r = json.loads(line)
    try:
        m = parse_response(r["text"], r["template"], prefix="", tools=r["tools"])
    except Exception as e:
        print(json.dumps({"error": str(e)}))
        continue
    calls = []
    for c in m.get("tool_calls") or []:
        calls += [x["function"] for x in (c if isinstance(c, list) else [c])]
    print(json.dumps({"calls": calls}))
`

// TestReference compares what is read with what the reference implementation reads. It is skipped without Transformers.
func TestReference(t *testing.T) {
	if err := exec.Command("python3", "-c",
		"from transformers.utils.chat_parsing import parse_response").Run(); err != nil {
		t.Skip("python3 has no transformers 5.13 or later")
	}
	tools := []dialecttest.Tool{{Type: "function", Function: dialecttest.Function{Name: "tide_table",
		Parameters: []byte(
			`{"type":"object","properties":{"port":{"type":"string"},"days":{"type":"integer"},"night":{"type":"boolean"},"boats":{"type":"array","items":{"type":"string"}}}}`)}}}
	var in bytes.Buffer
	var want [][]chat.Call
	for _, family := range families {
		template, err := os.ReadFile(filepath.Join("testdata", family+".json"))
		if err != nil {
			t.Fatal(err)
		}
		m := imported(t, family)
		for _, args := range []string{`{"port":"Ostend"}`, `{"port":"De Haan aan Zee","days":3}`,
			`{"port":"Käpt’n 港","days":-2,"night":true}`, `{"port":"a & b","boats":["Gull","Tern"]}`,
			`{"port":"007","night":false}`} {
			text, err := m.Dialect.AppendCalls([]byte("A word before.\n"),
				[]chat.Call{{Name: "tide_table", Arguments: args}})
			if err != nil {
				t.Fatal(err)
			}
			c := dialecttest.Case{Text: string(text), Tools: tools}
			o, err := c.Options()
			if err != nil {
				t.Fatal(err)
			}
			o.Only = true
			m.Apply(&o)
			read, err := dialect.Parse(string(text), o)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(struct {
				Text     string             `json:"text"`
				Template json.RawMessage    `json:"template"`
				Tools    []dialecttest.Tool `json:"tools"`
			}{string(text), template, tools})
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(line, '\n'))
			want = append(want, read.Calls)
		}
	}
	texts := bytes.Split(bytes.TrimSpace(in.Bytes()), []byte("\n"))
	cmd := exec.Command("python3", "-c", reader)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(want) {
		t.Fatalf("%d answers to %d texts", len(lines), len(want))
	}
	for i, line := range lines {
		var reference struct {
			Calls []struct {
				Name      string
				Arguments any
			}
			Error string
		}
		if err := json.Unmarshal(line, &reference); err != nil {
			t.Fatal(err)
		}
		var args any
		if len(want[i]) != 1 || json.Unmarshal([]byte(want[i][0].Arguments), &args) != nil ||
			len(reference.Calls) != 1 || reference.Calls[0].Name != want[i][0].Name ||
			!reflect.DeepEqual(reference.Calls[0].Arguments, args) {
			t.Errorf("%s\n  read      %+v\n  reference %s", texts[i], want[i], line)
		}
	}
}
