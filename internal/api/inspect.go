package api

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/internal/capture"
	"wield/internal/mask"
	"wield/internal/shorten"
	"wield/journal"
	"wield/journal/record"
)

// An Inspected is a run or an exchange in a search, with what a filter can ask about.
type Inspected struct {
	Kind     string         `json:"kind" jsonschema:"run, or exchange: one request to the gateway"`
	ID       string         `json:"id"`
	Time     time.Time      `json:"time" jsonschema:"when it began"`
	Title    string         `json:"title,omitempty" jsonschema:"what was asked, cut short"`
	Status   journal.Status `json:"status" jsonschema:"where a run stands, in one word; of an exchange done or failed"`
	Error    string         `json:"error,omitempty" jsonschema:"the kind of the error"`
	Model    string         `json:"model,omitempty"`
	Path     string         `json:"path,omitempty" jsonschema:"of an exchange"`
	Session  string         `json:"session,omitempty" jsonschema:"of a run"`
	Key      string         `json:"key,omitempty" jsonschema:"who asked"`
	Took     float64        `json:"took_ms"`
	Turns    int            `json:"turns"`
	Calls    int            `json:"calls"`
	Tools    []string       `json:"tools" jsonschema:"that were called, each once"`
	Dialects []string       `json:"dialects" jsonschema:"that calls were read in, each once"`
	Repairs  int            `json:"repairs"`
	Bounces  int            `json:"bounces"`
	Rejects  int            `json:"rejects"`
}

// Inspections is a page of a search, the latest first.
type Inspections struct {
	Items []Inspected `json:"items"`
	Next  string      `json:"next,omitempty" jsonschema:"the before of the next page; without it there is none"`
}

// maxTitle limits the title of a request in a list.
const maxTitle = 120

// inspect answers GET /inspect.
func (x *exchange) inspect() (any, error) {
	f, err := ParseFilter(x.query("q"))
	if err != nil {
		return nil, err
	}
	before := time.Now().Add(time.Hour)
	if n := x.number("before", 0); n > 0 {
		before = time.UnixMicro(n)
	}
	page := &Inspections{Items: []Inspected{}}
	runs, more, err := x.searchRuns(&f, before)
	if err != nil {
		return nil, err
	}
	exchanges := x.searchExchanges(&f, before)
	for len(runs)+len(exchanges) > 0 {
		from := &runs
		if len(runs) == 0 || len(exchanges) > 0 && !runs[0].Time.After(exchanges[0].Time) {
			from = &exchanges
		}
		if n := len(page.Items); n >= x.limit() && !sameTime(&(*from)[0], &page.Items[n-1]) {
			break
		}
		page.Items, *from = append(page.Items, (*from)[0]), (*from)[1:]
	}
	switch n := len(page.Items); {
	case n > 0 && (len(runs)+len(exchanges) > 0 || !more.IsZero()):
		page.Next = strconv.FormatInt(page.Items[n-1].Time.UnixMicro(), 10)
	case !more.IsZero():
		page.Next = strconv.FormatInt(more.UnixMicro(), 10)
	}
	return page, nil
}

// sameTime reports whether two things began at a time that a page cannot part: the next one begins before it.
func sameTime(a, b *Inspected) bool { return a.Time.UnixMicro() == b.Time.UnixMicro() }

// searchExchanges returns the exchanges before a time that the filter asks for, the latest first: as many as
// a page may have, what began at the same time as the last of those, and one more. They are kept in the order
// in which they ended.
func (x *exchange) searchExchanges(f *Filter, before time.Time) []Inspected {
	if x.s.o.Captures == nil || x.caller.Role != RoleAdmin { // only who may see captures sees any
		return nil
	}
	all := slices.DeleteFunc(x.s.o.Captures.All(), func(r *capture.Record) bool { return !r.Time.Before(before) })
	slices.SortStableFunc(all, func(a, b *capture.Record) int { return b.Time.Compare(a.Time) })
	var list []Inspected
	for _, r := range all {
		if n := len(list); n > x.limit() && !sameTime(&list[n-1], &list[n-2]) {
			break
		}
		if i := inspectedExchange(r); f.holds(&i) && (len(f.words) == 0 || f.says(exchangeTexts(r)...)) {
			list = append(list, i)
		}
	}
	return list
}

func exchangeTexts(r *capture.Record) []string {
	texts := []string{r.ID, string(r.Request), string(r.Answer)}
	for i := range r.Turns {
		texts = append(texts, string(r.Turns[i].Raw))
	}
	return texts
}

func inspectedExchange(r *capture.Record) Inspected {
	i := Inspected{Kind: "exchange", ID: r.ID, Time: r.Time, Model: r.Model, Path: r.Path, Key: r.Key, Error: r.Error,
		Bounces: r.Bounces, Status: journal.StatusDone, Took: millis(r.Took), Turns: len(r.Turns), Tools: []string{},
		Dialects: []string{}}
	if r.Error != "" || r.Status >= 400 {
		i.Status = journal.StatusFailed
	}
	for t := range r.Turns {
		turn := &r.Turns[t]
		i.Repairs, i.Rejects = i.Repairs+len(turn.Notes), i.Rejects+len(turn.Rejected)
		for _, c := range turn.Calls {
			i.call(c.Name, c.Dialect)
		}
		if t == 0 {
			for _, s := range turn.Sent {
				if s.Role == "user" {
					i.Title = titleOf(string(s.Text))
				}
			}
		}
	}
	return i
}

// call counts a call.
func (i *Inspected) call(name, dialect string) {
	i.Calls++
	i.Tools = once(i.Tools, name)
	if dialect != "" {
		i.Dialects = once(i.Dialects, dialect)
	}
}

// once adds a word to a list that does not have it.
func once(list []string, word string) []string {
	for _, w := range list {
		if w == word {
			return list
		}
	}
	return append(list, word)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// titleOf returns the first line of a text, cut to a length that fits a list, without secrets.
func titleOf(s string) string {
	s = strings.TrimSpace(s)
	s, _, _ = strings.Cut(s, "\n")
	return mask.Text(shorten.Text(s, maxTitle))
}

// searchRuns returns the runs before a time that the filter asks for. more is the time of the run that was
// looked at last, if there may be others.
func (x *exchange) searchRuns(f *Filter, before time.Time) (list []Inspected, more time.Time, err error) {
	if x.s.o.Journal == nil {
		return nil, more, nil
	}
	ctx := x.r.Context()
	looked := 0
	for h, err := range x.s.o.Journal.Heads(ctx, journal.HeadQuery{Opened: record.KindRun, Session: f.session()}) {
		if err != nil {
			return nil, more, err
		}
		if !h.Begun.Before(before) {
			continue
		}
		if looked++; looked > maxLooked {
			return sortedRuns(list), more, nil
		}
		more = h.Begun
		i, texts, err := x.s.inspectedRun(ctx, &h, len(f.words) > 0)
		if errors.Is(err, journal.ErrNotFound) { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return nil, more, err
		}
		if x.caller.Role == RoleClient && !x.caller.owns(i.Key) || !f.holds(&i) || !f.says(texts...) {
			continue
		}
		list = append(list, i)
	}
	return sortedRuns(list), time.Time{}, nil
}

// sortedRuns orders runs by their beginning, the latest first: a journal has them by their last change.
func sortedRuns(list []Inspected) []Inspected {
	slices.SortStableFunc(list, func(a, b Inspected) int { return b.Time.Compare(a.Time) })
	return list
}

// session returns the session that is asked for alone, or "".
func (f *Filter) session() string {
	for _, t := range f.terms {
		if t.field.name == "session" && !t.not && !strings.HasSuffix(t.value, "*") {
			return t.value
		}
	}
	return ""
}

// inspected are the kinds of records that a search among runs looks at.
var inspected = []record.Kind{record.KindRun, record.KindMessage, record.KindTurnEnd, record.KindBounce,
	record.KindReject, record.KindRepair, record.KindWait, record.KindEnd}

// inspectedRun returns a run as a search shows it, and its texts if they are wanted.
func (s *Server) inspectedRun(ctx context.Context, h *journal.Head,
	wanted bool) (i Inspected, texts []string, err error) {
	i = Inspected{Kind: "run", ID: h.Stream, Session: h.Session, Time: h.Begun, Took: millis(h.Changed.Sub(h.Begun)),
		Status: journal.StatusOf(h.State, nil), Tools: []string{}, Dialects: []string{}}
	texts = append(texts, h.Stream, h.Session)
	there := false
	for e, err := range s.o.Journal.Read(ctx, journal.Query{Stream: h.Stream, Kinds: inspected}) {
		if err != nil {
			return i, nil, err
		}
		if e.Seq > h.Seq { // it would not fit the state
			break
		}
		if e.Record.Wait != nil || e.Record.End != nil {
			i.Status = journal.StatusOf(h.State, &e.Record)
		}
		switch r := &e.Record; r.Kind {
		case record.KindRun:
			there = true
			i.Model, i.Key = r.Run.Model, r.Run.By
			if r.Run.Agent != "" {
				i.Model = r.Run.Agent
			}
		case record.KindMessage:
			if r.Message.Role == "user" {
				i.Title = titleOf(r.Message.Text())
			}
			texts = append(texts, r.Message.Text())
		case record.KindTurnEnd:
			i.Turns++
			for _, c := range r.TurnEnd.Message.Calls {
				i.call(c.Name, c.Dialect)
			}
			if wanted {
				texts = append(texts, string(r.TurnEnd.Raw), r.TurnEnd.Message.Text())
			}
		case record.KindBounce:
			i.Bounces++
		case record.KindReject:
			i.Rejects++
		case record.KindRepair:
			i.Repairs++
		case record.KindWait:
			if f := r.Wait.Error; f != nil && h.State == record.StateWaiting {
				i.Error = f.Kind
			}
		case record.KindEnd:
			if f := r.End.Error; f != nil {
				i.Error = f.Kind
			}
		}
	}
	if !there {
		return i, nil, journal.ErrNotFound
	}
	return i, texts, nil
}
