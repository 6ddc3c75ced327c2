package bridge_test

import (
	"log/slog"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// TestA27 bounces a fenced call of a declared tool that lacks the prefix of this model's tools.
func TestA27(t *testing.T) {
	o := bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}}
	bare := "I'll check.\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"
	right := "```json\n{\"name\":\"user:get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```"
	const sent = "TOOL_ERROR: Unknown tool: get_weather; the tool is called user:get_weather. Please try again with correct format."
	paris := []string{`get_weather({"city":"Paris"})`}
	for name, cut := range chunkings() {
		f := &fake{t: t, answers: []answer{{text(bare)}, {text(right)}}, cut: cut}
		got := collect(t, bridge.New(f, o).Stream(t.Context(), ask(weather)))
		t.Run("whole/"+name, func(t *testing.T) {
			compare(t, seen{Calls: paris, Rejected: []string{"unknown_tool get_weather"}, Bounces: []string{sent},
				Finish: chat.FinishCalls}, got)
		})
		f = &fake{t: t, answers: []answer{{text(bare)}, {text(right)}}, cut: cut}
		got = collect(t, bridge.New(f, o).Stream(t.Context(), streamed(ask(weather))))
		t.Run("streamed/"+name, func(t *testing.T) {
			compare(t, seen{Content: "I'll check.\n", Calls: paris, Rejected: []string{"unknown_tool get_weather"},
				Bounces: []string{sent}, Finish: chat.FinishCalls}, got)
		})
	}
	for name, a := range map[string]string{
		"the arguments do not fit": "```json\n{\"name\":\"get_weather\",\"arguments\":{\"town\":\"Paris\"}}\n```",
		"another name":             "```json\n{\"name\":\"my-package\",\"arguments\":{\"city\":\"Paris\"}}\n```",
		"more keys":                "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"},\"version\":1}\n```",
		"words behind it":          "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\nis how a call looks.",
		"another language":         "```yaml\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```",
	} {
		for _, req := range []*chat.Request{ask(weather), streamed(ask(weather))} {
			got, _ := play(t, o, req, answer{text(a)})
			t.Run(name, func(t *testing.T) { compare(t, seen{Content: a, Finish: chat.FinishStop}, got) })
		}
	}
	spent := o
	spent.Bounce.Off = true
	for _, req := range []*chat.Request{ask(weather), streamed(ask(weather))} {
		got, _ := play(t, spent, req, answer{text(bare)})
		compare(t, seen{Content: bare, Finish: chat.FinishStop}, got)
	}
}

// TestFailuresAreLogged: the log says of each call that cannot be used why.
func TestFailuresAreLogged(t *testing.T) {
	for raw, want := range map[string]string{
		"```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```": `reason=unknown_tool tool=get_weather why="unknown tool; the tool is called user:get_weather"`,
		"<tool_call>{\"name\": \"user:get_weather\", \"arguments\": {}}</tool_call>":      `reason=invalid tool=get_weather why="missing required parameter: city"`,
	} {
		var log strings.Builder
		o := bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"},
			Log: slog.New(slog.NewTextHandler(&log, nil))}
		play(t, o, ask(weather), answer{text(raw)}, answer{text("Never mind.")})
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s: %s without %s", raw, log.String(), want)
		}
	}
}

// TestFencedUnknown: where an error answers a failed call, a fenced call of a tool that there is not is one,
// and is not shown as text.
func TestFencedUnknown(t *testing.T) {
	a := "Deploying.\n```json\n{\"name\": \"deploy\", \"arguments\": {\"to\": \"prod\"}}\n```\n"
	req := ask(weather)
	req.Attempts = true
	got, _ := play(t, bridge.Options{Mode: bridge.ModeText}, req, answer{text(a)})
	compare(t, seen{Content: "Deploying.\n", Rejected: []string{"unknown_tool deploy"}, Finish: chat.FinishStop}, got)
	got, _ = play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather), answer{text(a)})
	compare(t, seen{Content: a, Finish: chat.FinishStop}, got)
}

// TestFencedUnknownStreamed: nobody who reads along sees the call, however it is cut; what turns out to be no
// call is shown.
func TestFencedUnknownStreamed(t *testing.T) {
	const deploy = "```json\n{\"name\": \"deploy\", \"arguments\": {\"to\": \"prod\"}}\n```"
	for _, c := range []struct {
		name, text, content string
		tried               bool
	}{
		{"alone", deploy, "", true},
		{"behind words", "Deploying.\n\n" + deploy + "\n", "Deploying.\n\n", true},
		{"without a language", "Now:\n```\n{\"parameters\": {}, \"name\": \"deploy\"}\n```", "Now:\n", true},
		{"behind code", "Look:\n```go\nx := 1\n```\nSo:\n" + deploy, "Look:\n```go\nx := 1\n```\nSo:\n", true},
		{"words behind it", deploy + "\nis how it looks.", deploy + "\nis how it looks.", false},
		{"another object", "```json\n{\"named\": 1}\n```", "```json\n{\"named\": 1}\n```", false},
		{"more keys", "```json\n{\"name\": \"a\", \"version\": 1}\n```\n",
			"```json\n{\"name\": \"a\", \"version\": 1}\n```\n", false},
		{"cut off", "```json\n{\"name\": \"deploy\", \"arg", "```json\n{\"name\": \"deploy\", \"arg", false},
		{"code", "```sh\nls\n```", "```sh\nls\n```", false},
	} {
		for name, cut := range chunkings() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				req := streamed(ask(weather))
				req.Attempts = true
				f := &fake{t: t, answers: []answer{{text(c.text)}}, cut: cut}
				got := collect(t, bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), req))
				want := seen{Content: c.content, Finish: chat.FinishStop}
				if c.tried {
					want.Rejected = []string{"unknown_tool deploy"}
				}
				compare(t, want, got)
			})
		}
	}
}

// TestTextCallBehindConfused releases a call that stands as text behind one that is taken over, unless it is the same.
func TestTextCallBehindConfused(t *testing.T) {
	o := bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}
	fenced := func(city string) string {
		return "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"" + city + "\"}}\n```"
	}
	got, _ := play(t, o, ask(weather), join(native("n", "get_weather", `{"city":"Paris"}`, "x"),
		answer{text(apology + "\n" + fenced("Paris") + "\n" + fenced("Rome"))}))
	want := seen{Calls: []string{`get_weather({"city":"Paris"})`, `get_weather({"city":"Rome"})`},
		Finish: chat.FinishCalls}
	compare(t, want, got)
	if len(got.IDs) != 2 || got.IDs[0] == got.IDs[1] || strings.Contains(got.Content, "access") {
		t.Errorf("%+v", got)
	}
}
