package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"wield/internal/cli"
	"wield/tool/runner"
)

// A hook asks a web service about each call that a rule asks about, and takes its answer. A service that does not
// answer, or with something else, is no: nothing runs because of a fault.
type hook struct {
	*runner.MemoryApprovals
	url    string
	client *http.Client
}

// hookTime is how long a service may think: a person may stand behind it.
const hookTime = time.Hour

// newHook returns the approvals of --on-ask webhook:URL.
func newHook(address string) (*hook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, cli.UsageErrorf("--on-ask webhook:URL: %q is no http address", address)
	}
	client := &http.Client{Timeout: hookTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &hook{MemoryApprovals: new(runner.MemoryApprovals), url: address, client: client}, nil
}

// A hookAnswer holds the service's answer.
type hookAnswer struct {
	Decision  string          `json:"decision"` // approve, deny
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	By        string          `json:"by,omitempty"`
}

// Ask puts the question to the service.
func (h *hook) Ask(ctx context.Context, q runner.Question) (runner.Approval, error) {
	a, err := h.MemoryApprovals.Ask(ctx, q)
	if err != nil || a.State != runner.ApprovalPending {
		return a, err
	}
	answer, err := h.post(ctx, &a)
	if err != nil {
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		answer = runner.Answer{State: runner.ApprovalDenied, Reason: "nobody could be asked: " + err.Error()}
	}
	if answer.By == "" {
		answer.By = "--on-ask webhook"
	}
	return h.Decide(ctx, a.ID, answer)
}

// post sends a question and reads the answer.
func (h *hook) post(ctx context.Context, a *runner.Approval) (runner.Answer, error) {
	body, err := json.Marshal(struct {
		Type     string `json:"type"`
		Approval string `json:"approval"`
		runner.Question
	}{"approval", a.ID, a.Question})
	if err != nil {
		return runner.Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return runner.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(req)
	if err != nil {
		return runner.Answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return runner.Answer{}, fmt.Errorf("the service answered with status %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxTask))
	if err != nil {
		return runner.Answer{}, err
	}
	return parseHookAnswer(raw)
}

// parseHookAnswer reads what the service says.
func parseHookAnswer(raw []byte) (runner.Answer, error) {
	var said hookAnswer
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil {
		return runner.Answer{}, fmt.Errorf("the service's answer: %w", err)
	}
	answer := runner.Answer{Reason: said.Reason, By: said.By}
	switch {
	case said.Decision == "approve" && len(said.Arguments) > 0:
		answer.State, answer.Arguments = runner.ApprovalEdited, said.Arguments
	case said.Decision == "approve":
		answer.State = runner.ApprovalApproved
	case said.Decision == "deny":
		answer.State = runner.ApprovalDenied
	default:
		return answer, fmt.Errorf("the service's answer: decision is approve or deny, not %q", said.Decision)
	}
	return answer, answer.Check()
}
