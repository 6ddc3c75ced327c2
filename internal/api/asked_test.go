package api

import (
	"strings"
	"testing"
)

// TestAsked: what the model was asked is put together again for each answer, for whoever may see the run.
func TestAsked(t *testing.T) {
	s, _ := workshop(t)
	run := s.start("k-client", `{"agent":"home","input":"calculator {\"expression\":\"6 * 7\"}"}`)
	s.events(run.ID, "", nil)
	var first, second TurnRequest
	s.get("/runs/"+run.ID+"/turns/0/request", "k-client", &first)
	s.get("/runs/"+run.ID+"/turns/1/request", "k-admin", &second)
	if first.Match != "same" || first.Rendered || len(first.Messages) != 1 ||
		!strings.HasPrefix(first.Messages[0].Text, "calculator ") || len(first.Tools) == 0 {
		t.Errorf("%+v", first)
	}
	if second.Match != "same" || len(second.Messages) != 3 || len(second.Messages[1].Calls) != 1 ||
		second.Messages[1].Calls[0].Name != "calculator" || second.Messages[2].Role != "tool" ||
		second.Messages[2].CallID != second.Messages[1].Calls[0].ID ||
		!strings.Contains(second.Messages[2].Text, "42") {
		t.Errorf("%+v", second)
	}
	for _, path := range []string{"/runs/" + run.ID + "/turns/2/request", "/runs/" + run.ID + "/turns/-1/request",
		"/runs/" + run.ID + "/turns/x/request", "/runs/run_none/turns/0/request"} {
		s.refused("GET", path, "k-admin", "", 404)
	}
	s.refused("GET", "/runs/"+run.ID+"/turns/0/request", "k-other", "", 404)
}

// TestAskedSecrets: what looks like a secret is masked, and what is too long is cut and says so.
func TestAskedSecrets(t *testing.T) {
	s, _ := workshop(t)
	run := s.start("k-client", `{"agent":"home","input":"calculator {\"expression\":\"sk-abcdefghijklmnop\"}"}`)
	s.events(run.ID, "", nil)
	status, text := s.do("GET", "/runs/"+run.ID+"/turns/1/request", "k-admin", "")
	if status != 200 || strings.Contains(string(text), "sk-abcdefghijklmnop") ||
		!strings.Contains(string(text), "[masked]") {
		t.Errorf("%d %s", status, text)
	}
}
