package bridge_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// TestOneBudget spends the one bounce on any reason: a failure of another kind in the second answer is not sent back.
func TestOneBudget(t *testing.T) {
	confused := join(native("n1", "get_weather", `{"city":"Paris"}`, ""), answer{text(apology)})
	unknown := answer{text("<tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call>")}
	invalid := answer{text("<tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>")}
	malformed := answer{text("<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":]}</tool_call>")}
	all := map[string]answer{"confused": confused, "unknown_tool": unknown, "invalid": invalid, "malformed": malformed}
	for first, a := range all {
		for second, b := range all {
			s, f := play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather), a, b)
			if len(s.Bounces) != 1 || strings.Contains(s.Content, apology) || s.Err != "" {
				t.Errorf("%s, then %s: %+v", first, second, s)
			}
			converted := second == "confused"
			if told := strings.Contains(s.Content, "The model could not call "); told == converted ||
				(len(s.Calls) == 1) != converted {
				t.Errorf("%s, then %s: %+v", first, second, s)
			}
			for _, m := range f.requests[0].Messages {
				if strings.Contains(m.Text(), apology) || strings.Contains(m.Text(), "TOOL_ERROR") {
					t.Errorf("%s: the client's own history holds %q", first, m.Text())
				}
			}
		}
		s, _ := play(t,
			bridge.Options{Mode: bridge.ModeText,
				Bounce: bridge.BounceOptions{On: []chat.Reason{chat.ReasonOverLimit}}}, ask(weather), a)
		if len(s.Bounces) != 0 {
			t.Errorf("%s is not in the list, and is sent back: %+v", first, s)
		}
	}
}

// TestReleasedIsKept looks at calls in text that the client has seen the start of: they are never sent back.
func TestReleasedIsKept(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, tc := range []struct {
		name    string
		release bridge.Release
		stream  bool
		args    string
		calls   int
		bounces int
	}{
		{"short and invalid", bridge.ReleaseAuto, true, `{"days":1}`, 0, 1},
		{"long and invalid", bridge.ReleaseAuto, true, `{"note":"` + long + `"}`, 1, 0},
		{"long and invalid, whole", bridge.ReleaseAuto, false, `{"note":"` + long + `"}`, 0, 1},
		{"long and checked", bridge.ReleaseChecked, true, `{"note":"` + long + `"}`, 0, 1},
		{"short and eager", bridge.ReleaseEager, true, `{"days":1}`, 1, 0},
		{"long and broken", bridge.ReleaseAuto, true, `{"city":"` + long + `",]}`, 0, 0},
		{"long and broken, whole", bridge.ReleaseAuto, false, `{"city":"` + long + `",]}`, 0, 1},
		{"short and broken", bridge.ReleaseEager, true, `{"city":"x",]}`, 0, 0},
	} {
		for _, cut := range []func(string) []string{nil, chunkings()["seven"]} {
			f := &fake{t: t, cut: cut,
				answers: []answer{
					{text("Hi\n<tool_call>{\"name\":\"get_weather\",\"arguments\":" + tc.args + "}</tool_call>")},
					{text("Sorry.")}}}
			req := ask(weather)
			req.Stream = tc.stream
			s := collect(t,
				bridge.New(f, bridge.Options{Mode: bridge.ModeText, Release: tc.release}).Stream(t.Context(), req))
			if len(s.Calls) != tc.calls || len(s.Bounces) != tc.bounces {
				t.Errorf("%s: %d calls, %d bounces, rejected %q", tc.name, len(s.Calls), len(s.Bounces), s.Rejected)
			}
			if want := map[bool]chat.FinishReason{true: chat.FinishCalls,
				false: chat.FinishStop}[tc.calls > 0]; s.Finish != want {
				t.Errorf("%s: finish is %s", tc.name, s.Finish)
			}
		}
	}
}

// TestWholeAnswerIsMended holds a long call of an answer that is not streamed until it is complete, so that a key that
// stands twice in it goes out once.
func TestWholeAnswerIsMended(t *testing.T) {
	long := strings.Repeat("x", 2000)
	a := answer{text("<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"" + long +
		"\",\"city\":\"Oslo\"}}</tool_call>")}
	for _, cut := range []func(string) []string{nil, chunkings()["seven"]} {
		f := &fake{t: t, cut: cut, answers: []answer{a}}
		s := collect(t, bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), ask(weather)))
		if want := []string{`get_weather({"city":"Oslo"})`}; !slices.Equal(s.Calls, want) {
			t.Errorf("calls %q, want %q", s.Calls, want)
		}
	}
}

// TestSentenceStandsLast puts what wield says behind all that the model wrote, with a blank line before it.
func TestSentenceStandsLast(t *testing.T) {
	const broken, invalid = "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":[oops }}</tool_call>",
		"<tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>"
	for _, tc := range []struct {
		wrote  answer
		prefix string // of the content
	}{
		{answer{text("before " + broken + " after")},
			"before " + broken + " after\n\nThe model could not call get_weather: "},
		{answer{text("before " + invalid + " after")},
			"before " + invalid + " after\n\nThe model could not call get_weather: "},
		{join(answer{text("before")}, function("", "nope", `{}`), answer{text(" after")}),
			"before after\n\nThe model could not call nope: "},
	} {
		for _, release := range []bridge.Release{bridge.ReleaseAuto, bridge.ReleaseChecked} {
			for name, cut := range chunkings() {
				f := &fake{t: t, cut: cut, answers: []answer{{text(invalid)}, tc.wrote}}
				s := collect(t,
					bridge.New(f, bridge.Options{Mode: bridge.ModeNative, Release: release}).Stream(t.Context(),
						ask(weather)))
				rest, ok := strings.CutPrefix(s.Content, tc.prefix)
				if !ok || rest == "" || strings.Contains(rest, "\n") {
					t.Errorf("%s, pieces of %s: content %q, want %q and a reason", release, name, s.Content, tc.prefix)
				}
			}
		}
	}
}

// TestPrefixIsHidden keeps the prefix out of what the client is told, and tells the model the name that it wrote.
func TestPrefixIsHidden(t *testing.T) {
	wrong := answer{text("<tool_call>{\"name\":\"user:get_weather\",\"arguments\":{}}</tool_call>")}
	s, f := play(t, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}}, ask(weather),
		wrong, join(native("", "user:get_weather", `{}`, ""), answer{text(apology)}))
	if s.Content != "The model could not call get_weather: missing required parameter: city" {
		t.Errorf("content %q", s.Content)
	}
	if !strings.Contains(f.requests[0].Messages[0].Text(), "user:get_weather") {
		t.Error("the model does not know the tool under its prefix")
	}
	s, _ = play(t, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}}, ask(weather),
		answer{text("<tool_call>{\"name\":\"user:nope\",\"arguments\":{}}</tool_call>")}, answer{text("No.")})
	if s.Bounces[0] != "TOOL_ERROR: Unknown tool: user:nope. Please try again with correct format." {
		t.Errorf("the model is told %q", s.Bounces)
	}
	nope := "<tool_call>{\"name\":\"user:nope\",\"arguments\":{}}</tool_call>"
	s, _ = play(t, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}}, ask(weather),
		answer{text(nope)}, answer{text(nope)})
	if want := nope + "\n\nThe model could not call nope: unknown tool"; s.Content != want {
		t.Errorf("content %q, want %q", s.Content, want)
	}
}

// TestIdle passes every Idle on: beside held text, inside a held call, and while the answer is not shown.
func TestIdle(t *testing.T) {
	idle := chat.Event{Kind: chat.KindIdle}
	first := answer{idle}
	for _, p := range every("Hi \n<tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call> and more", 5) {
		first = append(first, text(p), idle)
	}
	second := answer{idle}
	for _, p := range every("Hi \n"+textCall+"\n", 5) {
		second = append(second, text(p), idle)
	}
	want := 0
	for _, e := range join(first, second) {
		if e.Kind == chat.KindIdle {
			want++
		}
	}
	f := &fake{t: t, answers: []answer{first, second}}
	got := 0
	for e, err := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), ask(weather)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindIdle {
			got++
		}
	}
	if got != want || len(f.requests) != 2 {
		t.Errorf("%d of %d in %d requests", got, want, len(f.requests))
	}
}

// A leaver is a model whose client goes away while it answers, in a way that the model does not notice.
type leaver struct {
	*fake
	leave context.CancelFunc
}

func (l leaver) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	l.leave()
	return l.fake.Stream(ctx, req)
}

// TestNobodyWaits makes no second request for a client that has gone.
func TestNobodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{t: t, answers: []answer{{text("<tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call>")}}}
	var last error
	for _, err := range bridge.New(leaver{f, cancel}, bridge.Options{Mode: bridge.ModeText}).Stream(ctx, ask(weather)) {
		last = err
	}
	if len(f.requests) != 1 || !errors.Is(last, chat.ErrCanceled) {
		t.Errorf("%d requests, error %v", len(f.requests), last)
	}

	// The one who reads stops at the bounce.
	f = &fake{t: t, answers: f.answers}
	for e := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), ask(weather)) {
		if e.Kind == chat.KindBounce {
			break
		}
	}
	if len(f.requests) != 1 {
		t.Errorf("%d requests", len(f.requests))
	}
}
