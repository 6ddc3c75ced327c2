package dialecttest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect/dialecttest"
)

// foreign is a decoder that knows nothing of package dialect. Its calls are written
//
//	<<call NAME {..}>>
//
// with a JSON object in which > is always escaped, so that nothing but the end of a call is >>. What does not begin
// like a call of a tool on offer is text.
type foreign struct {
	heads []string // what a call may begin with, for each tool on offer
	fault fault

	pos   int    // of the bytes fed so far
	held  string // the beginning of a head or of the closer, which the next bytes decide about
	from  int    // where that begins
	call  *chat.Call
	args  strings.Builder
	raw   strings.Builder // of the call, for reports
	count int
}

// A fault is a mistake that is planted into the dialect.
type fault int

const (
	// half of a closer is forgotten at the end of a chunk, if the other half does not follow
	losesSplitCloser fault = 1 + iota
	rescans                // the arguments are searched from their start for each chunk
	allocates              // each chunk is copied
	closerUnescaped        // the renderer writes > as it is
)

const foreignOpen, foreignClose = "<<call ", ">>"

func (d *foreign) Reset() { *d = foreign{heads: d.heads, fault: d.fault} }

func (d *foreign) Feed(dst []chat.Event, chunk string) []chat.Event {
	if d.fault == allocates {
		chunk = strings.Clone(chunk)
	}
	if d.fault == rescans && strings.LastIndex(d.args.String(), foreignClose) >= 0 {
		return dst // never: there was none before
	}
	for chunk != "" {
		var n int
		if d.call == nil {
			dst, n = d.text(dst, chunk)
		} else {
			dst, n = d.arguments(dst, chunk)
		}
		d.pos += n
		chunk = chunk[n:]
	}
	return dst
}

// text reads some of chunk where no call is open, and returns how much.
func (d *foreign) text(dst []chat.Event, chunk string) ([]chat.Event, int) {
	if d.held == "" {
		n := strings.IndexByte(chunk, '<')
		if n < 0 {
			n = len(chunk)
		}
		if n > 0 {
			return append(dst, chat.Event{Kind: chat.KindText, Text: chunk[:n], At: d.pos, End: d.pos + n}), n
		}
		d.from = d.pos
	}
	for _, head := range d.heads {
		switch rest, ok := strings.CutPrefix(head, d.held); {
		case !ok || rest[0] != chunk[0]:
		case len(rest) == 1:
			return d.begin(dst, head), 1
		default:
			d.held = head[:len(d.held)+1]
			return dst, 1
		}
	}
	if d.held == "" { // no tool is on offer
		return append(dst, chat.Event{Kind: chat.KindText, Text: chunk[:1], At: d.pos, End: d.pos + 1}), 1
	}
	return d.refuse(dst), 0
}

// refuse lets what is held be text.
func (d *foreign) refuse(dst []chat.Event) []chat.Event {
	dst = append(dst, chat.Event{Kind: chat.KindText, Text: d.held, At: d.from, End: d.pos})
	d.held = ""
	return dst
}

func (d *foreign) begin(dst []chat.Event, head string) []chat.Event {
	name := strings.TrimSpace(strings.TrimPrefix(head, foreignOpen))
	d.call = &chat.Call{Index: d.count, ID: fmt.Sprintf("call_%d", d.count), Name: name, At: d.from}
	d.count++
	d.raw.WriteString(head)
	d.held = ""
	return append(dst, chat.Event{Kind: chat.KindCallStart, Index: d.call.Index, ID: d.call.ID, Name: name, At: d.from,
		End: d.pos + 1})
}

// arguments reads some of chunk where a call is open, and returns how much.
func (d *foreign) arguments(dst []chat.Event, chunk string) ([]chat.Event, int) {
	switch n := strings.IndexByte(chunk, '>'); {
	case d.held != "" && n == 0:
		return d.end(dst, d.pos+1), 1
	case d.held != "":
		if d.fault != losesSplitCloser {
			dst = d.delta(dst, d.held, d.from)
		}
		d.held = ""
		return dst, 0
	case n < 0:
		return d.delta(dst, chunk, d.pos), len(chunk)
	case n > 0:
		return d.delta(dst, chunk[:n], d.pos), n
	case len(chunk) == 1:
		d.held, d.from = foreignClose[:1], d.pos
		return dst, 1
	case chunk[1] == '>':
		d.from = d.pos
		return d.end(dst, d.pos+2), 2
	}
	return d.delta(dst, chunk[:1], d.pos), 1
}

func (d *foreign) delta(dst []chat.Event, text string, at int) []chat.Event {
	d.args.WriteString(text)
	d.raw.WriteString(text)
	return append(dst, chat.Event{Kind: chat.KindCallArgs, Index: d.call.Index, Text: text, At: at,
		End: at + len(text)})
}

// end closes the call behind its closer.
func (d *foreign) end(dst []chat.Event, end int) []chat.Event {
	c := d.call
	c.Arguments, c.Complete, c.End = d.args.String(), true, end
	e := chat.Event{Kind: chat.KindCallEnd, Index: c.Index, At: d.from, End: c.End, Detail: c}
	if !strings.HasPrefix(c.Arguments, "{") || !json.Valid([]byte(c.Arguments)) {
		d.raw.WriteString(foreignClose)
		e.Kind = chat.KindRejected
		e.Detail = &chat.RejectedDetail{Reason: chat.ReasonMalformed, Name: c.Name, Raw: d.raw.String(), At: c.At,
			End: c.End}
	}
	d.call, d.held = nil, ""
	d.args.Reset()
	d.raw.Reset()
	return append(dst, e)
}

func (d *foreign) Close(dst []chat.Event) []chat.Event {
	if d.call == nil {
		if d.held != "" {
			dst = d.refuse(dst)
		}
		return dst
	}
	if d.held != "" {
		dst = d.delta(dst, d.held, d.from)
	}
	d.call.Arguments, d.call.End = d.args.String(), d.pos
	return append(dst, chat.Event{Kind: chat.KindCallEnd, Index: d.call.Index, At: d.pos, End: d.pos, Detail: d.call})
}

// writeForeign writes calls for foreign.
func writeForeign(calls []chat.Call, planted fault) string {
	var text strings.Builder
	for _, c := range calls {
		args := c.Arguments
		if planted != closerUnescaped {
			args = strings.ReplaceAll(args, ">", `\u003e`) // > stands in strings only
		}
		text.WriteString(foreignOpen + c.Name + " " + args + foreignClose)
	}
	return text.String()
}

// foreignSuite says how the dialect is checked.
func foreignSuite(planted fault) *dialecttest.Suite {
	return &dialecttest.Suite{
		New: func(c *dialecttest.Case) (dialecttest.Maker, error) {
			var heads []string
			for _, t := range c.Tools {
				heads = append(heads, foreignOpen+t.Function.Name+" ")
			}
			return func() dialecttest.Decoder { return &foreign{heads: heads, fault: planted} }, nil
		},
		Calls: func(calls []chat.Call) (string, error) { return writeForeign(calls, planted), nil },
	}
}

// foreignCases hold what must come out of some texts.
const foreignCases = `
{"id":"one","tools":[{"function":{"name":"dial"}}],"text":"So. <<call dial {\"no\":5}>> Done.","want":{"content":"So.  Done.","calls":[{"name":"dial","arguments":{"no":5}}]}}
{"id":"in-vain","tools":[{"function":{"name":"dial"}}],"text":"a << b <<call dial? <<<call","want":{"content":"a << b <<call dial? <<<call","calls":[]}}
{"id":"undeclared","tools":[{"function":{"name":"dial"}}],"text":"<<call ring {}>>","want":{"content":"<<call ring {}>>","calls":[]}}
{"id":"malformed","tools":[{"function":{"name":"dial"}}],"text":"<<call dial {>>","want":{"calls":[],"rejected":[{"reason":"malformed","name":"dial","raw":"<<call dial {>>"}]}}
{"id":"lone","tools":[{"function":{"name":"dial"}}],"text":"<<call dial {\"k\":\"1 > 0\"}>>","want":{"content":"","calls":[{"name":"dial","arguments":{"k":"1 > 0"}}]}}
{"id":"cut","tools":[{"function":{"name":"dial"}}],"text":"<<call dial {\"k\":\"x>","want":{"calls":[{"name":"dial","arguments_text":"{\"k\":\"x>","incomplete":true}]}}
`

// The dialect of this example lives in another program. It needs a decoder with two methods and, if it is to be
// written too, a function that writes calls. Here the one that writes them forgets to escape what ends a call.
func ExampleSuite() {
	cases, err := dialecttest.Read(strings.NewReader(foreignCases))
	if err != nil {
		fmt.Println(err)
		return
	}
	suite := dialecttest.Suite{
		New: func(c *dialecttest.Case) (dialecttest.Maker, error) {
			var heads []string
			for _, t := range c.Tools {
				heads = append(heads, foreignOpen+t.Function.Name+" ")
			}
			return func() dialecttest.Decoder { return &foreign{heads: heads} }, nil
		},
		Calls: func(calls []chat.Call) (string, error) {
			return foreignOpen + calls[0].Name + " " + calls[0].Arguments + foreignClose, nil
		},
	}
	if failures := suite.Run(cases); len(failures) > 0 {
		fmt.Println(failures[0].Rule)
	}
	// Output: render
}

func TestForeign(t *testing.T) {
	cases, err := dialecttest.Read(strings.NewReader(foreignCases))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range foreignSuite(0).Run(cases) {
		t.Error(f)
	}
}

// TestForeignBugs plants bugs. The suite must name the rule that each breaks, and no other.
func TestForeignBugs(t *testing.T) {
	for _, tt := range []struct {
		fault fault
		name  string
		want  []dialecttest.Rule
	}{
		{losesSplitCloser, "loses a byte", []dialecttest.Rule{"split"}},
		{rescans, "scans again", []dialecttest.Rule{"linear"}},
		{allocates, "allocates", []dialecttest.Rule{"prose"}},
		{closerUnescaped, "does not escape", []dialecttest.Rule{"render"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cases, err := dialecttest.Read(strings.NewReader(foreignCases))
			if err != nil {
				t.Fatal(err)
			}
			var rules []dialecttest.Rule
			for _, f := range foreignSuite(tt.fault).Run(cases) {
				if !slices.Contains(rules, f.Rule) {
					rules = append(rules, f.Rule)
					t.Log(f)
				}
			}
			if !slices.Equal(rules, tt.want) {
				t.Errorf("found as %v, want %v", rules, tt.want)
			}
		})
	}
}
