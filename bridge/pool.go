package bridge

import (
	"slices"
	"strings"
	"sync"
	"wield/chat"

	"wield/dialect"
	"wield/schema/shape"
)

// poolSize limits the idle decoders of a Bridge.
const poolSize = 16

// A pool keeps decoders that are not in use. Making one costs more than reading a short answer with it, and
// most requests to a Bridge offer the same tools as the one before.
type pool struct {
	mu   sync.Mutex
	idle []*decoder
}

// A decoder is a dialect.Decoder with what it was made for.
type decoder struct {
	*dialect.Decoder
	mode  Mode
	reads string // dialect that has priority
	open  bool   // the text begins in reasoning
	tools []tool
}

func (d *decoder) fits(mode Mode, reads string, open bool, tools []tool) bool {
	if d.mode != mode || d.reads != reads || d.open != open || len(d.tools) != len(tools) {
		return false
	}
	for i := range tools {
		if d.tools[i] != tools[i] {
			return false
		}
	}
	return true
}

// decoder returns a decoder for the tools, which nobody else uses until it is put back.
func (b *Bridge) decoder(mode Mode, reads string, open bool, tools []tool) (*decoder, error) {
	if d := b.decoders.take(mode, reads, open, tools); d != nil {
		return d, nil
	}
	shapes, tools := make([]shape.Tool, len(tools)), slices.Clone(tools)
	for i := range tools {
		// an idle decoder would keep the body of the request that it is from
		tools[i].name = strings.Clone(tools[i].name)
		shapes[i] = shape.Tool{Name: tools[i].name, Args: tools[i].shape}
	}
	o := b.o.Decode
	o.Dialect, o.Tools, o.Thinking.Open = reads, shapes, open
	if mode != ModeText {
		o.Prefix = ""
	}
	d, err := dialect.New(o)
	if err != nil {
		return nil, err
	}
	return &decoder{Decoder: d, mode: mode, reads: reads, open: open, tools: tools}, nil
}

func (p *pool) take(mode Mode, reads string, open bool, tools []tool) *decoder {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if d := p.idle[i]; d.fits(mode, reads, open, tools) {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return d
		}
	}
	return nil
}

// put gives a decoder back, with nothing of a text in it. The one that has been idle longest makes room.
func (p *pool) put(d *decoder) {
	d.Reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == poolSize {
		p.idle = append(p.idle[:0], p.idle[1:]...)
	}
	p.idle = append(p.idle, d)
}

// keptBuffer is the size up to which the buffers of a run are kept.
const keptBuffer = 64 << 10

// start returns a run with the buffers of one that is over.
func (b *Bridge) start() *run {
	r, ok := b.runs.Get().(*run)
	if !ok {
		r = new(run)
	}
	r.Bridge = b
	return r
}

// free gives back what a run that is over has used.
func (r *run) free() {
	b := r.Bridge
	if r.dec != nil {
		b.decoders.put(r.dec)
	}
	t := r.turn.empty()
	answer, call := &t.kept.held, &t.call.events
	if cap(t.raw)+cap(r.shown)+cap(answer.text)+cap(call.text)+cap(t.call.raw) > keptBuffer ||
		cap(r.events)+cap(answer.events)+cap(call.events)+cap(t.markup.blanks) > keptBuffer/64 {
		return
	}
	for _, list := range [][]chat.Event{r.events, answer.events, call.events, t.markup.blanks} {
		clear(list[:cap(list)])
	}
	*r = run{events: r.events[:0], shown: r.shown[:0], turn: t}
	b.runs.Put(r)
}

// empty returns a turn in the memory of one that is over.
func (t *turn) empty() turn {
	return turn{raw: t.raw[:0], markup: markup{blanks: t.markup.blanks[:0]},
		kept: keptAnswer{held: t.kept.held.empty()},
		call: pendingCall{events: t.call.events.empty(), raw: t.call.raw[:0]}}
}
