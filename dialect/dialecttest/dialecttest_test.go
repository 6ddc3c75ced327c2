package dialecttest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect/dialecttest"
	"wield/dialect/internal/check"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

// toy is a small right decoder: @NAME[ARGS] is a call, ARGS hold no bracket, names are lower case letters.
type toy struct {
	pos, from int // from: where what is held begins
	held      string
	state     byte // t text, n name, a arguments
	index     int
	name      string
	args      strings.Builder
	start     int
}

func newToy() *toy { return &toy{state: 't'} }

func (d *toy) Reset() { *d = toy{state: 't'} }

func (d *toy) Feed(dst []chat.Event, chunk string) []chat.Event {
	last := 0
	flush := func(to int, kind chat.Kind) {
		if to > last {
			dst = append(dst, chat.Event{Kind: kind, Index: d.deltaIndex(), Text: chunk[last:to], At: d.pos + last,
				End: d.pos + to})
		}
		last = to
	}
	for i := 0; i < len(chunk); i++ {
		c := chunk[i]
		switch d.state {
		case 't':
			if c == '@' {
				flush(i, chat.KindText)
				d.state, d.held, d.from = 'n', "@", d.pos+i
				last = i + 1
			}
		case 'n':
			last = i + 1
			d.held += string(c)
			switch {
			case c == '[' && len(d.held) > 2:
				d.open(&dst)
			case c < 'a' || c > 'z':
				dst = append(dst, chat.Event{Kind: chat.KindText, Text: d.held, At: d.from, End: d.from + len(d.held)})
				d.state = 't'
			}
		case 'a':
			if c == ']' {
				d.args.WriteString(chunk[last:i])
				flush(i, chat.KindCallArgs)
				last = i + 1
				dst = d.end(dst, d.pos+i, d.pos+i+1, true)
			}
		}
	}
	switch d.state {
	case 't':
		flush(len(chunk), chat.KindText)
	case 'a':
		d.args.WriteString(chunk[last:])
		flush(len(chunk), chat.KindCallArgs)
	}
	d.pos += len(chunk)
	return dst
}

func (d *toy) deltaIndex() int {
	if d.state == 'a' {
		return d.index
	}
	return 0
}

func (d *toy) open(dst *[]chat.Event) {
	d.state, d.name, d.start = 'a', d.held[1:len(d.held)-1], d.from
	d.args.Reset()
	*dst = append(*dst, chat.Event{Kind: chat.KindCallStart, Index: d.index, ID: fmt.Sprintf("call_%d", d.index),
		Name: d.name, At: d.from, End: d.from + len(d.held)})
}

func (d *toy) end(dst []chat.Event, at, end int, complete bool) []chat.Event {
	c := &chat.Call{Index: d.index, ID: fmt.Sprintf("call_%d", d.index), Name: d.name, Arguments: d.args.String(),
		Complete: complete, At: d.start, End: end}
	d.state = 't'
	d.index++
	return append(dst, chat.Event{Kind: chat.KindCallEnd, Index: c.Index, At: at, End: end, Detail: c})
}

func (d *toy) Close(dst []chat.Event) []chat.Event {
	switch d.state {
	case 'n':
		dst = append(dst, chat.Event{Kind: chat.KindText, Text: d.held, At: d.from, End: d.from + len(d.held)})
	case 'a':
		dst = d.end(dst, d.pos, d.pos, false)
	}
	return dst
}

var texts = []string{"", "plain", "a @b c", "@f[{}]", "x @f[{\"k\":1}] y @g[{}]", "@f[{\"k\"", "@", "@@f[{}]",
	"caf\xc3\xa9 @f[{\"k\":\"\xc3\xa9\"}]\xff"}

func TestRightDecoderPasses(t *testing.T) {
	for _, text := range texts {
		if err := dialecttest.All(func() dialecttest.Decoder { return newToy() }, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// bug wraps the right decoder: feed changes what Feed appended for one chunk.
type bug struct {
	*toy
	feed  func(d *toy, dst []chat.Event, chunk string) []chat.Event
	close func(d *toy, dst []chat.Event) []chat.Event
	reset func(d *toy)
}

func (b *bug) Feed(dst []chat.Event, chunk string) []chat.Event {
	if b.feed != nil {
		return b.feed(b.toy, dst, chunk)
	}
	return b.toy.Feed(dst, chunk)
}

func (b *bug) Close(dst []chat.Event) []chat.Event {
	if b.close != nil {
		return b.close(b.toy, dst)
	}
	return b.toy.Close(dst)
}

func (b *bug) Reset() {
	if b.reset != nil {
		b.reset(b.toy)
		return
	}
	b.toy.Reset()
}

// each applies change to every event of a kind.
func each(kind chat.Kind, change func(e *chat.Event)) func(*toy, []chat.Event, string) []chat.Event {
	return func(d *toy, dst []chat.Event, chunk string) []chat.Event {
		n := len(dst)
		dst = d.Feed(dst, chunk)
		for i := n; i < len(dst); i++ {
			if dst[i].Kind == kind {
				change(&dst[i])
			}
		}
		return dst
	}
}

// without leaves out every event of a kind.
func without(kind chat.Kind) func(*toy, []chat.Event, string) []chat.Event {
	return func(d *toy, dst []chat.Event, chunk string) []chat.Event {
		return slices.DeleteFunc(d.Feed(dst, chunk), func(e chat.Event) bool { return e.Kind == kind })
	}
}

func TestPlantedBugsAreFound(t *testing.T) {
	const text = "see @f[{\"k\":12}] and @g[{}] end"
	bugs := map[string]struct {
		bug  bug
		want string // part of the error
	}{
		"text is lost":       {bug{feed: without(chat.KindText)}, "conservation: event 0"},
		"start is missing":   {bug{feed: without(chat.KindCallStart)}, "not open"},
		"end is missing":     {bug{feed: without(chat.KindCallEnd)}, "still open"},
		"arguments are lost": {bug{feed: without(chat.KindCallArgs)}, "the deltas give"},
		"text differs from span": {
			bug{feed: each(chat.KindText, func(e *chat.Event) { e.Text = strings.ToUpper(e.Text) })}, "the span holds"},
		"span shifted":         {bug{feed: each(chat.KindCallArgs, func(e *chat.Event) { e.At++ })}, "begins at"},
		"span outside":         {bug{feed: each(chat.KindCallEnd, func(e *chat.Event) { e.End += 100 })}, "span"},
		"index is not counted": {bug{feed: each(chat.KindCallStart, func(e *chat.Event) { e.Index = 3 })}, "index"},
		"no id": {bug{feed: each(chat.KindCallStart, func(e *chat.Event) { e.ID = "" })},
			"no name or no id"},
		"other name at the end": {
			bug{feed: each(chat.KindCallEnd, func(e *chat.Event) { e.Detail.(*chat.Call).Name = "x" })},
			"differs from its start"},
		"arguments are no object": {
			bug{feed: each(chat.KindCallEnd, func(e *chat.Event) { e.Detail.(*chat.Call).Arguments = "[]" })},
			"deltas"},
		"call span too small": {
			bug{feed: each(chat.KindCallEnd, func(e *chat.Event) { e.Detail.(*chat.Call).At += 2 })}, "does not hold"},
		"call spans overlap": {
			bug{feed: each(chat.KindCallEnd, func(e *chat.Event) { e.Detail.(*chat.Call).At = 0 })}, "overlaps"},
		"end of text is swallowed": {bug{close: func(d *toy, dst []chat.Event) []chat.Event { return dst }}, ""},
		"empty delta": {bug{feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
			return d.Feed(append(dst, chat.Event{Kind: chat.KindText, At: d.pos, End: d.pos}), chunk)
		}}, "empty delta"},
		"held bytes are flushed at the end of a chunk": {
			bug{feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
				dst = d.Feed(dst, chunk)
				if d.state == 'n' {
					dst = append(dst, chat.Event{Kind: chat.KindText, Text: d.held, At: d.from, End: d.pos})
					d.state = 't'
				}
				return dst
			}}, "cut at [5]"},
		"only one call a chunk": {bug{feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
			for i, e := range d.Feed(dst, chunk) {
				if e.Kind == chat.KindCallStart && i > 3 {
					break
				}
				dst = append(dst, e)
			}
			return dst
		}}, "lost"},
		"panics at an empty chunk": {bug{feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
			_ = chunk[0]
			return d.Feed(dst, chunk)
		}}, "panic"},
		"a byte of UTF-8 is replaced": {bug{feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
			return d.Feed(dst, strings.ToValidUTF8(chunk, "?"))
		}}, ""},
		"Reset forgets nothing": {bug{reset: func(d *toy) {}}, "after Reset"},
		"buffer is kept":        {bufferReader(), "cut at"},
	}
	for name, b := range bugs {
		t.Run(name, func(t *testing.T) {
			text := text
			switch name {
			case "end of text is swallowed":
				text = "see @f"
			case "a byte of UTF-8 is replaced":
				text = "caf\xc3\xa9 @f[{\"k\":\"\xc3\xa9\"}]"
			}
			err := dialecttest.All(func() dialecttest.Decoder {
				d := b.bug
				d.toy = newToy()
				return &d
			}, text)
			if err == nil {
				t.Fatal("the bug is not found")
			}
			if !strings.Contains(err.Error(), b.want) {
				t.Errorf("found as %v, want %q", err, b.want)
			}
		})
	}
}

// bufferReader looks at an event it appended one chunk ago, in the caller's buffer.
func bufferReader() bug {
	return bug{feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
		dst = d.Feed(dst, chunk)
		if c := dst[:cap(dst)]; len(chunk) > 0 && len(dst) == 0 && len(c) > 0 && c[0].Kind == 0 {
			dst = append(dst, chat.Event{Kind: chat.KindIdle})
		}
		return dst
	}}
}

func TestSplitErrorNamesTheSmallestSplit(t *testing.T) {
	mk := func() dialecttest.Decoder {
		return &bug{toy: newToy(), feed: func(d *toy, dst []chat.Event, chunk string) []chat.Event {
			if chunk == "b" {
				return append(d.Feed(dst, chunk), chat.Event{Kind: chat.KindIdle})
			}
			return d.Feed(dst, chunk)
		}}
	}
	err := dialecttest.Invariance(mk, "ab")
	var split *dialecttest.SplitError
	if !errors.As(err, &split) || !slices.Equal(split.Cuts, []int{1}) {
		t.Fatalf("got %v", err)
	}
}

func TestRejected(t *testing.T) {
	reject := func(r chat.RejectedDetail, at, end, index int) []chat.Event {
		return []chat.Event{{Kind: chat.KindRejected, At: at, End: end, Index: index, Detail: &r}}
	}
	start := []chat.Event{{Kind: chat.KindCallStart, Name: "f", ID: "call_0", End: 2}}
	good := chat.RejectedDetail{Raw: "@f[x", End: 4}
	tests := []struct {
		name   string
		events []chat.Event
		ok     bool
	}{
		{"alone", reject(good, 0, 4, -1), true},
		{"closes a call", append(start, reject(good, 2, 4, 0)...), true},
		{"alone while a call is open", append(start, reject(good, 2, 4, -1)...), false},
		{"closes another call", append(start, reject(good, 2, 4, 1)...), false},
		{"raw differs", reject(chat.RejectedDetail{Raw: "@f", End: 4}, 0, 4, -1), false},
		{"span ends elsewhere", reject(chat.RejectedDetail{Raw: "@f[", End: 3}, 0, 4, -1), false},
		{"span begins inside", append(start, reject(chat.RejectedDetail{Raw: "[x", At: 2, End: 4}, 2, 4, 0)...), false},
	}
	for _, tt := range tests {
		err := errors.Join(check.Structure(tt.events), check.Conservation("@f[x", tt.events))
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestOverrun(t *testing.T) {
	text := "a<u>b"
	over := chat.Event{Kind: chat.KindOverrun, At: 1, End: 1,
		Detail: &chat.OverrunDetail{At: 1, Marker: "<u>", Hard: true}}
	before := chat.Event{Kind: chat.KindText, Text: "a", End: 1}
	behind := chat.Event{Kind: chat.KindMarkup, At: 1, End: 5}
	call := []chat.Event{{Kind: chat.KindCallStart, Name: "f", ID: "call_0", At: 1, End: 5},
		{Kind: chat.KindCallArgs, Text: "{}", At: 5, End: 5},
		{Kind: chat.KindCallEnd, At: 5, End: 5,
			Detail: &chat.Call{ID: "call_0", Name: "f", Arguments: "{}", Complete: true, At: 1, End: 5}}}
	wide, bare, elsewhere := over, over, over
	wide.End = 4
	bare.Detail = nil
	elsewhere.Detail = &chat.OverrunDetail{Marker: "<u>"}
	tests := []struct {
		name   string
		events []chat.Event
		ok     bool
	}{
		{"once", []chat.Event{before, over, behind}, true},
		{"twice", []chat.Event{before, over, over, behind}, false},
		{"with a span", []chat.Event{before, wide, behind}, false},
		{"without its detail", []chat.Event{before, bare, behind}, false},
		{"of another place", []chat.Event{before, elsewhere, behind}, false},
		{"a call before it", append([]chat.Event{before}, call...), true},
		{"a call behind it", append([]chat.Event{before, over}, call...), false},
		{"in a call", slices.Concat([]chat.Event{before}, call[:1], []chat.Event{over}, call[1:]), false},
	}
	for _, tt := range tests {
		if err := errors.Join(check.Structure(tt.events), check.Conservation(text, tt.events)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestPromotedCallsPointIntoReasoning(t *testing.T) {
	events := []chat.Event{
		{Kind: chat.KindReasoning, Text: "@f[{}]", End: 6},
		{Kind: chat.KindCallStart, Flags: chat.FlagPromoted, Name: "f", ID: "call_0", At: 0, End: 3},
		{Kind: chat.KindCallArgs, Flags: chat.FlagPromoted, Text: "{}", At: 3, End: 5},
		{Kind: chat.KindCallEnd, Flags: chat.FlagPromoted, At: 5, End: 6,
			Detail: &chat.Call{ID: "call_0", Name: "f", Arguments: "{}", Complete: true, End: 6}},
	}
	if err := errors.Join(check.Structure(events), check.Conservation("@f[{}]", events)); err != nil {
		t.Error(err)
	}
	events[2].Flags = 0
	if check.Conservation("@f[{}]", events) == nil {
		t.Error("an event that is not promoted may not point back")
	}
}

func TestReadFindsSlips(t *testing.T) {
	for _, line := range []string{`{"id":"a","txt":"x"}`, `{"text":"x"}`, `{"id":"a","text":"x","text_b64":"?"}`,
		"{\"id\":\"a\"}\n{\"id\":\"a\"}", `{`} {
		if _, err := dialecttest.Read(strings.NewReader(line)); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	cases, err := dialecttest.Read(strings.NewReader("\n{\"id\":\"a\",\"text_b64\":\"/w==\"}\n"))
	if err != nil || len(cases) != 1 || cases[0].Text != "\xff" {
		t.Errorf("got %v, %v", cases, err)
	}
}

func TestCompare(t *testing.T) {
	text := "x @f[{\"k\":1.0}] y"
	events, err := dialecttest.Decode(func() dialecttest.Decoder { return newToy() }, text)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		want string
		ok   bool
	}{
		{`{"content":"x  y","calls":[{"name":"f","arguments":{"k":1.0}}],"rejected":[],"notes":[]}`, true},
		{`{"content":"x y","space":"free","calls":[{"name":"f","arguments_text":"{\"k\":1.0}","id":"call_0"}]}`, true},
		{`{}`, true},
		{`{"content":"x y"}`, false},
		{`{"reasoning":"r"}`, false},
		{`{"calls":[]}`, false},
		{`{"calls":[{"name":"g","arguments":{"k":1.0}}]}`, false},
		{`{"calls":[{"name":"f","arguments":{"k":1}}]}`, false},
		{`{"calls":[{"name":"f","arguments_text":"{\"k\": 1.0}"}]}`, false},
		{`{"calls":[{"name":"f","arguments":{"k":1.0},"incomplete":true}]}`, false},
		{`{"calls":[{"name":"f","arguments":{"k":1.0},"id":"x"}]}`, false},
		{`{"rejected":[{"reason":"malformed"}]}`, false},
		{`{"notes":["comment"]}`, false},
	}
	for _, tt := range tests {
		cases, err := dialecttest.Read(strings.NewReader(`{"id":"a","want":` + tt.want + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := cases[0].Compare(events); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.want, err)
		}
	}
}

// TestProse holds the prose to what is said of it.
func TestProse(t *testing.T) {
	block, _, _ := strings.Cut(check.Prose(4<<10), "\nThe first")
	block += "\n"
	kib := float64(len(block)) / 1024
	check := func(what string, n int, want float64) {
		if got := float64(n) / kib; got < want*0.98 || got > want*1.05 {
			t.Errorf("%s: %.2f a KiB, want %g", what, got, want)
		}
	}
	starts, beyond := 0, 0
	for _, line := range strings.Split(block, "\n") {
		if strings.HasPrefix(line, "[") || strings.HasPrefix(line, "{") {
			starts++
		}
	}
	for i := range len(block) {
		if block[i] >= 0x80 {
			beyond++
		}
	}
	openers := strings.Count(block, "<tool_call>")
	check("<", strings.Count(block, "<")-openers, 6)
	check("back-ticks", strings.Count(block, "`"), 4)
	check("quotes", strings.Count(block, `"`), 4)
	check("line starts", starts, 2)
	check("openers", openers, 1)
	check("bytes beyond ASCII", beyond, 0.03*1024)
}
