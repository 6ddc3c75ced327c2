package api

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
)

// A Session is one conversation.
type Session struct {
	ID      string         `json:"id"`
	Title   string         `json:"title,omitempty"`
	State   record.State   `json:"state,omitempty" jsonschema:"that of its last run"`
	Status  journal.Status `json:"status,omitempty" jsonschema:"where its last run stands, in one word"`
	Runs    int            `json:"runs" jsonschema:"how many"`
	Agent   string         `json:"agent,omitempty" jsonschema:"of its last run"`
	Model   string         `json:"model,omitempty" jsonschema:"of its last run"`
	Dir     string         `json:"dir,omitempty" jsonschema:"the directory that it works in"`
	By      string         `json:"by,omitempty" jsonschema:"who began it"`
	Bytes   int64          `json:"bytes" jsonschema:"of its records"`
	Begun   time.Time      `json:"begun"`
	Changed time.Time      `json:"changed"`
}

// Sessions is a page of sessions, those that changed last first.
type Sessions struct {
	Items []Session `json:"items"`
	Next  string    `json:"next,omitempty" jsonschema:"the before of the next page; without it there is none"`
}

func sessionOf(s *journal.Session) Session {
	return Session{ID: s.ID, Title: s.Title, State: s.State, Status: s.Status, Runs: s.Runs, Agent: s.Agent,
		Model: s.Model, Dir: s.Dir, By: s.By, Bytes: s.Bytes, Begun: s.Begun, Changed: s.Changed}
}

// Where sessions begin.
const (
	fromService     = "service"
	fromCommandLine = "command_line"
)

// beganAt returns where a session began: a run of the command line is of no agent.
func beganAt(s *journal.Session) string {
	if s.Agent == "" {
		return fromCommandLine
	}
	return fromService
}

// listSessions answers GET /sessions.
func (x *exchange) listSessions() (any, error) {
	ctx := x.r.Context()
	page := &Sessions{Items: []Session{}}
	words, from := strings.Fields(strings.ToLower(x.query("q"))), x.query("from")
	b := x.bound()
	for s, err := range journal.Sessions(ctx, x.s.o.Journal, x.number("before", 0)) {
		if err != nil {
			return nil, err
		}
		if b.reached(len(page.Items), s.Last) {
			page.Next = b.next()
			break
		}
		if s.Runs == 0 || !x.caller.owns(s.By) || from != "" && from != beganAt(&s) {
			// what is no conversation is kept by sessions, too
			continue
		}
		found, err := x.speaksOf(ctx, &s, words)
		if err != nil {
			return nil, err
		}
		if found {
			page.Items = append(page.Items, sessionOf(&s))
		}
	}
	return page, nil
}

// speaksOf reports whether all words stand in the title of a session, or in what was said in it.
func (x *exchange) speaksOf(ctx context.Context, s *journal.Session, words []string) (bool, error) {
	left := missing(words, s.Title)
	if len(left) == 0 {
		return true, nil
	}
	for e, err := range x.s.o.Journal.Read(ctx,
		journal.Query{Session: s.ID, Kinds: []record.Kind{record.KindMessage, record.KindTurnEnd}}) {
		if err != nil {
			return false, err
		}
		m, _ := message(&e)
		if left = missing(left, m.Text); len(left) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// missing returns those of the words, which are in lower case, that do not stand in text.
func missing(words []string, text string) []string {
	if len(words) == 0 {
		return nil
	}
	text = strings.ToLower(text)
	var left []string
	for _, w := range words {
		if !strings.Contains(text, w) {
			left = append(left, w)
		}
	}
	return left
}

// session returns the session that the path names, if it is there for the caller.
func (x *exchange) session() (journal.Session, error) {
	id := x.arg("session")
	s, err := journal.LookUp(x.r.Context(), x.s.o.Journal, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && (s.Runs == 0 || !x.caller.owns(s.By)) {
		return s, notFound("session", id)
	}
	return s, err
}

// showSession answers GET /sessions/{session}.
func (x *exchange) showSession() (any, error) {
	s, err := x.session()
	if err != nil {
		return nil, err
	}
	view := sessionOf(&s)
	return &view, nil
}

// Rename gives a session another title.
type Rename struct {
	Title string `json:"title" jsonschema:"at most 200 characters"`
}

// longestTitle limits the characters of a title.
const longestTitle = 200

// renameSession answers PATCH /sessions/{session}.
func (x *exchange) renameSession() (any, error) {
	title := strings.TrimSpace(x.body.(*Rename).Title)
	if n := len([]rune(title)); n == 0 || n > longestTitle {
		return nil, invalid("/title", "a title has from 1 to %d characters, not %d", longestTitle, n)
	}
	s, err := x.session()
	if err != nil {
		return nil, err
	}
	if err := journal.Rename(x.r.Context(), x.s.o.Journal, s.ID, title); err != nil {
		return nil, err
	}
	return x.showSession()
}

// deleteSession answers DELETE /sessions/{session}.
func (x *exchange) deleteSession() (any, error) {
	s, err := x.session()
	if err != nil {
		return nil, err
	}
	if x.s.o.Hub == nil {
		return nil, x.s.o.Journal.Delete(x.r.Context(), s.ID, record.ReasonAsked)
	}
	return nil, x.s.o.Hub.Delete(x.r.Context(), s.ID)
}

// exportSession answers GET /sessions/{session}/export with JSON Lines.
func (x *exchange) exportSession() error {
	s, err := x.session()
	if err != nil {
		return err
	}
	h := x.w.Header()
	h.Set("Content-Type", mediaLines)
	h.Set("Content-Disposition", `attachment; filename="`+s.ID+`.jsonl"`)
	x.begun = true
	if _, err := journal.Export(x.r.Context(), x.s.o.Journal, journal.Query{Session: s.ID}, &patient{x}); err != nil {
		x.s.o.Log.WarnContext(x.r.Context(), "export interrupted", "session", s.ID, "error", err)
		panic(errAbort) // the client must not take it for whole
	}
	return nil
}

// A patient writer gives the client its time for each piece.
type patient struct{ x *exchange }

// Write writes to the client.
func (p *patient) Write(b []byte) (int, error) {
	p.x.deadline()
	return p.x.w.Write(b)
}

// A Step is one thing of a transcript: a message, an answer with its calls, a result, a summary, or the end of a run.
type Step struct {
	Position  int64       `json:"position" jsonschema:"in the journal; the after of the next page"`
	Run       string      `json:"run"`
	At        time.Time   `json:"at"`
	Kind      record.Kind `json:"kind" jsonschema:"message, turn_end for an answer, result, summary, wait or end"`
	Role      chat.Role   `json:"role,omitempty"`
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"`
	Calls     []Call      `json:"calls,omitempty"`
	CallID    string      `json:"call_id,omitempty" jsonschema:"the call that a result answers"`
	Name      string      `json:"name,omitempty" jsonschema:"the tool of a result"`
	IsError   bool        `json:"is_error,omitempty"`
	Images    int         `json:"images,omitempty" jsonschema:"how many images or files stand in the message"`
	Files     []string    `json:"files,omitempty" jsonschema:"their names, as far as they have some"`
	By        string      `json:"by,omitempty" jsonschema:"whom a message came from"`
	Reason    string      `json:"reason,omitempty" jsonschema:"why a run ended or waits"`
}

// A Call is one call of a tool as a model wrote it.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments" jsonschema:"JSON text"`
}

// Transcript is a page of a session, in the order in which things happened.
type Transcript struct {
	Items []Step `json:"items"`
	Next  string `json:"next,omitempty" jsonschema:"the after of the next page; without it there is none now"`
}

// spoken are the records that make a transcript.
var spoken = []record.Kind{record.KindMessage, record.KindTurnEnd, record.KindResult, record.KindSummary,
	record.KindWait, record.KindEnd}

// readTranscript answers GET /sessions/{session}/transcript.
func (x *exchange) readTranscript() (any, error) {
	s, err := x.session()
	if err != nil {
		return nil, err
	}
	page := &Transcript{Items: []Step{}}
	for step, err := range x.steps(x.r.Context(), &s, x.number("after", 0)) {
		if err != nil {
			return nil, err
		}
		if len(page.Items) == x.limit() {
			page.Next = strconv.FormatInt(page.Items[len(page.Items)-1].Position, 10)
			break
		}
		page.Items = append(page.Items, step)
	}
	return page, nil
}

// steps yields what was said and done in a session behind a position, each thing once.
func (x *exchange) steps(ctx context.Context, s *journal.Session, after int64) iter.Seq2[Step, error] {
	first := firstRun(s)
	repeated := map[string]int64{}
	return func(yield func(Step, error) bool) {
		for e, err := range x.s.o.Journal.Read(ctx, journal.Query{Session: s.ID, Kinds: spoken, After: after}) {
			if err != nil {
				yield(Step{}, err)
				return
			}
			if e.Record.Kind == record.KindMessage && e.Stream != first {
				last, ok := repeated[e.Stream]
				if !ok {
					if last, err = x.repeated(e.Stream); err != nil {
						yield(Step{}, err)
						return
					}
					repeated[e.Stream] = last
				}
				if e.Seq <= last {
					continue
				}
			}
			if step, ok := message(&e); ok && !yield(step, nil) {
				return
			}
		}
	}
}

// firstRun returns the run that a session began with.
func firstRun(s *journal.Session) string {
	first := int64(0)
	id := ""
	for _, h := range s.Streams {
		if h.Opened == record.KindRun && (first == 0 || h.First < first) {
			first, id = h.First, h.Stream
		}
	}
	return id
}

// repeated returns the number of the last record with which a run that is not the first of its session
// repeats what was said before it: those up to the last answer or result that stand before it asks a model.
// What follows them is new.
func (x *exchange) repeated(run string) (int64, error) {
	last := int64(0)
	for e, err := range x.s.o.Journal.Read(x.r.Context(),
		journal.Query{Stream: run, Kinds: []record.Kind{record.KindMessage, record.KindTurn}}) {
		switch {
		case err != nil:
			return 0, err
		case e.Record.Kind == record.KindTurn:
			return last, nil
		case e.Record.Message.Role == chat.RoleAssistant || e.Record.Message.Role == chat.RoleTool:
			last = e.Seq
		}
	}
	return last, nil
}

// message returns what an entry is in a transcript.
func message(e *journal.Entry) (Step, bool) {
	step := Step{Position: e.Position, Run: e.Stream, At: e.At, Kind: e.Record.Kind}
	switch r := &e.Record; r.Kind {
	case record.KindMessage:
		step.say(&r.Message.Message)
		step.By = r.Message.By
	case record.KindTurnEnd:
		step.say(&r.TurnEnd.Message)
		step.Role = chat.RoleAssistant
		if f := r.TurnEnd.Error; f != nil {
			step.Reason = f.Message
		}
	case record.KindResult:
		res := r.Result.Result.Chat(&chat.Call{ID: r.Result.CallID, Name: r.Result.Tool}, tool.StylePlain)
		m := res.Message()
		step.say(&m)
	case record.KindSummary:
		step.Text = r.Summary.Text
	case record.KindWait:
		step.Reason = string(r.Wait.For)
	case record.KindEnd:
		step.Reason = r.End.Reason
	default:
		return step, false
	}
	return step, true
}

// say takes a message into the step.
func (s *Step) say(m *chat.Message) {
	s.Role, s.Text, s.Reasoning, s.CallID, s.Name, s.IsError = m.Role, m.Text(), m.Reasoning, m.CallID, m.Name,
		m.IsError
	for i := range m.Parts {
		if m.Parts[i].Kind == chat.PartText {
			continue
		}
		s.Images++
		if name := m.Parts[i].Name; name != "" {
			s.Files = append(s.Files, name)
		}
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		s.Calls = append(s.Calls, Call{c.ID, c.Name, c.Arguments})
	}
}
