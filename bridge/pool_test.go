package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wield/bridge"
	"wield/chat"
)

// A switchboard is a model that another one stands behind for a while.
type switchboard struct{ chat.Model }

func (s *switchboard) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return s.Model.Stream(ctx, req)
}

// TestOneAfterTheOther sends requests that end in every way through one Bridge, in all orders of two, and expects of
// the second what a new Bridge makes of it.
func TestOneAfterTheOther(t *testing.T) {
	const good, bad = "I look.\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\n",
		"```json\n{\"name\":\"get_weather\",\"arguments\":{\"days\":"
	cases := []struct {
		name string
		fake func() *fake
		stop int // events after which the reader leaves; 0: none
	}{
		{"text", func() *fake { return &fake{t: t, answers: []answer{{text("Hello "), text("there."), usage(1, 2)}}} },
			0},
		{"call", func() *fake { return &fake{t: t, answers: []answer{{text(good)}}} }, 0},
		{"bounced", func() *fake {
			return &fake{t: t,
				answers: []answer{{text("Let me see. ```json\n{\"name\":\"get_wether\",\"arguments\":{}}\n```")},
					{text("Let me see. " + good)}}}
		}, 0},
		{"cut call", func() *fake {
			return &fake{t: t, answers: []answer{{text("So: "), text(bad), finish(chat.FinishLength)}, {text("x")}}}
		}, 0},
		{"failed", func() *fake {
			return &fake{t: t, answers: []answer{{text("Half a "), text(bad)}}, errs: []error{errors.New("gone")}}
		}, 0},
		{"left", func() *fake { return &fake{t: t, answers: []answer{{text("One "), text("two "), text("three.")}}} },
			3},
		{"long", func() *fake { return &fake{t: t, answers: []answer{{text(strings.Repeat("long ", 40<<10))}}} }, 0},
		{"nothing", func() *fake { return &fake{t: t, answers: []answer{{}}} }, 0},
	}
	events := func(b *bridge.Bridge, stop int) (list []chat.Event) {
		for e, err := range b.Stream(t.Context(), ask(weather)) {
			if err != nil {
				e = chat.Event{Text: err.Error()}
			}
			if list = append(list, e); len(list) == stop {
				break
			}
		}
		return list
	}
	options := bridge.Options{Mode: bridge.ModeText}
	equal := cmp.Options{cmpopts.IgnoreFields(chat.Event{}, "ID"), cmpopts.IgnoreFields(chat.Call{}, "ID"), // by chance
		cmpopts.IgnoreFields(chat.TurnDetail{}, "Began")}
	for _, second := range cases {
		want := events(bridge.New(second.fake(), options), second.stop)
		for _, first := range cases {
			var m switchboard
			b := bridge.New(&m, options)
			m.Model = first.fake()
			before := events(b, first.stop)
			kept := dump(before)
			m.Model = second.fake()
			if d := cmp.Diff(want, events(b, second.stop), equal); d != "" {
				t.Errorf("%s after %s: %s", second.name, first.name, d)
			}
			if dump(before) != kept {
				t.Errorf("%s changed the events of %s", second.name, first.name)
			}
		}
	}
}

func dump(list []chat.Event) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(b)
}
