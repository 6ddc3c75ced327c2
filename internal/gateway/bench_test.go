package gateway

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"wield/bridge"
	"wield/chat"
	connect "wield/model/exchange"
	"wield/model/openai"
	"wield/model/route"
)

// nowhere is a ResponseWriter that costs nothing.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header              { return w.header }
func (w *nowhere) WriteHeader(int)                  {}
func (w *nowhere) FlushError() error                { return nil }
func (w *nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (w *nowhere) SetReadDeadline(time.Time) error  { return nil }
func (w *nowhere) SetWriteDeadline(time.Time) error { return nil }

// benchmarkServe measures a gateway without a network.
func benchmarkServe(b *testing.B, body string, o Options) {
	g := New(o)
	header := http.Header{"Content-Type": jsonType, "Authorization": {"Bearer any"}, "User-Agent": {"benchmark"}}
	src := strings.NewReader("")
	r, err := http.NewRequest("POST", "http://localhost"+pathCompletions, io.NopCloser(src))
	if err != nil {
		b.Fatal(err)
	}
	r.ContentLength, r.Header = int64(len(body)), header
	w := &nowhere{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		src.Reset(body)
		clear(w.header)
		g.ServeHTTP(w, r)
	}
}

// BenchmarkWhole measures the gateway and the codec alone: a model that has its events at hand.
func BenchmarkWhole(b *testing.B) {
	benchmarkServe(b, hello, one(says(text(strings.Repeat("lorem ipsum ", 58)), finish(chat.FinishStop))))
}

// BenchmarkStream is a stream of 50 tokens that come one by one.
func BenchmarkStream(b *testing.B) {
	var events []chat.Event
	for range 50 {
		events = append(events, text("token "), idle())
	}
	benchmarkServe(b, helloStream, one(says(append(events, finish(chat.FinishStop))...)))
}

// canned is a server's answer without a network.
type canned struct{ kind, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.kind}}, Request: r,
		ContentLength: int64(len(c.body)), Body: io.NopCloser(strings.NewReader(c.body))}, nil
}

// BenchmarkChain measures everything that a request in text mode costs beside net/http: the gateway with its log, the
// bridge with its prompt and decoder, and the model behind a server that answers with 700 bytes, or with a stream of 50
// tokens.
func BenchmarkChain(b *testing.B) {
	whole := canned{"application/json",
		fmt.Sprintf(`{"choices":[{"finish_reason":"stop","index":0,"message":{"content":%q,"role":"assistant"}}],`+
			`"created":1700000000,"id":"chatcmpl-b","model":"m","object":"chat.completion","usage":{"completion_tokens":150,"prompt_tokens":12,"total_tokens":162}}`,
			strings.Repeat("lorem ipsum ", 58))}
	var s strings.Builder
	frame := func(delta, reason string) {
		fmt.Fprintf(&s,
			"data: {\"choices\":[{\"delta\":%s,\"finish_reason\":%s,\"index\":0}],\"created\":1700000000,\"id\":\"chatcmpl-b\",\"model\":\"m\",\"object\":\"chat.completion.chunk\"}\n\n",
			delta, reason)
	}
	for i := range 50 {
		frame(fmt.Sprintf(`{"content":"tok%d "}`, i), "null")
	}
	frame("{}", `"stop"`)
	s.WriteString("data: [DONE]\n\n")
	stream := canned{"text/event-stream", s.String()}
	for _, n := range []int{0, 1, 20} {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]`, strings.Repeat("x", 200))
		for i := range n {
			body += [...]string{",", `,"tools":[`}[max(0, 1-i)]
			body += fmt.Sprintf(
				`{"type":"function","function":{"name":"get_thing_%d","description":"Looks up a thing in the register of things and returns what is known about it.",`+
					`"parameters":{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"},"unit":{"type":"string","enum":["celsius","fahrenheit"]},`+
					`"days":{"type":"integer","minimum":1,"maximum":14}},"required":["city"]}}}`, i)
		}
		if n > 0 {
			body += "]"
		}
		run := func(answer canned, body string) func(*testing.B) {
			return func(b *testing.B) {
				m := openai.New(openai.Options{URL: "http://localhost/v1",
					Connection: connect.Connection{Transport: answer}})
				limited := route.Retry(route.Limit(m, route.LimitOptions{Concurrent: 64}), route.RetryOptions{})
				o := one(bridge.New(limited, bridge.Options{Mode: bridge.ModeText}))
				o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
				benchmarkServe(b, body, o)
			}
		}
		b.Run(fmt.Sprintf("whole/%dtools", n), run(whole, body+"}"))
		b.Run(fmt.Sprintf("stream/%dtools", n), run(stream, body+`,"stream":true}`))
	}
}
