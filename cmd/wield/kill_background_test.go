package main

import (
	"slices"
	"strings"
	"testing"
)

// backgroundStory is a run whose answer is asked for later.
var backgroundStory = story{name: "background", calls: 6, deny: `{"n":5}`, config: servedConfig,
	scenario: stories[1].scenario}

// A backgroundClient asks for a response in the background, and looks at it until it is whole.
type backgroundClient struct {
	id     string // of the response
	before []string
	status string
	output string
}

// drive asks, answers questions, and looks, until the response and all runs are over. It reports false when
// the service is gone.
func (c *backgroundClient) drive(t *testing.T, w *world, s *server) (over bool) {
	t.Helper()
	await(t, "the response is whole", func() bool {
		list, questions, ok := s.look(t)
		if !ok {
			return true
		}
		if c.id == "" {
			c.before = c.before[:0]
			for _, r := range list {
				c.before = append(c.before, r.ID)
			}
			var r struct{ ID string }
			s.call(t, "POST", "/v1/responses", struct {
				Model      string `json:"model"`
				Input      string `json:"input"`
				Background bool   `json:"background"`
			}{"worker", "go", true}, &r)
			c.id = r.ID
			return false
		}
		w.decide(t, s, questions)
		running := 0
		for _, r := range list {
			if !slices.Contains(c.before, r.ID) {
				w.run = r.ID
			}
			if r.State != "ended" {
				running++
			}
		}
		var r struct {
			Status string
			Output []struct{ Content []struct{ Text string } }
		}
		if !s.call(t, "GET", "/v1/responses/"+c.id, nil, &r) {
			<-s.gone
			return true
		}
		c.status, c.output = r.Status, ""
		for _, o := range r.Output {
			for _, p := range o.Content {
				c.output += p.Text
			}
		}
		over = running == 0 && c.status != "queued" && c.status != "in_progress"
		return over
	})
	return over
}

// TestKilledBackground kills wield serve at steps of a run whose response is made in the background. The
// client that asks the next process for the response gets it whole: no call was made twice, and no text
// stands in it twice.
//
// WIELD_KILL says how many of the points are taken.
func TestKilledBackground(t *testing.T) {
	w := servedWorld(t, &backgroundStory)
	s, c := w.serve(t), &backgroundClient{}
	if !c.drive(t, w, s) {
		t.Fatalf("it ended by itself: %s", s.log)
	}
	c.check(t, w, s)
	killSteps(t, s.steps(), 83, killBackground)
}

func killBackground(t *testing.T, d death) {
	w, c := servedWorld(t, &backgroundStory), &backgroundClient{}
	if s := w.serve(t, mortalDeath+"="+d.String()); c.drive(t, w, s) {
		s.end(t) // it was whole before; steps of several goroutines are not always as many
	}
	s := w.serve(t)
	if !c.drive(t, w, s) {
		t.Fatalf("%v: the second one ended by itself: %s", d, s.log)
	}
	c.check(t, w, s)
}

// check ends the service, and checks what the client got and what stands in the journal.
func (c *backgroundClient) check(t *testing.T, w *world, s *server) {
	t.Helper()
	if c.status != "completed" || strings.Count(c.output, "All done.") != 1 {
		t.Errorf("the response is %s: %q", c.status, c.output)
	}
	s.end(t)
	if err := w.check(t.Context()); err != nil {
		t.Error(err)
	}
}
