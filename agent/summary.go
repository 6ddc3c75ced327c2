package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/prompt"
	"wield/tool/runner"
)

// view returns what the model is sent of the conversation, with the tools on offer. Where turns have to be left out and
// a summary is wanted, the model writes it first; if it cannot, they are left out without one.
func (r *Run) view(ctx context.Context, tools []chat.Tool) (View, error) {
	f := r.fitting(tools)
	v := f.Fit(r.state.Messages)
	if v.Wanted == 0 {
		return v, nil
	}
	err := r.summarize(ctx, f, v.Wanted, tools)
	switch {
	case errors.Is(err, errNoSummary):
		r.shown.noSummary = true
	case err != nil:
		return View{}, err
	}
	return r.fitting(tools).Fit(r.state.Messages), nil
}

// shown tracks how much of the conversation the model can be shown.
type shown struct {
	summary   Summary // that stands in the place of its beginning
	noSummary bool    // the model could not write one
	learned   int     // tokens that the server may be sent, since it refused more; 0: nothing was refused
}

// fitting returns what the conversation has to fit.
func (s *shown) fitting(w Window, tools []chat.Tool) Fitting {
	f := Fitting{Budget: w.budget(tools), Summary: s.summary, Summarize: w.Summarize && !s.noSummary,
		Reader: reader(tools)}
	if s.learned > 0 && (f.Budget == 0 || s.learned < f.Budget) {
		f.Budget = s.learned
	}
	return f
}

func (r *Run) fitting(tools []chat.Tool) Fitting { return r.shown.fitting(r.agent.o.Window, tools) }

// refused learns from a server that says that what it was sent is too long. It reports whether there is something less
// to send.
func (r *Run) refused(t *answerCollector, sent View, tools []chat.Tool) bool {
	if !t.silent() {
		return false
	}
	before := r.shown.learned
	r.shown.learned = max(sent.Tokens/2, 1)
	if less := r.fitting(tools).Fit(r.state.Messages); less.Tokens > sent.Tokens*3/4 {
		r.shown.learned = before
		return false
	}
	return true
}

// errNoSummary says that the model wrote no summary.
var errNoSummary = errors.New("agent: the model wrote no summary")

// summarize has the model write a summary of the first n messages, and records it.
func (r *Run) summarize(ctx context.Context, f Fitting, n int, tools []chat.Tool) error {
	s, err := r.sumUp(ctx, f, n, tools)
	if err != nil {
		return err
	}
	if err := r.log.note(ctx, record.Record{Kind: record.KindSummary, Summary: &s}); err != nil {
		return err
	}
	r.shown.summary = Summary{Messages: n, Text: s.Text}
	return nil
}

// longestSummary limits the tokens of a summary where it is not known how many the model reads.
const longestSummary = 1024

// sumUp has the model write a summary of the first n messages.
func (r *Run) sumUp(ctx context.Context, f Fitting, n int, tools []chat.Tool) (record.Summary, error) {
	most := max(f.Budget/8, leastResult)
	if f.Budget == 0 {
		most = longestSummary
	}
	f.Summarize = false
	f.Budget = f.Budget * 7 / 8 // the question has to fit too
	req := *r.req
	req.Tools, req.Choice, req.Format, req.Stream = tools, chat.Choice{Mode: chat.ChoiceNone, Read: true}, nil,
		!r.agent.o.Whole
	// which may be the conversation itself, that nothing may be written into
	fit := f.Fit(r.state.Messages[:n]).Messages
	req.Messages = append(slices.Clip(fit),
		chat.Message{Role: chat.RoleUser, Parts: chat.Text(prompt.AskSummary(most / 2))})
	var text strings.Builder
	var usage chat.Usage
	var failed error
	for e, err := range r.agent.model.Stream(ctx, &req) {
		switch {
		case err != nil:
			failed = err
		case e.Kind == chat.KindText:
			text.WriteString(e.Text)
		case e.Kind == chat.KindUsage:
			usage = *e.Detail.(*chat.Usage)
		}
	}
	r.spend(usage, failed)
	s := record.Summary{Messages: n, Digest: digest(r.state.Messages[:n]),
		Text: strings.TrimSpace(beginning(text.String(), most)), Model: req.Model, Usage: usage}
	switch {
	case ctx.Err() != nil:
		return s, ctx.Err()
	case failed != nil:
		return s, errors.Join(errNoSummary, failed)
	case s.Text == "":
		return s, errNoSummary
	}
	return s, nil
}

// Compact has the model write a summary of the conversation in a request, which stands for all of it in the runs of the
// session that go on with it. before is the last summary of its beginning, if there is one. The messages stay in the
// journal, beside the summary.
func (a *Agent) Compact(ctx context.Context, req *chat.Request, before Summary) (Summary, chat.Usage, error) {
	r := a.newRun(req, newRunRecorder(a.o.Journal, req.Conversation))
	r.runner, r.shown.summary = a.runner.With(func(s *runner.Settings) { s.Records = &r.seen }), before
	tools := r.runner.Offered(said(req.Messages))
	s, err := r.sumUp(ctx, r.fitting(tools), len(req.Messages), tools)
	for n := 0; errors.Is(err, chat.ErrContextLength) && n < mostRefused; n++ { // that may be why a summary is wanted
		r.shown.learned = max(r.fitting(tools).Fit(req.Messages).Tokens/2, 1)
		s, err = r.sumUp(ctx, r.fitting(tools), len(req.Messages), tools)
	}
	if err != nil || a.o.Journal == nil {
		return Summary{Messages: s.Messages, Text: s.Text}, r.state.Usage, err
	}
	// The run is recorded when there is a summary, all at once: nobody can find it half done and go on with it.
	release, err := r.begin(ctx)
	if err != nil {
		return Summary{}, r.state.Usage, err
	}
	defer release()
	err = r.log.note(ctx, record.Record{Kind: record.KindSummary, Summary: &s},
		record.Record{Kind: record.KindEnd, End: &record.End{Reason: string(EndAnswer), Usage: r.state.Usage}})
	return Summary{Messages: s.Messages, Text: s.Text}, r.state.Usage, err
}

// mostRefused limits how often a server may refuse a conversation as too long to be summarized. Each try is half as
// long.
const mostRefused = 4

// LastSummary returns the last summary in the journal that stands for the beginning of a conversation, or none.
func (a *Agent) LastSummary(ctx context.Context, session string, messages []chat.Message) (found Summary, err error) {
	if a.o.Journal == nil || session == "" {
		return Summary{}, nil
	}
	return a.lastSummary(ctx, session, messages, math.MaxInt64)
}

// lastSummary is LastSummary among those that were there before a position of the journal.
func (a *Agent) lastSummary(ctx context.Context, session string, messages []chat.Message, before int64) (found Summary,
	err error) {
	for e, err := range a.o.Journal.Read(ctx,
		journal.Query{Session: session, Kinds: []record.Kind{record.KindSummary}}) {
		if err != nil {
			return Summary{}, fmt.Errorf("agent: the summaries of session %s: %w", session, err)
		}
		if e.Position >= before {
			break
		}
		if s := e.Record.Summary; s.Digest != "" {
			if n := beginsWith(messages, s.Digest); n > 0 && n >= found.Messages {
				found = Summary{Messages: n, Text: s.Text}
			}
		}
	}
	return found, nil
}

// Shorten puts a summary in the place of the first messages, where Compact wrote it and there is no journal to find it
// in.
func (r *Run) Shorten(s Summary) { r.shown.summary = s }

// digest returns the digest of messages, by which they are known again. Instructions are left out: they tell the day,
// and change.
func digest(messages []chat.Message) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range messages {
		if !instructs(&messages[i]) && enc.Encode(&messages[i]) != nil {
			return "" // no JSON: then they are known again nowhere
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func instructs(m *chat.Message) bool {
	return m.Role == chat.RoleSystem || m.Role == chat.RoleDeveloper
}

// beginsWith returns how many messages at the beginning of a conversation have a digest; 0: none.
func beginsWith(messages []chat.Message, want string) int {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range messages {
		if instructs(&messages[i]) {
			continue
		}
		if enc.Encode(&messages[i]) != nil {
			return 0
		}
		if hex.EncodeToString(h.Sum(nil)) == want {
			return i + 1
		}
	}
	return 0
}

// recallSummary takes the last summary that an earlier run of the session wrote of the messages with which this one
// begins.
func (r *Run) recallSummary(ctx context.Context) error {
	if r.log.fresh || r.shown.summary.Messages > 0 {
		return nil
	}
	s, err := r.agent.LastSummary(ctx, r.log.session, r.state.Messages)
	if s.Messages > 0 {
		r.shown.summary = s
	}
	return err
}
