package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// twoGroups is a call with two groups, one for each of two files.
const twoGroups = `{"edits":"*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-two\n+2\n*** End Patch\n"}`

// TestRefusedParts: a call with several parts tells them; one is refused, the rest runs, and the model is told which
// one and why.
func TestRefusedParts(t *testing.T) {
	s, dir := workshop(t)
	for name, text := range map[string]string{"a.txt": "one\n", "b.txt": "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id := s.asks("edit", twoGroups)
	r := s.review(id, "")
	if len(r.Parts) != 2 || r.Parts[0].Path != "a.txt" || r.Parts[1].Path != "b.txt" ||
		!strings.Contains(r.Parts[1].Diff, "-two\n+2\n") || len(r.Files) != 2 {
		t.Fatalf("%+v", r)
	}
	var left Review
	status, text := s.do("POST", "/approvals/"+id+"/review", "k-approver", `{"refused":[{"part":1}]}`)
	if err := json.Unmarshal(text, &left); err != nil || status != 200 || len(left.Files) != 1 ||
		left.Files[0].Path != "a.txt" || len(left.Parts) != 2 {
		t.Errorf("%d %s", status, text)
	}
	for body, field := range map[string]string{
		`{"decision":"allow","refused":[{"part":1}]}`:                                             "/refused",
		`{"decision":"edit","refused":[{"part":2}]}`:                                              "/refused",
		`{"decision":"edit","refused":[{"part":-1}]}`:                                             "/refused",
		`{"decision":"edit","refused":[{"part":0},{"part":1}]}`:                                   "/refused",
		`{"decision":"edit","refused":[{"part":0}],"arguments":{"edits":"x"}}`:                    "/refused",
		`{"decision":"edit","refused":[{"part":0,"reason":"` + strings.Repeat("x", 5000) + `"}]}`: "/refused",
		`{"decision":"edit"}`: "/arguments",
	} {
		if status, text := s.do("POST", "/approvals/"+id, "k-approver", body); status != 400 ||
			!strings.Contains(string(text), `"field":"`+field+`"`) {
			t.Errorf("%.60s: %d %s", body, status, text)
		}
	}
	status, text = s.do("POST", "/approvals/"+id, "k-approver",
		`{"decision":"edit","refused":[{"part":1,"reason":"two stays"}]}`)
	var a Approval
	if err := json.Unmarshal(text, &a); err != nil || status != 200 || a.State != "edited" ||
		!strings.Contains(a.Answer.Refused, "part 2 of 2 (b.txt") {
		t.Fatalf("%d %s", status, text)
	}
	var told string
	s.events(a.Run, "", func(e *Event) bool {
		if e.Kind == "result" {
			told = e.Result.Text
		}
		return e.Kind == "finish"
	})
	if !strings.Contains(told, "part 2 of 2 (b.txt") || !strings.Contains(told, "two stays") {
		t.Errorf("the model is told %s", told)
	}
	for name, want := range map[string]string{"a.txt": "1\n", "b.txt": "two\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
}

// TestPartsCut: what is told of parts has a bound, which cuts no character, and nothing is told behind it.
func TestPartsCut(t *testing.T) {
	for shift := range 3 {
		long := strings.Repeat("x", shift) + strings.Repeat("\u20ac", maxDiff/3+10)
		edits, err := json.Marshal("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+" + long +
			"\n*** Update File: b.txt\n@@\n-two\n+2\n*** End Patch\n")
		if err != nil {
			t.Fatal(err)
		}
		parts := partsOf("edit", json.RawMessage(`{"edits":`+string(edits)+`}`))
		if len(parts) != 2 || !parts[0].Cut || !parts[1].Cut {
			t.Fatalf("there are %d parts", len(parts))
		}
		all := parts[0].Diff + parts[1].Diff
		if !utf8.ValidString(all) || len(all) > maxDiff || len(all) < maxDiff-utf8.UTFMax {
			t.Errorf("%d bytes are told of at most %d, valid: %t", len(all), maxDiff, utf8.ValidString(all))
		}
	}
}

// TestStop: a question is answered with no, and its run is over, whatever else it would have done. A later answer
// learns so.
func TestStop(t *testing.T) {
	s, _ := workshop(t)
	id := s.asks("command_exec", `{"command":"make"}`)
	var a Approval
	status, text := s.do("POST", "/approvals/"+id, "k-approver", `{"decision":"stop","reason":"enough"}`)
	if err := json.Unmarshal(text, &a); err != nil || status != 200 || a.State != "denied" ||
		a.Answer.Reason != "enough" {
		t.Fatalf("%d %s", status, text)
	}
	var run Run
	if s.get("/runs/"+a.Run, "k-client", &run); run.State != "ended" || run.Ended == nil ||
		run.Ended.Reason != "canceled" {
		t.Errorf("%+v", run)
	}
	if status, text := s.do("POST", "/approvals/"+id, "k-admin", `{"decision":"stop"}`); status != 409 ||
		!strings.Contains(string(text), "decided by") {
		t.Errorf("%d %s", status, text)
	}
}
