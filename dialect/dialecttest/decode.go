package dialecttest

import (
	"fmt"
	"runtime/debug"

	"wield/chat"
)

// A Decoder reads a text in pieces, and the kit examines it. *dialect.Decoder is one.
type Decoder interface {
	// Feed appends to dst the events that chunk completes and returns it.
	Feed(dst []chat.Event, chunk string) []chat.Event
	// Close appends the events that the end of the text completes.
	Close(dst []chat.Event) []chat.Event
}

// A counter is a decoder that counts its steps: in any unit, over all that it was fed since it was made, and the more
// of them the more it does, such as the bytes that it looked at. They are compared more strictly than its time, since
// a clock measures whatever else the machine does, too.
type counter interface {
	Decoder
	Steps() int
}

// A Maker returns a decoder that has seen nothing yet.
type Maker func() Decoder

// decodeFresh feeds text to a fresh decoder, cut at the ascending offsets, and returns all events. The buffer for the
// events is used again for every chunk, as a program that wants no garbage does, so that a decoder which still needs
// what it appended is found out. A panic is returned as an error.
func decodeFresh(mk Maker, text string, cuts ...int) (events []chat.Event, err error) {
	defer caught(&err)
	events, _ = decode(mk(), nil, nil, text, cuts)
	return events, nil
}

// caught turns a panic into an error, when it is deferred.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// decode appends the events of a text to all. It also returns the buffer that it had the decoder append to.
func decode(d Decoder, all, buf []chat.Event, text string, cuts []int) (events, buffer []chat.Event) {
	from := 0
	for _, to := range cuts {
		buf = d.Feed(buf[:0], text[from:to])
		all = append(all, buf...)
		clear(buf)
		from = to
	}
	buf = d.Feed(buf[:0], text[from:])
	all = append(all, buf...)
	clear(buf)
	buf = d.Close(buf[:0])
	all = append(all, buf...)
	clear(buf)
	return all, buf
}
