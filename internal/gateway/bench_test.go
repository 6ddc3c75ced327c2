package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"wield/chat"
)

// nowhere is a ResponseWriter that costs nothing.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header              { return w.header }
func (w *nowhere) WriteHeader(int)                  {}
func (w *nowhere) FlushError() error                { return nil }
func (w *nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (w *nowhere) SetReadDeadline(time.Time) error  { return nil }
func (w *nowhere) SetWriteDeadline(time.Time) error { return nil }

// benchmarkServe measures the gateway and the codec alone: no network, a model that has its events at hand.
func benchmarkServe(b *testing.B, body string, model chat.Model) {
	g := New(one(model))
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest("POST", "http://localhost"+pathCompletions, io.NopCloser(strings.NewReader(body)))
		if err != nil {
			b.Fatal(err)
		}
		r.ContentLength = int64(len(body))
		g.ServeHTTP(&nowhere{header: make(http.Header)}, r)
	}
}

func BenchmarkWhole(b *testing.B) {
	benchmarkServe(b, hello, says(text(strings.Repeat("lorem ipsum ", 58)), finish(chat.FinishStop)))
}

// BenchmarkStream is a stream of 50 tokens that come one by one.
func BenchmarkStream(b *testing.B) {
	var events []chat.Event
	for range 50 {
		events = append(events, text("token "), idle())
	}
	benchmarkServe(b, helloStream, says(append(events, finish(chat.FinishStop))...))
}
