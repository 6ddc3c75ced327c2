package script

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// StepKind tells what a Step is.
type StepKind uint8

// The kinds of steps. StepCallStart, StepCallArgs and StepCallEnd occur only with native tools.
const (
	StepText      StepKind = iota + 1 // a chunk of the answer's text
	StepThink                         // a chunk of reasoning
	StepRaw                           // a chunk of exact bytes; it is text that may not be UTF-8
	StepCallStart                     // Index, ID and Name
	StepCallArgs                      // a delta of the arguments
	StepCallEnd                       // the whole arguments in Text
	StepTarget                        // an event of the target in Name
	StepSilence                       // nothing but the wait
)

// A Step is one thing that a backend sends.
type Step struct {
	Kind  StepKind
	Text  string
	Name  string        // of the tool or the target
	ID    string        // of the call
	Index int           // of the call
	Wait  time.Duration // before it is sent
}

// Chunk reports whether the step is a chunk, as faults count them.
func (s *Step) Chunk() bool {
	return s.Kind == StepText || s.Kind == StepThink || s.Kind == StepRaw || s.Kind == StepCallArgs ||
		s.Kind == StepTarget
}

// writer turns the items of a turn into steps.
type writer struct {
	scenario *Scenario
	turn     *Turn
	value    func(ref string) (string, bool)
	user     string
	turns    int
	dialect  string // of calls that name none
	speed    float64
	rng      *rand.Rand

	steps    []Step
	wait     time.Duration // of pauses, for the next step
	started  bool
	calls    int
	lastByte byte // of the text so far
	repeated int  // bytes of the request
	full     bool // nothing more fits into the answer
}

// maxRepeated bounds what one answer repeats of its request. An answer that would repeat more ends there, like that of
// a model that reached its output limit.
const maxRepeated = 128 << 10

// write returns the steps of the turn. It fails when a capture is not defined or a call cannot be written.
func (w *writer) write() ([]Step, error) {
	for i := range w.turn.reply {
		it := &w.turn.reply[i]
		if err := w.item(it); err != nil {
			return nil, &chat.Error{Kind: chat.ErrProtocol, Status: 500, Code: "scenario",
				Message: fmt.Sprintf("%s:%d:%d: turn %s: %v", it.pos.File, it.pos.Line, it.pos.Col, w.turn.ID, err),
				Cause:   err}
		}
		if w.full {
			break
		}
	}
	if w.wait > 0 {
		w.push(Step{Kind: StepSilence})
	}
	return w.steps, nil
}

func (w *writer) item(it *item) error {
	switch it.kind {
	case itemPause:
		w.wait += w.scaled(it.pause)
		return nil
	case itemRaw:
		w.chunks(StepRaw, w.cut(it.src, it), "")
		return nil
	case itemEcho:
		w.chunks(StepText, w.cut(w.repeat(w.user), it), "")
		return nil
	case itemCall:
		return w.call(it)
	case itemThink:
		return w.template(StepThink, it, it.think)
	case itemTarget:
		s, err := it.text.expand(w.lookup)
		if err == nil && !w.full {
			w.chunks(StepTarget, []string{s}, it.target)
		}
		return err
	}
	return w.template(StepText, it, it.text)
}

// repeat returns as much of a text of the request as fits into the answer.
func (w *writer) repeat(s string) string {
	left := maxRepeated - w.repeated
	if len(s) > left {
		w.full = true
		for left > 0 && !utf8.RuneStart(s[left]) {
			left--
		}
		s = s[:left]
	}
	w.repeated += len(s)
	return s
}

func (w *writer) lookup(ref string) (string, bool) {
	s, ok := w.value(ref)
	return w.repeat(s), ok
}

func (w *writer) template(kind StepKind, it *item, t template) error {
	var pieces []string
	if kind == StepText && it.split.mode == splitBars {
		for _, p := range it.split.bars {
			t, _ := parseTemplate(p) // checked by the loader
			piece, err := t.expand(w.lookup)
			if err != nil {
				return err
			}
			pieces = append(pieces, piece)
		}
		w.chunks(kind, pieces, "")
		return nil
	}
	s, err := t.expand(w.lookup)
	if err != nil {
		return err
	}
	w.chunks(kind, w.cut(s, it), "")
	return nil
}

// call writes a call as the backend's own, or as text, unless the answer is full before it ends.
func (w *writer) call(it *item) error {
	c := it.call
	name, err := c.name.expand(w.lookup)
	if err != nil {
		return err
	}
	args, err := c.args.expand(w.lookup)
	if err != nil {
		return err
	}
	id, err := c.id.expand(w.lookup)
	if err != nil {
		return err
	}
	if w.full {
		return nil
	}
	index := w.calls
	w.calls++
	if w.scenario.NativeTools && c.dialect == "" && !c.fenced {
		if id == "" {
			id = w.callID(index)
		}
		w.native(it, Step{Name: name, ID: id, Index: index}, args)
		return nil
	}
	text, err := w.callText(c, chat.Call{Index: index, ID: id, Name: name, Arguments: args, Complete: true})
	if err != nil {
		return err
	}
	w.chunks(StepText, w.cut(text, it), "")
	return nil
}

func (w *writer) native(it *item, s Step, args string) {
	s.Kind = StepCallStart
	w.push(s)
	for _, piece := range w.cut(args, it) {
		s.Kind, s.Text = StepCallArgs, piece
		w.push(s)
	}
	s.Kind, s.Text = StepCallEnd, args
	w.steps = append(w.steps, s)
}

// callText renders a call in its dialect. A fence stands on lines of its own.
func (w *writer) callText(c *callItem, call chat.Call) (string, error) {
	name := c.dialect
	if name == "" {
		name = w.dialect
	}
	if name != "" && !c.fenced {
		d, ok := dialect.Lookup(name)
		if !ok {
			return "", fmt.Errorf("unknown dialect %q", name)
		}
		if c.verbatim && !json.Valid([]byte(call.Arguments)) {
			return "", fmt.Errorf("the arguments of a call in dialect %s are not JSON; use raw for malformed calls",
				name)
		}
		text, err := d.AppendCalls(nil, []chat.Call{call})
		return string(text), err
	}
	info := "json"
	if c.fenced {
		info = c.fence
	}
	var b strings.Builder
	if w.lastByte != 0 && w.lastByte != '\n' {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "```%s\n{\"name\": %s, \"arguments\": %s}\n```", info, shape.Quote(call.Name), call.Arguments)
	return b.String(), nil
}

// chunks adds one step for each piece.
func (w *writer) chunks(kind StepKind, pieces []string, name string) {
	for _, p := range pieces {
		w.push(Step{Kind: kind, Text: p, Name: name})
		if (kind == StepText || kind == StepRaw) && p != "" {
			w.lastByte = p[len(p)-1]
		}
	}
}

// push adds a step with the wait that is due before it.
func (w *writer) push(s Step) {
	s.Wait, w.wait = w.wait, 0
	p := &w.turn.pace
	switch {
	case s.Kind == StepSilence:
	case !w.started:
		w.started = true
		if p.ttft != nil {
			s.Wait += w.scaled(w.jittered(*p.ttft))
		}
	case s.Chunk() && p.tps != nil && *p.tps > 0:
		s.Wait += w.scaled(w.jittered(time.Duration(float64(time.Second) / *p.tps)))
	}
	w.steps = append(w.steps, s)
}

func (w *writer) jittered(d time.Duration) time.Duration {
	j := w.turn.pace.jitter
	if j == nil || *j == 0 {
		return d
	}
	return time.Duration(float64(d) * (1 + *j*(2*w.rng.Float64()-1)))
}

func (w *writer) scaled(d time.Duration) time.Duration {
	if w.speed <= 0 {
		return 0
	}
	return time.Duration(float64(d) / w.speed)
}

// cut cuts s as the item says, or by the turn's chunk size.
func (w *writer) cut(s string, it *item) []string {
	if s == "" {
		return nil
	}
	switch it.split.mode {
	case splitEvery:
		return cutEvery(s, func() int { return 1 })
	case splitRandom:
		return cutEvery(s, func() int { return 1 + w.rng.IntN(7) })
	case splitAt:
		return cutAt(s, it.split.at)
	case splitBars:
		return it.split.bars
	}
	if c := w.turn.pace.chunk; c != nil && *c > 0 {
		return cutRunes(s, *c)
	}
	return []string{s}
}

func cutEvery(s string, size func() int) []string {
	var list []string
	for s != "" {
		n := min(size(), len(s))
		list = append(list, s[:n])
		s = s[n:]
	}
	return list
}

func cutAt(s string, offsets []int) []string {
	var list []string
	start := 0
	for _, at := range offsets {
		if at >= len(s) {
			break
		}
		list = append(list, s[start:at])
		start = at
	}
	return append(list, s[start:])
}

func cutRunes(s string, n int) []string {
	var list []string
	for s != "" {
		end := 0
		for i := 0; i < n && end < len(s); i++ {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
		}
		list = append(list, s[:end])
		s = s[end:]
	}
	return list
}

// callID makes the id of a call from the seed and the place in the conversation, so that it is the same in every run
// and another one in every turn.
func (w *writer) callID(index int) string {
	h := seedHash(w.scenario.Seed, "call", w.turn.ID, fmt.Sprint(w.turns), fmt.Sprint(index))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], h)
	return "call_" + hex.EncodeToString(b[:])
}

// seedHash mixes a seed with the place where randomness is needed, so that no draw depends on the order of requests.
func seedHash(seed int64, scope ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d", seed)
	for _, s := range scope {
		fmt.Fprintf(h, "\x00%s", s)
	}
	return h.Sum64()
}

func seededRand(seed int64, scope ...string) *rand.Rand {
	h := seedHash(seed, scope...)
	return rand.New(rand.NewPCG(uint64(seed), h))
}
