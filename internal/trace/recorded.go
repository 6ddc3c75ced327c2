package trace

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"time"
)

// A Recorded is a span of something that is over, with those inside it.
type Recorded struct {
	Name       string
	Client     bool // it is a request to a server
	Start, End time.Time
	Attributes []Attribute
	Events     []RecordedEvent
	Failed     string // kind of the error that it ended with; empty: none
	Inside     []*Recorded
}

// An Attribute is one thing that is known of a span: a text, a number or a list of texts.
type Attribute struct {
	Key   string
	Value string
	Count *int64
	List  []string
}

// A RecordedEvent is a point in a span.
type RecordedEvent struct {
	At         time.Time
	Name       string
	Attributes []Attribute
}

// WriteOTLP writes spans as one request of the protocol, as a collector takes it. seed makes the ids, so that the
// same run always has the same ones.
func WriteOTLP(w io.Writer, version, seed string, spans []*Recorded) error {
	t := Tracer{o: Options{Service: "wield", Version: version}}
	sum := sha256.Sum256([]byte(seed))
	f := flat{seed: sum, trace: traceID(sum[:16])}
	for _, s := range spans {
		f.add(s, spanID{})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(t.request(f.spans))
}

// A flat gathers spans with their ids.
type flat struct {
	seed  [sha256.Size]byte
	trace traceID
	spans []*span
}

func (f *flat) add(r *Recorded, parent spanID) {
	kind := kindInternal
	if r.Client {
		kind = kindClient
	}
	s := &span{trace: f.trace, id: f.id(), parent: parent, name: r.Name, kind: kind, start: r.Start, end: r.End,
		failed: r.Failed}
	s.set(attributes(r.Attributes)...)
	if r.Failed != "" {
		s.set(text("error.type", r.Failed))
	}
	for _, e := range r.Events {
		s.events = append(s.events, event{e.At, e.Name, attributes(e.Attributes)})
	}
	f.spans = append(f.spans, s)
	for _, inner := range r.Inside {
		f.add(inner, s.id)
	}
}

// id returns the id of the next span.
func (f *flat) id() spanID {
	f.seed = sha256.Sum256(f.seed[:])
	return spanID(f.seed[:8])
}

func attributes(list []Attribute) []attribute {
	out := make([]attribute, 0, len(list))
	for _, a := range list {
		switch {
		case a.Count != nil:
			out = append(out, number(a.Key, int(*a.Count)))
		case a.List != nil:
			out = append(out, texts(a.Key, a.List...))
		default:
			out = append(out, text(a.Key, a.Value))
		}
	}
	return out
}

// WriteChrome writes spans in the format that the tracing view of Chromium and its like open: one line of boxes for
// each depth.
func WriteChrome(w io.Writer, spans []*Recorded) error {
	type box struct {
		Name     string         `json:"name"`
		Category string         `json:"cat"`
		Phase    string         `json:"ph"`
		At       float64        `json:"ts"` // microseconds
		Length   *float64       `json:"dur,omitempty"`
		Process  int            `json:"pid"`
		Thread   int            `json:"tid"`
		Scope    string         `json:"s,omitempty"`
		Args     map[string]any `json:"args,omitempty"`
	}
	boxes := []box{}
	micros := func(t time.Time) float64 { return float64(t.UnixNano()) / 1e3 }
	var add func(s *Recorded, thread int)
	add = func(s *Recorded, thread int) {
		length := float64(s.End.Sub(s.Start)) / 1e3
		args := chromeArgs(s.Attributes)
		if s.Failed != "" {
			args["error"] = s.Failed
		}
		boxes = append(boxes, box{Name: s.Name, Category: "wield", Phase: "X", At: micros(s.Start), Length: &length,
			Process: 1, Thread: thread, Args: args})
		for _, e := range s.Events {
			boxes = append(boxes, box{Name: e.Name, Category: "wield", Phase: "i", At: micros(e.At), Process: 1,
				Thread: thread, Scope: "t", Args: chromeArgs(e.Attributes)})
		}
		for i, inner := range s.Inside {
			beside := thread
			if i > 0 && s.Inside[i-1].End.After(inner.Start) { // they ran at the same time
				beside = thread + i
			}
			add(inner, beside)
		}
	}
	for i, s := range spans {
		add(s, 1+i*100)
	}
	return json.NewEncoder(w).Encode(struct {
		Events []box  `json:"traceEvents"`
		Unit   string `json:"displayTimeUnit"`
	}{boxes, "ms"})
}

func chromeArgs(list []Attribute) map[string]any {
	args := map[string]any{}
	for _, a := range list {
		switch {
		case a.Count != nil:
			args[a.Key] = *a.Count
		case a.List != nil:
			args[a.Key] = a.List
		default:
			args[a.Key] = a.Value
		}
	}
	return args
}
