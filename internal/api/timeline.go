package api

import (
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/dialect"
	"wield/internal/capture"
	"wield/internal/mask"
	"wield/internal/playback"
	"wield/internal/shorten"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// maxTold limits the bytes of a text in a timeline; the records have the whole text.
const maxTold = 64 << 10

// A Timeline is a run, or an exchange, as a person looks at it: what happened when, turn by turn.
type Timeline struct {
	Kind    string         `json:"kind" jsonschema:"run or exchange"`
	ID      string         `json:"id"`
	Session string         `json:"session,omitempty"`
	Title   string         `json:"title,omitempty"`
	Model   string         `json:"model,omitempty"`
	Agent   string         `json:"agent,omitempty"`
	Begun   time.Time      `json:"begun"`
	Ended   time.Time      `json:"ended" jsonschema:"when the last thing happened"`
	Reason  string         `json:"reason,omitempty" jsonschema:"why it ended"`
	Error   *Trouble       `json:"error,omitempty"`
	Usage   Usage          `json:"usage"`
	Cost    *float64       `json:"cost,omitempty" jsonschema:"by the prices of the configuration: of a run by those of then, of an exchange by those of now; without it it is not known"`
	Tools   []ParseTool    `json:"tools" jsonschema:"that the model was told of"`
	Turns   []TimelineTurn `json:"turns"`
	Request string         `json:"request,omitempty" jsonschema:"of an exchange: what the client sent, masked"`
	Answer  string         `json:"answer,omitempty" jsonschema:"of an exchange: what the client received, masked"`
	Path    string         `json:"path,omitempty"`
	Status  int            `json:"status,omitempty" jsonschema:"of an exchange: that of the answer"`

	Cache string `json:"cache,omitempty" jsonschema:"of an exchange: how much of the previous prompt is at the front of this one"`

	RunStatus journal.Status `json:"run_status,omitempty" jsonschema:"of a run: where it stands, in one word"`
}

// A TimelineTurn is one answer of a model.
type TimelineTurn struct {
	Turn     int                   `json:"turn"`
	Model    string                `json:"model,omitempty"`
	Backend  string                `json:"backend,omitempty"`
	Asked    time.Time             `json:"asked"`
	Ended    time.Time             `json:"ended"`
	Said     []TimelineSaid        `json:"said" jsonschema:"what entered the conversation before it; of an exchange, what the model was sent"`
	Bytes    int                   `json:"bytes" jsonschema:"of the model's text"`
	Text     string                `json:"text,omitempty" jsonschema:"of an exchange: the model's text, masked. That of a run is read by itself"`
	Usage    Usage                 `json:"usage"`
	Finish   string                `json:"finish,omitempty"`
	Error    *Trouble              `json:"error,omitempty"`
	Bounces  []TimelineBounce      `json:"bounces"`
	Rejected []chat.RejectedDetail `json:"rejected"`
	Notes    []chat.NoteDetail     `json:"notes"`
	Overrun  *chat.OverrunDetail   `json:"overrun,omitempty" jsonschema:"the model went on past the end of its turn: where, and at which marker"`
	Calls    []TimelineCall        `json:"calls"`
}

// A TimelineSaid is a message.
type TimelineSaid struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// A TimelineCall is a call and what became of it.
type TimelineCall struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Arguments string             `json:"arguments" jsonschema:"as they were run"`
	Written   *string            `json:"written,omitempty" jsonschema:"as the model wrote them, where a person changed them"`
	Origin    chat.Origin        `json:"origin,omitempty"`
	Dialect   string             `json:"dialect,omitempty"`
	Reasoning string             `json:"reasoning,omitempty"`
	At        int                `json:"at,omitempty"`
	End       int                `json:"end,omitempty"`
	Policy    *policy.Detail     `json:"policy,omitempty"`
	Decided   time.Time          `json:"decided,omitzero" jsonschema:"by the rules"`
	Approvals []TimelineApproval `json:"approvals"`
	Started   time.Time          `json:"started,omitzero"`
	Ended     time.Time          `json:"ended,omitzero"`
	Runs      int                `json:"runs"`
	Result    *Result            `json:"result,omitempty"`
	ErrorType string             `json:"error_type,omitempty"`
}

// A TimelineApproval is a question to a person about a call.
type TimelineApproval struct {
	ID       string               `json:"id"`
	Asked    time.Time            `json:"asked"`
	Answered time.Time            `json:"answered,omitzero"`
	State    runner.ApprovalState `json:"state"`
	By       string               `json:"by,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Rule     string               `json:"rule,omitempty"`
}

// A TurnText is the text of one answer, and how it is read.
type TurnText struct {
	Text    string           `json:"text"`
	Tools   []ParseTool      `json:"tools"`
	Bounces []TimelineBounce `json:"bounces" jsonschema:"the answers before it that were sent back, whole"`
	Reading Reading          `json:"reading"`
}

// maxTurnText limits the bytes of a text that is shown and read whole: it was written by a model, in one dialect.
const maxTurnText = 8 << 20

// A TimelineBounce is a second chance for a model, with the answer that failed.
type TimelineBounce struct {
	Bounce
	Began string `json:"began,omitempty" jsonschema:"the failed answer up to what no client sees"`
	Cut   bool   `json:"cut,omitempty" jsonschema:"there is more of it than is told here; of a run the text of the answer has it"`
}

// cutText returns a text for a timeline.
func cutText(s string) string { return mask.Text(shorten.Text(s, maxTold)) }

// clip returns as much of a text as is told, masked, and whether that is not all.
func clip(s string, most int) (text string, cut bool) {
	if len(s) > most {
		s, cut = strings.ToValidUTF8(s[:most], ""), true
	}
	return mask.Text(s), cut
}

// recording returns the run that the path names as it is recorded.
func (x *exchange) recording() (*playback.Recording, error) {
	if _, err := x.run(); err != nil {
		return nil, err
	}
	return x.recorded()
}

// recorded is recording for a run that is there for the caller.
func (x *exchange) recorded() (*playback.Recording, error) {
	list, err := playback.Load(x.r.Context(), x.s.o.Journal, x.arg("run"))
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// runTimeline answers GET /runs/{run}/timeline.
func (x *exchange) runTimeline() (any, error) {
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	r, err := x.recorded()
	if err != nil {
		return nil, err
	}
	t := &Timeline{Kind: "run", RunStatus: run.Status, ID: r.ID, Session: r.Session, Title: r.Title, Model: r.Run.Model,
		Agent: r.Run.Agent, Begun: r.Begun, Ended: r.Ended, Tools: offeredTools(r), Turns: []TimelineTurn{}}
	if e := r.End; e != nil {
		t.Reason, t.Usage, t.Cost = e.Reason, usageOf(e.Usage), e.Cost
		t.Error = failureOf(e.Error)
	}
	for _, turn := range r.Turns {
		t.Turns = append(t.Turns, timelineTurn(turn))
	}
	return t, nil
}

func offeredTools(r *playback.Recording) []ParseTool {
	list := []ParseTool{}
	for _, d := range r.Run.Offered {
		list = append(list, ParseTool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	return list
}

func timelineTurn(t *playback.Turn) TimelineTurn {
	out := TimelineTurn{Turn: t.Number, Model: t.Model, Asked: t.Asked, Ended: t.Ended, Said: []TimelineSaid{},
		Bounces: []TimelineBounce{}, Rejected: []chat.RejectedDetail{}, Notes: []chat.NoteDetail{},
		Calls: []TimelineCall{}}
	for _, m := range t.Said {
		out.Said = append(out.Said, TimelineSaid{string(m.Role), cutText(m.Text())})
	}
	if e := t.End; e != nil {
		out.Bytes, out.Usage = len(e.Raw), usageOf(e.Usage)
		if e.Finish != nil {
			out.Finish = string(e.Finish.Reason)
		}
		out.Error = failureOf(e.Error)
	}
	out.Bounces = bouncesOf(t, maxTold)
	for _, r := range t.Rejects {
		d := r.RejectedDetail
		d.Raw, d.Arguments = cutText(d.Raw), cutText(d.Arguments)
		out.Rejected = append(out.Rejected, d)
	}
	for _, n := range t.Repairs {
		d := n.NoteDetail
		d.Before, d.After = cutText(d.Before), cutText(d.After)
		out.Notes = append(out.Notes, d)
	}
	for _, o := range t.Overran {
		out.Overrun = &o.OverrunDetail
	}
	for _, c := range t.Calls {
		out.Calls = append(out.Calls, timelineCall(c))
	}
	return out
}

// bouncesOf returns the bounces of a turn, with as much of each text. The answers that failed are recorded in
// their order; what was taken over from another channel was no answer that failed.
func bouncesOf(t *playback.Turn, most int) []TimelineBounce {
	list := []TimelineBounce{}
	var failed []record.Text
	if t.End != nil {
		failed = t.End.Before
	}
	for _, b := range t.Bounces {
		whole := b.Suppressed
		if b.Sent != "" && len(failed) > 0 {
			whole, failed = string(failed[0]), failed[1:]
		}
		list = append(list, bounceOf(b, whole, most))
	}
	return list
}

// bounceOf returns a bounce with the answer that failed, the end of which was suppressed.
func bounceOf(b *chat.BounceDetail, whole string, most int) TimelineBounce {
	out := TimelineBounce{Bounce: Bounce{Reason: b.Reason}}
	if b.Call != nil {
		out.Name = b.Call.Name
	}
	began, ok := strings.CutSuffix(strings.ToValidUTF8(whole, "\ufffd"), strings.ToValidUTF8(b.Suppressed, "\ufffd"))
	if !ok {
		began = ""
	}
	for _, part := range []struct {
		to   *string
		text string
	}{{&out.Began, began}, {&out.Suppressed, b.Suppressed}, {&out.Sent, b.Sent}} {
		var cut bool
		*part.to, cut = clip(part.text, most)
		out.Cut = out.Cut || cut
	}
	return out
}

func timelineCall(c *playback.RecordedCall) TimelineCall {
	out := TimelineCall{ID: c.ID, Name: c.Name, Arguments: cutText(c.Arguments), Origin: c.Origin, Dialect: c.Dialect,
		Reasoning: c.Reasoning, At: c.At, End: c.End, Policy: c.Policy, Decided: c.Decided, Runs: c.Runs,
		Approvals: []TimelineApproval{}}
	for _, q := range c.Questions {
		a := TimelineApproval{ID: q.ID, Asked: q.Asked, State: runner.ApprovalPending, Rule: q.Rule}
		if q.Answer != nil {
			if len(q.Answer.Arguments) > 0 && out.Written == nil {
				written := out.Arguments
				out.Written = &written
			}
			a.State, a.Answered, a.By, a.Reason = q.Answer.State, q.Answer.At, q.Answer.By, q.Answer.Reason
		}
		out.Approvals = append(out.Approvals, a)
	}
	if c.Start != nil {
		out.Started = c.Start.At
		out.Arguments = cutText(string(c.Start.Arguments))
	}
	if f := c.Result; f != nil {
		shown := f.Result.Chat(&c.Call, 0)
		m := shown.Message()
		out.Ended, out.ErrorType = f.At, string(f.Result.ErrorType)
		out.Result = &Result{Text: cutText(m.Text()), IsError: !f.Result.OK}
	}
	return out
}

// readTurn answers GET /runs/{run}/turns/{turn}.
func (x *exchange) readTurn() (any, error) {
	r, err := x.recording()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(x.arg("turn"))
	if err != nil || n < 0 || n >= len(r.Turns) {
		return nil, notFound("turn", x.arg("turn"))
	}
	name := x.query("dialect")
	if name == "" {
		name = "auto"
	}
	if _, ok := dialect.Lookup(name); !ok && name != "auto" {
		return nil,
			invalid("dialect", "there is no dialect %s", shorten.Quoted(name)).with("wield dialect list prints them")
	}
	t := r.Turns[n]
	text := ""
	if t.End != nil {
		text = mask.Text(strings.ToValidUTF8(string(t.End.Raw), "\ufffd"))
	}
	if len(text) > maxTurnText {
		text = strings.ToValidUTF8(text[:maxTurnText], "")
	}
	tools := offeredTools(r)
	shapes, err := parseShapes(tools)
	if err != nil {
		return nil, err
	}
	o := dialect.Options{Tools: shapes}
	reading := readAs(x.r.Context(), text, o, name, t.Model, x.query("only") == "true", 0)
	reading.Content, reading.Reasoning = "", "" // they are parts of the text, which stands beside them
	return &TurnText{Text: text, Tools: tools, Bounces: bouncesOf(t, maxTurnText), Reading: reading}, nil
}

// mediaScenario is the content type of scenarios.
const mediaScenario = "application/yaml"

// exportScenario answers GET /runs/{run}/scenario.
func (x *exchange) exportScenario() error {
	r, err := x.recording()
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(r.ID, "_", "-")
	text, err := playback.Scenario(name, []*playback.Recording{r}, nil, mask.Text)
	if err != nil {
		return err
	}
	h := x.w.Header()
	h.Set("Content-Type", mediaScenario)
	h.Set("Content-Disposition", `attachment; filename="`+name+`.scenario.yaml"`)
	x.begun = true
	x.deadline()
	_, err = x.w.Write(text)
	return err
}

// exchangeTimeline answers GET /captures/{capture}/timeline.
func (x *exchange) exchangeTimeline() (any, error) {
	r, err := x.captured()
	if err != nil {
		return nil, err
	}
	i := inspectedExchange(r)
	t := &Timeline{Kind: "exchange", ID: r.ID, Title: i.Title, Model: r.Model, Begun: r.Time, Ended: r.Time.Add(r.Took),
		Path: r.Path, Status: r.Status, Usage: usageOf(r.Usage), Tools: []ParseTool{}, Turns: []TimelineTurn{},
		Request: bodyText(r.Request), Answer: bodyText(r.Answer)}
	if x.s.o.Prices != nil {
		if cost, ok := x.s.o.Prices(r.Model).Cost(r.Usage); ok {
			t.Cost = &cost
		}
	}
	if r.Error != "" {
		t.Error = &Trouble{Kind: r.Error}
	}
	if r.Prefix != nil {
		t.Cache = mask.Text(r.Prefix.String())
	}
	for n := range r.Turns {
		turn := &r.Turns[n]
		for _, o := range turn.Tools {
			t.Tools = append(t.Tools, ParseTool{Name: o.Name, Parameters: o.Parameters})
		}
		t.Turns = append(t.Turns, exchangeTurn(turn, n))
	}
	return t, nil
}

// bodyText returns what is kept of a body, masked.
func bodyText(b capture.Body) string { return mask.Text(strings.ToValidUTF8(string(b), "\ufffd")) }

func exchangeTurn(t *capture.Turn, n int) TimelineTurn {
	out := TimelineTurn{Turn: n, Model: t.Model, Backend: t.Backend, Asked: t.Began, Ended: t.Began.Add(t.Took),
		Text: bodyText(t.Raw), Bytes: len(t.Raw), Said: []TimelineSaid{}, Bounces: []TimelineBounce{},
		Rejected: []chat.RejectedDetail{}, Notes: []chat.NoteDetail{}, Calls: []TimelineCall{}}
	for _, s := range t.Sent {
		out.Said = append(out.Said, TimelineSaid{s.Role, bodyText(s.Text)})
	}
	if b := t.Bounce; b != nil {
		d := bounceOf(&chat.BounceDetail{Reason: b.Reason, Suppressed: string(b.Suppressed), Sent: string(b.Sent)},
			string(t.Raw), capture.MaxBody)
		d.Name, d.Cut = b.Name, len(b.Suppressed) == capture.MaxBody || len(b.Sent) == capture.MaxBody
		out.Bounces = append(out.Bounces, d)
	}
	out.Overrun = t.Overrun
	for _, r := range t.Rejected {
		out.Rejected = append(out.Rejected, chat.RejectedDetail{Reason: r.Reason, Name: r.Name, Message: r.Message,
			Raw: bodyText(r.Raw)})
	}
	for _, m := range t.Notes {
		out.Notes = append(out.Notes, chat.NoteDetail{Kind: m.Kind, Path: m.Path, Before: bodyText(m.Before),
			After: bodyText(m.After)})
	}
	for _, c := range t.Calls {
		out.Calls = append(out.Calls, TimelineCall{ID: c.ID, Name: c.Name, Arguments: bodyText(c.Arguments),
			Origin: c.Origin, Dialect: c.Dialect, Approvals: []TimelineApproval{}})
	}
	return out
}
