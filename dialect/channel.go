package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
)

// A channelForm describes how a family of dialects frames what a model says as messages, whose headers say what
// their bodies are.
type channelForm struct {
	body   string   // the token that ends a header
	tokens []string // that may stand in one
}

// messageForm is that of two dialects, of which one names channels and the other parties.
var messageForm = channelForm{body: "<|message|>",
	tokens: []string{"<|channel|>", "<|constrain|>", "<|start|>", "<|message|>"}}

// A channelReader reads the header of a message, which is markup, and then gives way to what reads its body:
// text, reasoning, or a call.
type channelReader struct {
	brief
	form *channelForm
	head string // the whole header
	to   string // whom the message is for: a tool, unless it is one of the parties
	done bool   // the header was read
	last int    // where it ends
}

// channelBody returns the constructor of readers of headers that begin with the opener.
func channelBody(f *channelForm) func(d *driver, o *opener) body {
	return func(d *driver, _ *opener) body {
		r := ready(&d.readers.channel)
		*r = channelReader{form: f}
		return r
	}
}

func (r *channelReader) run(d *driver, i int) (int, verdict) {
	for !r.done {
		if j, v, ended := r.headerPart(d, i); !ended {
			return j, v
		} else {
			i = j
		}
		r.head = d.text.held(d.text.candAt, d.text.at(i))
		calls := r.header(d)
		d.toUser = 0
		if d.cand.fenced.mark != 0 && !calls {
			return i, refused
		}
		if r.foreign() && len(d.set.opts.Tools) > 0 && d.place() != placeProse {
			return d.yield(i, func(d *Decoder, i int) int { return d.endAtHeader(i, r.head) })
		}
		if !calls {
			return r.frame(d, i)
		}
		r.done, r.last = true, d.text.at(i)
	}
	for ; i < len(d.text.in); i++ {
		switch c := d.text.in[i]; {
		case c == '{':
			return r.call(d, i)
		case !chars.IsBlank(c) || d.text.at(i)-r.last > maxHeader:
			return r.text(d, i, r.last)
		}
	}
	return i, more
}

// headerPart reads on in the header from i on, and reports whether it ends there: words, spaces and the tokens of
// the form can stand in it.
func (r *channelReader) headerPart(d *driver, i int) (j int, v verdict, ended bool) {
	in := d.text.in
	for limit := d.text.index(d.text.candAt + maxHeader); i < len(in); {
		switch {
		case i >= limit, in[i] != '<' && !headerWord.Has(in[i]):
			return i, refused, false
		case in[i] != '<':
			i++
			continue
		}
		t := choose(r.form.tokens, in[i:])
		switch i += t.n; {
		case t.match == no || i > limit:
			return i, refused, false
		case t.match == maybe:
			j, v = d.await(i-t.n, t.rest, nil)
			return j, v, false
		case r.form.tokens[t.kind] == r.form.body:
			return i, more, true
		}
	}
	if d.text.patient(i) {
		d.text.await(i, "", &headerStop)
	}
	return i, more, false
}

// header reports whether the message is for a tool.
func (r *channelReader) header(d *driver) bool {
	if k := strings.Index(r.head, "to="); k >= 0 {
		r.to, _, _ = strings.Cut(r.head[k+len("to="):], " ")
		r.to, _, _ = strings.Cut(r.to, "<")
	}
	switch r.to {
	case "", "assistant", "user", "self", "system", "developer", "commentary":
		return false
	}
	return len(d.set.opts.Tools) > 0
}

// foreign reports whether the message is not the model's: it is another party's, or a tool's answer.
func (r *channelReader) foreign() bool {
	author, ok := strings.CutPrefix(r.head, "<|start|>")
	if !ok {
		return false
	}
	if n := strings.IndexAny(author, " <"); n >= 0 {
		author = author[:n]
	}
	switch author {
	case "user", "system", "developer", "tool":
		return true
	}
	return author != "assistant" && (r.to == "assistant" || strings.HasPrefix(author, "functions."))
}

// channel returns the channel that the header names.
func (r *channelReader) channel() string {
	k := strings.LastIndex(r.head, "<|channel|>")
	if k < 0 {
		return ""
	}
	name := r.head[k+len("<|channel|>"):]
	if n := strings.IndexAny(name, " <"); n >= 0 {
		name = name[:n]
	}
	return name
}

// frame leaves the header out, which ends before i, and continues with the body as reasoning or text.
func (r *channelReader) frame(d *driver, i int) (int, verdict) {
	closer := ""
	switch {
	case r.channel() == "analysis":
		closer = "<|end|>"
	case r.to == "self", r.to == "developer":
		closer = "<|eom|>"
	}
	if r.to == "user" {
		d.toUser = d.text.at(i)
	}
	if closer != "" && !d.set.opts.Thinking.Off {
		d.body = nil
		return d.yield(i, func(d *Decoder, i int) int { return d.openReasoning(i, &opener{closer: closer}) })
	}
	return r.text(d, i, d.text.at(i))
}

// text continues with text from the offset at on: a message for nobody, or for a tool with a body that is no
// object but may hold a call in another form.
func (r *channelReader) text(d *driver, i, at int) (int, verdict) {
	return d.yield(i, func(d *Decoder, i int) int {
		again := ""
		if at < d.text.base {
			again = d.text.held(at, d.text.at(i))
		} else {
			i = d.text.index(at)
		}
		d.textUpTo(d.text.holdAt)
		d.text.markupUpTo(at)
		d.body, d.text.holding, d.state = nil, false, inText
		d.ctx = lineContext{bol: true}
		if again != "" {
			d.reread(again, at)
		}
		return i
	})
}

// harmonyCall describes the body of a message for a tool.
var harmonyCall = form.Header{CallClose: "<|call|>", Stops: true}

// call hands the message to the reader of calls with a name and an object, which begins at i.
func (r *channelReader) call(d *driver, i int) (int, verdict) {
	h := newHeader(d, &harmonyCall, hBefore)
	h.name = r.to
	if _, _, ok := d.set.names.resolve(r.to); !ok {
		h.name = strings.TrimPrefix(r.to, "functions.")
	}
	d.body = h
	if j, v := h.named(d, i); v != more {
		return j, v
	}
	return h.run(d, i)
}

// end decides what an end of the text in a header means, or behind one.
func (r *channelReader) end(d *driver) verdict {
	if !r.done {
		return refused
	}
	_, v := r.text(d, 0, r.last)
	return v
}

// A wordsReader reads words that stand between two tokens and mean nothing.
type wordsReader struct {
	brief
	n int
}

func newWords(*driver, *opener) body { return new(wordsReader) }

func (r *wordsReader) run(d *driver, i int) (int, verdict) {
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		if c == '<' {
			return d.readers.channel.text(d, i, d.text.at(i))
		}
		if r.n++; r.n > maxHeader || c == '\n' {
			return i, refused
		}
	}
	return i, more
}
