package route

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
)

// A played model gives one recorded attempt after the other: events by the words of play, and "!kind" or "!kind+3s"
// for an error, with the wait that it asks for.
type played struct {
	mu       sync.Mutex
	attempts []string
	at       []time.Time // when each attempt was asked for
	open     int
}

func (p *played) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		words := p.begin()
		defer p.end()
		for _, w := range words {
			if kind, ok := strings.CutPrefix(w, "!"); ok {
				kind, after, _ := strings.Cut(kind, "+")
				d, _ := time.ParseDuration(after)
				yield(chat.Event{}, &chat.Error{Kind: chat.ErrorKind(kind), RetryAfter: d, Message: w})
				return
			}
			if d, err := time.ParseDuration(w); err == nil {
				if sleep(ctx, d) != nil {
					yield(chat.Event{}, chat.AsError(ctx.Err()))
					return
				}
				continue
			}
			if !yield(event(w), nil) {
				return
			}
		}
	}
}

func (p *played) begin() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.at) == len(p.attempts) {
		panic("more attempts than recorded")
	}
	words := strings.Fields(p.attempts[len(p.at)])
	p.at = append(p.at, time.Now())
	p.open++
	return words
}

func (p *played) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

func event(word string) chat.Event {
	switch word {
	case "turn":
		return chat.Event{Kind: chat.KindTurnStart}
	case "idle":
		return chat.Event{Kind: chat.KindIdle}
	case "finish":
		return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{}}
	}
	return chat.Event{Kind: chat.KindText, Text: word}
}

// again describes an announcement. The wait is told where it is in whole seconds, which one that the backend asked
// for is.
func again(r *chat.RetryDetail) string {
	text := fmt.Sprintf("%s-%d/%d", r.Error.Kind, r.Attempt, r.Of)
	if wait := time.Until(r.At); wait%time.Second == 0 {
		text += "-" + wait.String()
	}
	return "(" + text + ")"
}

func play(ctx context.Context, m chat.Model) string {
	var words []string
	for e, err := range m.Stream(ctx, &chat.Request{}) {
		switch {
		case err != nil:
			words = append(words, "!"+string(chat.AsError(err).Kind))
		case e.Kind == chat.KindText:
			words = append(words, e.Text)
		case e.Kind == chat.KindTurnStart:
			words = append(words, "turn")
		case e.Kind == chat.KindIdle && e.Detail != nil:
			r := e.Detail.(*chat.RetryDetail)
			words = append(words, again(r))
		default:
			words = append(words, e.Kind.String())
		}
	}
	return strings.Join(words, " ")
}

func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name     string
		attempts []string
		o        RetryOptions
		want     string
		waits    [][2]time.Duration // least and most
	}{
		{"first time", []string{"turn idle a finish"}, RetryOptions{}, "idle turn a finish", nil},
		{"once more by default", []string{"!overloaded", "!overloaded"}, RetryOptions{},
			"(overloaded-2/2) !overloaded", [][2]time.Duration{{250 * time.Millisecond, 500 * time.Millisecond}}},
		{"second time", []string{"turn idle !unavailable", "turn a finish"}, RetryOptions{},
			"idle (unavailable-2/2) turn a finish",
			[][2]time.Duration{{250 * time.Millisecond, 500 * time.Millisecond}}},
		{"backoff doubles up to the longest wait", []string{"!rate_limit", "!rate_limit", "!rate_limit", "!rate_limit",
			"a finish"}, RetryOptions{Attempts: 5, Backoff: time.Second, MaxWait: 3 * time.Second},
			"(rate_limit-2/5) (rate_limit-3/5) (rate_limit-4/5) (rate_limit-5/5) a finish",
			[][2]time.Duration{{500 * time.Millisecond, time.Second}, {time.Second, 2 * time.Second},
				{1500 * time.Millisecond, 3 * time.Second}, {1500 * time.Millisecond, 3 * time.Second}}},
		{"the backend says how long", []string{"!rate_limit+7s", "a finish"}, RetryOptions{},
			"(rate_limit-2/2-7s) a finish", [][2]time.Duration{{7 * time.Second, 7 * time.Second}}},
		{"longer than anybody waits", []string{"!rate_limit+31s"}, RetryOptions{}, "!rate_limit", nil},
		{"not behind the first event", []string{"a !unavailable"}, RetryOptions{Attempts: 5}, "a !unavailable", nil},
		{"bad request", []string{"!bad_request"}, RetryOptions{Attempts: 5}, "!bad_request", nil},
		{"auth", []string{"!auth"}, RetryOptions{Attempts: 5}, "!auth", nil},
		{"timeout", []string{"!timeout"}, RetryOptions{Attempts: 5}, "!timeout", nil},
		{"protocol", []string{"!protocol"}, RetryOptions{Attempts: 5}, "!protocol", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &played{attempts: c.attempts}
				if got := play(t.Context(), Retry(p, c.o)); got != c.want {
					t.Errorf("events %s, want %s", got, c.want)
				}
				if len(p.at) != len(c.attempts) || len(p.at) != len(c.waits)+1 {
					t.Fatalf("%d attempts, want %d", len(p.at), len(c.waits)+1)
				}
				for i, w := range c.waits {
					if d := p.at[i+1].Sub(p.at[i]); d < w[0] || d > w[1] {
						t.Errorf("wait %d was %v, want %v to %v", i, d, w[0], w[1])
					}
				}
			})
		})
	}
}

func TestRetryEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		p := &played{attempts: []string{"!rate_limit+10s"}}
		begin := time.Now()
		if got := play(ctx, Retry(p, RetryOptions{})); got != "(rate_limit-2/2-10s) !timeout" ||
			time.Since(begin) != 3*time.Second {
			t.Errorf("events %s after %v", got, time.Since(begin))
		}
	})
}

func TestLeavingEndsTheAttempt(t *testing.T) {
	for name, around := range map[string]func(chat.Model) chat.Model{
		"retry":    func(m chat.Model) chat.Model { return Retry(m, RetryOptions{}) },
		"fallback": func(m chat.Model) chat.Model { return Fallback(m, m) },
		"limit":    func(m chat.Model) chat.Model { return Limit(m, LimitOptions{Concurrent: 1}) },
	} {
		for _, words := range []string{"turn a b finish", "idle a finish", "a finish"} {
			p := &played{attempts: []string{words}}
			m := around(p)
			for range m.Stream(t.Context(), &chat.Request{}) {
				break
			}
			if p.open != 0 || len(p.at) != 1 {
				t.Errorf("%s, %s: %d streams open, %d attempts", name, words, p.open, len(p.at))
			}
			if l, ok := m.(*Limiter); ok && l.Running() != 0 {
				t.Errorf("the slot was not given back")
			}
		}
	}
}

func TestFallback(t *testing.T) {
	for _, c := range []struct {
		models []string
		want   string
		asked  int
	}{
		{[]string{"a finish", "b finish"}, "a finish", 1},
		{[]string{"turn !unavailable", "turn b finish"}, "turn b finish", 2},
		{[]string{"!auth", "!context_length", "!not_found", "!timeout", "!protocol", "c finish"}, "c finish", 6},
		{[]string{"!unavailable", "!overloaded"}, "!overloaded", 2},
		{[]string{"a !unavailable", "b finish"}, "a !unavailable", 1},
		{[]string{"!bad_request", "b finish"}, "!bad_request", 1},
		{[]string{"!filtered", "b finish"}, "!filtered", 1},
		{[]string{"!canceled", "b finish"}, "!canceled", 1},
		{nil, "!unavailable", 0},
	} {
		var models []chat.Model
		for _, words := range c.models {
			models = append(models, &played{attempts: []string{words}})
		}
		if got := play(t.Context(), Fallback(models...)); got != c.want {
			t.Errorf("%v: events %s, want %s", c.models, got, c.want)
		}
		asked := 0
		for _, m := range models {
			asked += len(m.(*played).at)
		}
		if asked != c.asked {
			t.Errorf("%v: %d models asked, want %d", c.models, asked, c.asked)
		}
	}
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &played{attempts: slices.Repeat([]string{"a 10s finish"}, 5)}
		l := Limit(backend, LimitOptions{Concurrent: 2, Queue: 3})
		begin := time.Now()
		type end struct {
			n     int
			words string
			after time.Duration
		}
		ends := make(chan end, 10)
		for n := range 6 {
			go func() {
				words := play(t.Context(), l)
				ends <- end{n, words, time.Since(begin)}
			}()
			synctest.Wait() // they come one after the other
		}
		if l.Running() != 2 || l.Waiting() != 3 {
			t.Errorf("%d run and %d wait, want 2 and 3", l.Running(), l.Waiting())
		}
		want := []end{
			{5, "!overloaded", 0}, {0, "a finish", 10 * time.Second}, {1, "a finish", 10 * time.Second},
			{2, "a finish", 20 * time.Second}, {3, "a finish", 20 * time.Second}, {4, "a finish", 30 * time.Second},
		}
		var got []end
		for range want {
			got = append(got, <-ends)
		}
		slices.SortStableFunc(got[1:], func(a, b end) int { return a.n - b.n })
		if !slices.Equal(got, want) {
			t.Errorf("ends %v\nwant %v", got, want)
		}
		if l.Running() != 0 || l.Waiting() != 0 || backend.open != 0 {
			t.Errorf("%d run, %d wait, %d open at the end", l.Running(), l.Waiting(), backend.open)
		}
	})
}

func TestLimitCanceledInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limit(&played{attempts: []string{"10s a finish", "b finish"}}, LimitOptions{Concurrent: 1, Queue: 1})
		first := make(chan string)
		go func() { first <- play(t.Context(), l) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := play(ctx, l); got != "!timeout" || l.Waiting() != 0 {
			t.Errorf("the queued one: %s, %d wait", got, l.Waiting())
		}
		if got := <-first; got != "a finish" {
			t.Errorf("the running one: %s", got)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if got := play(gone, l); got != "!canceled" {
			t.Errorf("one that never came: %s", got)
		}
		if got := play(t.Context(), l); got != "b finish" {
			t.Errorf("the next one: %s", got)
		}
	})
}

// TestLimitHandsOver: whoever has been given a slot waits no more, even if it has not come to its turn yet. Its place
// in the queue is there for one that comes in that moment.
func TestLimitHandsOver(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			l := Limit(&played{attempts: []string{"a finish", "b finish", "c finish"}},
				LimitOptions{Concurrent: 1, Queue: 1})
			next, stop := iter.Pull2(l.Stream(t.Context(), &chat.Request{}))
			if e, err, _ := next(); err != nil || e.Text != "a" {
				t.Fatalf("%+v, %v", e, err)
			}
			second := make(chan string, 1)
			go func() { second <- play(t.Context(), l) }()
			synctest.Wait()
			stop()
			if got := play(t.Context(), l); got != "c finish" && got != "b finish" {
				t.Fatalf("with a free place in the queue: %s", got)
			}
			<-second
			if l.Running() != 0 || l.Waiting() != 0 {
				t.Fatalf("%d run and %d wait at the end", l.Running(), l.Waiting())
			}
		})
	}
}

// TestLimitLeft: contexts that end while slots are handed over lose none.
func TestLimitLeft(t *testing.T) {
	l := Limit(&played{attempts: slices.Repeat([]string{"a finish"}, 1000)}, LimitOptions{Concurrent: 2, Queue: 100})
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if n%3 == 0 {
				all.Go(cancel)
			}
			for range 10 {
				if got := play(ctx, l); got != "a finish" && got != "!canceled" {
					t.Error(got)
				}
			}
		})
	}
	all.Wait()
	if l.Running() != 0 || l.Waiting() != 0 {
		t.Errorf("%d run and %d wait at the end", l.Running(), l.Waiting())
	}
}

func TestNoLimit(t *testing.T) {
	l := Limit(&played{attempts: []string{"a finish"}}, LimitOptions{})
	if got := play(t.Context(), l); got != "a finish" || l.Running() != 0 {
		t.Error(got)
	}
}

// TestOverloadedIsTriedAgain checks the parts together: a full queue is an error that Retry waits out.
func TestOverloadedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limit(&played{attempts: []string{"400ms a finish", "b finish"}}, LimitOptions{Concurrent: 1})
		first := make(chan string)
		go func() { first <- play(t.Context(), l) }()
		synctest.Wait()
		if got := play(t.Context(), Retry(l, RetryOptions{Backoff: time.Second})); got != "(overloaded-2/2) b finish" {
			t.Error(got)
		}
		<-first
	})
}

func Example() {
	flaky := &played{attempts: []string{"!overloaded", "hello finish"}}
	m := Fallback(Retry(Limit(flaky, LimitOptions{Concurrent: 4, Queue: 64}), RetryOptions{Backoff: time.Millisecond}),
		&played{})
	for e, err := range m.Stream(context.Background(), &chat.Request{}) {
		if errors.Is(err, chat.ErrOverloaded) {
			fmt.Println("no luck")
		} else if e.Kind == chat.KindText {
			fmt.Println(e.Text)
		}
	}
	// Output: hello
}

// A previewer tells what it would send.
type previewer struct{ played }

func (*previewer) Sent(req *chat.Request) (*chat.Request, bool, error) { return req, true, nil }

func TestFallbackSent(t *testing.T) {
	req := new(chat.Request)
	for _, c := range []struct {
		name   string
		models []chat.Model
		want   *chat.Request
	}{
		{"the first tells", []chat.Model{new(previewer), new(played)}, req},
		{"the first does not tell", []chat.Model{new(played), new(previewer)}, nil},
		{"none", nil, nil},
	} {
		sent, inText, err := Fallback(c.models...).(chat.Previewer).Sent(req)
		if sent != c.want || inText != (c.want != nil) || err != nil {
			t.Errorf("%s: %v, %v, %v", c.name, sent, inText, err)
		}
	}
}
