package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

// conformanceClient plays a scenario of the official conformance suite for clients against the server that the suite
// started.
func conformanceClient(scenario, address string) int {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []struct {
			Name      string
			Arguments json.RawMessage
		} `json:"toolCalls"`
	}
	json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	o := Options{Name: "s", URL: address, Prompts: true, Resources: true}
	if strings.HasPrefix(scenario, "auth/") {
		o.OAuth = &OAuth{ClientID: given.ClientID, ClientSecret: given.ClientSecret,
			Metadata: "https://conformance-test.local/client-metadata.json",
			Redirect: "http://localhost:3000/callback", Visit: visited}
		if scenario == "auth/pre-registration" {
			o.OAuth.Metadata = ""
		}
	}
	s := New(o)
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	tools, problems := s.Tools(ctx)
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	var reg runner.Registry
	if err := reg.Add(tools...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r := runner.New(runner.Settings{Tools: &reg, Approvals: &runner.MemoryApprovals{}})
	calls := map[string]string{}
	switch scenario {
	case "tools_call":
		calls["add_numbers"] = `{"a":5,"b":3}`
	case "elicitation-sep1034-client-defaults":
		calls["test_client_elicitation_defaults"] = `{}`
	case "sse-retry":
		calls["test_reconnection"] = `{}`
	default:
		for _, t := range tools {
			_, own, _ := strings.Cut(t.Name(), tool.Separator)
			calls[own] = map[bool]string{true: `{"region":"us-west1"}`,
				false: `{}`}[scenario == "http-invalid-tool-headers"]
		}
	}
	for name, arguments := range calls {
		if len(given.ToolCalls) == 0 {
			conformanceCall(ctx, s, r, name, arguments)
		}
	}
	for _, c := range given.ToolCalls {
		conformanceCall(ctx, s, r, c.Name, string(c.Arguments))
	}
	if scenario == "http-standard-headers" {
		session, err := s.Session(ctx)
		if err != nil {
			return 1
		}
		for _, one := range s.Offers().Resources {
			session.ReadResource(ctx, &sdk.ReadResourceParams{URI: one.URI})
		}
		for _, one := range s.Offers().Prompts {
			session.GetPrompt(ctx, &sdk.GetPromptParams{Name: one.Name})
		}
	}
	if len(problems) > 0 && len(tools) == 0 {
		return 1
	}
	return 0
}

// conformanceCall calls a tool and approves with its draft whatever it asks.
func conformanceCall(ctx context.Context, s *Server, r *runner.Runner, own, arguments string) {
	name, _ := s.Offered(own)
	call := chat.Call{ID: "call_" + own, Name: name, Arguments: arguments, Complete: true}
	plan, err := r.Plan(ctx, call)
	for rounds := 0; err == nil && rounds < 5; rounds++ {
		waits := ""
		if plan.Outcome == runner.OutcomeNeedsApproval {
			waits = plan.Approval
		}
		for e, problem := range r.Run(ctx, plan) {
			switch {
			case problem != nil && !errors.Is(problem, runner.ErrPending):
				err = problem
			case e.Kind == chat.KindApproval && e.Detail.(*runner.ApprovalDetail).State == runner.ApprovalPending:
				waits = e.Detail.(*runner.ApprovalDetail).ID
			case e.Kind == chat.KindResult:
				fmt.Fprintln(os.Stderr, own, e.Detail.(*chat.Result))
				return
			}
		}
		a, wrong := r.Settings().Approvals.Get(ctx, waits)
		if wrong != nil {
			err = wrong
			break
		}
		answer := runner.Answer{State: runner.ApprovalApproved}
		if a.Form != nil && strings.Contains(string(a.Form.Schema), "confirmed") {
			answer = runner.Answer{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"confirmed":true}`)}
		}
		r.Settings().Approvals.Decide(ctx, waits, answer)
		if a.Form != nil {
			plan = runner.Plan{Outcome: runner.OutcomeNeedsInput, Call: call, Definition: a.Definition, Approval: waits}
		}
	}
	fmt.Fprintln(os.Stderr, own, err)
}

// visited is a person who agrees to every login.
func visited(ctx context.Context, address string) (*url.URL, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	return url.Parse(resp.Header.Get("Location"))
}

// TestConformanceClient plays the scenarios of the official conformance suite for clients, of both revisions.
func TestConformanceClient(t *testing.T) {
	suite := os.Getenv("WIELD_CONFORMANCE")
	if suite == "" {
		t.Skip("the official conformance suite of MCP runs only in the heavy level of .ci/run (WIELD_CONFORMANCE)")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			results := t.TempDir()
			out, _ := exec.Command("node", suite, "client", "--command", exe, "--requirements", revision, "-o",
				results).CombinedOutput()
			t.Logf("%s", out)
			list, err := exec.Command("node", suite, "list", "--requirements", revision).Output()
			if err != nil {
				t.Fatal(err)
			}
			_, part, _ := strings.Cut(string(list), "Client scenarios")
			part, _, _ = strings.Cut(part, "\n\n")
			names := regexp.MustCompile(`(?m)^\s+- (\S+)$`).FindAllStringSubmatch(part, -1)
			if len(names) < 10 {
				t.Fatalf("the suite names %d scenarios:\n%s", len(names), list)
			}
			for _, m := range names {
				scored(t, results, m[1])
			}
		})
	}
}

// scored fails the test if not every check of a scenario passed.
func scored(t *testing.T, dir, name string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "*"+strings.ReplaceAll(name, "/", "*")+"*", "checks.json"))
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join(dir, "auth", "*"+strings.TrimPrefix(name, "auth/")+"*", "checks.json"))
	}
	if len(found) == 0 {
		t.Errorf("%s: the suite left no result", name)
		return
	}
	checks, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(checks), `"status": "FAILURE"`) ||
		!strings.Contains(string(checks), `"status": "SUCCESS"`) {
		t.Errorf("%s: not all checks passed:\n%s", name, checks)
	}
}
