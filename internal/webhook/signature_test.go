package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/journal"
	"wield/journal/record"
)

// accepts does what receivers do by the Standard Webhooks: one of the signatures in one header is that of the id, the
// time and the body, and the time is at most five minutes away.
func accepts(key []byte, h http.Header, body string, now time.Time) bool {
	stamp, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if away := now.Sub(time.Unix(stamp, 0)).Abs(); err != nil || away > 5*time.Minute {
		return false
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte(h.Get("webhook-id") + "." + h.Get("webhook-timestamp") + "." + body))
	for _, one := range strings.Split(h.Get("webhook-signature"), " ") {
		version, text, _ := strings.Cut(one, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if err == nil && version == "v1" && hmac.Equal(got, m.Sum(nil)) {
			return true
		}
	}
	return false
}

// TestSignature: a receiver accepts each attempt when it comes, however late, and nothing that was altered or is sent
// again later. What an event holds adds nothing to the headers.
func TestSignature(t *testing.T) {
	key := []byte("\x00\xff binary key of 24 b.")
	hostile := "x\r\nWebhook-Id: 7\r\n\r\n{\"event\":\"run.ended\"}\u2028\x00."
	synctest.Test(t, func(t *testing.T) {
		f := &far{plan: []int{500, 500, 500, 500, 0}}
		_, store := sender(t, f, Endpoint{URL: "https://hooks.example/x?a=b%0d%0aX-Evil:1",
			Secret: "whsec_" + base64.StdEncoding.EncodeToString(key), Events: []Kind{RunEnded}})
		synctest.Wait()
		add(t, store, "run_1", 0, record.Record{Kind: record.KindRun,
			Run: &record.Run{Session: "ses", Agent: hostile, By: hostile}},
			record.Record{Kind: record.KindEnd, End: &record.End{Reason: hostile}})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if len(f.got) != 6 {
			t.Fatalf("%d attempts", len(f.got))
		}
		for i, g := range f.got {
			if !accepts(key, g.header, g.body, g.at) {
				t.Errorf("attempt %d is not accepted: %v", i, g.header)
			}
			for _, later := range []time.Duration{6 * time.Minute, time.Hour, 24 * time.Hour, -6 * time.Minute} {
				if accepts(key, g.header, g.body, g.at.Add(later)) {
					t.Errorf("attempt %d is accepted %v later", i, later)
				}
			}
			for name, change := range map[string]func(h http.Header) (body string){
				"another body":  func(http.Header) string { return strings.Replace(g.body, "run_1", "run_2", 1) },
				"a longer body": func(http.Header) string { return g.body + " " },
				"another id":    func(h http.Header) string { h.Set("Webhook-Id", "9"); return g.body },
				"another time": func(h http.Header) string {
					h.Set("Webhook-Timestamp", strconv.FormatInt(g.at.Unix()+1, 10))
					return g.body
				},
				"a shorter signature": func(h http.Header) string {
					h.Set("Webhook-Signature", h.Get("Webhook-Signature")[:30])
					return g.body
				},
				"parts moved": func(h http.Header) string {
					stamp := h.Get("Webhook-Timestamp")
					h.Set("Webhook-Id", h.Get("Webhook-Id")+"."+stamp)
					return g.body
				},
			} {
				h := g.header.Clone()
				if body := change(h); accepts(key, h, body, g.at) {
					t.Errorf("attempt %d is accepted with %s", i, name)
				}
			}
			var m Message
			if err := json.Unmarshal([]byte(g.body), &m); err != nil || m.Run != "run_1" || m.Event != RunEnded {
				t.Errorf("%v: %s", err, g.body)
			}
			for name, values := range g.header {
				if len(values) != 1 || strings.ContainsAny(values[0], "\r\n") || strings.Contains(name, "Evil") ||
					name == "Webhook-Id" && values[0] == "7" {
					t.Errorf("header %q: %q", name, values)
				}
			}
			if len(g.header) != 5 || accepts([]byte(testSecret), g.header, g.body, g.at) {
				t.Errorf("headers %v", g.header)
			}
		}
	})
}

// TestLinks: only the whole token of an endpoint whose links answer opens an approval, after a restart too.
func TestLinks(t *testing.T) {
	ends := []Endpoint{{URL: "https://a.example/x", Secret: testSecret, Answers: "https://wield.example"},
		{URL: "https://b.example/x", Secret: testSecret + "b"}}
	s, err := New(Options{Journal: &journal.Memory{}, Endpoints: ends})
	if err != nil {
		t.Fatal(err)
	}
	const approval = "apr_1"
	token := s.ends[0].token(approval)
	again, err := New(Options{Journal: &journal.Memory{}, Endpoints: ends})
	if err != nil {
		t.Fatal(err)
	}
	if by, ok := again.Check(approval, token); !ok || by != "link:a.example" {
		t.Errorf("a link of before a restart: %q, %v", by, ok)
	}
	for _, wrong := range []string{"", token[1:], token[:len(token)-1], token + "=", token + "A", " " + token,
		strings.ToUpper(token), strings.ToLower(token), "link:a.example", testSecret, s.ends[1].token(approval),
		s.ends[0].token("apr_2"), s.ends[0].token(""), s.ends[0].token(approval + "\x00"), token + "\r\n"} {
		if by, ok := s.Check(approval, wrong); ok {
			t.Errorf("%q opens the approval for %q", wrong, by)
		}
	}
	if _, ok := s.Check("", s.ends[0].token(approval)); ok {
		t.Error("a token opens an approval without an id")
	}
}
