package trace

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"
)

type (
	traceID [16]byte
	spanID  [8]byte
)

func (id traceID) String() string { return hex.EncodeToString(id[:]) }
func (id spanID) String() string  { return hex.EncodeToString(id[:]) }

// Kinds of spans, in the numbers of the protocol.
const (
	kindInternal = 1
	kindServer   = 2
	kindClient   = 3
)

// A span is one piece of time. Only the goroutine of its request touches it, until it is sent.
type span struct {
	trace      traceID
	id, parent spanID
	name       string
	kind       int
	start, end time.Time
	attributes []attribute
	events     []event
	failed     string // kind of the error that it ended with
}

// maxEvents bounds the events of one span.
const maxEvents = 128

type event struct {
	at         time.Time
	name       string
	attributes []attribute
}

func (s *span) event(name string, attributes ...attribute) {
	if len(s.events) < maxEvents {
		s.events = append(s.events, event{time.Now(), name, attributes})
	}
}

func (s *span) set(a ...attribute) { s.attributes = append(s.attributes, a...) }

func newTraceID() (id traceID) {
	fill(id[:])
	return id
}

func newSpanID() (id spanID) {
	fill(id[:])
	return id
}

// fill makes an id, which is no secret, and never nothing but zeros.
func fill(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	b[len(b)-1] |= 1
}

// header returns the header traceparent of what the span asks others for.
func (s *span) header() string { return "00-" + s.trace.String() + "-" + s.id.String() + "-01" }

// parseParent reads the header traceparent, by which a client says which trace its request belongs to.
func parseParent(header string) (t traceID, s spanID, sampled, ok bool) {
	parts := strings.Split(header, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || len(parts[1]) != 32 || len(parts[2]) != 16 ||
		len(parts[3]) != 2 || parts[0] == "00" && len(parts) != 4 {
		return t, s, false, false
	}
	var flags [1]byte
	_, err1 := hex.Decode(t[:], []byte(parts[1]))
	_, err2 := hex.Decode(s[:], []byte(parts[2]))
	_, err3 := hex.Decode(flags[:], []byte(parts[3]))
	ok = err1 == nil && err2 == nil && err3 == nil && t != (traceID{}) && s != (spanID{})
	return t, s, ok && flags[0]&1 != 0, ok
}
