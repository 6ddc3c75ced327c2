package dialect_test

import (
	"strings"
	"testing"

	"wield/chat"
)

// floor is the cheapest push scanner there can be: one call a chunk, one look at a table for each byte, one event appended a
// chunk. What BenchmarkDecode reaches is to be read beside BenchmarkFloor of the same run.
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
