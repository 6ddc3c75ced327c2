package scriptserver

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"wield/internal/script"
)

// frame is one piece of a body.
type piece struct {
	data  []byte
	wait  time.Duration // before it
	text  int           // offset in data just behind its text; 0: it carries none
	chunk bool          // it is a chunk, as faults count them
	done  bool          // it is the terminator
}

// framing says how a protocol separates frames.
type framing uint8

const (
	framingNone framing = iota // raw bytes, or one JSON text
	framingSSE
	framingLines
)

// frames gathers the frames of a body.
type frames struct {
	list    []piece
	framing framing
	wait    time.Duration // of what made no frame, for the next one
}

// add appends a frame and returns it.
func (f *frames) add(wait time.Duration, data string) *piece {
	f.list = append(f.list, piece{data: []byte(data), wait: wait + f.wait})
	f.wait = 0
	return &f.list[len(f.list)-1]
}

// event appends a frame of the protocol's framing around a JSON text. name is the event's name in SSE, if it has one.
func (f *frames) event(wait time.Duration, name, json string) *piece {
	switch f.framing {
	case framingSSE:
		if name != "" {
			name = "event: " + name + "\n"
		}
		return f.add(wait, name+"data: "+json+"\n\n")
	case framingLines:
		return f.add(wait, json+"\n")
	}
	return f.add(wait, json)
}

// delta appends a frame that carries text: the JSON before it, the text itself, quoted by the caller, and the JSON
// behind.
func (f *frames) delta(wait time.Duration, name, before, text, after string) {
	fr := f.event(wait, name, before+text+after)
	fr.chunk = true
	fr.text = bytes.LastIndex(fr.data, []byte(text+after)) + len(text)
	if strings.HasSuffix(text, `"`) {
		fr.text--
	}
}

// quote returns s as a JSON string. Bytes that are no UTF-8 stay as they are: they stand in the scenario on purpose.
func quote(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// wholeCharacters moves a character that a cut runs through into the chunk that completes it, because a JSON string
// cannot carry a part of one. What nothing completes stays where it is.
func wholeCharacters(steps []script.Step) []script.Step {
	out := make([]script.Step, 0, len(steps))
	var held script.Step // what waits for its rest
	for _, s := range steps {
		text := s.Kind == script.StepText || s.Kind == script.StepRaw || s.Kind == script.StepThink ||
			s.Kind == script.StepCallArgs
		if held.Text != "" && (!text || s.Kind != held.Kind) {
			out = append(out, held)
			held = script.Step{}
		}
		s.Text, s.Wait = held.Text+s.Text, s.Wait+held.Wait
		held = script.Step{}
		if n := openCharacter(s.Text); text && n > 0 {
			held = s
			held.Text = s.Text[len(s.Text)-n:]
			if s.Text = s.Text[:len(s.Text)-n]; s.Text == "" {
				continue
			}
			held.Wait = 0
		}
		out = append(out, s)
	}
	if held.Text != "" {
		out = append(out, held)
	}
	return out
}

// openCharacter counts the bytes at the end of s that begin a character without completing it.
func openCharacter(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		tail := s[len(s)-n:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if tail[0] < utf8.RuneSelf || utf8.FullRuneInString(tail) {
			return 0
		}
		return n
	}
	return 0
}
