package bridge

import (
	"slices"

	"wield/dialect/profile"
)

// SetProfile completes the options with what is known of the model's family. What they say already stays, and
// a dialect that is named keeps the profile's from being preferred or taught.
func (o *Options) SetProfile(p *profile.Profile) {
	if o.Passive {
		return // one strict form is read, whatever the model
	}
	p.Apply(&o.Decode)
	o.Native = append(slices.Clip(o.Native), p.Native...)
	if o.Bounce.Role == "" {
		o.Bounce.Role = p.Role
	}
	if o.Prompt.Dialect == "" && (o.Decode.Dialect == "" || o.Decode.Dialect == "auto") {
		o.Prompt.Dialect = p.Taught()
	}
}

// opens reports whether the text of the next answer begins in reasoning. That the model's prompt ends there
// says so only for a backend that leaves reasoning in the text: one that sends it apart sends text when the
// block is over.
func (r *run) opens() bool {
	open := r.o.Decode.Thinking.Open
	if r.mode == ModeTemplate {
		open = r.template.Opens
	}
	return r.req.InReasoning || open && !r.splits.Load()
}

// split takes note of a backend that sends reasoning apart. Text that has not begun yet then begins outside of any.
func (r *run) split() {
	if !r.o.Decode.Thinking.Open || r.req.InReasoning || !r.dec.open || len(r.turn.raw) > 0 {
		return
	}
	r.splits.Store(true)
	open := r.dec
	if r.newDecoder() == nil { // the options have made one before
		r.decoders.put(open)
	}
}
