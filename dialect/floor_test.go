package dialect_test

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// floor is the cheapest push scanner there can be: one call a chunk, one look at a table for each byte, one event
// appended a chunk. What BenchmarkDecode reaches is to be read beside BenchmarkFloor of the same run.
type floor struct {
	stop  [256]bool
	stops int
	pos   int
}

func newFloor(stops string) *floor {
	f := new(floor)
	for i := range len(stops) {
		f.stop[stops[i]] = true
	}
	return f
}

//go:noinline
func (f *floor) Feed(dst []chat.Event, chunk string) []chat.Event {
	for i := 0; i < len(chunk); i++ {
		if f.stop[chunk[i]] {
			f.stops++
		}
	}
	f.pos += len(chunk)
	return append(dst, chat.Event{Kind: chat.KindText, Text: chunk, At: f.pos - len(chunk), End: f.pos})
}

// smallFloor is the same with an event of half the size, as a scanner without a vocabulary of ours would have.
type smallFloor struct {
	stop  [256]bool
	stops int
}

type smallEvent struct {
	kind int
	text string
	_    [4]uintptr // as wide as an event of the reference
}

//go:noinline
func (f *smallFloor) Feed(dst []smallEvent, chunk string) []smallEvent {
	for i := 0; i < len(chunk); i++ {
		if f.stop[chunk[i]] {
			f.stops++
		}
	}
	return append(dst, smallEvent{kind: 1, text: chunk})
}

const floorStops = "<{[`"

func BenchmarkFloor(b *testing.B) {
	text := strings.Repeat("ordinary words, in which no marker can begin; ", 23000)
	for _, c := range []struct {
		name string
		size int
	}{{"4B", 4}, {"16B", 16}, {"whole", len(text)}} {
		b.Run(c.name, func(b *testing.B) {
			f := &smallFloor{stop: newFloor(floorStops).stop}
			buf := make([]smallEvent, 0, 16)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for i := 0; i < len(text); i += c.size {
					buf = f.Feed(buf[:0], text[i:min(i+c.size, len(text))])
				}
			}
		})
		b.Run("chat/"+c.name, func(b *testing.B) {
			f := newFloor(floorStops)
			buf := make([]chat.Event, 0, 16)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for i := 0; i < len(text); i += c.size {
					buf = f.Feed(buf[:0], text[i:min(i+c.size, len(text))])
				}
			}
		})
	}
}

// playback gives back what a decoder made of a text: a copy of each chunk, since what is held must be kept, the events
// that belong to the chunk, and for each call the one allocation of its details. What BenchmarkCalls needs beyond it is
// the reading itself.
type playback struct {
	text   []byte
	events []chat.Event
	upTo   []int // how many events there are up to the end of each chunk
	chunk  int
	sent   int
}

//go:noinline
func (p *playback) Feed(dst []chat.Event, chunk string) []chat.Event {
	p.text = append(p.text, chunk...)
	for ; p.sent < p.upTo[p.chunk]; p.sent++ {
		dst = append(dst, p.events[p.sent])
		if e := &dst[len(dst)-1]; e.Kind == chat.KindCallEnd {
			call := *e.Detail.(*chat.Call)
			e.Detail = &call
		}
	}
	p.chunk++
	return dst
}

func (p *playback) reset() { p.text, p.chunk, p.sent = p.text[:0], 0, 0 }

// record has the decoder read a text in chunks of size bytes. What comes at its end comes with the last chunk.
func record(d *dialect.Decoder, text string, size int) *playback {
	p := new(playback)
	d.Reset()
	for i := 0; i < len(text); i += size {
		p.events = d.Feed(p.events, text[i:min(i+size, len(text))])
		p.upTo = append(p.upTo, len(p.events))
	}
	p.events = d.Close(p.events)
	p.upTo[len(p.upTo)-1] = len(p.events)
	return p
}

// BenchmarkCallsFloor emits the events of BenchmarkCalls without reading the text: BenchmarkCallsFloor/DIALECT/CHUNK.
func BenchmarkCallsFloor(b *testing.B) {
	for _, name := range []string{"hermes", "qwen3-coder", "pythonic", "harmony"} {
		messages := hundredCalls(b, name)
		d, err := dialect.New(dialect.Options{Dialect: name, Tools: benchTools})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			name string
			size int
		}{{"whole", mib}, {"16", 16}, {"4", 4}} {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				bytes := 0
				var floors []*playback
				for _, text := range messages {
					floors, bytes = append(floors, record(d, text, c.size)), bytes+len(text)
				}
				buf := make([]chat.Event, 0, 64)
				b.SetBytes(int64(bytes))
				for b.Loop() {
					for k, text := range messages {
						p := floors[k]
						p.reset()
						for i := 0; i < len(text); i += c.size {
							buf = p.Feed(buf[:0], text[i:min(i+c.size, len(text))])
						}
					}
				}
			})
		}
	}
}
