package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"wield/chat"
)

// played is a model that yields these events, and then err if there is one.
type played struct {
	events []chat.Event
	err    error
}

func (p played) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for _, e := range p.events {
			if !yield(e, nil) {
				return
			}
		}
		if p.err != nil {
			yield(chat.Event{}, p.err)
		}
	}
}

// detail returns an event of a kind with its detail.
func detail(k chat.Kind, d chat.Detail) chat.Event { return chat.Event{Kind: k, Detail: d} }

func turn(dialect string) chat.Event {
	return detail(chat.KindTurnStart, &chat.TurnDetail{Backend: "b", Dialect: dialect})
}

func rejected(r chat.Reason, name string) chat.Event {
	return detail(chat.KindRejected, &chat.RejectedDetail{Reason: r, Name: name})
}

func called(name string) chat.Event {
	return detail(chat.KindCallEnd, &chat.Call{Name: name, Complete: true})
}

func finish(r chat.FinishReason) chat.Event {
	return detail(chat.KindFinish, &chat.Finish{Reason: r})
}

func drain(m chat.Model, req *chat.Request) {
	for range m.Stream(context.Background(), req) {
	}
}

// numbers returns all lines of the page that are not zero, without comments and histograms' sums and buckets.
func numbers(t *testing.T, m *Metrics) []string {
	t.Helper()
	text, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, "{")
		if strings.HasPrefix(line, "#") || strings.HasSuffix(line, " 0") ||
			!strings.HasPrefix(line, "wield_") && !strings.HasPrefix(line, "gen_ai_") ||
			strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") || name == "wield_build_info" {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func expect(t *testing.T, m *Metrics, want ...string) {
	t.Helper()
	got := numbers(t, m)
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("missing: %s\namong:\n%s", w, strings.Join(got, "\n"))
		}
	}
}

// TestFront_AR41 counts one answer with everything in it.
func TestFront_AR41(t *testing.T) {
	m := New("v")
	drain(m.Front("coder", played{events: []chat.Event{
		turn("hermes"),
		{Kind: chat.KindText, Text: "a"},
		rejected(chat.ReasonInvalid, "get_weather"),
		rejected(chat.ReasonConfused, "get_weather"),
		rejected(chat.ReasonUnknownTool, "invented"),
		detail(chat.KindBounce, &chat.BounceDetail{Reason: chat.ReasonInvalid}),
		turn(""),
		detail(chat.KindNote, &chat.NoteDetail{Kind: "trailing_comma"}),
		called("get_weather"),
		{Kind: chat.KindNativeCall, Name: "web_search"},
		{Kind: chat.KindNativeResult, Name: "web_search"},
		detail(chat.KindUsage, &chat.Usage{Known: true, In: 10, Out: 5, Cached: 3, Reasoning: 2}),
		finish(chat.FinishCalls),
	}}), &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser}}})
	expect(t, m,
		`wield_answers_total{backend="b",dialect="native",model="coder",outcome="tool_calls"} 1`,
		`wield_calls_total{backend="b",dialect="native",model="coder",origin="text"} 1`,
		`wield_rejected_calls_total{backend="b",dialect="hermes",model="coder",reason="invalid"} 1`,
		`wield_rejected_calls_total{backend="b",dialect="hermes",model="coder",reason="unknown_tool"} 1`,
		`wield_bounces_total{backend="b",dialect="hermes",model="coder",reason="invalid"} 1`,
		`wield_repairs_total{kind="trailing_comma",model="coder"} 1`,
		`wield_tool_calls_total{status="detected",tool_name="get_weather",type="custom"} 1`,
		`wield_tool_calls_total{status="invalid",tool_name="get_weather",type="custom"} 1`,
		`wield_tool_calls_total{status="invalid",tool_name="other",type="custom"} 1`,
		`wield_tool_calls_total{status="misrouted",tool_name="get_weather",type="custom"} 1`,
		`wield_tool_calls_total{status="detected",tool_name="web_search",type="native"} 1`,
		`wield_tool_calls_total{status="completed",tool_name="web_search",type="native"} 1`,
		`wield_tokens_total{model="coder",type="input"} 10`,
		`wield_tokens_total{model="coder",type="output"} 5`,
		`wield_tokens_total{model="coder",type="cached"} 3`,
		`wield_tokens_total{model="coder",type="reasoning"} 2`,
		`wield_messages_total{role="user"} 1`,
		`wield_messages_total{role="assistant"} 1`,
		`wield_conversations_created_total{model="coder"} 1`,
		`gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",gen_ai_request_model="coder"} 1`,
		`gen_ai_server_request_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_request_model="coder"} 1`,
		`gen_ai_server_time_per_output_token_seconds_count{gen_ai_operation_name="chat",gen_ai_request_model="coder"} 1`,
	)
	for _, line := range numbers(t, m) {
		if strings.Contains(line, "invented") {
			t.Errorf("a name that the model made up became a label: %s", line)
		}
	}
}

// TestMisrouted_AR41 counts calls through the wrong channel, whether they are bounced or taken over.
func TestMisrouted_AR41(t *testing.T) {
	m := New("v")
	wrong := &chat.BounceDetail{Reason: chat.ReasonConfused, Call: &chat.Call{Name: "get_weather"},
		Confused: []chat.Call{{Name: "get_weather"}}}
	drain(m.Front("lumo",
		played{events: []chat.Event{turn(""), detail(chat.KindBounce, wrong), turn(""),
			detail(chat.KindConverted, wrong), finish(chat.FinishCalls)}}),
		&chat.Request{Messages: []chat.Message{{Role: chat.RoleUser}}})
	expect(t, m, `wield_tool_calls_total{status="misrouted",tool_name="get_weather",type="custom"} 4`)
}

// TestOutcomes tells how an answer and a backend request ended apart.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name            string
		model           played
		outcome, status string
	}{
		{"whole", played{events: []chat.Event{finish(chat.FinishStop)}}, "stop", "ok"},
		{"failed", played{err: chat.Errorf(chat.ErrRateLimit, "no")}, "rate_limit", "rate_limit"},
		{"cut off", played{events: []chat.Event{{Kind: chat.KindText, Text: "a"}},
			err: chat.Errorf(chat.ErrUnavailable, "gone")}, "unavailable", "unavailable"},
		{"left by the client", played{}, "canceled", "canceled"},
		{"stopped at the end of the turn", played{}, "canceled", "stopped"},
	} {
		m := New("v")
		ctx, leave := context.WithCancel(t.Context())
		if tt.status == "canceled" {
			leave()
		}
		for range m.Front("m", m.Backend(Server{Name: "b", Kind: "ollama"}, tt.model)).Stream(ctx,
			&chat.Request{Model: "x"}) {
		}
		leave()
		expect(t, m,
			fmt.Sprintf(`wield_answers_total{backend="",dialect="none",model="m",outcome=%q} 1`, tt.outcome),
			fmt.Sprintf(`wield_backend_requests_total{backend="b",status=%q} 1`, tt.status))
		for _, line := range numbers(t, m) {
			if strings.HasPrefix(line, "wield_requests_in_flight") {
				t.Errorf("%s: %s", tt.name, line)
			}
		}
	}
}

// TestCompletedOnce_AR22_A19 sends a conversation again and again, as clients do: each result counts once.
// What is remembered for that is bounded.
func TestCompletedOnce_AR22_A19(t *testing.T) {
	m := New("v")
	model := m.Front("m", played{events: []chat.Event{finish(chat.FinishStop)}})
	req := &chat.Request{Messages: []chat.Message{
		{Role: chat.RoleUser},
		{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "call_1", Name: "add", Arguments: `{"a":1}`},
			{ID: "call_2", Name: "add"}}},
		{Role: chat.RoleTool, CallID: "call_1"},
		{Role: chat.RoleTool, CallID: "call_2"},
	}}
	drain(model, req)
	drain(model, req) // the client tries again
	req.Messages = append(req.Messages, chat.Message{Role: chat.RoleAssistant}, chat.Message{Role: chat.RoleUser})
	drain(model, req)
	expect(t, m, `wield_tool_calls_total{status="completed",tool_name="add",type="custom"} 2`)

	var r results
	for i := range 5 * maxResults {
		if !r.add(fmt.Sprint(i)) || r.add(fmt.Sprint(i)) {
			t.Fatalf("result %d does not count exactly once", i)
		}
	}
	if n := len(r.young) + len(r.old); n > 2*maxResults {
		t.Errorf("%d results are remembered", n)
	}
}

// TestBoundedLabels sends what a client can make up.
func TestBoundedLabels(t *testing.T) {
	m := New("v")
	for i := range 3 * maxNames {
		drain(m.Front("m",
			played{events: []chat.Event{turn("x"), called(fmt.Sprint("tool", i)), finish(chat.FinishCalls)}}),
			&chat.Request{
				Messages: []chat.Message{{Role: chat.Role(fmt.Sprint("role", i))}}})
		m.Exchange(HTTPRequest{Method: fmt.Sprint("M", i), Status: 404, Took: time.Second})
	}
	drain(m.Front("m",
		played{events: []chat.Event{turn("x"), called(strings.Repeat("x", 1000)), finish(chat.FinishCalls)}}),
		&chat.Request{})
	count := map[string]int{}
	for _, line := range numbers(t, m) {
		name, _, _ := strings.Cut(line, "{")
		count[name]++
	}
	for name, most := range map[string]int{"wield_tool_calls_total": maxNames + 1, "wield_messages_total": 2,
		"wield_http_requests_total": 1} {
		if count[name] == 0 || count[name] > most {
			t.Errorf("%s has %d lines, want at most %d", name, count[name], most)
		}
	}
}

func TestQueue(t *testing.T) {
	m := New("v")
	m.Queue("b", func() int { return 9 }, func() int { return 9 })
	m.Queue("b", func() int { return 2 }, func() int { return 7 }) // as after a reload
	expect(t, m, `wield_request_queue_size{backend="b"} 7`, `wield_backend_requests_in_flight{backend="b"} 2`)
}

func TestExchange(t *testing.T) {
	m := New("v")
	m.Exchange(HTTPRequest{Endpoint: "/v1/models", Method: "GET", Status: 401, Error: "auth"})
	m.Exchange(HTTPRequest{Method: "BREW", Status: 403})
	expect(t, m,
		`wield_http_requests_total{endpoint="/v1/models",method="GET",status="401",streaming="false"} 1`,
		`wield_http_requests_total{endpoint="unknown",method="other",status="403",streaming="false"} 1`,
		`wield_errors_total{type="auth"} 1`, `wield_auth_failures_total{reason="key"} 1`,
		`wield_auth_failures_total{reason="forbidden"} 1`)
}

// TestNil shows that what is not counted works as it is.
func TestNil(t *testing.T) {
	var m *Metrics
	model := played{}
	if m.Front("m", model).(played).events != nil || m.Backend(Server{}, model).(played).events != nil {
		t.Error("a model is wrapped for nothing")
	}
	m.Exchange(HTTPRequest{})
	m.Queue("b", nil, nil)
}

// TestDashboard holds the dashboard to the numbers that exist and to their labels, and sees that none is left out.
func TestDashboard(t *testing.T) {
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	if err := json.Unmarshal([]byte(Dashboard()), &board); err != nil {
		t.Fatal(err)
	}
	labels := described(New("v"))
	used := map[string]bool{}
	check := func(where, expr string) {
		for _, name := range metricNames.FindAllString(expr, -1) {
			base := name
			if labels[base] == nil {
				base = histogramSuffix.ReplaceAllString(name, "")
			}
			if labels[base] == nil {
				t.Errorf("%s: there is no %s", where, name)
			}
			used[base] = true
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
			known := []string{"le", "job"}
			for _, name := range metricNames.FindAllString(target.Expr, -1) {
				known = append(known, labels[histogramSuffix.ReplaceAllString(name, "")]...)
				known = append(known, labels[name]...)
			}
			for _, m := range append(inBraces.FindAllStringSubmatch(target.LegendFormat, -1),
				selected.FindAllStringSubmatch(target.Expr, -1)...) {
				if !slices.Contains(known, m[1]) {
					t.Errorf("%s: %s has no label %s", p.Title, target.Expr, m[1])
				}
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
	}
	for _, v := range board.Templating.List {
		check("variables", v.Definition)
	}
	for name := range labels {
		if strings.HasPrefix(name, "wield_") && !used[name] {
			t.Errorf("%s is shown nowhere", name)
		}
	}
}

var (
	metricNames     = regexp.MustCompile(`\b(wield|gen_ai_(server|client)|go|process)_[a-z_]+`)
	histogramSuffix = regexp.MustCompile(`_(bucket|sum|count)$`)
	inBraces        = regexp.MustCompile(`\{\{(\w+)\}\}`)
	selected        = regexp.MustCompile(`[{,]\s*(\w+)=~?"`)
)

// described returns the labels of all numbers, by name.
func described(m *Metrics) map[string][]string {
	ch := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(ch)
	close(ch)
	labels := map[string][]string{}
	re := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([^}]*)\}`)
	for d := range ch {
		if m := re.FindStringSubmatch(d.String()); m != nil {
			labels[m[1]] = append([]string{},
				strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })...)
		}
	}
	return labels
}
