package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"wield/chat"
	"wield/model/openai"
)

// relaying runs a gateway whose model m, there called upstream-m, is on a server that answers so.
func relaying(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	backend := httptest.NewServer(answer)
	m := openai.New(openai.Options{URL: backend.URL + "/v1", Key: "the-key"})
	t.Cleanup(func() {
		m.Close()
		backend.Close()
	})
	return serve(t,
		Options{Models: []Model{{Name: "m", Model: m, Relay: m, Upstream: "upstream-m", Speaks: chat.ProtocolOpenAI},
			{Name: "none", Model: says(text("hi"))}}})
}

// TestRelayJSON: the body goes to the server as it is but for the model's name, and the answer comes back as it is.
func TestRelayJSON(t *testing.T) {
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/embeddings", `{"input":["a","b"],"model":"m","dimensions":3}`,
			`{"input":["a","b"],"model":"upstream-m","dimensions":3}`},
		{"/v1/completions", ` { "model" : "m" , "prompt":"a\u00e9 12345678901234567890"}`,
			` { "model" : "upstream-m" , "prompt":"a\u00e9 12345678901234567890"}`},
		{"/v1/moderations", `{"input":"x"}`, `{"input":"x"}`},
		{"/v1/images/generations", `{"model":"m","prompt":"x"}`, `{"model":"upstream-m","prompt":"x"}`},
		{"/v1//embeddings", `{"input":"a","model":"m"}`, `{"input":"a","model":"upstream-m"}`},
		{"/v1/audio/speech", `{"model":"m","input":{"model":"m"}}`, `{"model":"upstream-m","input":{"model":"m"}}`},
	} {
		var path, auth, kind, body string
		srv := relaying(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			path, auth, kind, body = r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(b)
			w.Header().Set("Content-Type", "application/x-thing")
			w.Header().Set("Set-Cookie", "secret=1")
			fmt.Fprint(w, "the answer")
		})
		resp, got := send(t, srv, "POST", tt.path, tt.body, "Authorization", "Bearer clients-key")
		if resp.StatusCode != 200 || got != "the answer" || resp.Header.Get("Content-Type") != "application/x-thing" ||
			resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v %s", tt.path, resp.StatusCode, resp.Header, got)
		}
		if path != strings.ReplaceAll(tt.path, "//", "/") || auth != "Bearer the-key" || kind != "application/json" ||
			body != tt.want {
			t.Errorf("%s: the server got %s, %s, %s, %s", tt.path, path, auth, kind, body)
		}
	}
}

// TestRelayNoModel: the only model there is needs no name.
func TestRelayNoModel(t *testing.T) {
	for body, want := range map[string]string{`{}`: `{"model":"up"}`, `{"input":"x"}`: `{"model":"up","input":"x"}`,
		`{"model":null}`: `{"model":"up"}`} {
		r, err := readRelayed("", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.rename("up")
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, want %s (%v)", body, got, want, err)
		}
	}
}

// TestRelayForm: a form continues with its files, and with the model's name changed.
func TestRelayForm(t *testing.T) {
	sound := bytes.Repeat([]byte("\x00\xff--sound\r\n"), 50_000)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.WriteField("language", "pt")
	part, err := w.CreateFormFile("file", "speech.wav")
	if err != nil {
		t.Fatal(err)
	}
	part.Write(sound)
	w.WriteField("model", "m")
	w.Close()
	srv := relaying(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(10 << 20); err != nil {
			t.Error(err)
			return
		}
		f, h, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		got, _ := io.ReadAll(f)
		fmt.Fprintf(w, "%s %s %v %s %v", r.FormValue("model"), r.FormValue("language"), bytes.Equal(got, sound),
			h.Filename, r.MultipartForm.Value["model"])
	})
	_, got := send(t, srv, "POST", "/v1/audio/transcriptions", body.String(), "Content-Type", w.FormDataContentType())
	if want := "upstream-m pt true speech.wav [upstream-m]"; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

// TestRelayFormParts: a form has no more parts than net/http reads.
func TestRelayFormParts(t *testing.T) {
	for n, want := range map[int]string{maxParts: "", maxParts + 1: "more than 1000 parts"} {
		body := strings.Repeat("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n", n) + "--x--\r\n"
		_, err := readRelayed("multipart/form-data; boundary=x", []byte(body))
		if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%d parts: %v", n, err)
		}
	}
}

// TestRelayWhole: no answer is cut, also by a server that answers before it has read the request. It keeps the
// connection until the answer was taken: who closes it with a request that was not read takes back what is still on its
// way.
func TestRelayWhole(t *testing.T) {
	answer := strings.Repeat("0123456789abcdef", 16<<10)
	taken := make(chan bool)
	srv := relaying(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(answer))) // so that its end is seen
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		io.WriteString(w, answer)
		w.(http.Flusher).Flush()
		select {
		case <-taken:
		case <-t.Context().Done(): // the test has failed
		}
	})
	question := `{"model":"m","input":"` + strings.Repeat("x", 300<<10) + `"}`
	for range 40 {
		_, got := send(t, srv, "POST", "/v1/embeddings", question)
		taken <- true
		if got != answer {
			t.Fatalf("%d bytes of %d came", len(got), len(answer))
		}
	}
}

// TestRelayBroken: what breaks off is not taken for whole.
func TestRelayBroken(t *testing.T) {
	cut := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, body)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	srv := relaying(t, cut("audio/wav", "RIFF"))
	resp, err := srv.Client().Post(srv.URL+"/v1/audio/speech", "application/json", strings.NewReader(`{"model":"m"}`))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("a sound that broke off is whole to the client")
	}
	srv = relaying(t, cut("text/event-stream", "data: {\"choices\":[]}\n\n"))
	_, body := send(t, srv, "POST", "/v1/completions", `{"model":"m","stream":true}`)
	if !strings.HasPrefix(body, "data: {\"choices\":[]}\n\n") || !strings.Contains(body, `data: {"error":{`) ||
		strings.Contains(body, "[DONE]") {
		t.Errorf("stream that broke off: %s", body)
	}
	srv = relaying(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[]}\n\n")
	})
	if _, body = send(t, srv, "POST", "/v1/completions", `{"model":"m","stream":true}`); !strings.Contains(body,
		`data: {"error":{`) {
		t.Errorf("stream without an end: %s", body)
	}
	srv = relaying(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"data: {\"choices\":[]}\n\nda", "ta: [DO", "NE]\n", "\n"} {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	})
	if _, body = send(t, srv, "POST", "/v1/completions",
		`{"model":"m","stream":true}`); body != "data: {\"choices\":[]}\n\ndata: [DONE]\n\n" {
		t.Errorf("whole stream: %s", body)
	}
}

// TestRelayErrors: errors are said in the gateway's form, whoever makes them.
func TestRelayErrors(t *testing.T) {
	srv := relaying(t, func(w http.ResponseWriter, r *http.Request) {
		switch b, _ := io.ReadAll(r.Body); {
		case bytes.Contains(b, []byte("busy")):
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
			io.WriteString(w, `{"error":{"message":"slow down"}}`)
		case bytes.Contains(b, []byte("login")):
			w.WriteHeader(401)
		default:
			w.WriteHeader(404)
			io.WriteString(w, `<html><title>Not here</title></html>`)
		}
	})
	for _, tt := range []struct {
		path, body string
		status     int
		message    string
	}{
		{"/v1/embeddings", `{"model":"m","input":"busy"}`, 429, "slow down"},
		{"/v1/embeddings", `{"model":"m","input":"login"}`, 502, "credentials"},
		{"/v1/audio/translations", `{"model":"m"}`, 404, "Not here"},
		{"/v1/embeddings", `{"model":"none"}`, 404, `the backend of the model \"none\" has no /v1/embeddings`},
		{"/v1/embeddings", `{"model":"nobody"}`, 404, "there is no model"},
		{"/v1/embeddings", `{"model":7}`, 400, "model: this must be a string"},
		{"/v1/embeddings", `{"model":`, 400, "not valid JSON"},
		{"/api/embed", `{"model":"m","input":"a"}`, 404, "Not here"},
	} {
		resp, body := send(t, srv, "POST", tt.path, tt.body)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.message) || !json.Valid([]byte(body)) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, resp.StatusCode, body)
		}
		if tt.status == 429 && resp.Header.Get("Retry-After") != "7" {
			t.Errorf("the wait is lost: %v", resp.Header)
		}
	}
	if resp, body := send(t, srv, "POST", "/v1/audio/transcriptions", "no form", "Content-Type",
		"multipart/form-data; boundary=x"); resp.StatusCode != 400 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestEmbed: Ollama's clients get embeddings of a server of the OpenAI protocol.
func TestEmbed(t *testing.T) {
	answer, status := "", 200
	var path, body string
	srv := relaying(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, body = r.URL.Path, string(b)
		w.WriteHeader(status)
		io.WriteString(w, answer)
	})
	for _, tt := range []struct{ path, body, answer, sent, want string }{
		{"/api/embed", `{"model":"m","input":["a","b"],"truncate":true,"dimensions":2}`,
			`{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":7}}`,
			`{"model":"upstream-m","input":["a","b"],"encoding_format":"float","dimensions":2}`,
			`"embeddings":[[1,2],[3,4]]`},
		{"/api/embeddings", `{"model":"m","prompt":"a \"b\""}`, `{"data":[{"embedding":[0.5]}]}`,
			`{"model":"upstream-m","input":"a \"b\"","encoding_format":"float"}`, `{"embedding":[0.5]}`},
	} {
		answer = tt.answer
		resp, got := send(t, srv, "POST", tt.path, tt.body)
		if resp.StatusCode != 200 || !strings.Contains(got, tt.want) || path != "/v1/embeddings" || body != tt.sent {
			t.Errorf("%s: %d %s; the server got %s %s", tt.path, resp.StatusCode, got, path, body)
		}
	}
	for _, broken := range []string{`{}`, `no`, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		`{"data":[{"index":4,"embedding":[1]}]}`} {
		answer = broken
		if resp, got := send(t, srv, "POST", "/api/embed", `{"model":"m","input":"a"}`); resp.StatusCode != 502 ||
			!strings.Contains(got, `"error"`) {
			t.Errorf("%s: %d %s", broken, resp.StatusCode, got)
		}
	}
	for _, wrong := range []string{`{"model":"m"}`, `{"model":"m","input":`, `[]`} {
		if resp, got := send(t, srv, "POST", "/api/embed", wrong); resp.StatusCode != 400 {
			t.Errorf("%s: %d %s", wrong, resp.StatusCode, got)
		}
	}
	answer, status = `{"error":{"message":"no such model"}}`, 404
	if resp, got := send(t, srv, "POST", "/api/embed", `{"model":"m","input":"a"}`); resp.StatusCode != 404 ||
		!strings.Contains(got, "no such model") {
		t.Errorf("a server that refuses: %d %s", resp.StatusCode, got)
	}
}
