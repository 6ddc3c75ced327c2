package dialect

import (
	"unicode/utf8"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// A scanner is the text that is being read, what of it is held, and the events that have come of it. It knows
// no dialect.
//
// Every event begins where the last one ended, so that spans cover the text:
//
//	last       holdAt            candAt               position
//	| text     | white space or  | the candidate      |
//	| not yet  | the line that   |                    |
//	| emitted  | opens a fence   |                    |
//
// When an input ends, text goes out and what is held moves to the arena.
type scanner struct {
	in     string // what is read now: a piece of the text, or held bytes once more
	base   int    // where it begins in the text
	final  bool   // it is the last word about its bytes, as at the end of the text: nothing waits
	eager  bool   // nothing ever waits
	steps  int    // bytes that were looked at, each time anew: tests hold it to be linear in the text
	cut    string // the first bytes of a character that the end of a chunk cut: no reader sees a part of one
	joined arena  // such characters

	holding   bool
	confirmed bool // the candidate is a call, or an attempt: what is held is kept only for reports
	holdAt    int
	candAt    int
	spilled   int // held bytes before this offset are in the arena
	arena     arena
	next      prediction
	fragment  int // where bytes begin that the end of the text left too few of, see driver.await; -1: nowhere

	dst    []chat.Event
	last   int        // end of the last event's span
	seen   bool       // content other than white space, or a call, came out since the start
	recent recentText // what was passed on
	files  bool       // names of files are looked for above blocks:
	above  lastText   // there
}

// A prediction tells how the text most likely continues. The bytes from the offset unread on are ones that a
// machine wants to read together with what follows them, such as the start of a key. They are held.
type prediction struct {
	waiting bool
	unread  int
	end     int        // of the input in which it was made
	expect  string     // what they most likely go on with, of which nothing but the last byte decides anything
	met     int        // how much of it came
	stop    *chars.Set // where nothing is expected: the bytes that may decide; nil: any may
}

// at returns the offset in the text of what stands at i in the input.
func (s *scanner) at(i int) int { return s.base + i }

// index returns where in the input the offset at is.
func (s *scanner) index(at int) int { return at - s.base }

// end returns the offset at which the input ends.
func (s *scanner) end() int { return s.base + len(s.in) }

// put begins an input.
func (s *scanner) put(in string, base int) {
	s.in, s.base = in, base
	s.steps += len(in)
}

// hold begins to hold bytes at the offset at, where text ends for now.
func (s *scanner) hold(at int) {
	s.holding, s.confirmed = true, false
	s.holdAt, s.candAt, s.spilled = at, at, at
	s.arena.mark()
}

// stash copies held bytes of the input up to the offset end into the arena.
func (s *scanner) stash(end int) {
	if s.spilled < end {
		s.arena.write(s.in[s.spilled-s.base : end-s.base])
		s.spilled = end
	}
}

// held returns the held bytes [from, to).
func (s *scanner) held(from, to int) string {
	if from >= s.base {
		return s.in[from-s.base : to-s.base]
	}
	s.stash(to)
	s.steps += to - from
	return s.arena.slice(from-s.holdAt, to-s.holdAt)
}

// heldPart returns held bytes from the offset at on, as many up to the offset to as lie in one piece.
func (s *scanner) heldPart(at, to int) string {
	if at >= s.base {
		return s.in[at-s.base : to-s.base]
	}
	s.stash(min(to, s.base))
	return s.arena.part(at-s.holdAt, min(to, s.base)-s.holdAt)
}

// trim drops held bytes before the offset at.
func (s *scanner) trim(at int) {
	if at <= s.spilled {
		s.arena.cut(at - s.holdAt)
	} else {
		s.arena.mark()
		s.spilled = at
	}
	s.holdAt, s.candAt = at, at
}

// skip passes over bytes that are held, are an input, and need no look.
func (s *scanner) skip(held string) {
	s.arena.write(held)
	end := s.end() + len(held)
	s.in, s.base, s.spilled = "", end, end
}

// character returns where the character begins that the byte at i belongs to. What is read again up to there
// ends with a whole one.
func (s *scanner) character(i int) int {
	for least := max(0, i-utf8.UTFMax+1); i > least && i < len(s.in) && s.in[i]&0xC0 == 0x80; {
		i--
	}
	return i
}

// await leaves the input unread from i on. What follows is held as well, as long as it is what is expected,
// or has no byte of stop.
func (s *scanner) await(i int, expect string, stop *chars.Set) {
	if expect != "" {
		stop = nil
	}
	n := &s.next
	n.waiting, n.unread, n.end, n.expect, n.stop = true, s.base+i, s.end(), expect, stop
}

// patient reports whether a machine may leave the bytes of the input from i on unread, to read them together
// with what follows.
func (s *scanner) patient(i int) bool {
	return !s.final && s.holding && len(s.in)-i < maxWait && !s.eager
}

// takeUnread returns the bytes that wait, to the end of what is held, and where they begin.
func (s *scanner) takeUnread() (in string, at int) {
	s.next.waiting, s.next.expect = false, ""
	return s.arena.slice(s.next.unread-s.holdAt, s.spilled-s.holdAt), s.next.unread
}

// emit appends an event that covers the bytes from the last one's end to the offset end.
func (s *scanner) emit(e chat.Event, end int) {
	e.At, e.End = s.last, end
	s.dst = append(s.dst, e)
	s.last = end
}

// textUpTo emits the bytes up to the offset end as text.
func (s *scanner) textUpTo(end int) {
	if s.last < s.base && s.last < end {
		s.emitText(s.piece(end))
	}
	if s.last < end {
		s.emitText(s.in[s.last-s.base:end-s.base], end)
	}
}

// piece returns what comes next of the bytes up to the offset end that are to be emitted, and where that ends.
func (s *scanner) piece(end int) (string, int) {
	if s.last < s.base {
		end = min(end, s.base)
		return s.held(s.last, end), end
	}
	return s.in[s.last-s.base : end-s.base], end
}

// emitText emits text that ends at the offset end.
func (s *scanner) emitText(text string, end int) {
	if !s.seen && !chars.Blank(text) {
		s.seen = true
	}
	s.recent.add(text)
	if s.files {
		s.above.add(text, s.last)
	}
	s.dst = appendDelta(s.dst, chat.KindText, 0, text, s.last, end)
	s.last = end
}

// pass emits, to dst, an input that is text as a whole.
func (s *scanner) pass(dst []chat.Event, in string) []chat.Event {
	at, end := s.last, s.last+len(in)
	s.base, s.last = end, end
	s.recent.add(in)
	return appendDelta(dst, chat.KindText, 0, in, at, end)
}

// markupUpTo covers the bytes up to the offset end with an event that shows nothing.
func (s *scanner) markupUpTo(end int) {
	if s.last < end {
		s.recent.add("")
		s.dst = appendDelta(s.dst, chat.KindMarkup, 0, "", s.last, end)
		s.last = end
	}
}

// appendDelta appends an event of text. An event is large: filling it where it stands takes half the time of
// building and copying one.
func appendDelta(dst []chat.Event, kind chat.Kind, index int, text string, at, end int) []chat.Event {
	n := len(dst)
	if n == cap(dst) {
		dst = append(dst, chat.Event{})
	}
	dst = dst[:n+1]
	e := &dst[n]
	e.Kind, e.Flags, e.Origin, e.Turn, e.Index, e.At, e.End = kind, 0, chat.OriginText, 0, index, at, end
	e.ID, e.Name, e.Text, e.Detail = "", "", text, nil
	return dst
}

// characters returns what a chunk that begins or ends inside a character makes whole: the character that the
// last one cut, and what follows it. What the chunk ends with of another waits for the rest.
func (s *scanner) characters(chunk string) (first, rest string) {
	if s.cut != "" {
		n, want := 0, chars.RuneLen(s.cut[0])-len(s.cut)
		for n < len(chunk) && n < want && chunk[n]&0xC0 == 0x80 {
			n++
		}
		s.joined.mark()
		s.joined.write(s.cut)
		s.joined.write(chunk[:n])
		first = s.joined.last(s.joined.from)
		if n == len(chunk) && n < want {
			s.cut = first
			return "", ""
		}
		chunk = chunk[n:]
	}
	n := len(chunk) - chars.PartialRune(chunk)
	s.cut = chunk[n:]
	return first, chunk[:n]
}
