package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/policy"
)

// approvalState begins the state of a request that waits for a person, in front of the id of the approval.
const approvalState = "wield-approval."

// approvalKey is the name of the one question that an approval is.
const approvalKey = "approval"

// maxSuspended bounds the calls that wait for an approval with something that a server behind wield is to get.
const maxSuspended = 256

// approvals are the questions that calls put to the users of their clients.
type approvals struct {
	store tool.MemoryApprovals

	mu        sync.Mutex
	suspended map[string]mcp.Relay // what calls came with, by the approval that they wait for
}

// answer decides an approval by what a client's request answers to it, and gives the relay what the call came with at
// first. The result is that of a call that was not allowed. It does nothing for other requests.
func (a *approvals) answer(ctx context.Context, relay *mcp.Relay, by string) (*sdk.CallToolResult, error) {
	id, ok := strings.CutPrefix(relay.State, approvalState)
	if !ok {
		return nil, nil
	}
	r, _ := relay.Responses[approvalKey].(*sdk.ElicitResult)
	if r == nil {
		return nil, refused("the request answers no approval")
	}
	answer := tool.Answer{State: tool.ApprovalDenied, By: by}
	switch decision, _ := r.Content["decision"].(string); {
	case r.Action == "accept" && decision == decisionAllow:
		answer.State = tool.ApprovalApproved
	case r.Action == "cancel":
		answer.State = tool.ApprovalCancelled
	default:
		answer.Reason, _ = r.Content["reason"].(string)
	}
	decided, err := a.store.Decide(ctx, id, answer)
	if err != nil { // decided before, or of another time
		return nil, refused("the approval cannot be answered: %v", err)
	}
	a.mu.Lock()
	before := a.suspended[id]
	delete(a.suspended, id)
	a.mu.Unlock()
	relay.State, relay.Responses = before.State, before.Responses
	if decided.State == tool.ApprovalApproved {
		return nil, nil
	}
	text := fmt.Sprintf("%s was not run: the approval was %s", decided.Tool, decided.State)
	if answer.Reason != "" {
		text += ", because: " + answer.Reason
	}
	return failed(text + "."), nil
}

// abandon cancels the approval that the state of a request names, if it does: the call is not made any more.
func (a *approvals) abandon(ctx context.Context, state string) {
	id, ok := strings.CutPrefix(state, approvalState)
	if !ok {
		return
	}
	_, _ = a.store.Decide(ctx, id, tool.Answer{State: tool.ApprovalCancelled}) // it may be decided
	a.mu.Lock()
	delete(a.suspended, id)
	a.mu.Unlock()
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

// ask makes the result that has the client ask a person.
func (a *approvals) ask(
	ctx context.Context, r *sdk.CallToolRequest, id string, relay *mcp.Relay,
) (*sdk.CallToolResult, error) {
	q, err := a.store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !elicits(r) || q.Form != nil {
		a.store.Decide(ctx, id, tool.Answer{State: tool.ApprovalCancelled})
		return failed(fmt.Sprintf("%s was not run: it needs an approval (%s), and this client cannot ask for one. "+
			"A rule of the policy can allow it.", q.Tool, q.Why)), nil
	}
	a.mu.Lock()
	if len(a.suspended) >= maxSuspended || a.suspended == nil {
		a.suspended = map[string]mcp.Relay{}
	}
	a.suspended[id] = mcp.Relay{State: relay.State, Responses: relay.Responses}
	a.mu.Unlock()
	about := "Allow this call of " + q.Tool + "?\n\n" + policy.Visible(string(q.Arguments))
	if q.Why != "" {
		about += "\n\n" + policy.Visible(q.Why)
	}
	return &sdk.CallToolResult{RequestState: approvalState + id, InputRequests: sdk.InputRequestMap{
		approvalKey: &sdk.ElicitParams{Mode: "form", Message: about, RequestedSchema: decisionSchema}}}, nil
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
