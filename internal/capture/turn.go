package capture

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"wield/chat"
)

// Bounds of what is kept of the turns of one exchange.
const (
	maxTurns = 8   // answers of the model, second chances among them
	maxParts = 256 // calls, notes or rejects of one turn
)

// A Turn is one answer of the model behind an exchange: what it was sent, what it wrote, and what was read from that.
type Turn struct {
	Attempt  int           `json:"attempt"` // from 1
	Model    string        `json:"model,omitempty"`
	Backend  string        `json:"backend,omitempty"`
	Dialect  string        `json:"dialect,omitempty"` // that the model was told of
	Notice   string        `json:"notice,omitempty"`  // about the way in which it was asked
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took_ns"`
	Sent     []Said        `json:"sent,omitempty"`
	Tools    []Offered     `json:"tools,omitempty"` // that the client offered
	Raw      Body          `json:"raw,omitempty"`   // the model's whole text
	Calls    []ReadCall    `json:"calls,omitempty"`
	Notes    []Note        `json:"notes,omitempty"`
	Rejected []Reject      `json:"rejected,omitempty"`
	Bounce   *Bounce       `json:"bounce,omitempty"` // why it was asked again

	Overrun *chat.OverrunDetail `json:"overrun,omitempty"` // the model went on past the end of its turn
}

// A Said is one message as the model was sent it.
type Said struct {
	Role string `json:"role"`
	Text Body   `json:"text"`
}

// entrySize is the size of an entry of a list without its text.
const entrySize = 64

func (s Said) size() int { return entrySize + len(s.Text) }

// An Offered is a tool that the model could call.
type Offered struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

func (o Offered) size() int { return entrySize + len(o.Name) + len(o.Parameters) }

// A ReadCall is one that was read from an answer.
type ReadCall struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Arguments Body        `json:"arguments"`
	Complete  bool        `json:"complete"`
	Origin    chat.Origin `json:"origin,omitempty"`
	Dialect   string      `json:"dialect,omitempty"`
}

// A Note is one repair.
type Note struct {
	Kind   chat.NoteKind `json:"kind"`
	Path   string        `json:"path,omitempty"`
	Before Body          `json:"before,omitempty"`
	After  Body          `json:"after,omitempty"`
}

// A Reject is text that tried to be a call.
type Reject struct {
	Reason  chat.Reason `json:"reason"`
	Name    string      `json:"name,omitempty"`
	Message string      `json:"message,omitempty"`
	Raw     Body        `json:"raw,omitempty"`
}

// A Bounce is a second chance for the model.
type Bounce struct {
	Reason     chat.Reason `json:"reason"`
	Name       string      `json:"name,omitempty"`
	Suppressed Body        `json:"suppressed,omitempty"` // the failed answer, which the client never saw
	Sent       Body        `json:"sent,omitempty"`       // what the model was told
}

// size returns how many bytes a turn keeps.
func (t *Turn) size() int {
	n := len(t.Raw)
	for _, s := range t.Sent {
		n += s.size()
	}
	for _, o := range t.Tools {
		n += o.size()
	}
	for _, c := range t.Calls {
		n += len(c.Arguments)
	}
	for _, r := range t.Rejected {
		n += len(r.Raw)
	}
	for _, m := range t.Notes {
		n += len(m.Before) + len(m.After)
	}
	if t.Bounce != nil {
		n += len(t.Bounce.Suppressed) + len(t.Bounce.Sent)
	}
	return n
}

// kept returns what is kept of a text.
func kept(s string) Body { return Body(nil).Append([]byte(s[:min(len(s), MaxBody)])) }

// Watch takes in one event of the answer to a request. What is kept is bounded; the rest is forgotten.
func (r *Record) Watch(req *chat.Request, e *chat.Event, now time.Time) {
	if e.Kind == chat.KindTurnStart {
		r.begin(req, e.Detail.(*chat.TurnDetail), now)
		return
	}
	if e.Kind == chat.KindUsage {
		r.Usage = *e.Detail.(*chat.Usage) // told once, at the end
		return
	}
	if len(r.Turns) == 0 || len(r.Turns) == maxTurns && r.over {
		return
	}
	t := &r.Turns[len(r.Turns)-1]
	t.Took = now.Sub(t.Began)
	switch e.Kind {
	case chat.KindRaw:
		t.Raw = kept(e.Text)
	case chat.KindCallEnd:
		if c := e.Detail.(*chat.Call); len(t.Calls) < maxParts {
			t.Calls = append(t.Calls, ReadCall{c.ID, c.Name, kept(c.Arguments), c.Complete, c.Origin, c.Dialect})
		}
	case chat.KindNote:
		if n := e.Detail.(*chat.NoteDetail); len(t.Notes) < maxParts {
			t.Notes = append(t.Notes, Note{n.Kind, n.Path, kept(n.Before), kept(n.After)})
		}
	case chat.KindRejected:
		if x := e.Detail.(*chat.RejectedDetail); len(t.Rejected) < maxParts {
			t.Rejected = append(t.Rejected, Reject{x.Reason, x.Name, x.Message, kept(x.Raw)})
		}
	case chat.KindOverrun:
		t.Overrun = e.Detail.(*chat.OverrunDetail)
	case chat.KindBounce, chat.KindConverted:
		b := e.Detail.(*chat.BounceDetail)
		t.Bounce = &Bounce{Reason: b.Reason, Suppressed: kept(b.Suppressed), Sent: kept(b.Sent)}
		if b.Call != nil {
			t.Bounce.Name = b.Call.Name
		}
	}
}

// begin begins a turn.
func (r *Record) begin(req *chat.Request, d *chat.TurnDetail, now time.Time) {
	if len(r.Turns) == maxTurns {
		r.over = true
		return
	}
	t := Turn{Began: now}
	if d != nil {
		if !d.Began.IsZero() {
			t.Began = d.Began // its first event may come long after the model was asked
		}
		t.Notice = d.Notice
		t.Attempt, t.Model, t.Backend, t.Dialect = d.Attempt, d.Model, d.Backend, d.Dialect
		if d.Sent != nil {
			t.Sent = said(d.Sent)
			if len(r.Turns) == 0 {
				r.sent = d.Sent
			}
		}
	}
	if len(r.Turns) == 0 && req != nil {
		t.Tools = offered(req.Tools)
	}
	r.Turns = append(r.Turns, t)
}

// said returns messages as they are kept: the last ones, as far as there is room.
func said(req *chat.Request) []Said {
	var list []Said
	room := MaxBody
	for i := len(req.Messages) - 1; i >= 0 && room > 0; i-- {
		m := &req.Messages[i]
		text := m.Text()
		if len(m.Calls) > 0 {
			if raw, err := json.Marshal(m.Calls); err == nil {
				text += string(raw)
			}
		}
		s := Said{string(m.Role), kept(text[:min(len(text), room)])}
		room -= s.size()
		list = append(list, s)
	}
	slices.Reverse(list)
	return list
}

// offered returns tools as they are kept: the first ones, as far as there is room.
func offered(tools []chat.Tool) []Offered {
	list := make([]Offered, 0, min(len(tools), MaxBody/entrySize))
	room := MaxBody
	for i := range tools {
		// They may be part of the request's body, or of one before it, which is not kept for them.
		o := Offered{strings.Clone(tools[i].Name), bytes.Clone(tools[i].Parameters)}
		if room -= o.size(); room < 0 {
			break
		}
		list = append(list, o)
	}
	return list
}

// detach copies the texts of a record which may be part of a request's body, since each would keep the whole body in
// memory.
func (r *Record) detach() {
	clone := func(texts ...*string) {
		for _, s := range texts {
			*s = strings.Clone(*s)
		}
	}
	clone(&r.ID, &r.Path, &r.Model)
	for i := range r.Dropped {
		clone(&r.Dropped[i])
	}
	for i := range r.Turns {
		t := &r.Turns[i]
		clone(&t.Model, &t.Backend, &t.Dialect, &t.Notice)
		for j := range t.Sent {
			clone(&t.Sent[j].Role)
		}
		for j := range t.Calls {
			clone(&t.Calls[j].ID, &t.Calls[j].Name, &t.Calls[j].Dialect)
		}
		for j := range t.Notes {
			clone(&t.Notes[j].Path)
		}
		for j := range t.Rejected {
			clone(&t.Rejected[j].Name, &t.Rejected[j].Message)
		}
		if t.Bounce != nil {
			clone(&t.Bounce.Name)
		}
		if t.Overrun != nil {
			t.Overrun = &chat.OverrunDetail{At: t.Overrun.At, Marker: strings.Clone(t.Overrun.Marker),
				Hard: t.Overrun.Hard}
		}
	}
}
