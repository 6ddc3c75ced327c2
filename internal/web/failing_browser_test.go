package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"wield/journal/record"
)

// A weak server of a model does what its mode says.
type weak struct{ mode atomic.Value }

func (m *weak) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	switch m.mode.Load() {
	case "broken":
		http.Error(w, `{"error":{"message":"the weights are gone","type":"server_error"}}`,
			http.StatusInternalServerError)
	case "busy":
		w.Header().Set("Retry-After", "25")
		http.Error(w, `{"error":{"message":"too many requests"}}`, http.StatusTooManyRequests)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Here I am."}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}
}

// TestFailing: a model that fails is said at once, with its server's status and message, in the same words
// wherever the conversation is shown; "Try again" does, and what was run at the command line stands apart.
func TestFailing(t *testing.T) {
	b := browser(t)
	m := new(weak)
	m.mode.Store("broken")
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	w := newWorld(t, strings.ReplaceAll(`backends:
  once: {url: "URL/v1", retry: {attempts: 1}}
  twice: {url: "URL/v1", retry: {attempts: 2}}
models:
  helper: {backend: once, mode: native, agent: {tools: [calculator]}}
  other: {backend: twice, mode: native, agent: {tools: [calculator]}}
`, "URL", server.URL), nil)
	run := record.Record{Kind: record.KindRun,
		Run: &record.Run{Session: "ses_terminal", Model: "m", By: "wield run"}}
	said := record.Record{Kind: record.KindSession, Session: &record.Session{Title: "asked at the command line"}}
	if _, err := w.journal.Append(t.Context(), "run_terminal", 0, run, said); err != nil {
		t.Fatal(err)
	}

	s := w.says(b, adminKey, "are you there?")
	told := func() {
		t.Helper()
		s.wait(".trouble", "The model's server failed (status 500): the weights are gone.")
		s.wait(".run-foot .badge", "failed")
		s.wait(".session-list .badge", "failed")
		s.wait(".status", "Failed")
		s.gone(".status", "Thinking")
		if n := s.count(".trouble"); n != 1 {
			t.Errorf("the failure is told %d times", n)
		}
	}
	told()
	s.pictures("chat-failed")
	s.reload()
	told()
	s.click("What happened")
	s.wait(".inspect-main .badge", "failed")
	s.wait(".inspect-item .badge", "failed")
	s.evaluate(nil, "history.back()")
	told()
	m.mode.Store("well")
	s.click("Try again", ".run-foot")
	s.wait(".said-model", "Here I am.")
	s.gone(".session-list .badge", "failed")
	s.gone(".run-foot .badge", "failed")

	m.mode.Store("broken")
	s.says("and now?")
	s.wait(".run-foot .badge", "failed")
	m.mode.Store("well")
	s.says("then something else") // takes the place of what failed
	s.wait(".run:last-child .said-model", "Here I am.")
	s.wait(".run-foot .badge", "cancelled")

	m.mode.Store("busy")
	s.click("New chat", ".sessions-head")
	s.wait("h1", "New chat")
	s.call(nil, "choose", "select[aria-label=Model]", "other")
	s.says("and you?")
	s.wait(".trouble", "The model is busy (status 429): too many requests. It asks to wait 25 s. Trying again in 2")
	s.wait(".status", "(attempt 2 of 2)")
	s.wait(".session-list .badge", "running")
	s.click("Stop")
	s.wait(".run-foot .badge", "cancelled")
	s.wait(".session-list .badge", "cancelled")

	s.gone(".session-list", "asked at the command line")
	s.call(nil, "choose", "select[aria-label='Which chats']", "command_line")
	s.wait(".session-list", "asked at the command line")
	s.gone(".session-list", "are you there?")
}
