package dialect

import (
	"strings"

	"wield/chat"
)

// A Collector gathers the events of one text into what they say as a whole. The zero value is ready.
type Collector struct {
	Calls    []chat.Call // complete ones and, with Complete false, one that the text ended in
	Rejected []chat.RejectedDetail
	Notes    []chat.NoteDetail
	Overrun  *chat.OverrunDetail // the model went on past the end of its turn

	content, reasoning strings.Builder
	twice              bool // a key of the open call's arguments stands twice
}

// Add takes in one event. Events of kinds that a decoder does not emit are ignored.
func (c *Collector) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		c.content.WriteString(e.Text)
	case chat.KindReasoning:
		c.reasoning.WriteString(e.Text)
	case chat.KindCallEnd:
		c.addCall(*e.Detail.(*chat.Call))
	case chat.KindRejected:
		c.Rejected = append(c.Rejected, *e.Detail.(*chat.RejectedDetail))
		c.content.WriteString(e.Detail.(*chat.RejectedDetail).Raw)
	case chat.KindOverrun:
		c.Overrun = e.Detail.(*chat.OverrunDetail)
	case chat.KindNote:
		c.twice = c.twice || e.Detail.(*chat.NoteDetail).Kind == chat.NoteDuplicateKey
		c.Notes = append(c.Notes, *e.Detail.(*chat.NoteDetail))
	}
}

// addCall takes in a call. Of a key that stands twice in its arguments only the last value counts: the stream
// could not take back the first one, here it can be left out.
func (c *Collector) addCall(call chat.Call) {
	if c.twice && call.Complete {
		if args, _, err := Arguments(call.Arguments, nil, RepairFull); err == nil {
			call.Arguments = args
		}
	}
	c.twice = false
	c.Calls = append(c.Calls, call)
}

// Content returns the text that is neither call nor reasoning, the raw text of rejected attempts included.
func (c *Collector) Content() string { return c.content.String() }

// Reasoning returns the reasoning.
func (c *Collector) Reasoning() string { return c.reasoning.String() }

// Parse reads a whole text under o.
func Parse(text string, o Options) (*Collector, error) {
	d, err := New(o)
	if err != nil {
		return nil, err
	}
	c := new(Collector)
	for _, e := range d.Close(d.Feed(nil, text)) {
		c.Add(e)
	}
	return c, nil
}
