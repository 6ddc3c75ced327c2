package script

import (
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"wield/chat"
	"wield/wire/openai"
)

// breakSteps applies faults to a reply that is sent in process. The error, if there is one, ends the stream after the
// steps. Faults of the framing (drop_done, huge_line, no_index and the like) have no meaning here.
func breakSteps(steps []Step, faults []Fault) ([]Step, error) {
	steps = append([]Step{}, steps...)
	var broken error
	for i := range faults {
		do := &faults[i].Do
		if do.SlowHeaders > 0 {
			steps = append([]Step{{Kind: StepSilence, Wait: do.SlowHeaders}}, steps...)
		}
		if err := do.failure(); err != nil {
			return waits(steps), err
		}
		steps = swap(steps, do)
		if do.BadUTF8 {
			badText(steps)
		}
		at := do.Point(pieces(steps))
		if do.Stall > 0 {
			steps = slices.Insert(steps, at, Step{Kind: StepSilence, Wait: do.Stall})
			at++
		}
		if do.Drip > 0 {
			steps, at = drip(steps, at, do.Drip)
		}
		if do.BadSSE || do.Cut != nil || do.Reset || do.HalfClose {
			steps, broken = do.breakOff(steps, at)
		}
	}
	return steps, broken
}

// breakOff ends a reply at a step, or in it, and returns the error that a client meets there.
func (d *Do) breakOff(steps []Step, at int) ([]Step, error) {
	if d.BadSSE {
		return steps[:at], chat.Errorf(chat.ErrProtocol, "the backend sent a frame that is not JSON")
	}
	if d.Cut == nil {
		at = len(steps)
	}
	return d.cutBytes(steps, at), chat.Errorf(chat.ErrUnavailable, "the backend broke off: %w", io.ErrUnexpectedEOF)
}

// waits keeps the silence before the first step, which is what slow headers are.
func waits(steps []Step) []Step {
	for i := range steps {
		if steps[i].Kind != StepSilence {
			return steps[:i]
		}
	}
	return steps
}

// failure returns the error that the fault answers with in place of a reply.
func (d *Do) failure() error {
	switch {
	case d.Status != 0:
		e := &chat.Error{Kind: statusKind(d.Status), Status: d.Status, Message: "the scenario answers with this status"}
		if d.Body != nil { // is read as a backend would, that has it from a server
			e = openai.DecodeError(d.Status, nil, []byte(*d.Body))
		}
		if d.RetryAfter > 0 {
			e.RetryAfter = d.RetryAfter
		}
		return e
	case d.HTML502:
		return &chat.Error{Kind: chat.ErrUnavailable, Status: 502, Message: "the backend answered with an HTML page"}
	case d.ContentType != "":
		return &chat.Error{Kind: chat.ErrProtocol, Status: 200, Message: "the backend answered with content type " +
			d.ContentType}
	}
	return nil
}

func statusKind(status int) chat.ErrorKind {
	switch status {
	case 401, 403:
		return chat.ErrAuth
	case 404:
		return chat.ErrNotFound
	case 408, 504:
		return chat.ErrTimeout
	case 413:
		return chat.ErrContextLength
	case 429:
		return chat.ErrRateLimit
	case 503, 529:
		return chat.ErrOverloaded
	}
	if status >= 400 && status < 500 {
		return chat.ErrBadRequest
	}
	return chat.ErrUnavailable
}

// pieces tells what faults need to know of steps.
func pieces(steps []Step) []Piece {
	list := make([]Piece, len(steps))
	for i := range steps {
		list[i] = Piece{Chunk: steps[i].Chunk(), Wait: steps[i].Wait, Size: len(steps[i].Text)}
	}
	return list
}

// cutBytes returns the steps before at and, when bytes are counted, the part of the step there that still fits.
func (d *Do) cutBytes(steps []Step, at int) []Step {
	if d.Cut == nil || d.Cut.Unit != CutBytes || at >= len(steps) {
		return steps[:at]
	}
	n := d.Cut.N
	for i := range steps[:at] {
		n -= len(steps[i].Text)
	}
	if n <= 0 || !steps[at].Chunk() {
		return steps[:at]
	}
	part := steps[at]
	part.Text = part.Text[:n]
	return append(steps[:at:at], part)
}

// swap carries out dup_chunk and reorder.
func swap(steps []Step, d *Do) []Step {
	var out []Step
	for _, i := range d.Order(pieces(steps)) {
		out = append(out, steps[i])
	}
	return out
}

// drip makes one step of every byte, each after a wait, and says where the step at has gone.
func drip(steps []Step, at int, d time.Duration) ([]Step, int) {
	var out []Step
	moved := -1
	for i := range steps {
		if i == at {
			moved = len(out)
		}
		s := steps[i]
		if !s.Chunk() || s.Kind == StepTarget {
			out = append(out, s)
			continue
		}
		for j := 0; j < len(steps[i].Text); j++ {
			s.Text = steps[i].Text[j : j+1]
			s.Wait += d
			out = append(out, s)
			s.Wait = 0
		}
	}
	if moved < 0 {
		moved = len(out)
	}
	return out, moved
}

// badText takes the last byte from the first character of several bytes, or adds a byte that no UTF-8 text has.
func badText(steps []Step) {
	for i := range steps {
		if s := &steps[i]; s.Kind == StepText || s.Kind == StepRaw {
			if t, ok := BreakUTF8(s.Text); ok {
				s.Text = t
				return
			}
		}
	}
	for i := range steps {
		if s := &steps[i]; s.Kind == StepText || s.Kind == StepRaw {
			s.Text += "\xff"
			return
		}
	}
}

// BreakUTF8 returns s without the last byte of its first character of several bytes. It reports false if there is none.
func BreakUTF8(s string) (string, bool) {
	for i, c := range s {
		if n := utf8.RuneLen(c); n > 1 && c != utf8.RuneError {
			return s[:i+n-1] + s[i+n:], true
		}
	}
	return s, false
}
