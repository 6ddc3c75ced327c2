package playback

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/internal/script"
	"wield/tool"
)

// ErrNoAnswer says that a recording has no answer of a model.
var ErrNoAnswer = errors.New("playback: the model never came to the end of an answer")

// Scenario writes a scenario in which a scripted model answers as the recorded one did, request for request,
// and in which its client asks, offers and gives back what was asked, offered and given back then. The
// recordings are the runs of one session, the oldest first. mask takes secrets out; nil leaves them in.
func Scenario(name string, list []*Recording, style func(string) tool.Style, mask func(string) string) ([]byte, error) {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	w := scenario{mask: mask, style: style, results: map[string][]string{}}
	for _, r := range list {
		w.run(r)
	}
	if len(w.turns) == 0 {
		return nil, ErrNoAnswer
	}
	return w.write(name, list[0]), nil
}

// A scenario gathers what a file is made of.
type scenario struct {
	mask  func(string) string
	style func(string) tool.Style

	past    int // assistant messages so far
	base    int // of those, the ones that no user of the file can bring about
	native  bool
	pending []recordedAnswer // in which no call could be used
	turns   []string
	again   []string // answers after a correction, each behind a state, which come before what needs none
	users   []string
	system  string
	tools   []chat.Tool
	order   []string // of results, by tool
	results map[string][]string
	calls   []string
	final   string
	asked   int
}

func (w *scenario) run(r *Recording) {
	said := r.Messages()
	if len(w.users) == 0 {
		w.begin(said)
	}
	for i := len(said) - 1; i >= 0; i-- {
		if said[i].Role == chat.RoleUser {
			w.users = append(w.users, said[i].Text())
			break
		}
	}
	for _, t := range r.Tools() {
		w.offer(t)
	}
	whole := r.whole()
	for i, t := range whole {
		for _, m := range t.Said {
			if i > 0 && m.Role == chat.RoleUser && m.By != "wield" {
				w.users = append(w.users, m.Text())
			}
		}
		if i < len(whole)-1 && t.failed() { // a client that runs tools itself has it bounced
			w.pending = append(append(w.pending, t.bounced()...), t.answer())
			continue
		}
		w.turn(t)
	}
}

// begin takes in what stood in the conversation before.
func (w *scenario) begin(said []chat.Message) {
	for i := range said {
		switch m := &said[i]; m.Role {
		case chat.RoleAssistant:
			w.past++
		case chat.RoleSystem, chat.RoleDeveloper:
			w.system += m.Text()
		}
	}
	w.base = w.past
}

func (w *scenario) offer(t chat.Tool) {
	for i := range w.tools {
		if w.tools[i].Name == t.Name {
			return
		}
	}
	w.tools = append(w.tools, t)
}

// turn adds an answer, with those that were bounced before it. Those follow one another by states, because
// what a correction looks like in a request depends on how the model is asked.
func (w *scenario) turn(t *Turn) {
	// the scripted model's own channel runs them
	answers := slices.DeleteFunc(append(w.pending, t.bounced()...), func(a recordedAnswer) bool { return a.confused })
	answers, w.pending = append(answers, t.answer()), nil
	for i, a := range answers {
		var b strings.Builder
		id := fmt.Sprintf("answer-%d", w.past+1)
		if i > 0 {
			id += fmt.Sprintf("-corrected-%d", i)
		}
		fmt.Fprintf(&b, "  - id: %s\n", id)
		if i == 0 {
			fmt.Fprintf(&b, "    when: {turn: %d}\n", w.past)
			if len(answers) > 1 {
				b.WriteString("    need_state: \"\"\n")
			}
		} else {
			fmt.Fprintf(&b, "    when: {}\n    need_state: bounced-%d-%d\n", w.past+1, i)
		}
		switch {
		case i < len(answers)-1:
			fmt.Fprintf(&b, "    set_state: bounced-%d-%d\n", w.past+1, i+1)
		case i > 0:
			b.WriteString("    set_state: \"\"\n")
		}
		w.reply(&b, &a)
		if i > 0 {
			w.again = append(w.again, b.String())
		} else {
			w.turns = append(w.turns, b.String())
		}
		w.asked++
	}
	w.past++
	w.final = t.End.Message.Text()
	for _, c := range t.Calls {
		if t.unusable(c) {
			continue
		}
		w.calls = append(w.calls, fmt.Sprintf("    - {name: %s%s}\n", w.quote(c.Name), w.arguments(c.Arguments)))
		if c.Result != nil {
			w.result(c)
		}
	}
}

// reply writes what a model said.
func (w *scenario) reply(b *strings.Builder, a *recordedAnswer) {
	b.WriteString("    reply:")
	if a.reasoning == "" && a.text == "" && len(a.calls) == 0 {
		b.WriteString(" []\n")
		return
	}
	b.WriteString("\n")
	if a.reasoning != "" {
		fmt.Fprintf(b, "      - think: %s\n", w.template(a.reasoning))
	}
	switch {
	case a.text == "":
	case utf8.ValidString(a.text):
		fmt.Fprintf(b, "      - text: %s\n", w.template(a.text))
	default:
		fmt.Fprintf(b, "      - raw: !!binary %s\n", base64.StdEncoding.EncodeToString([]byte(a.text)))
	}
	for _, c := range a.calls {
		w.native = true
		fmt.Fprintf(b, "      - call: {name: %s, args: %s}\n", w.quote(c.Name), w.template(c.Arguments))
	}
	if a.usage.Known {
		fmt.Fprintf(b, "    usage: {in: %d, out: %d}\n", a.usage.In, a.usage.Out)
	}
	if a.finish == chat.FinishLength || a.finish == chat.FinishFiltered {
		fmt.Fprintf(b, "    finish: %s\n", a.finish)
	}
}

// result keeps what a call gave, as the model saw it.
func (w *scenario) result(c *RecordedCall) {
	if _, ok := w.results[c.Name]; !ok {
		w.order = append(w.order, c.Name)
	}
	style := tool.StylePlain
	if w.style != nil {
		style = w.style(c.Name)
	}
	shown := c.Result.Result.Chat(&c.Call, style)
	m := shown.Message()
	w.results[c.Name] = append(w.results[c.Name], m.Text())
}

func (w *scenario) write(name string, first *Recording) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "wield: %s\nname: %s\nsummary: %s\n", script.Version, name,
		w.quote("recorded from a run of "+first.Run.Model))
	if w.native {
		b.WriteString("backend: {native_tools: true}\n")
	}
	b.WriteString("turns:\n")
	for _, t := range slices.Concat(w.again, w.turns) {
		b.WriteString(t)
	}
	if w.base > 0 { // nobody can say what was said before
		return []byte(b.String())
	}
	b.WriteString("client:\n")
	if w.system != "" {
		fmt.Fprintf(&b, "  system: %s\n", w.quote(w.system))
	}
	b.WriteString("  user:\n")
	for _, u := range w.users {
		fmt.Fprintf(&b, "    - %s\n", w.quote(u))
	}
	w.writeTools(&b)
	if len(w.calls) == 0 {
		b.WriteString("expect:\n  calls: []\n")
	} else {
		b.WriteString("expect:\n  calls:\n" + strings.Join(w.calls, ""))
	}
	if final := w.mask(w.final); final != "" && !strings.HasPrefix(final, "/") {
		fmt.Fprintf(&b, "  final: %s\n", w.quote(w.final))
	}
	fmt.Fprintf(&b, "  max_turns: %d\n", w.asked)
	return []byte(b.String())
}

// writeTools writes what the client offers and gives.
func (w *scenario) writeTools(b *strings.Builder) {
	if len(w.tools) > 0 {
		b.WriteString("  tools:\n")
	}
	for _, t := range w.tools {
		fmt.Fprintf(b, "    - name: %s\n", w.quote(t.Name))
		if t.Description != "" {
			fmt.Fprintf(b, "      description: %s\n", w.quote(t.Description))
		}
		if len(t.Parameters) > 0 {
			fmt.Fprintf(b, "      parameters: %s\n", t.Parameters)
		}
	}
	if len(w.order) > 0 {
		b.WriteString("  results:\n")
	}
	for _, name := range w.order {
		fmt.Fprintf(b, "    %s:\n", w.quote(name))
		for _, text := range w.results[name] {
			fmt.Fprintf(b, "      - %s\n", w.quote(text))
		}
	}
}

// quote writes a text, masked, as a YAML string that stands in one line: JSON is YAML.
func (w *scenario) quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(w.mask(text)) // a text can always be written
	return strings.TrimSuffix(b.String(), "\n")
}

// template writes a text in which nothing is a capture.
func (w *scenario) template(text string) string {
	return strings.ReplaceAll(w.quote(text), "${", "$${")
}

// arguments writes what is expected of a call, as JSON. A string that looks like an expression is one there,
// so that then anything is expected.
func (w *scenario) arguments(text string) string {
	masked := w.mask(text)
	if !json.Valid([]byte(masked)) || strings.Contains(masked, `"/`) {
		return ""
	}
	return ", args: " + masked
}
