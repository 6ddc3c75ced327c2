package worker_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"wield/internal/cluster"
	"wield/tool"
)

// A rogue has a good key and speaks the protocol of NATS as it likes.
type rogue struct {
	net.Conn
	lines   *bufio.Reader
	address cluster.Address
	token   string
}

// intrude opens a connection of NATS over the WebSocket, with no program of wield on this side.
func (s *service) intrude(t testing.TB, key, token string) *rogue {
	t.Helper()
	r := &rogue{address: cluster.Address{ID: rand.Text()}}
	ws, answer, err := websocket.Dial(t.Context(), s.URL+cluster.Path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer key-" + key}, cluster.HeaderID: {r.address.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	r.address.Key = answer.Header.Get(cluster.HeaderKey)
	if r.token = answer.Header.Get(cluster.HeaderToken); token == "" {
		token = r.token
	}
	r.Conn = websocket.NetConn(context.Background(), ws, websocket.MessageBinary)
	t.Cleanup(func() { ws.CloseNow() })
	r.lines = bufio.NewReader(r)
	if info := r.line(t); !strings.HasPrefix(info, "INFO ") {
		t.Fatalf("%q", info)
	}
	r.say(t,
		`CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1,"auth_token":%q}`,
		token)
	return r
}

func (r *rogue) say(t testing.TB, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(r, format+"\r\n", args...); err != nil {
		t.Fatal(err)
	}
}

func (r *rogue) publish(t testing.TB, subject, reply string, message any) {
	t.Helper()
	data, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, "PUB %s %s %d\r\n%s", subject, reply, len(data), data)
}

// line returns the next line; "" when there is none within a moment, or none any more.
func (r *rogue) line(t testing.TB) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		text, err := r.lines.ReadString('\n')
		if err != nil {
			text = ""
		}
		got <- strings.TrimSpace(text)
	}()
	select {
	case text := <-got:
		return text
	case <-time.After(5 * time.Second):
		return ""
	}
}

// heard returns what has come up to the answer to a ping, without beats of the service.
func (r *rogue) heard(t *testing.T) (list []string) {
	t.Helper()
	r.say(t, "PING")
	for {
		switch text := r.line(t); {
		case text == "" || text == "PONG":
			return list
		case text == "PING":
			r.say(t, "PONG")
		case !strings.HasPrefix(text, "INFO ") && !strings.HasPrefix(text, "MSG "+cluster.Services) &&
			!strings.HasPrefix(text, `{"id":`):
			list = append(list, text)
		}
	}
}

// TestRogue: a worker hears no calls of others, answers none, and sends nothing where only services do, whatever it
// asks the server of messages for, with another key than the honest one and with the same.
func TestRogue(t *testing.T) {
	for _, key := range []string{"other", "build"} {
		t.Run(key, func(t *testing.T) { intrusion(t, key) })
	}
}

func intrusion(t *testing.T, key string) {
	s := newService(t)
	began, goOn := make(chan string, 1), make(chan bool)
	s.work(t, "build", "honest", nil, define("secret", func(_ context.Context, c *tool.Call) (tool.Result, error) {
		began <- c.ID
		<-goOn
		return tool.Text("from the honest one"), nil
	}))
	honest := s.address(t, "build")
	r := s.intrude(t, key, "")
	if got := r.heard(t); len(got) > 0 {
		t.Fatalf("a worker that is let in hears %q", got)
	}

	subjects := []string{">", "wield.>", "wield.to.>", "wield.to.*.*", honest.To(), "wield.from.>", "wield.out.>",
		honest.Out("*", "*"), "$SYS.>", "_INBOX.>", "*", "*.*.*.*"}
	for i, subject := range subjects {
		r.say(t, "SUB %s %d", subject, i+10)
		r.say(t, "SUB %s queue %d", subject, i+100)
	}
	if got := r.heard(t); len(got) != 2*len(subjects) || slices.ContainsFunc(got,
		func(l string) bool { return !strings.HasPrefix(l, "-ERR 'Permissions Violation for Subscription") }) {
		t.Errorf("of %d subscriptions these were refused: %q", 2*len(subjects), got)
	}

	runner := s.runner(t, pool("build"))
	over := make(chan tool.Result, 1)
	go func() { over <- call(t, runner, "build__secret", `{"password":"x"}`) }()
	id := <-began
	result := tool.Text("forged")
	service := s.ID()
	forged := &cluster.Frame{Done: &cluster.Done{Result: &result}}
	lie := &cluster.FromWorker{Beat: &cluster.Beat{Gone: true}}
	for _, p := range []struct {
		subject string
		message any
	}{
		{honest.Out(service, id), forged},
		{honest.From(), lie},
		{honest.To(), &cluster.ToWorker{Stop: service + "." + id}},
		{honest.To(),
			&cluster.ToWorker{Call: &cluster.CallRequest{Service: service, ID: "1", Key: "1", Tool: "secret"}}},
		{cluster.Services, &cluster.Service{ID: service, Gone: true}},
		{"$SYS.REQ.SERVER.PING", lie},
	} {
		r.publish(t, p.subject, "", p.message)
		if got := r.heard(t); len(got) != 1 || !strings.HasPrefix(got[0], "-ERR 'Permissions Violation for Publish") {
			t.Errorf("to %s: %q", p.subject, got)
		}
	}
	// What it may send, about a call that is not its own, and with a subject of the honest one as the place for
	// replies.
	r.publish(t, r.address.Out(service, id), honest.To(), forged)
	hello := &cluster.Hello{Name: "honest", Concurrent: 1000, Labels: map[string]string{"name": "honest"}}
	if key != "build" { // those of a pool may offer what it has
		hello.Tools = []cluster.Definition{{Name: "secret", Description: "A tool of a test.",
			Parameters: json.RawMessage(anyObject)}}
	}
	r.publish(t, r.address.From(), honest.To(), &cluster.FromWorker{Hello: hello})
	if got := r.heard(t); len(got) > 0 {
		t.Errorf("it hears %q", got)
	}
	close(goOn)
	if got := <-over; string(got.Data) != `"from the honest one"` {
		t.Errorf("the call ended with %+v", got)
	}
	await(t, "the rogue is known as what it is", func() bool { return len(s.Status().Workers) == 2 })
	for range 5 {
		if got := call(t, runner, "build__secret", "{}"); string(got.Data) != `"from the honest one"` {
			t.Errorf("a call of the pool build went elsewhere: %+v", got)
		}
		<-began
	}
	if got := r.heard(t); len(got) > 0 {
		t.Errorf("it hears %q", got)
	}
}

// address returns that of the one worker with a key.
func (s *service) address(t *testing.T, key string) cluster.Address {
	t.Helper()
	list := s.Addresses(key)
	if len(list) != 1 {
		t.Fatalf("%d workers with the key %s", len(list), key)
	}
	return list[0]
}

// TestTokens: a token of a connection lets in once, and that connection alone.
func TestTokens(t *testing.T) {
	s := newService(t)
	first := s.intrude(t, "build", "")
	if got := first.heard(t); len(got) > 0 {
		t.Fatalf("%q", got)
	}
	for _, token := range []string{first.token, "", "x"} {
		if token == "" {
			token = strings.Repeat("0", 32)
		}
		second := s.intrude(t, "build", token)
		if got := second.line(t); !strings.HasPrefix(got, "-ERR 'Authorization Violation") {
			t.Errorf("with the token %.4s: %q", token, got)
		}
	}
	for _, id := range []string{"", "x", "../a", strings.Repeat("A", 32), strings.Repeat("0", 32) + ".*", ">"} {
		_, answer, err := websocket.Dial(t.Context(), s.URL+cluster.Path, &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer key-build"}, cluster.HeaderID: {id}}})
		if err == nil || answer == nil || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("the id %q: %v, %v", id, answer, err)
		}
	}
}
