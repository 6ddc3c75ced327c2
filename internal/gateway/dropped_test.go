package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"wield/chat"
)

// TestDropped shows that a client, and the log, are told what of a request its backend was not sent.
func TestDropped(t *testing.T) {
	unsent := func(path, before string) chat.Event {
		return chat.Event{Kind: chat.KindNote,
			Detail: &chat.NoteDetail{Kind: chat.NoteUnsent, Path: path, Before: before}}
	}
	var log bytes.Buffer
	srv := serve(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Models: []Model{{Name: "m",
		Model: says(unsent("top_k", ""), unsent("tools.cache_control", ""), unsent("metadata", ""),
			unsent("tools[1]", "web search\r\nX: y"), unsent("top_k", ""), text("a"), finish(chat.FinishStop))}}})
	for i, body := range []string{`{"messages":[{"role":"user","content":"hi"}]}`,
		`{"stream":true,"messages":[{"role":"user","content":"hi"}]}`} {
		log.Reset()
		resp, err := http.Post(srv.URL+pathCompletions, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got, want := resp.Header.Get("X-Wield-Dropped"), "top_k, tools[1]=web_search__X:_y"; got != want {
			t.Errorf("the header is %q, want %q", got, want)
		}
		if logged := strings.Contains(log.String(),
			`dropped="top_k, tools.cache_control, metadata, tools[1]`); logged != (i == 0) {
			t.Errorf("after request %d the log is %s", i, &log)
		}
	}
}

// TestUnformed shows that a client is told when the text does not have the format that it asked for.
func TestUnformed(t *testing.T) {
	note := chat.Event{Kind: chat.KindNote,
		Detail: &chat.NoteDetail{Kind: chat.NoteFormat, After: "it is\r\nX: no JSON"}}
	srv := serve(t, Options{Models: []Model{{Name: "m", Model: says(note, text("a"), finish(chat.FinishStop))}}})
	for _, body := range []string{`{"messages":[{"role":"user","content":"hi"}]}`,
		`{"stream":true,"messages":[{"role":"user","content":"hi"}]}`} {
		resp, err := http.Post(srv.URL+pathCompletions, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got, want := resp.Header.Get("X-Wield-Notice"),
			"the answer does not have the format that was asked for: it is??X: no JSON"; got != want {
			t.Errorf("the header is %q, want %q", got, want)
		}
	}
}
