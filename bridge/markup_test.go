package bridge_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// content plays a text without bounces and returns the client's content and the number of calls.
func content(t *testing.T, o bridge.Options, s string, cut func(string) []string) (string, int) {
	t.Helper()
	o.Mode, o.Bounce.Max = bridge.ModeText, -1
	f := &fake{t: t, cut: cut, answers: []answer{{text(s)}}}
	got := collect(t, bridge.New(f, o).Stream(t.Context(), ask(weather)))
	return got.Content, len(got.Calls)
}

// TestRejectedText shows the text of calls that fail as the model wrote it.
func TestRejectedText(t *testing.T) {
	const (
		bad  = `{"name":"get_weather","arguments":{}}`
		good = `{"name":"get_weather","arguments":{"city":"Rome"}}`
	)
	envelope := func(args ...string) string {
		var calls []string
		for _, a := range args {
			calls = append(calls, `{"function":{"name":"get_weather","arguments":`+a+`}}`)
		}
		return `{"tool_calls":[` + strings.Join(calls, ", ") + "]}"
	}
	fence := func(lines ...string) string { return "```json\n" + strings.Join(lines, "\n") + "\n```" }
	tag := func(s string) string { return "<tool_call>\n" + s + "\n</tool_call>" }
	for _, tc := range []struct {
		text  string
		want  string // "": text
		calls int
	}{
		{text: "Hi\n" + fence(bad) + "\nbye"},
		{text: "Hi\n\n" + fence(bad) + "\n\n" + fence(bad) + "\n"},
		{text: fence(bad, bad) + "  \n"},
		{text: "Hi\n" + fence(bad, "hello") + "\nbye"},
		{text: "Hi \n" + tag(bad) + " \n\n" + tag(bad) + "\n\n"},
		{text: "Hi\n" + bad + ";\n" + bad + "\n"},
		{text: "Hi\n" + envelope("{}", `{"days":1}`) + "\nbye"},
		{text: "Hi\n[get_weather(days=1), get_weather()]\nbye"},
		{text: "Hi\n<tool_call>\n<function=get_weather>\n</function>\n<function=get_weather>\n</function>\n</tool_call>\nbye"},
		{text: "Hi\n" + tag(bad[:len(bad)-4])},
		{text: "Hi\n" + fence(`{"name":"get_weather","arguments":{"city":`)},
		{text: "Hi \n" + tag(`{"name":"get_weather","arguments":{"city":"`+strings.Repeat("long ", 500))},
		{text: "Hi\n\n" + fence(`{"name":"get_weather","arguments":{"city":"`+strings.Repeat("long ", 500)+`",]}}`) +
			"\nbye"},
		{text: "Hi\n" + fence(bad) + "\n<tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call>\n" + tag(bad) +
			"\n"},

		{text: "Hi\n" + fence(good) + "\n" + fence(bad) + "\nbye", want: "Hi\n" + fence(bad) + "\nbye", calls: 1},
		{text: "Hi\n" + fence(bad) + "\n" + fence(good) + "\nbye", want: "Hi\n" + fence(bad) + "\nbye", calls: 1},
		{text: "Hi\n" + fence(good, bad) + "\nbye", want: "Hi\n" + bad + "\nbye", calls: 1},
		{text: "Hi\n" + fence(bad, good) + "\nbye", want: "Hi\n" + fence(bad) + "\nbye", calls: 1},
		{text: "Hi\n" + tag(good) + "\n" + fence(bad) + "\nbye", want: "Hi\n" + fence(bad) + "\nbye", calls: 1},
		{text: "Hi\n" + tag(good) + "\n" + envelope("{}") + "\nbye", want: "Hi\n" + envelope("{}") + "\nbye", calls: 1},
		{text: "Hi\n" + envelope("{}", `{"city":"Rome"}`) + "\nbye", want: "Hi\n" + envelope("{}") + "\nbye", calls: 1},

		{text: "<think>x</think>\n\n" + fence(bad) + "\n<|im_end|>", want: fence(bad) + "\n"},
		{text: "Hi\n" + fence(bad) + "\n<think>x</think>\n\nbye", want: "Hi\n" + fence(bad) + "bye"},
	} {
		if tc.want == "" {
			tc.want = tc.text
		}
		for name, cut := range chunkings() {
			for _, cut := range []func(string) []string{nil, cut} {
				if got, calls := content(t, bridge.Options{}, tc.text, cut); got != tc.want || calls != tc.calls {
					t.Errorf("in %s: %q gives %d calls and\n%q, want %d and\n%q", name, tc.text, calls, got, tc.calls,
						tc.want)
				}
			}
		}
	}
}

// TestRejectedDialects plays calls that do not fit their schema in every dialect.
func TestRejectedDialects(t *testing.T) {
	wrong := chat.Call{Name: "get_weather", Arguments: `{"days":1}`}
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		for _, calls := range [][]chat.Call{{wrong}, {wrong, wrong}} {
			written, err := d.AppendCalls(nil, calls)
			if err != nil {
				continue // some dialects hold one call a message
			}
			for _, frame := range [][2]string{{"", ""}, {"Hi\n", "\nbye"}, {"Hi \n\n", "\n\n"}} {
				if d.ByName {
					frame = [2]string{}
				}
				s := frame[0] + string(written) + frame[1]
				for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
					if got, n := content(t, bridge.Options{Decode: dialect.Options{Dialect: name}}, s,
						cut); got != s || n > 0 {
						t.Errorf("%s: %q gives %d calls and %q", name, s, n, got)
					}
				}
			}
		}
	}
}

// TestRejectedAfterBounce tells what happened behind all of the text, never inside of it.
func TestRejectedAfterBounce(t *testing.T) {
	bad := "```json\n{\"name\":\"get_weather\",\"arguments\":{}}\n```"
	for _, rest := range []string{"", "\nbye"} {
		s, _ := play(t, bridge.Options{Mode: bridge.ModeText}, streamed(ask(weather)), answer{text("Hi\n" + bad)},
			answer{text(bad + rest)})
		want := "Hi\n\n" + bad + rest + "\n\nThe model could not call get_weather: missing required parameter: city"
		if s.Content != want {
			t.Errorf("content %q, want %q", s.Content, want)
		}
	}
}

// TestConservation mixes texts, calls that pass and calls that do not, one to a line: of the text nothing is missing
// but the calls that passed and the white space in front of them.
func TestConservation(t *testing.T) {
	const (
		bad  = `{"name":"get_weather","arguments":{"days":2}}`
		good = `{"name":"get_weather","arguments":{"city":"Rome"}}`
	)
	wraps := [][2]string{{"```json\n", "\n```"}, {"```\n", "\n```"}, {"~~~tool_call\n", "\n~~~"},
		{"<tool_call>\n", "\n</tool_call>"}, {"<tool_call>", "</tool_call>"}, {"<TOOL_CALL>", "\n</TOOL_CALL>"},
		{"", ""}}
	rapid.Check(t, func(rt *rapid.T) {
		var all, want strings.Builder
		calls := 0
		for i := range rapid.IntRange(1, 6).Draw(rt, "lines") {
			sep := ""
			if i > 0 {
				sep = rapid.SampledFrom([]string{"\n", "\n\n"}).Draw(rt, "separator")
			}
			wrap := rapid.SampledFrom(wraps).Draw(rt, "wrap")
			line := rapid.SampledFrom([]string{"", "Some words.", "a < b", "```go\nx := 1\n```", "{\"a\":1}"}).Draw(rt,
				"text")
			keep := true
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				line = wrap[0] + bad + wrap[1]
			case 1:
				line, keep = wrap[0]+good+wrap[1], false
				calls++
			default:
				if line == "" {
					line = "Words"
				}
			}
			all.WriteString(sep + line)
			if keep {
				want.WriteString(sep + line)
			}
		}
		got, n := content(t, bridge.Options{}, all.String(), randomly(rt))
		if n != calls || t.Failed() {
			rt.Fatalf("%q gives %d calls, want %d", &all, n, calls)
		}
		if got != want.String() {
			rt.Fatalf("%q gives\n%q, want\n%q", &all, got, &want)
		}
	})
}

// TestRejectedPieces glues texts and calls that do not fit their schema together at random: the client sees just that.
func TestRejectedPieces(t *testing.T) {
	list := append([]string{"\n", "\n\n", " ", ",", "[get_weather(days=1), get_weather()]",
		"TOOL: get_weather\nARGS:\n  days: 1\n",
		"```json\n{\"name\":\"get_weather\",\"arguments\":{}}\n{\"name\":\"get_weather\",\"arguments\":{}}\n```\n",
		"{\"tool_calls\":[{\"function\":{\"name\":\"get_weather\",\"arguments\":{}}}, {\"function\":{\"name\":\"nope\",\"arguments\":{}}}]}",
		"{\"name\":\"get_weather\",\"arguments\":{}}", "get_weather(days=2)", "<tool name=\"get_weather\"></tool>",
		"<tool_call>\n<function=get_weather>\n</function>\n<function=get_weather>\n</function>\n</tool_call>"},
		pieces...)
	rapid.Check(t, func(rt *rapid.T) {
		s := ""
		for range rapid.IntRange(1, 6).Draw(rt, "n") {
			s += rapid.SampledFrom(list).Draw(rt, "piece")
		}
		if strings.Contains(s, "think>") {
			rt.Skip("reasoning is no content")
		}
		got, calls := content(t,
			bridge.Options{Release: rapid.SampledFrom([]bridge.Release{"auto", "checked"}).Draw(rt, "release")}, s,
			randomly(rt))
		if calls == 0 && got != s || t.Failed() {
			rt.Fatalf("%q gives\n%q", s, got)
		}
	})
}
