package agent

import (
	"fmt"
	"slices"

	"wield/chat"
)

// A Window says how much of a long conversation a model is sent. What is left out stays in the conversation of the run
// and in the journal. The zero value sends all of it, until the server says that it is too long.
type Window struct {
	Tokens  int // what the model's context holds; 0: not known
	Reserve int // of those, kept free for the answer; 0: a quarter, and at most 8192

	// Summarize has the model write a summary of turns for which there is no room, in place of leaving them out.
	Summarize bool
}

// mostReserve limits the tokens kept free for an answer, where nothing else is said.
const mostReserve = 8192

// budget returns how many tokens the conversation may have beside the definitions of tools; 0: any number. However
// large those are, an eighth of the context is left.
func (w Window) budget(tools []chat.Tool) int {
	if w.Tokens <= 0 {
		return 0
	}
	reserve := w.Reserve
	if reserve <= 0 {
		reserve = min(w.Tokens/4, mostReserve)
	}
	return max(w.Tokens-reserve-EstimateTokens(nil, tools), w.Tokens/8, 1)
}

// A Fitting says what a conversation has to fit.
type Fitting struct {
	Budget int // tokens by EstimateTokens; 0: any number

	// Summary stands in place of the first messages, where there is one.
	Summary Summary
	// Summarize asks for a summary in place of leaving out turns that nothing stands for.
	Summarize bool
	// Reader names the tool that reads results again by the id of their call; empty: there is none.
	Reader string
}

// A Summary says what was said in the first messages of a conversation.
type Summary struct {
	Messages int // how many it stands for; 0: there is none
	Text     string
}

// A View holds the part of a conversation that a model is sent.
type View struct {
	Messages []chat.Message
	Tokens   int // by EstimateTokens
	Pruned   int // results in whose place there is a note
	Cut      int // results of which the beginning is there
	Dropped  int // messages that are not there

	// Wanted says that turns were left out that a summary of so many first messages would stand for; 0: none is wanted.
	Wanted int
}

// Fit returns what a model is sent of a conversation, so that it fits. It looks at nothing but the messages, in their
// order, as if it had been asked before every answer among them: what it left out then stays out, so that the beginning
// of what is sent is the same from turn to turn, and servers that cache prompts find it again. When something has to
// go, it goes on until a quarter of the budget is free.
//
// First the results of earlier turns become notes, the oldest first, then the oldest turns are left out, then the
// results of the newest turn are cut. Instructions, the first message of the user, the last one, and the newest turn
// always stay. A call and its result stay together. A conversation of which all that has to go is more than the budget
// is returned as it fits best.
func (f Fitting) Fit(messages []chat.Message) View {
	total := 0
	for i := range messages {
		total += messageSize(&messages[i])
	}
	if f.Summary.Messages == 0 && (f.Budget <= 0 || total <= f.Budget) {
		return View{Messages: messages, Tokens: total}
	}
	t := newFitter(&f, messages)
	for n := range t.units {
		u := &t.units[n]
		if u.kind == unitTurn && u.from >= f.Summary.Messages {
			t.shrink()
		}
		t.pass(u)
	}
	t.shrink()
	return t.view()
}

// A unitKind says what part of a conversation a unit is.
type unitKind uint8

const (
	unitFixed unitKind = iota // instructions, and the first message of the user
	unitUser
	unitTurn // an answer with its results
)

// A unit is a part of a conversation that is sent whole or not at all: messages from..to.
type unit struct {
	kind     unitKind
	from, to int
	dropped  bool
}

// A fitter makes a conversation smaller.
type fitter struct {
	f        *Fitting
	messages []chat.Message
	units    []unit
	size     []int          // of each message as it is sent
	note     []string       // what is sent in place of a result; empty: the result
	cut      map[int]string // the beginning of a result that is sent
	names    map[string]string
	gap      bool
	wanted   int

	// Of the units that were passed:
	passed     int
	total      int // the size of what is sent
	user, turn int // the last message of the user and the newest turn; -1: none
}

func newFitter(f *Fitting, messages []chat.Message) *fitter {
	t := &fitter{f: f, messages: messages, size: make([]int, len(messages)), note: make([]string, len(messages)),
		cut: map[int]string{}, names: map[string]string{}, user: -1, turn: -1}
	lastUser, task := 0, false
	for i := range messages {
		m := &messages[i]
		t.size[i] = messageSize(m)
		kind := unitTurn
		switch m.Role {
		case chat.RoleSystem, chat.RoleDeveloper:
			kind = unitFixed
		case chat.RoleUser:
			if kind = unitUser; !task {
				kind, task = unitFixed, true
			}
			lastUser = i
		case chat.RoleTool:
			if n := len(t.units); n > 0 && t.units[n-1].kind == unitTurn {
				t.units[n-1].to = i + 1
				continue
			}
		}
		for j := range m.Calls {
			t.names[m.Calls[j].ID] = m.Calls[j].Name
		}
		t.units = append(t.units, unit{kind: kind, from: i, to: i + 1})
	}
	for n := range t.units {
		u := &t.units[n]
		if u.kind != unitFixed && u.to <= f.Summary.Messages && u.from != lastUser {
			t.drop(u)
		}
	}
	return t
}

// pass takes the next unit into account.
func (t *fitter) pass(u *unit) {
	switch u.kind {
	case unitUser:
		t.user = t.passed
	case unitTurn:
		t.turn = t.passed
	}
	t.passed++
	if !u.dropped {
		t.total += t.sizeOf(u)
	}
}

func (t *fitter) sizeOf(u *unit) int {
	n := 0
	for i := u.from; i < u.to; i++ {
		n += t.size[i]
	}
	return n
}

// shrink makes what is sent of the units that were passed fit.
func (t *fitter) shrink() {
	if t.f.Budget <= 0 || t.total <= t.f.Budget {
		return
	}
	target := t.f.Budget * 3 / 4
	for i := range t.units[:t.passed] {
		if i != t.turn {
			t.prune(&t.units[i], target)
		}
	}
	if t.total > t.f.Budget {
		t.leaveOut(target)
	}
	if t.total > t.f.Budget && t.turn >= 0 {
		t.trim(&t.units[t.turn])
	}
}

// prune puts notes in the place of a unit's results, as long as that is wanted. What is hardly longer than a note
// stays.
func (t *fitter) prune(u *unit, target int) {
	if u.dropped || u.kind != unitTurn {
		return
	}
	for i := u.from; i < u.to && t.total > target; i++ {
		m := &t.messages[i]
		if m.Role != chat.RoleTool || t.note[i] != "" {
			continue
		}
		note := t.prunedNote(m)
		if size := messageTokens + callTokens + textSize(note); t.size[i] > 2*size {
			t.note[i] = note
			delete(t.cut, i)
			t.total -= t.size[i] - size
			t.size[i] = size
		}
	}
}

// leaveOut drops the oldest units until enough is gone.
func (t *fitter) leaveOut(target int) {
	last, until := -1, t.turn
	if until < 0 {
		until = t.user
	}
	for i := range max(until, 0) {
		u := &t.units[i]
		// A message of the user goes with the answer before it, so that users and models still take turns.
		if t.total <= target && u.kind == unitTurn {
			break
		}
		if u.dropped || u.kind == unitFixed || i == t.user {
			continue
		}
		t.total -= t.sizeOf(u)
		t.drop(u)
		last = i
	}
	if last >= 0 && t.f.Summarize {
		t.wanted = t.units[last].to
	}
}

// drop leaves out a unit. The note that says so has its place from the first one on.
func (t *fitter) drop(u *unit) {
	if u.dropped = true; !t.gap {
		t.gap = true
		t.total += textSize(t.gapText(mostDropped))
	}
}

// mostDropped is a number with as many digits as one of messages may have.
const mostDropped = 999_999

// leastResult counts the tokens of a result that are always sent, even when there is no room for more.
const leastResult = 32

// trim cuts the results of a turn, the longest first, to what there is room for.
func (t *fitter) trim(u *unit) {
	results := []int{}
	room := t.f.Budget - t.total
	for i := u.from; i < u.to; i++ {
		if t.messages[i].Role == chat.RoleTool && t.note[i] == "" {
			results, room = append(results, i), room+t.size[i]
		}
	}
	slices.SortStableFunc(results, func(a, b int) int { return t.size[a] - t.size[b] })
	for n, i := range results { // the short ones leave what they do not need to the others
		share := room / (len(results) - n)
		if t.size[i] > share {
			t.trimOne(i, share)
		}
		room -= t.size[i]
	}
}

func (t *fitter) trimOne(i, share int) {
	m := &t.messages[i]
	text := m.Text()
	around := messageTokens + callTokens + textSize(t.cutNote(m, len(text), len(text)))
	shown := beginning(text, max(share-around, leastResult))
	whole := shown + t.cutNote(m, len(shown), len(text))
	if size := messageTokens + callTokens + textSize(whole); size < t.size[i] {
		t.total -= t.size[i] - size
		t.cut[i], t.size[i] = whole, size
	}
}

// view returns what is left.
func (t *fitter) view() View {
	v := View{Wanted: t.wanted}
	told, behindGap := false, false
	for n := range t.units {
		u := &t.units[n]
		if u.dropped {
			v.Dropped += u.to - u.from
			behindGap = true
			continue
		}
		if behindGap {
			behindGap = false
			var note []chat.Part
			if !told {
				told, note = true, chat.Text(t.gapText(0))
			}
			if t.join(&v, u, note) {
				continue
			}
		}
		for i := u.from; i < u.to; i++ {
			v.Messages = append(v.Messages, t.sent(i, &v))
		}
	}
	if behindGap && !told { // a summary that stands for everything
		t.join(&v, nil, chat.Text(t.gapText(0)))
	}
	v.Tokens = EstimateTokens(v.Messages, nil)
	return v
}

// join puts a note where something was left out: at the end of the user's message before it, or in front of that behind
// it. Two messages of the user that now stand side by side become one. It reports whether u is in the view with that;
// nil is nothing.
func (t *fitter) join(v *View, u *unit, note []chat.Part) bool {
	n := len(v.Messages)
	before := n > 0 && v.Messages[n-1].Role == chat.RoleUser
	behind := u != nil && t.messages[u.from].Role == chat.RoleUser
	parts := slices.Clone(note)
	if behind {
		parts = append(parts, t.messages[u.from].Parts...)
	}
	switch {
	case len(parts) == 0:
	case before:
		m := v.Messages[n-1]
		m.Parts = append(slices.Clone(m.Parts), parts...)
		v.Messages[n-1] = m
	case behind:
		m := t.messages[u.from]
		m.Parts = parts
		v.Messages = append(v.Messages, m)
	default:
		v.Messages = append(v.Messages, chat.Message{Role: chat.RoleUser, Parts: parts})
	}
	return behind && u.to == u.from+1
}

// sent returns a message as it is sent.
func (t *fitter) sent(i int, v *View) chat.Message {
	m := t.messages[i]
	switch text, ok := t.cut[i]; {
	case t.note[i] != "":
		m.Parts = chat.Text(t.note[i])
		v.Pruned++
	case ok:
		m.Parts = chat.Text(text)
		v.Cut++
	}
	return m
}

// gapText stands for messages that the model is not sent.
func (t *fitter) gapText(dropped int) string {
	if dropped == 0 {
		for i := range t.units {
			if u := &t.units[i]; u.dropped {
				dropped += u.to - u.from
			}
		}
	}
	if s := &t.f.Summary; s.Messages > 0 {
		return fmt.Sprintf("[%d earlier messages are left out here. This is a summary of them:\n%s]", dropped, s.Text)
	}
	return fmt.Sprintf("[%d earlier messages are left out here, because there is no room for them.]", dropped)
}

// prunedNote is sent in place of a result.
func (t *fitter) prunedNote(m *chat.Message) string {
	size := 0
	for i := range m.Parts {
		size += len(m.Parts[i].Text) + len(m.Parts[i].Data)
	}
	return fmt.Sprintf("[The result of %s, %d bytes, is left out to save room.%s]", t.name(m), size, t.again(m, 0))
}

// cutNote follows the beginning of a result.
func (t *fitter) cutNote(m *chat.Message, shown, size int) string {
	return fmt.Sprintf("\n[%d of %d bytes are shown, to save room.%s]", shown, size, t.again(m, shown))
}

// again tells how to read a result from an offset on.
func (t *fitter) again(m *chat.Message, offset int) string {
	switch {
	case t.f.Reader == "":
		return ""
	case offset == 0:
		return fmt.Sprintf(" %s reads it again: {\"id\":%q}", t.f.Reader, m.CallID)
	}
	return fmt.Sprintf(" %s reads on: {\"id\":%q,\"offset\":%d}", t.f.Reader, m.CallID, offset)
}

// name returns the name of the tool of a result.
func (t *fitter) name(m *chat.Message) string {
	if m.Name != "" {
		return m.Name
	}
	if name := t.names[m.CallID]; name != "" {
		return name
	}
	return "a call"
}
