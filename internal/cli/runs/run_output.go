package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/cli"
	"wield/internal/shorten"
	"wield/tool/policy"
	"wield/tool/runner"
)

// runSchemaVersion is the version of the lines that wield run prints. docs/run.schema.json describes them.
const runSchemaVersion = 1

// A runOutput shows a run.
type runOutput interface {
	start(tools []chat.Tool)
	event(e chat.Event)
	// end shows the outcome and returns the error with the exit code.
	end(ctx context.Context, o agent.Outcome) error
}

// runOutputs makes the forms of output, by name.
var runOutputs = map[string]func(p *runPrinter) runOutput{
	"text":        func(p *runPrinter) runOutput { return &runText{p} },
	"json":        func(p *runPrinter) runOutput { return &runJSON{runText{p}} },
	"stream-json": func(p *runPrinter) runOutput { return &runLines{runPrinter: p} },
}

// A runPrinter holds the fields that all forms of output share.
type runPrinter struct {
	id     string
	out    io.Writer
	log    io.Writer
	model  string
	format *chat.Format
	failed error // of out
}

func (p *runPrinter) write(v any) {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && p.failed == nil {
		p.failed = err
	}
}

// finish returns the error of a run that ended, with its exit code.
func (p *runPrinter) finish(code int, err error) error {
	switch {
	case p.failed != nil:
		return p.failed
	case code == cli.ExitOK:
		return nil
	}
	return &cli.ExitError{Code: code, Err: err}
}

// runText prints the answer when it is whole, and what the tools do to the log.
type runText struct{ *runPrinter }

func (t *runText) start([]chat.Tool) {}

func (t *runText) event(e chat.Event) {
	switch e.Kind {
	case chat.KindIdle:
		if retry, ok := e.Detail.(*chat.RetryDetail); ok {
			fmt.Fprintln(t.log, policy.Visible(retry.Sentence(time.Now())))
		}
	case chat.KindCallEnd:
		fmt.Fprintf(t.log, "%s %s\n", e.Name,
			policy.Visible(shorten.Text(onOneLine(e.Detail.(*chat.Call).Arguments), 200)))
	case chat.KindResult:
		if r := e.Detail.(*chat.Result); r.IsError {
			m := r.Message()
			fmt.Fprintf(t.log, "%s: %s\n", e.Name, policy.Visible(shorten.Text(m.Text(), 400)))
		}
	}
}

// onOneLine takes the line breaks out of arguments that a model wrote over several lines.
func onOneLine(arguments string) string {
	var line bytes.Buffer
	if !strings.Contains(arguments, "\n") || json.Compact(&line, []byte(arguments)) != nil {
		return arguments
	}
	return line.String()
}

func (t *runText) end(ctx context.Context, o agent.Outcome) error {
	if o.Text != "" {
		if _, err := fmt.Fprintln(t.out, strings.TrimRight(o.Text, "\n")); err != nil {
			return err
		}
	}
	return t.finish(exitOf(ctx, &o, t.format))
}

// runJSON prints one document when the run is over: the last line of the stream.
type runJSON struct{ runText }

func (j *runJSON) end(ctx context.Context, o agent.Outcome) error {
	code, err := exitOf(ctx, &o, j.format)
	j.write(j.ending(&o, code, err))
	return j.finish(code, err)
}

// runLines prints one object a line for everything that happens.
type runLines struct {
	*runPrinter
	seq     int
	repairs []runRepair // since the last call
}

// A runLine is one line. Which members it has is said by its type.
type runLine struct {
	Schema int    `json:"schema_version"`
	Run    string `json:"run_id"`
	Seq    int    `json:"seq"`
	Type   string `json:"type"`
	Turn   int    `json:"turn"`

	Model   string   `json:"model,omitempty"`
	Dialect string   `json:"dialect,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Tools   []string `json:"tools,omitempty"`

	runPassage
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Origin    string          `json:"origin,omitempty"`
	Repairs   *[]runRepair    `json:"repairs,omitempty"`

	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	runDecision
	Stream  string     `json:"stream,omitempty"`
	IsError *bool      `json:"is_error,omitempty"`
	Result  *runEnding `json:"result,omitempty"`
}

// A runPassage is a text, and where it stands in what the model wrote.
type runPassage struct {
	At   *int    `json:"at,omitempty"`
	End  *int    `json:"end,omitempty"`
	Text *string `json:"text,omitempty"`
}

// set fills in a passage.
func (p *runPassage) set(text *string, at, end *int) { p.Text, p.At, p.End = text, at, end }

// A runDecision holds the decision of rules or a person on a call.
type runDecision struct {
	Decision chat.Decision `json:"decision,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Why      string        `json:"why,omitempty"`
	Approval string        `json:"approval,omitempty"`
	State    string        `json:"state,omitempty"`
	By       string        `json:"by,omitempty"`
}

// A runRepair is one repair of a call.
type runRepair struct {
	Kind   chat.NoteKind `json:"kind"`
	Path   string        `json:"path,omitempty"`
	Before string        `json:"before"`
	After  string        `json:"after"`
}

// A runEnding holds the result of a run: the document of --output json, and the last line of the stream.
type runEnding struct {
	Schema   int             `json:"schema_version"`
	Run      string          `json:"run_id"`
	Model    string          `json:"model"`
	Reason   agent.EndReason `json:"reason"`
	Limit    agent.LimitKind `json:"limit,omitempty"`
	ExitCode int             `json:"exit_code"`
	Answer   string          `json:"answer"`
	Value    json.RawMessage `json:"value,omitempty"` // the answer, where it has to fit a schema and does
	Turns    int             `json:"turns"`
	Calls    int             `json:"calls"`
	Usage    *runUsage       `json:"usage"` // null: the server counts none
	Cost     *float64        `json:"cost"`  // null: not known
	Denied   []agent.Denial  `json:"denied_calls"`
	Waiting  []runWaiting    `json:"waiting"`
	Error    string          `json:"error,omitempty"`
}

type runUsage struct {
	In        int `json:"input_tokens"`
	Out       int `json:"output_tokens"`
	Cached    int `json:"cached_tokens"`
	Reasoning int `json:"reasoning_tokens"`
	Requests  int `json:"requests"`
	Uncounted int `json:"uncounted_requests,omitempty"` // that were stopped before the server counted them
}

type runWaiting struct {
	Approval string `json:"approval"`
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	Why      string `json:"why"`
}

func (p *runPrinter) ending(o *agent.Outcome, code int, err error) *runEnding {
	e := &runEnding{Schema: runSchemaVersion, Run: p.id, Model: p.model, Reason: o.Reason, Limit: o.Limit,
		ExitCode: code, Answer: o.Text, Turns: o.Turns, Calls: o.Calls, Denied: o.Denied, Waiting: []runWaiting{}}
	if p.format != nil && fits(o.Text, p.format) == nil {
		e.Value = json.RawMessage(strings.TrimSpace(o.Text))
	}
	if u := o.Usage; u.Known {
		e.Usage = &runUsage{u.In, u.Out, u.Cached, u.Reasoning, u.Requests, u.Uncounted}
	}
	if o.Priced {
		e.Cost = &o.Cost
	}
	for _, a := range o.Waiting {
		e.Waiting = append(e.Waiting, runWaiting{a.ID, a.CallID, a.Tool, a.Why})
	}
	if err != nil {
		e.Error = err.Error()
	}
	return e
}

func (l *runLines) line(e chat.Event, typ string) *runLine {
	l.seq++
	return &runLine{Schema: runSchemaVersion, Run: l.id, Seq: l.seq, Type: typ, Turn: e.Turn, CallID: e.ID,
		Name: e.Name}
}

func (l *runLines) start(tools []chat.Tool) {
	line := l.line(chat.Event{}, "run_start")
	line.Model = l.model
	for _, t := range tools {
		line.Tools = append(line.Tools, t.Name)
	}
	l.write(line)
}

func (l *runLines) event(e chat.Event) {
	shape, ok := runShapes[e.Kind]
	if !ok || e.Kind == chat.KindIdle && e.Detail == nil {
		return
	}
	if e.Kind == chat.KindNote && e.ID == "" { // it belongs to the call that comes
		n := e.Detail.(*chat.NoteDetail)
		l.repairs = append(l.repairs, runRepair{n.Kind, n.Path, n.Before, n.After})
		return
	}
	line := l.line(e, shape.name)
	shape.fill(line, &e)
	if e.Kind == chat.KindCallEnd {
		repairs := append([]runRepair{}, l.repairs...)
		line.Repairs, l.repairs = &repairs, nil
	}
	l.write(line)
}

// runShapes say which events become lines, and what those hold.
var runShapes = map[chat.Kind]struct {
	name string
	fill func(l *runLine, e *chat.Event)
}{
	chat.KindTurnStart: {"turn_start", func(l *runLine, e *chat.Event) {
		t := e.Detail.(*chat.TurnDetail)
		l.Model, l.Dialect, l.Attempt = t.Model, t.Dialect, t.Attempt
	}},
	chat.KindTurnEnd:   {"turn_end", func(*runLine, *chat.Event) {}},
	chat.KindText:      {"text", spannedText},
	chat.KindReasoning: {"reasoning", spannedText},
	chat.KindIdle: {"retry", func(l *runLine, e *chat.Event) {
		retry := e.Detail.(*chat.RetryDetail)
		l.Attempt, l.Message = retry.Attempt, retry.Sentence(time.Now())
	}},
	chat.KindRaw: {"raw", func(l *runLine, e *chat.Event) { l.Text = &e.Text }},
	chat.KindCallEnd: {"call", func(l *runLine, e *chat.Event) {
		c := e.Detail.(*chat.Call)
		l.Arguments, l.Origin, l.Dialect, l.At, l.End = argumentsJSON(c.Arguments), c.Origin.String(), c.Dialect, &c.At,
			&c.End
	}},
	chat.KindRejected: {"rejected", func(l *runLine, e *chat.Event) {
		r := e.Detail.(*chat.RejectedDetail)
		l.Name, l.Reason, l.Message = r.Name, string(r.Reason), r.Message
		l.set(&r.Raw, &r.At, &r.End)
	}},
	chat.KindOverrun: {"overrun", func(l *runLine, e *chat.Event) {
		o := e.Detail.(*chat.OverrunDetail)
		l.set(&o.Marker, &e.At, &e.End)
	}},
	chat.KindBounce: {"bounce", func(l *runLine, e *chat.Event) {
		b := e.Detail.(*chat.BounceDetail)
		l.Reason, l.Message = string(b.Reason), b.Sent
	}},
	chat.KindNote: {"repair", func(l *runLine, e *chat.Event) {
		n := e.Detail.(*chat.NoteDetail)
		l.Repairs = &[]runRepair{{n.Kind, n.Path, n.Before, n.After}}
	}},
	chat.KindPolicy: {"policy", func(l *runLine, e *chat.Event) {
		p := e.Detail.(*policy.Detail)
		l.Decision, l.Rule, l.Why = p.Decision, p.Rule, p.Why
	}},
	chat.KindApproval: {"approval", func(l *runLine, e *chat.Event) {
		a := e.Detail.(*runner.ApprovalDetail)
		l.Approval, l.State, l.By, l.Reason = a.ID, string(a.State), a.By, a.Reason
	}},
	chat.KindToolState: {"tool_state", func(l *runLine,
		e *chat.Event) {
		l.State = string(e.Detail.(*runner.StateDetail).State)
	}},
	chat.KindProgress: {"progress", func(l *runLine, e *chat.Event) {
		progress := e.Detail.(*runner.ProgressDetail)
		l.Stream, l.Text = progress.Stream, &progress.Text
	}},
	chat.KindResult: {"result", func(l *runLine, e *chat.Event) {
		m := e.Detail.(*chat.Result).Message()
		text := m.Text()
		l.Text, l.IsError = &text, &m.IsError
	}},
}

func spannedText(l *runLine, e *chat.Event) { l.set(&e.Text, &e.At, &e.End) }

// argumentsJSON returns arguments as JSON: what is no JSON as a string.
func argumentsJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text) // a string can always be written
	return raw
}

func (l *runLines) end(ctx context.Context, o agent.Outcome) error {
	code, err := exitOf(ctx, &o, l.format)
	line := l.line(chat.Event{Turn: max(o.Turns-1, 0)}, "run_end")
	line.Result = l.ending(&o, code, err)
	l.write(line)
	return l.finish(code, err)
}
