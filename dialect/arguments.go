package dialect

import (
	"errors"
	"sync"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// argumentReaders are empty ones for the calls of a history, which can be thousands: they have room for what they read.
var argumentReaders = sync.Pool{New: func() any { return new(argumentReader) }}

type argumentReader struct {
	text  scanner
	value value.Reader
	args  value.Arguments
}

// Arguments reads the whole text of a call's arguments, as a backend with function calling delivers it, by
// the same rules as the decoder: repaired up to level r and made to fit s. An empty text stands for no
// arguments. The error says what is wrong.
func Arguments(raw string, s *shape.Shape, r Repair) (args string, notes []chat.NoteDetail, err error) {
	if chars.Blank(raw) {
		return "{}", []chat.NoteDetail{{Kind: note.MissingArguments, Before: raw, After: "{}", End: len(raw)}}, nil
	}
	read := argumentReaders.Get().(*argumentReader)
	defer func() {
		read.text = scanner{}
		read.args.Reset(nil, &read.value, nil, 0)
		argumentReaders.Put(read)
	}()
	out := callWriter{text: &read.text, set: &set{opts: Options{Repair: r}},
		openCall: openCall{open: true, tool: &shape.Tool{Args: s}}}
	a := read.args.Reset(&out, &read.value, s, value.Level(r))
	a.At(0, 1)
	n, p := a.Run(raw, 0)
	if p == value.Going {
		p = a.End()
	}
	why := a.Err
	if p == value.Done {
		why = a.Doom
		if why == "" && !chars.Blank(raw[n:]) {
			why = "something stands behind the object"
		}
	}
	if why != "" {
		return "", nil, errors.New("dialect: " + why)
	}
	for _, e := range read.text.dst {
		if e.Kind == chat.KindNote {
			notes = append(notes, *e.Detail.(*chat.NoteDetail))
		}
	}
	return out.Arguments(), notes, nil
}
