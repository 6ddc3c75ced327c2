package lumo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/internal/lumo"
	"wield/internal/script"
	"wield/internal/scriptserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A scripted server that notes what it is sent.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	paths   []string
}

func serve(t *testing.T, scenario string) *server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "news.scenario.yaml")
	if err := os.WriteFile(file, []byte("wield: scenario/v1\nname: news\nbackend: {speaks: lumo}\n"+scenario),
		0o600); err != nil {
		t.Fatal(err)
	}
	l, err := script.Open(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	played := scriptserver.New(scriptserver.Options{Scenarios: []*script.Live{l}})
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies, s.headers, s.paths = append(s.bodies, string(body)), append(s.headers, r.Header),
			append(s.paths, r.URL.Path)
		s.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		played.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func model(t *testing.T, s *server, o lumo.Options) *lumo.Model {
	t.Helper()
	o.URL = s.URL + "/api/"
	m := lumo.New(o)
	t.Cleanup(m.Close)
	return m
}

func ask(m chat.Model, messages ...chat.Message) (string, error) {
	var list []string
	for e, err := range m.Stream(context.Background(), &chat.Request{Model: "proton/lumo", Messages: messages}) {
		if err != nil {
			return strings.Join(list, " "), err
		}
		switch e.Kind {
		case chat.KindText:
			list = append(list, e.Text)
		case chat.KindNativeCall, chat.KindNativeResult:
			list = append(list, fmt.Sprintf("%s:%s:%s", e.Kind, e.Name, e.Text))
		case chat.KindFinish:
			list = append(list, "finish:"+string(e.Detail.(*chat.Finish).Reason))
		}
	}
	return strings.Join(list, " "), nil
}

func user(text string) chat.Message {
	return chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}
}

const news = `
turns:
  - id: a
    when: {}
    reply: [{target: {tool_call: '{"name":"web_search","parameters":{"q":1}}'}}, {target: {tool_result: '{"results":[]}'}}, {text: Nothing.}]
`

// TestVersions plays the same answer in both versions, with credentials and headers of the configuration.
func TestVersions(t *testing.T) {
	for version, path := range map[int]string{1: "/api/ai/v1/chat", 2: "/api/ai/v1/chat/completions",
		0: "/api/ai/v1/chat/completions"} {
		s := serve(t, news)
		m := model(t, s, lumo.Options{Version: version, WebSearch: true, Key: "k",
			Headers: http.Header{"X-Pm-Uid": {"u"}}})
		got, err := ask(m, user("news?"))
		if want := `native_call:web_search:{"q":1} native_result:web_search:{"results":[]} Nothing. finish:stop`; err != nil || got != want {
			t.Errorf("version %d: %s, %v", version, got, err)
		}
		if h := s.headers[0]; s.paths[0] != path || h.Get("Authorization") != "Bearer k" || h.Get("X-Pm-Uid") != "u" {
			t.Errorf("version %d: %s with %v", version, s.paths[0], h)
		}
	}
}

// TestNativeTools_AR14: proton_info is always on, the four that look outside by one switch.
func TestNativeTools_AR14(t *testing.T) {
	for _, c := range []struct {
		o    lumo.Options
		want string
	}{
		{lumo.Options{}, "proton_info"},
		{lumo.Options{WebSearch: true}, "proton_info web_search weather stock cryptocurrency"},
		{lumo.Options{Tools: []string{"generate_image", "proton_info"}}, "proton_info generate_image"},
	} {
		s := serve(t, news)
		if _, err := ask(model(t, s, c.o), user("hi")); err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Model string
			Tools []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(s.bodies[0]), &sent); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range sent.Tools {
			names = append(names, tool.Name)
		}
		if strings.Join(names, " ") != c.want || sent.Model != "lumo" {
			t.Errorf("%+v: %s", c.o, s.bodies[0])
		}
	}
}

// TestTitles_AR13: the first message of a conversation gets a title beside its answer, no other does, and one that
// fails harms nobody.
func TestTitles_AR13(t *testing.T) {
	s := serve(t, news)
	m := model(t, s, lumo.Options{Titles: true})
	got, err := ask(m, user("news?"))
	if err != nil || !strings.HasSuffix(got, "Nothing. native_result:title:news finish:stop") || len(s.bodies) != 2 {
		t.Errorf("%s, %v, %d requests", got, err, len(s.bodies))
	}
	titles := 0
	for _, b := range s.bodies {
		if strings.Contains(b, `"target":"title"`) {
			titles++
			if strings.Contains(b, `"tools"`) {
				t.Errorf("tools for a title: %s", b)
			}
		}
	}
	got, err = ask(m, user("news?"), chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("x")}, user("again"))
	if err != nil || strings.Contains(got, "title") || titles != 1 || len(s.bodies) != 3 {
		t.Errorf("later: %s, %v, %d titles, %d requests", got, err, titles, len(s.bodies))
	}

	first := model(t, s, lumo.Options{Titles: true, Version: 1})
	if _, err := ask(first, user("news?")); err != nil ||
		!strings.Contains(s.bodies[3], `"targets":["message","title"]`) {
		t.Errorf("version 1: %v %s", err, s.bodies[3])
	}

	broken := &server{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"target":"title"`) {
			w.WriteHeader(500)
			return
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
	}))}
	t.Cleanup(broken.Close)
	if got, err := ask(model(t, broken, lumo.Options{Titles: true}), user("news?")); err != nil ||
		got != "a finish:stop" {
		t.Errorf("no title: %s, %v", got, err)
	}
}

// TestLimit_weeklyLimit: a quota that is used up is told with its code and its wait.
func TestLimit_weeklyLimit(t *testing.T) {
	s := &server{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(429)
		fmt.Fprint(w, `{"Code": 2028, "Error": "Weekly limit reached (Code: 2028)"}`)
	}))}
	t.Cleanup(s.Close)
	_, err := ask(model(t, s, lumo.Options{}), user("hi"))
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.ErrRateLimit || e.Status != 429 || e.Code != "2028" ||
		e.RetryAfter != 2*time.Hour || !strings.Contains(e.Message, "Code: 2028") {
		t.Errorf("%+v", err)
	}
}

// TestEnds plays the other ends of the catalogue of scenarios.
func TestEnds(t *testing.T) {
	for _, version := range []int{1, 2} {
		for finish, want := range map[string]struct {
			kind   chat.ErrorKind
			finish string
		}{
			"rejected": {chat.ErrFiltered, ""}, "content_filter": {"", "finish:content_filter"},
			`{error: "Test error message"}`:  {chat.ErrUnavailable, ""},
			`{timeout: "High demand error"}`: {chat.ErrTimeout, ""},
		} {
			s := serve(t, "turns: [{id: a, when: {}, reply: [], finish: "+finish+"}]\n")
			got, err := ask(model(t, s, lumo.Options{Version: version}), user("hi"))
			if (err == nil) != (want.kind == "") || err != nil && !errors.Is(err, want.kind) || got != want.finish {
				t.Errorf("version %d, %s: %s, %v", version, finish, got, err)
			}
		}
	}
}
