package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/journal"
	"wield/tool/mcp"
	"wield/tool/policy"
	"wield/tool/runner"
)

// An Asking says who is asked about calls that need an approval.
type Asking int

// Who can be asked. With a journal, each question stands there too, where the page and the API find it; the first
// answer counts, whichever way it comes.
const (
	AskNobody Asking = iota // such calls are refused
	AskClient               // clients ask their users
	AskPage                 // the call waits for an answer in the journal
)

// approvalState begins the state of a request that waits for a person, in front of the id of the approval.
const approvalState = "wield-approval."

// approvalKey is the name of the one question that an approval is.
const approvalKey = "approval"

// maxSuspended bounds the calls that wait for an approval with something that a server behind wield is to get.
const maxSuspended = 256

// toClose is the time that a client gets to close a question that is decided.
const toClose = 50 * time.Millisecond

// approvals are the questions of calls that wait for an approval.
type approvals struct {
	memory runner.MemoryApprovals // without a journal

	mu        sync.Mutex
	suspended map[string]mcp.Relay // what calls came with, by the approval that they wait for
}

// questions is where the questions of a call are.
func (s *Server) questions(l *log) runner.Approvals {
	if l == nil {
		return &s.asked.memory
	}
	return &singleUse{journal.Approvals{Store: l.store, Session: l.session, Run: l.id()}}
}

// singleUse offers no rules that would allow a call for ever: a policy is shared by all clients.
type singleUse struct{ journal.Approvals }

// Ask implements [runner.Approvals].
func (a *singleUse) Ask(ctx context.Context, q runner.Question) (runner.Approval, error) {
	q.Always = ""
	return a.Approvals.Ask(ctx, q)
}

// answer decides an approval by what a client's request answers to it, unless somebody did before, and gives the
// relay what the call came with at first. The result is that of a call that was not allowed. It does nothing for
// other requests.
func (s *Server) answer(ctx context.Context, relay *mcp.Relay, l *log) (*sdk.CallToolResult, error) {
	id, ok := strings.CutPrefix(relay.State, approvalState)
	if !ok {
		return nil, nil
	}
	store := s.questions(l)
	if r, _ := relay.Responses[approvalKey].(*sdk.ElicitResult); r != nil && s.o.Approvals == AskClient {
		if _, err := store.Decide(ctx, id, said(r, s.o.By)); err != nil && !errors.Is(err, runner.ErrDecided) {
			return nil, refused("the approval cannot be answered: %v", err)
		}
	}
	a, err := store.Get(ctx, id)
	switch {
	case err != nil:
		return nil, refused("the approval cannot be answered: %v", err)
	case a.State == runner.ApprovalPending:
		return nil, refused("the request answers no approval")
	case a.State == runner.ApprovalConsumed:
		return nil, refused("the approval cannot be answered: %v", runner.ErrConsumed)
	}
	s.asked.mu.Lock()
	before := s.asked.suspended[id]
	delete(s.asked.suspended, id)
	s.asked.mu.Unlock()
	relay.State, relay.Responses = before.State, before.Responses
	return notAllowed(&a), nil
}

// said is the decision in what a client's user answered.
func said(r *sdk.ElicitResult, by string) runner.Answer {
	answer := runner.Answer{State: runner.ApprovalDenied, By: by}
	switch decision, _ := r.Content["decision"].(string); {
	case r.Action == "accept" && decision == decisionAllow:
		answer.State = runner.ApprovalApproved
	case r.Action == "cancel":
		answer.State = runner.ApprovalCancelled
	default:
		answer.Reason, _ = r.Content["reason"].(string)
	}
	return answer
}

// notAllowed is the result of a call that somebody said no to, or nobody yes in time; nil: it may run.
func notAllowed(a *runner.Approval) *sdk.CallToolResult {
	if a.State == runner.ApprovalApproved || a.State == runner.ApprovalEdited {
		return nil
	}
	text := fmt.Sprintf("%s was not run: the approval was %s", a.Tool, a.State)
	if a.State == runner.ApprovalExpired {
		text = fmt.Sprintf("%s was not run: the approval expired", a.Tool)
	}
	if a.Answer.Reason != "" {
		text += ", because: " + a.Answer.Reason
	}
	if text += "."; a.State == runner.ApprovalCancelled {
		text += " If nobody can answer, " + permits
	}
	return failed(text)
}

// permits says what lets a call run that nobody is asked about.
const permits = "a rule of the policy or --allow of wield mcp serve can allow it."

// abandon cancels the approval that the state of a request names, if it does: the call is not made any more.
func (s *Server) abandon(ctx context.Context, state string, l *log) {
	id, ok := strings.CutPrefix(state, approvalState)
	if !ok {
		return
	}
	_, _ = s.questions(l).Decide(ctx, id, runner.Answer{State: runner.ApprovalCancelled}) // it may be decided
	if l != nil {
		l.waits = false
	}
	s.asked.mu.Lock()
	delete(s.asked.suspended, id)
	s.asked.mu.Unlock()
}

// settled returns a channel that is closed when the approval which a state names is decided or has expired, and what
// ends that. Without a journal only the client decides.
func (s *Server) settled(ctx context.Context, state string, l *log) (<-chan struct{}, context.CancelFunc) {
	id, ok := strings.CutPrefix(state, approvalState)
	if !ok || l == nil {
		return nil, func() {}
	}
	watch, stop := context.WithCancel(ctx)
	closed := make(chan struct{})
	go func() {
		if (&journal.Approvals{Store: l.store}).Wait(watch, id) == nil {
			close(closed)
		}
	}()
	return closed, stop
}

// failed is the result of a call that was not run.
func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// The decisions that a person can make.
const (
	decisionAllow = "allow once"
	decisionDeny  = "deny"
)

var decisionSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"decision":{"type":"string","title":"Decision","enum":["` + decisionAllow + `","` + decisionDeny + `"]},` +
	`"reason":{"type":"string","title":"Reason, if you deny"}},"required":["decision"]}`)

// approve asks about a call. It returns nil when the call may go on, and otherwise what its client gets: a question, or
// that the call is not allowed. A detached call has a client that asks again later.
func (s *Server) approve(
	ctx context.Context, r *sdk.CallToolRequest, id string, relay *mcp.Relay, l *log, detached bool,
) (*sdk.CallToolResult, error) {
	store := s.questions(l)
	q, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state := approvalState + id
	switch {
	case s.o.Approvals == AskClient && q.Form == nil && elicits(r):
		l.wait(ctx, id)
		if detached || r.Session == nil || asksByResult(r.Session) {
			return s.suspend(&q, relay), nil
		}
		err = s.elicit(ctx, r, &q, l)
	case s.o.Approvals == AskPage && l != nil:
		l.wait(ctx, id)
		tell(ctx, r, q.Tool+" waits for an approval")
		err = (&journal.Approvals{Store: l.store}).Wait(ctx, id)
	default:
		s.abandon(ctx, state, l)
		return failed(fmt.Sprintf("%s was not run: it needs an approval (%s), and this client cannot ask for one; "+
			permits, q.Tool, q.Why)), nil
	}
	if err != nil {
		s.abandon(context.WithoutCancel(ctx), state, l)
		return nil, err
	}
	if q, err = store.Get(ctx, id); err != nil {
		return nil, err
	}
	if denied := notAllowed(&q); denied != nil {
		_ = l.resume(ctx) // a run that was ended with the answer needs no more
		return denied, nil
	}
	return nil, l.resume(ctx)
}

// tell tells the client of a request how far its call is, if it wants to know.
func tell(ctx context.Context, r *sdk.CallToolRequest, text string) {
	if token := r.Params.GetProgressToken(); token != nil && r.Session != nil {
		r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: text})
	}
}

// asksByResult reports whether a session has the revision in which questions are results.
func asksByResult(session *sdk.ServerSession) bool {
	p := session.InitializeParams()
	return p == nil || p.ProtocolVersion >= revision
}

// elicit asks the user of a client, and takes the answer back when somebody else has decided before.
func (s *Server) elicit(ctx context.Context, r *sdk.CallToolRequest, q *runner.Approval, l *log) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settled, stop := s.settled(ctx, approvalState+q.ID, l)
	defer stop()
	answered := make(chan error, 1)
	go func() {
		result, err := r.Session.Elicit(ctx, question(q))
		if err == nil {
			_, err = s.questions(l).Decide(ctx, q.ID, said(result, s.o.By))
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		if errors.Is(err, runner.ErrDecided) {
			return nil
		}
		return err
	case <-settled:
		cancel()
		<-answered
		time.Sleep(toClose) // the library tells the client in the background; it has to be before the result
		return nil
	}
}

// suspend makes the result that has the client ask its user.
func (s *Server) suspend(q *runner.Approval, relay *mcp.Relay) *sdk.CallToolResult {
	a := &s.asked
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.suspended) >= maxSuspended || a.suspended == nil {
		a.suspended = map[string]mcp.Relay{}
	}
	a.suspended[q.ID] = mcp.Relay{State: relay.State, Responses: relay.Responses}
	return &sdk.CallToolResult{RequestState: approvalState + q.ID,
		InputRequests: sdk.InputRequestMap{approvalKey: question(q)}}
}

// question returns the question to the user of a client.
func question(q *runner.Approval) *sdk.ElicitParams {
	about := "Allow this call of " + q.Tool + "?\n\n" + policy.Visible(string(q.Arguments))
	if q.Why != "" {
		about += "\n\n" + policy.Visible(q.Why)
	}
	return &sdk.ElicitParams{Mode: "form", Message: about, RequestedSchema: decisionSchema}
}

// elicits reports whether the client of a request can ask a person.
func elicits(r *sdk.CallToolRequest) bool {
	if r.Session != nil {
		if p := r.Session.InitializeParams(); p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil {
			return true
		}
	}
	return capabilities(r.Params.Meta).Elicitation != nil
}

// capabilities returns what a client says with a request that it can do.
func capabilities(meta sdk.Meta) (c sdk.ClientCapabilities) {
	if raw, err := json.Marshal(meta[sdk.MetaKeyClientCapabilities]); err == nil {
		_ = json.Unmarshal(raw, &c) // what cannot be read is not declared
	}
	return c
}
