package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// The answers of the upstream are the same 50 words: about 700 bytes, and a stream of 53 frames, one with the role, 50
// with text, one with the reason, and the end. wield streams from the upstream whatever its client asks for.
var wholeAnswer, streamAnswer = func() ([]byte, []byte) {
	var words strings.Builder
	for i := range 50 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	whole := fmt.Sprintf(
		`{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},`+
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":90,"total_tokens":102}}`,
		words.String())
	var s bytes.Buffer
	frame := func(delta, reason string) {
		fmt.Fprintf(&s,
			"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, reason)
	}
	frame(`{"role":"assistant","content":""}`, "null")
	for i := range 50 {
		frame(fmt.Sprintf(`{"content":"word%d "}`, i), "null")
	}
	frame(`{}`, `"stop"`)
	s.WriteString("data: [DONE]\n\n")
	return []byte(whole), s.Bytes()
}()

// listen serves on a port of loopback, says which, and returns when it cannot go on.
func listen(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "http://%s\n", l.Addr())
	return http.Serve(l, h)
}

// serveUpstream is the server behind. The first step of the path says how it answers.
func serveUpstream() error {
	mux := http.NewServeMux()
	mux.HandleFunc("/fast/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(wholeAnswer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(streamAnswer)
	})
	mux.HandleFunc("/early/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(streamAnswer) // and the request is left to net/http
	})
	mux.HandleFunc("/silent/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		// some of it ends in the middle of a frame
		w.Write(streamAnswer[:bytes.Index(streamAnswer, []byte("word1 "))-40])
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	return listen(mux)
}

// serveProxy serves the proxy that wield is compared with: it decodes and encodes everything and does no more.
func serveProxy(upstream string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}}
	return listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			body, err = again(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, upstream+r.URL.Path,
			bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
			proxyStream(w, answer.Body)
			return
		}
		if body, err = io.ReadAll(answer.Body); err == nil {
			body, err = again(body)
		}
		if err == nil {
			w.Write(body)
		}
	}))
}

func proxyStream(w http.ResponseWriter, r io.Reader) {
	flush := http.NewResponseController(w)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if data[0] == '{' {
			frame, err := again(data)
			if err != nil {
				return
			}
			data = frame
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		flush.Flush()
	}
}

// again decodes and encodes a JSON text.
func again(text []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
