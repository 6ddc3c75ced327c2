package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// An upstreamMessage is a message of a request, as an OpenAI-compatible server gets it.
type upstreamMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// An upstreamAnswer is an answer of such a server: a call, a text or an error.
type upstreamAnswer struct {
	call, args, text string
	tooLong          bool
}

// An upstreamServer answers as a function of the messages says.
type upstreamServer struct {
	answer func(messages []upstreamMessage) upstreamAnswer

	mu       sync.Mutex
	requests [][]upstreamMessage
}

func (s *upstreamServer) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func (s *upstreamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []upstreamMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req.Messages)
	n := len(s.requests)
	s.mu.Unlock()
	a := s.answer(req.Messages)
	if a.tooLong {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w,
			`{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
		return
	}
	delta := map[string]any{"role": "assistant", "content": a.text}
	reason := "stop"
	if a.call != "" {
		delta["tool_calls"] = []any{map[string]any{"index": 0, "id": fmt.Sprint("c", n), "type": "function",
			"function": map[string]any{"name": a.call, "arguments": a.args}}}
		reason = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta},
		{"index": 0, "delta": map[string]any{}, "finish_reason": reason}} {
		data, err := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": "m",
			"choices": []any{choice}})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// How the rest of an output that was cut is read.
const (
	outputID = `"output_id":"([0-9a-f]+)"`
	restOf   = `{"id":%q,"offset":%d}`
)

// What a long file or a long output holds is read to its end: the result says how, and the tool for it is there.
func TestRunReadsLongOutputs(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		call string
		with string
		more string // what the result says about the rest
		rest string // reads it: what of the output, with what of the expression
	}{
		{"file", []string{"--tools", "read_file"}, "read_file", `{"path":"big.txt"}`, `read on with "offset": 2(001)`,
			`{"path":"big.txt","offset":19%s}`},
		{"whole file", []string{"--tools", "file_access"}, "file_access", `{"operation":"read","path":"big.txt"}`,
			outputID, restOf},
		{"command", []string{"--tools", "command_exec", "--write", "--allow", "{command: [cat]}"}, "command_exec",
			`{"command":"cat","arguments":["big.txt"]}`, outputID, restOf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tt.name == "command" {
				t.Skip("there is no cat on Windows")
			}
			dir := workspace(t)
			t.Chdir(dir)
			var big strings.Builder
			for n := range 20_000 {
				fmt.Fprintf(&big, "line %d\n", n)
			}
			big.WriteString("the very end\n")
			if err := os.WriteFile(filepath.Join(dir, "big.txt"), []byte(big.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			more := regexp.MustCompile(tt.more)
			server := &upstreamServer{answer: func(m []upstreamMessage) upstreamAnswer {
				last := m[len(m)-1]
				switch found := more.FindStringSubmatch(last.Content); {
				case last.Role == "user":
					return upstreamAnswer{call: tt.call, args: tt.with}
				case found != nil && tt.rest == restOf:
					return upstreamAnswer{call: "read_output", args: fmt.Sprintf(tt.rest, found[1], big.Len()-1000)}
				case found != nil && strings.Count(last.Content, "\n") > 1000:
					return upstreamAnswer{call: tt.call, args: fmt.Sprintf(tt.rest, found[1])}
				}
				return upstreamAnswer{text: last.Content}
			}}
			args := append([]string{"run", "--upstream", server.start(t), "--model", "m", "--mode", "native"},
				tt.args...)
			code, out, log := runWield(t, dir, "", append(args, "How does big.txt end?")...)
			if code != 0 || !strings.Contains(out, `the very end`) {
				t.Errorf("exit %d: %.300s\n%.600s", code, out, log)
			}
		})
	}
}

// A conversation that is longer than the model's context is sent in part, told by a flag, by the configuration, or by
// the server itself.
func TestRunLongConversation(t *testing.T) {
	const files = 12
	size := func(messages []upstreamMessage) (n int) {
		for _, m := range messages {
			n += len(m.Content) / 4
		}
		return n
	}
	for _, tt := range []struct {
		name    string
		args    []string
		config  string
		refused int
	}{
		{name: "flag", args: []string{"--context", "4096"}},
		{name: "configuration", config: "agent: {context: {tokens: 4096}}"},
		{name: "summary", config: "agent: {context: {tokens: 1600, strategy: summarize}}"},
		{name: "the server says so", refused: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t)
			t.Chdir(dir)
			for n := range files {
				text := fmt.Sprintf("file %d\n", n) + strings.Repeat("0123456789abcde\n", 150)
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", n)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			refused, summaries, read := 0, 0, 0
			server := &upstreamServer{answer: func(m []upstreamMessage) upstreamAnswer {
				last := m[len(m)-1].Content
				switch {
				case size(m) > 3600:
					refused++
					return upstreamAnswer{tooLong: true}
				case strings.HasPrefix(last, "Write a summary"):
					summaries++
					return upstreamAnswer{text: fmt.Sprintf("%d files were read.", read)}
				case read == files:
					return upstreamAnswer{text: "All read."}
				}
				read++
				return upstreamAnswer{call: "read_file", args: fmt.Sprintf(`{"path":"f%d.txt"}`, read-1)}
			}}
			url := server.start(t)
			args := append([]string{"run", "--tools", "read_file"}, tt.args...)
			if tt.config != "" {
				file := filepath.Join(dir, "wield.yaml")
				text := fmt.Sprintf(
					"wield: config/v1\nbackends: {b: {kind: openai, url: %q}}\nmodels: {m: {backend: b, mode: native, %s}}\n", url, tt.config)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--config", file)
			} else {
				args = append(args, "--upstream", url, "--model", "m", "--mode", "native")
			}
			code, out, log := runWield(t, dir, "", append(args, "Read all files.")...)
			if code != 0 || strings.TrimSpace(out) != "All read." {
				t.Errorf("exit %d: %.300s\n%s", code, out, log)
			}
			if refused != tt.refused || (summaries > 0) != (tt.name == "summary") {
				t.Errorf("%d requests were refused, %d summaries were written", refused, summaries)
			}
			for i, m := range server.requests {
				if !strings.HasPrefix(m[0].Content, "Read all files.") {
					t.Errorf("request %d begins %q", i, m[0].Content)
				}
			}
		})
	}
}
