package dialect

import (
	"fmt"

	"wield/chat"
	"wield/schema/shape"
)

// A Decoder turns the text of one model response into events.
type Decoder struct {
	opts Options
	pos  int
}

// New returns a decoder for texts under o. It fails when o names an unknown dialect.
func New(o Options) (*Decoder, error) {
	if o.Dialect != "" && o.Dialect != "auto" {
		if _, ok := Lookup(o.Dialect); !ok {
			return nil, fmt.Errorf("dialect: unknown dialect %q", o.Dialect)
		}
	}
	return &Decoder{opts: o}, nil
}

// Feed appends to dst the events that chunk completes and returns it. Events may alias chunk.
func (d *Decoder) Feed(dst []chat.Event, chunk string) []chat.Event {
	at := d.pos
	d.pos += len(chunk)
	return append(dst, chat.Event{Kind: chat.KindText, Text: chunk, At: at, End: d.pos})
}

// Close appends the events that the end of the text completes and returns dst.
func (d *Decoder) Close(dst []chat.Event) []chat.Event { return dst }

// Reset makes the decoder ready for another text under the same options.
func (d *Decoder) Reset() { d.pos = 0 }

// Arguments reads the whole text of a call's arguments, as a backend with function calling delivers it, by the same rules
// as the decoder: repair up to level r and coercion to s.
func Arguments(raw string, s *shape.Shape, r Repair) (args string, notes []chat.NoteDetail, err error) {
	return raw, nil, nil
}
