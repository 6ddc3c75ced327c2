package policies

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/cli"
	"wield/tool/policy"
)

// TestPolicyExit: only what is allowed ends well; asking is not allowing.
func TestPolicyExit(t *testing.T) {
	for decision, want := range map[chat.Decision]int{chat.DecisionAllow: 0, chat.DecisionAsk: cli.ExitDenied,
		chat.DecisionDeny: cli.ExitDenied} {
		var exit *cli.ExitError
		if err := policyExit(policy.Verdict{Decision: decision}); errors.As(err, &exit) != (want != 0) ||
			exit != nil && exit.Code != want {
			t.Errorf("%s ends with %v, want %d", decision, err, want)
		}
	}
}

// TestExplain: whoever is refused reads where the rule stands and what would allow it.
func TestExplain(t *testing.T) {
	var out strings.Builder
	err := explain(&out, policy.Verdict{Decision: chat.DecisionDeny, Why: "a rule denies it",
		Findings: []policy.Finding{
			{Decision: chat.DecisionAllow, Subject: policy.SubjectCommand, Text: "ls", Rule: "default"},
			{Decision: chat.DecisionDeny, Subject: policy.SubjectCommand, Text: "rm x", Rule: "deny: rm",
				File: "p.yaml", Line: 3},
			{Decision: chat.DecisionAsk, Subject: policy.SubjectPath, Text: "/etc", Rule: "built-in: paths",
				Node: "> /etc"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, part := range []string{"deny: a rule denies it\n", "p.yaml:3: deny: rm",
		"allow: nothing, as long as this rule stands", "node:  > /etc", "allow: no rule would"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nhas no %q", text, part)
		}
	}
	if n := strings.Count(text, "allow: "); n != 2 {
		t.Errorf("%d findings say what would allow them, want the 2 that are not allowed:\n%s", n, text)
	}
}

// TestEnvelope judges texts that may be calls: exactly one whole call and nothing around it is allowed.
func TestEnvelope(t *testing.T) {
	const one = `<tool_call>{"name":"safe","arguments":{}}</tool_call>`
	for text, want := range map[string]chat.Decision{
		one:               chat.DecisionAllow,
		"Now. " + one:     chat.DecisionAsk,
		one + one:         chat.DecisionDeny,
		one[:len(one)-20]: chat.DecisionDeny,
		"no call at all":  chat.DecisionDeny,
		strings.Replace(one, "safe", "unknown", 1):        chat.DecisionDeny,
		strings.Replace(one, `,`, `,"id":"a\u202eb",`, 1): chat.DecisionDeny,
		strings.Repeat("\n", 1000) + one:                  chat.DecisionDeny,
	} {
		raw, _ := json.Marshal(map[string]string{"raw": text})
		v, err := new(recordRun).envelope(&policyRecord{Kind: "envelope", Input: raw,
			Policy: map[string]json.RawMessage{"limits": json.RawMessage(`{"bytes":1000}`)}})
		if err != nil || v.Decision != want {
			t.Errorf("%q: %s (%s), %v, want %s", text, v.Decision, v.Why, err, want)
		}
	}
}

func TestEnvelopeText(t *testing.T) {
	for input, want := range map[string]string{
		`{"raw":"abc"}`:                           "abc",
		`{"raw":"6869","encoding":"hex"}`:         "hi",
		`{"raw":{"$cat":["a",{"$rep":["b",3]}]}}`: "abbb",
		`{"raw":"zz","encoding":"hex"}`:           "",
		`{"raw":"x","encoding":"rot13"}`:          "",
		`{"raw":5}`:                               "",
	} {
		got, err := envelopeText(&policyRecord{Input: json.RawMessage(input)})
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s is %q, %v, want %q", input, got, err, want)
		}
	}
}

// TestTranslate: a key that means nothing is an error, so that no record is judged by less than it says.
func TestTranslate(t *testing.T) {
	_, err := translate(&policyRecord{Policy: map[string]json.RawMessage{"defualt": json.RawMessage(`"allow"`)}})
	if err == nil || !strings.Contains(err.Error(), "policy.defualt") {
		t.Error(err)
	}
	p := &recordPolicy{}
	if err := patterns(chat.DecisionDeny)(p, json.RawMessage(`["rm:*","git push*","ls"]`)); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(p.Rules); !strings.Contains(string(got), `["rm","git push","ls"]`) {
		t.Errorf("%s", got)
	}
}

// TestPath: a record has its own root, and what its policy allows must be possible there.
func TestPath(t *testing.T) {
	run, err := newRecordRun("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.close(); err != nil {
			t.Error(err)
		}
	})
	run.trees["T"] = &recordTree{Files: map[string]string{"$WS/a/b.txt": "x", "$WS/c.txt": "x"}}
	for _, test := range []struct {
		root, op, path string
		want           chat.Decision
	}{
		{"$WS/a", "read", "b.txt", chat.DecisionAllow},
		{"$WS/a", "read", "$WS/c.txt", chat.DecisionDeny},
		{"$WS/none", "read", "c.txt", chat.DecisionDeny},
		{"$WS", "delete", "c.txt", chat.DecisionAllow},
		{"$WS", "delete", "a", chat.DecisionDeny}, // it is not empty
	} {
		input, _ := json.Marshal(map[string]string{"operation": test.op, "path": test.path, "fs": "T"})
		root, _ := json.Marshal(test.root)
		v, err := run.path(&policyRecord{Kind: "path", Input: input,
			Policy: map[string]json.RawMessage{"root": root, "allow": json.RawMessage(`["**"]`)}})
		if err != nil || v.Decision != test.want {
			t.Errorf("%s %s in %s: %s (%s), %v, want %s", test.op, test.path, test.root, v.Decision, v.Why, err, test.want)
		}
	}
}
