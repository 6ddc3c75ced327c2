package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/bridge"
	"wield/chat"
	"wield/internal/browser"
	"wield/internal/script"
	"wield/internal/tune"
	"wield/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// states returns the findings as "check state" lines, and the fixes.
func states(findings iter.Seq[Finding]) (lines []string, fixes string) {
	for f := range findings {
		lines = append(lines, f.Check+" "+string(f.State))
		fixes += f.Fix + "\n"
	}
	return lines, fixes
}

// server answers every request alike.
func server(t *testing.T, status int, contentType, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// TestDiagnoses breaks a backend in the ways that people meet, and expects the line and the fix that help.
func TestDiagnoses(t *testing.T) {
	const skipped = "streams skipped, function calling skipped, dialect skipped"
	for _, tt := range []struct {
		name, url, want, fix string
	}{
		{"nobody there", "http://127.0.0.1:9/v1", "reachable failed, " + skipped,
			"start the server at http://127.0.0.1:9/v1"},
		{"a web page", server(t, 200, "text/html", "<html>"), "reachable failed, " + skipped, "backends.b.kind"},
		{"a wrong key", server(t, 401, "application/json", `{"error":{"message":"no"}}`),
			"reachable ok, authorized failed, " + skipped, "backends.b.key"},
		{"an unknown model",
			server(t, 404, "application/json", `{"error":{"message":"no such model","code":"model_not_found"}}`),
			"reachable ok, authorized ok, answers failed, " + skipped, "models.coder.model"},
		{"a used up limit", server(t, 429, "application/json", `{"error":{"message":"later"}}`),
			"reachable ok, authorized ok, answers failed, " + skipped, "try again later"},
	} {
		m := openai.New(openai.Options{URL: tt.url})
		got, fixes := states(Examine(t.Context(), Patient{Name: "coder", Backend: "b", Served: "x", Model: m,
			Address: tt.url}, Options{Timeout: time.Minute}))
		m.Close()
		if strings.Join(got, ", ") != tt.want || !strings.Contains(fixes, tt.fix) {
			t.Errorf("%s: %s\nfixes: %s", tt.name, strings.Join(got, ", "), fixes)
		}
	}
}

// broken is a model behind a web page that cannot be asked.
type broken struct{ code string }

func (b broken) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	kind := chat.ErrUnavailable
	if b.code == browser.CodeLogin {
		kind = chat.ErrAuth
	}
	return chat.Fail(&chat.Error{Kind: kind, Code: b.code, Message: "it is broken"})
}

// TestPages: the line and the fix for what goes wrong with a web page.
func TestPages(t *testing.T) {
	for code, want := range map[string]struct{ line, fix string }{
		browser.CodeLogin:    {"reachable ok, authorized failed", "run wield browser login b"},
		browser.CodeSelector: {"reachable ok, authorized ok, answers failed", "backends.b.browser"},
		browser.CodeSandbox:  {"browser failed", "backends.b.browser.sandbox: false"},
		browser.CodeBrowser:  {"browser failed", "backends.b.browser.program"},
		browser.CodeInUse:    {"browser failed", "backends.b.browser.profile"},
		browser.CodeLoad:     {"reachable failed", "open https://chat.example"},
	} {
		got, fixes := states(Examine(t.Context(), Patient{Name: "web", Backend: "b", Model: broken{code},
			Address: "https://chat.example"}, Options{}))
		if !strings.HasPrefix(strings.Join(got, ", "), want.line+", streams skipped") ||
			!strings.Contains(fixes, want.fix) {
			t.Errorf("%s: %s\nfixes: %s", code, strings.Join(got, ", "), fixes)
		}
	}
}

// refusing is a model that takes no tools; without them it is m.
type refusing struct{ m chat.Model }

func (r refusing) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if len(req.Tools) > 0 {
		return chat.Fail(&chat.Error{Kind: chat.ErrBadRequest, Message: "x does not support tools"})
	}
	return r.m.Stream(ctx, req)
}

// TestWays examines a model that follows one dialect, under different configurations.
func TestWays(t *testing.T) {
	live, err := script.Find(script.Catalogue(""), "oneDialect", nil)
	if err != nil {
		t.Fatal(err)
	}
	model := live.Model(script.Options{Dialect: "hermes"})
	for _, tt := range []struct {
		name string
		m    chat.Model
		set  tune.Candidate
		want string
		fix  string
	}{
		{"auto", model, tune.Candidate{Mode: bridge.ModeAuto, Dialect: "auto"}, "function calling note, dialect note",
			"mode: text and dialect: hermes"},
		{"native", model, tune.Candidate{Mode: bridge.ModeNative, Dialect: "auto"},
			"function calling failed, dialect note", "mode: text and dialect: hermes"},
		{"native and refused", refusing{model}, tune.Candidate{Mode: bridge.ModeNative, Dialect: "auto"},
			"function calling failed, dialect note", "mode: text and dialect: hermes"},
		{"the right dialect", model, tune.Candidate{Mode: bridge.ModeText, Dialect: "hermes"},
			"function calling ok, dialect ok", ""},
		{"another dialect", model, tune.Candidate{Mode: bridge.ModeText, Dialect: "json-fence"},
			"function calling ok, dialect note", "set dialect: hermes"},
	} {
		got, fixes := states(Examine(t.Context(), Patient{Name: "m", Served: "oneDialect", Model: tt.m, Set: tt.set},
			Options{}))
		if len(got) < 2 || strings.Join(got[len(got)-2:], ", ") != tt.want || !strings.Contains(fixes, tt.fix) {
			t.Errorf("%s: %v\nfixes: %s", tt.name, got, fixes)
		}
	}
	got, _ := states(Examine(t.Context(), Patient{Model: model}, Options{Quick: true}))
	if want := "[reachable ok authorized ok answers ok streams note function calling skipped dialect skipped]"; fmt.Sprint(got) != want {
		t.Errorf("quick: %v", got)
	}
}

// TestStop wants no more after the first finding: nothing is asked any more.
func TestStop(t *testing.T) {
	asked := 0
	count := counted{&asked}
	for range Examine(t.Context(), Patient{Model: count}, Options{}) {
		break
	}
	if asked != 1 {
		t.Errorf("the model was asked %d times", asked)
	}
}

type counted struct{ n *int }

func (c counted) Stream(ctx context.Context, _ *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if ctx.Err() != nil {
			yield(chat.Event{}, chat.AsError(ctx.Err()))
			return
		}
		*c.n++
		_ = yield(chat.Event{Kind: chat.KindText, Text: "one"}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

// TestConstrains: a server that leaves out what an answer is to be held to is found out.
func TestConstrains(t *testing.T) {
	for _, tt := range []struct {
		hold         bridge.Constraint
		answer, want string
	}{
		{bridge.ConstraintLlamaCPP, "Hello!", "constrains failed"},
		{bridge.ConstraintLlamaCPP, "berth 7", "constrains ok"},
		{bridge.ConstraintVLLM, "Hello!", "constrains failed"},
		{bridge.ConstraintVLLM, `{\"answer\": \"berth 7\"}`, "constrains ok"},
		{bridge.ConstraintAuto, "Hello!", ""},
		{bridge.ConstraintNone, "Hello!", ""},
	} {
		url := server(t, 200, "application/json", `{"choices":[{"message":{"role":"assistant","content":"`+tt.answer+
			`"},"finish_reason":"stop"}]}`)
		m := openai.New(openai.Options{URL: url})
		got, fixes := states(Examine(t.Context(), Patient{Name: "coder", Backend: "b", Served: "x", Model: m,
			Bridge: bridge.Options{Server: bridge.Server{Constraint: tt.hold}}}, Options{Quick: true}))
		m.Close()
		said := ""
		for _, line := range got {
			if strings.HasPrefix(line, "constrains") {
				said = line
			}
		}
		if said != tt.want || strings.Contains(fixes, "backends.b.constrain") != (tt.want == "constrains failed") {
			t.Errorf("%s, %q: %q in %v\n%s", tt.hold, tt.answer, said, got, fixes)
		}
	}
}

// A template is one whose traits are known.
type template struct {
	traits bridge.TemplateTraits
	err    error
}

func (c template) Inspect(context.Context) (bridge.TemplateTraits, error) { return c.traits, c.err }
func (c template) Render(*chat.Request) (string, error)                   { return "prompt", nil }

// TestModeTemplate: a template that cannot tell of tools, a server that completes no prompts and a model that makes no
// call are told apart.
func TestModeTemplate(t *testing.T) {
	for _, tt := range []struct {
		name     string
		template bridge.Template
		status   int
		body     string
		want     string
		fix      string
	}{
		{"no template", template{err: errors.New("nobody tells it")}, 200,
			`{"choices":[{"text":"no","message":{"content":"no"},"finish_reason":"stop"}]}`, "failed", "chat_template"},
		{"none of a page", nil, 200, `{"choices":[{"text":"no","message":{"content":"no"},"finish_reason":"stop"}]}`,
			"failed", "chat_template"},
		{"no tools in it", template{traits: bridge.TemplateTraits{Rules: chat.Rules{NoTools: true}}}, 200,
			`{"choices":[{"text":"no","message":{"content":"no"},"finish_reason":"stop"}]}`, "failed", "mode: text"},
		{"no calls", template{}, 200, `{"choices":[{"text":"no","message":{"content":"no"},"finish_reason":"stop"}]}`,
			"failed", "wield tune coder"},
	} {
		url := server(t, tt.status, "application/json", tt.body)
		m := openai.New(openai.Options{URL: url})
		got, fixes := states(Examine(t.Context(), Patient{Name: "coder", Backend: "b", Served: "x", Model: m,
			Bridge: bridge.Options{Template: tt.template}, Set: tune.Candidate{Mode: bridge.ModeTemplate}}, Options{}))
		m.Close()
		if !slices.Contains(got, "mode template "+tt.want) || !strings.Contains(fixes, tt.fix) {
			t.Errorf("%s: %v\n%s", tt.name, got, fixes)
		}
	}
}
