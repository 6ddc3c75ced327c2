package bridge_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"wield/bridge"
	"wield/chat"
	"wield/internal/testlevel"
)

// pieces are what models write, and what nearly is a call.
var pieces = []string{"Let me look.", " ", "\n", textCall, "\n" + textCall + "\n",
	"<tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call>",
	"<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{}}\n</tool_call>",
	"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Ro",
	"<TOOL_CALL>\n{\"tool\":\"get_weather\",\"args\":{\"city\":\"Oslo\",\"days\":\"3\"}}\n</TOOL_CALL>",
	"```go\nx := 1\n```", "<think>hm</think>", "{\"a\":1}",
	"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"note\":\"" + strings.Repeat("long ", 300) +
		"\"}}</tool_call>",
	"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"" + strings.Repeat("long ", 300) +
		"\",}]}</tool_call>",
	"{\"tool_calls\":[{\"id\":\"x1\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\":\\\"Bonn\\\"}\"}},{\"function\":{\"name\":\"nope\",\"arguments\":{}}}]}",
	"[get_weather(city=\"Bonn\")]", "a < b", "<tool", "```", "é🍜", "\"", "}"}

// TestChunking plays random answers in random pieces: what the client sees depends on the texts alone, and every byte
// is in it.
func TestChunking(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func() answer {
			s := ""
			for range rapid.IntRange(0, 4).Draw(rt, "n") {
				s += rapid.SampledFrom(pieces).Draw(rt, "piece")
			}
			a := answer{text(s)}
			if rapid.IntRange(0, 4).Draw(rt, "function") == 0 {
				a = append(a, function("c1", rapid.SampledFrom([]string{"get_weather", "nope"}).Draw(rt, "name"),
					rapid.SampledFrom([]string{"{}", `{"city":"Paris"}`, `{"city":`, `[1]`, ""}).Draw(rt, "args"))...)
				a = append(a, text(rapid.SampledFrom(pieces).Draw(rt, "after")))
			}
			if rapid.IntRange(0, 4).Draw(rt, "native") == 0 {
				a = append(a,
					native("", "get_weather", rapid.SampledFrom([]string{`{}`, `{"city":"Paris"}`}).Draw(rt, "args"),
						"")...)
				a = append(a, text(apology))
			}
			return a
		}
		answers := []answer{draw(), draw(), draw()}
		o := bridge.Options{Mode: rapid.SampledFrom([]bridge.Mode{bridge.ModeText, bridge.ModeNative}).Draw(rt,
			"mode"), Bounce: bridge.BounceOptions{Off: rapid.Bool().Draw(rt, "off"),
			Max: rapid.IntRange(1, 2).Draw(rt, "bounces")},
			MaxCalls: rapid.IntRange(0, 2).Draw(rt, "calls"),
			Release:  rapid.SampledFrom([]bridge.Release{"auto", "checked", "eager"}).Draw(rt, "release")}
		req := ask(weather)
		req.Stream = rapid.Bool().Draw(rt, "stream")
		whole := collect(t, bridge.New(&fake{t: t, answers: answers}, o).Stream(t.Context(), req))
		cutUp := collect(t, bridge.New(&fake{t: t, answers: answers, cut: randomly(rt)}, o).Stream(t.Context(), req))
		if diff := cmp.Diff(whole, cutUp, cmpopts.IgnoreFields(seen{}, "IDs"), cmpopts.IgnoreUnexported(seen{}),
			cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%+v in pieces (-whole +pieces):\n%s", answers, diff)
		}
		if t.Failed() {
			rt.Fatalf("with %+v", answers)
		}
	})
}

// randomly returns a function that cuts texts into random pieces.
func randomly(rt *rapid.T) func(string) []string {
	return func(s string) []string {
		var list []string
		for len(s) > 0 {
			n := min(len(s), rapid.IntRange(1, 9).Draw(rt, "cut"))
			list, s = append(list, s[:n]), s[n:]
		}
		return list
	}
}

// BenchmarkBridge streams an answer of 50 deltas without a call.
func BenchmarkBridge(b *testing.B) {
	for _, n := range []int{1, 20} {
		var tools []chat.Tool
		for i := range n {
			t := weather
			t.Name += string(rune('a' + i))
			tools = append(tools, t)
		}
		name := map[int]string{1: "1tool", 20: "20tools"}[n]
		b.Run(name, func(b *testing.B) {
			a := answer{}
			for range 50 {
				a = append(a, text("some words, "))
			}
			a = append(a, finish(chat.FinishStop))
			m := bridge.New(looped(a), bridge.Options{Mode: bridge.ModeText})
			req := ask(tools...)
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// TestDeltaAllocations finds out whether a delta of plain text costs memory of its own.
func TestDeltaAllocations(t *testing.T) {
	allocations := func(deltas int) float64 {
		a := answer{}
		for range deltas {
			a = append(a, text("some words, "))
		}
		m := bridge.New(looped(append(a, finish(chat.FinishStop))), bridge.Options{Mode: bridge.ModeText})
		req := ask(weather)
		run := func() {
			for range m.Stream(t.Context(), req) {
			}
		}
		if !testlevel.Race {
			return testing.AllocsPerRun(20, run)
		}
		// The race detector has pools lose things by dice: the least of the runs is one that had its decoder.
		least := math.Inf(1)
		for range 20 {
			least = min(least, testing.AllocsPerRun(1, run))
		}
		return least
	}
	few, many := allocations(50), allocations(1050)
	if many-few > 20 { // the buffers grow now and then
		t.Errorf("%v allocations for 50 deltas, %v for 1050", few, many)
	}
}
