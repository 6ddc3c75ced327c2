package dialect

import (
	"errors"
	"strconv"
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

// maxPooled limits the text whose reader is used again: its buffers are as large.
const maxPooled = 64 << 10

// maxNotes limits the notes of one text that are kept. It may have a repair every few bytes.
const maxNotes = 200

// A noteList takes the notes of a text that is read as a whole.
type noteList struct {
	list []chat.NoteDetail
	more int
}

func (l *noteList) add(n chat.NoteDetail) {
	if len(l.list) < maxNotes {
		l.list = append(l.list, n)
	} else {
		l.more++
	}
}

// all returns the notes. The last one says how many more there were.
func (l *noteList) all(end int) []chat.NoteDetail {
	if l.more > 0 {
		l.list = append(l.list, chat.NoteDetail{Kind: note.More, Before: strconv.Itoa(l.more), End: end})
	}
	return l.list
}

// Arguments reads the whole text of a call's arguments, as a backend with function calling delivers it, by
// the same rules as the decoder: repaired up to level r and made to fit s. An empty text stands for no
// arguments. The error says what is wrong. Of very many notes the last one says only how many more there are.
func Arguments(raw string, s *shape.Shape, r Repair) (args string, notes []chat.NoteDetail, err error) {
	if chars.Blank(raw) {
		return "{}", []chat.NoteDetail{{Kind: note.MissingArguments, Before: raw, After: "{}", End: len(raw)}}, nil
	}
	read := argumentReaders.Get().(*argumentReader)
	defer func() {
		if len(raw) > maxPooled {
			return
		}
		read.text = scanner{}
		read.args.Reset(nil, &read.value, nil, 0)
		argumentReaders.Put(read)
	}()
	var noted noteList
	out := callWriter{text: &read.text, notes: &noted, set: &set{opts: Options{Repair: r}},
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
	return out.Arguments(), noted.all(len(raw)), nil
}
