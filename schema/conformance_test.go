package schema_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wield/schema"
)

// A caseLine is one line of a case file: a schema with documents that obey it and documents that do not.
type caseLine struct {
	ID      string            `json:"id"`
	Schema  json.RawMessage   `json:"schema"`
	Valid   []json.RawMessage `json:"valid"`
	Invalid []json.RawMessage `json:"invalid"`
	Own     bool              `json:"own"` // the library reads this one differently
}

func readCases(t testing.TB, file string) (lines []caseLine) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l caseLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("%s: %s: %v", file, s.Text(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestConformance(t *testing.T) {
	const (
		v2020 = "https://json-schema.org/draft/2020-12/schema"
		v7    = "http://json-schema.org/draft-07/schema#"
	)
	for _, run := range []struct{ file, version string }{
		{"both.jsonl", v2020}, {"both.jsonl", v7}, {"draft2020.jsonl", v2020}, {"draft07.jsonl", v7},
		{"lenient.jsonl", ""},
	} {
		n := 0
		for _, c := range readCases(t, run.file) {
			n += len(c.Valid) + len(c.Invalid)
			t.Run(fmt.Sprintf("%s/%s/%s", run.file, filepath.Base(run.version), c.ID), func(t *testing.T) {
				raw := withVersion(c.Schema, run.version)
				s, err := schema.Compile(raw)
				if err != nil {
					t.Fatalf("Compile(%s): %v", raw, err)
				}
				for _, doc := range c.Valid {
					if v := s.Validate(string(doc)); len(v) > 0 {
						t.Errorf("%s is invalid: %v", doc, v)
					}
				}
				for _, doc := range c.Invalid {
					v := s.Validate(string(doc))
					if len(v) == 0 {
						t.Errorf("%s is valid", doc)
					}
					for _, v := range v {
						if v.Message == "" || strings.Contains(v.Message, "%!") {
							t.Errorf("%s: bad message %+v", doc, v)
						}
					}
				}
				if run.version != "" && !c.Own {
					compareCases(t, c, raw)
				}
			})
		}
		t.Logf("%s: %d documents", run.file, n)
	}
}

// withVersion puts $schema in front of an object schema that has none.
func withVersion(raw json.RawMessage, version string) json.RawMessage {
	if version == "" || raw[0] != '{' || bytes.Contains(raw, []byte(`"$schema"`)) {
		return raw
	}
	return json.RawMessage(fmt.Sprintf(`{"$schema":%q%s`, version, withComma(string(raw))))
}

// compareCases checks the cases themselves with the library.
func compareCases(t *testing.T, c caseLine, raw json.RawMessage) {
	oracle := mustOracle(t, string(raw))
	for i, list := range [][]json.RawMessage{c.Valid, c.Invalid} {
		for _, doc := range list {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(doc, []byte("e9999")) {
				continue // the library would write the number out
			}
			if err := oracle.Validate(v); (err == nil) != (i == 0) {
				t.Errorf("the library says of %s: %v", doc, err)
			}
		}
	}
}

// withComma returns the text of an object without its first bracket, to be put behind another member.
func withComma(object string) string {
	if object == "{}" {
		return "}"
	}
	return "," + object[1:]
}
