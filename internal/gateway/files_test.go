package gateway

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/chat"
	"wield/model/anthropic"
	"wield/model/openai"
)

// keeping runs a gateway in front of a server of each protocol, which tell what they are asked.
func keeping(t *testing.T, more ...Model) *httptest.Server {
	t.Helper()
	tell := func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		switch {
		case strings.HasSuffix(r.URL.Path, "/content"), strings.HasSuffix(r.URL.Path, "/results"):
			io.WriteString(w, "line 1\nline 2\n")
		case strings.HasPrefix(r.URL.Path, "/v1/messages/batches/"):
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":"b1","results_url":"https://api.example/v1/messages/batches/b1/results"}`)
		case strings.HasSuffix(r.URL.Path, "/missing"):
			w.WriteHeader(404)
			io.WriteString(w, `{"error":{"message":"no such file"}}`)
		default:
			fmt.Fprintf(w, "%s %s %s beta=%s %s", r.Method, r.URL.RequestURI(), key, r.Header.Get("Anthropic-Beta"), b)
		}
	}
	backend := httptest.NewServer(http.HandlerFunc(tell))
	o := openai.New(openai.Options{URL: backend.URL + "/v1", Key: "ko"})
	a := anthropic.New(anthropic.Options{URL: backend.URL, Key: "ka"})
	t.Cleanup(func() {
		o.Close()
		a.Close()
		backend.Close()
	})
	return serve(t,
		Options{
			Models: append([]Model{{Name: "m", Model: o, Relay: o, Backend: "o", Upstream: "up-m",
				Speaks: chat.ProtocolOpenAI},
				{Name: "m2", Model: o, Relay: o, Backend: "o", Upstream: "up-m2", Speaks: chat.ProtocolOpenAI},
				{Name: "c", Model: a, Relay: a, Backend: "a", Upstream: "up-c", Speaks: chat.ProtocolAnthropic}},
				more...)})
}

func TestFiles(t *testing.T) {
	srv := keeping(t)
	version := []string{"Anthropic-Version", "2023-06-01", "Anthropic-Beta", "files-api-2025-04-14"}
	for _, tt := range []struct {
		method, path, body string
		header             []string
		want               string
	}{
		{"GET", "/v1/files?limit=2&after=f%201", "", nil, "GET /v1/files?limit=2&after=f%201 Bearer ko beta= "},
		{"DELETE", "/v1/files/f1", "", nil, "DELETE /v1/files/f1 Bearer ko beta= "},
		{"GET", "/v1/files/f1/content", "", nil, "line 1\nline 2\n"},
		{"POST", "/v1/batches", `{"input_file_id":"f1","endpoint":"/v1/chat/completions"}`, nil,
			`POST /v1/batches Bearer ko beta= {"input_file_id":"f1","endpoint":"/v1/chat/completions"}`},
		{"POST", "/v1/batches/b1/cancel", "", nil, "POST /v1/batches/b1/cancel Bearer ko beta= "},
		{"GET", "/v1/files", "", version, "GET /v1/files ka beta=files-api-2025-04-14 "},
		{"POST", "/v1/messages/batches",
			`{"requests":[{"custom_id":"1","params":{"model":"c","x":[{"model":"c"}]}},{"params":{"model":"other"}}]}`,
			version,
			`POST /v1/messages/batches ka beta=files-api-2025-04-14 {"requests":[{"custom_id":"1","params":{"model":"up-c","x":[{"model":"c"}]}},{"params":{"model":"other"}}]}`},
		{"GET", "/v1/messages/batches/b1/results", "", version, "line 1\nline 2\n"},
		{"GET", "/v1/messages/batches/b1", "", version, `{"id":"b1","results_url":"` + srv.URL +
			`/v1/messages/batches/b1/results"}`},
	} {
		resp, got := send(t, srv, tt.method, tt.path, tt.body, tt.header...)
		if resp.StatusCode != 200 || got != tt.want {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, resp.StatusCode, got)
		}
	}
	if resp, got := send(t, srv, "GET", "/v1/files/missing", ""); resp.StatusCode != 404 ||
		!strings.Contains(got, "no such file") {
		t.Errorf("a file that is not there: %d %s", resp.StatusCode, got)
	}
}

// TestBatchFile: the lines of a file for a batch name models as their server knows them. Any other file is left alone.
func TestBatchFile(t *testing.T) {
	srv := keeping(t)
	const lines = `{"custom_id":"1","body":{"model":"m","messages":[]}}` + "\n" + `{"body":{"model":"m2"}}` +
		"\nno JSON\n"
	for purpose, want := range map[string]string{
		"batch": `{"custom_id":"1","body":{"model":"up-m","messages":[]}}` + "\n" + `{"body":{"model":"up-m2"}}` +
			"\nno JSON\n",
		"fine-tune": lines,
	} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		part, err := w.CreateFormFile("file", "in.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(part, lines)
		w.WriteField("purpose", purpose)
		w.Close()
		resp, got := send(t, srv, "POST", "/v1/files", body.String(), "Content-Type", w.FormDataContentType())
		if resp.StatusCode != 200 || !strings.Contains(got, want) || !strings.Contains(got, `filename="in.jsonl"`) {
			t.Errorf("%s: %d %s", purpose, resp.StatusCode, got)
		}
	}
}

// TestFileOwner: which server is asked, and what is said where that is not clear.
func TestFileOwner(t *testing.T) {
	elsewhere := openai.New(openai.Options{URL: "http://127.0.0.1:1/v1"})
	t.Cleanup(elsewhere.Close)
	srv := keeping(t, Model{Name: "e", Model: elsewhere, Relay: elsewhere, Backend: "e", Speaks: chat.ProtocolOpenAI})
	for model, want := range map[string]string{"": "several backends", "m2": "GET /v1/files Bearer ko",
		"c": "has no /v1/files", "nobody": "there is no model"} {
		var header []string
		if model != "" {
			header = []string{"X-Wield-Model", model}
		}
		if _, got := send(t, srv, "GET", "/v1/files", "", header...); !strings.Contains(got, want) {
			t.Errorf("%q: %s", model, got)
		}
	}
	none := serve(t, Options{Models: []Model{{Name: "m", Model: says(text("a"))}}})
	if resp, got := send(t, none, "GET", "/v1/messages/batches", ""); resp.StatusCode != 404 ||
		!strings.Contains(got, "kind anthropic") {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	keyed := keeping(t) // without keys everything is open
	if resp, _ := send(t, keyed, "PUT", "/v1/files/f1", ""); resp.StatusCode != 405 {
		t.Errorf("PUT: %d", resp.StatusCode)
	}
}
