package anthropic

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"wield/chat"
)

// A golden case of testdata: a name, and sections that begin with a line of the form "-- name".
type golden struct {
	name     string
	sections map[string]string
}

func goldens(t *testing.T, file string, least int) []golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	for _, c := range strings.Split("\n"+string(raw), "\n== ")[1:] {
		name, body, _ := strings.Cut(c, "\n")
		g := golden{strings.TrimSpace(name), map[string]string{}}
		for _, s := range strings.Split("\n"+body, "\n-- ")[1:] {
			key, text, _ := strings.Cut(s, "\n")
			g.sections[strings.TrimSpace(key)] = strings.TrimSpace(text)
		}
		cases = append(cases, g)
	}
	if len(cases) < least {
		t.Fatalf("%s has %d cases, expected at least %d", file, len(cases), least)
	}
	return cases
}

// notation writes events one a line:
//
//	text "..."             reasoning "..."            opaque signature "..."
//	start 0 id name        args 0 "..."               end 0 id name {"a":1} complete
//	rejected malformed "raw"                          native id name "..."       result id name "..."
//	usage 10 5 cached 2 written 1                     finish stop "END"
func notation(events []chat.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case chat.KindText:
			fmt.Fprintf(&b, "text %q\n", e.Text)
		case chat.KindReasoning:
			if e.Text != "" {
				fmt.Fprintf(&b, "reasoning %q\n", e.Text)
			}
			if e.Detail != nil {
				for _, x := range e.Detail.(chat.Opaque) {
					fmt.Fprintf(&b, "opaque %s %s\n", x.Key, x.Value)
				}
			}
		case chat.KindCallStart:
			fmt.Fprintf(&b, "start %d %s %s\n", e.Index, e.ID, e.Name)
		case chat.KindCallArgs:
			fmt.Fprintf(&b, "args %d %q\n", e.Index, e.Text)
		case chat.KindCallEnd:
			c := e.Detail.(*chat.Call)
			state := map[bool]string{true: "complete", false: "incomplete"}[c.Complete]
			fmt.Fprintf(&b, "end %d %s %s %s %s\n", c.Index, c.ID, c.Name, c.Arguments, state)
		case chat.KindRejected:
			rejected := e.Detail.(*chat.RejectedDetail)
			fmt.Fprintf(&b, "rejected %s %q\n", rejected.Reason, rejected.Raw)
		case chat.KindNativeCall:
			fmt.Fprintf(&b, "native %s %s %q\n", e.ID, e.Name, e.Text)
		case chat.KindNativeResult:
			fmt.Fprintf(&b, "result %s %s %q\n", e.ID, e.Name, e.Text)
		case chat.KindUsage:
			u := e.Detail.(*chat.Usage)
			fmt.Fprintf(&b, "usage %d %d cached %d written %d\n", u.In, u.Out, u.Cached, u.Written)
		case chat.KindFinish:
			finish := e.Detail.(*chat.Finish)
			fmt.Fprintf(&b, "finish %s %q\n", finish.Reason, finish.Stop)
		default:
			fmt.Fprintln(&b, e.Kind)
		}
	}
	return strings.TrimSpace(b.String())
}

// parseNotation reads what notation writes, spent before rejected included.
func parseNotation(t *testing.T, text string) (events []chat.Event) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		var flags chat.Flags
		if word == "spent" {
			flags = chat.FlagSpent
			word, rest, _ = strings.Cut(rest, " ")
		}
		f := strings.Fields(rest)
		quoted := func() string {
			s, err := strconv.Unquote(rest[strings.IndexByte(rest, '"'):])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return s
		}
		number := func(i int) int {
			n, err := strconv.Atoi(f[i])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return n
		}
		e := chat.Event{Flags: flags}
		switch word {
		case "text":
			e.Kind, e.Text = chat.KindText, quoted()
		case "reasoning":
			e.Kind, e.Text = chat.KindReasoning, quoted()
		case "opaque":
			e.Kind = chat.KindReasoning
			e.Detail = chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: f[0],
				Value: []byte(strings.TrimPrefix(rest, f[0]+" "))}}
		case "start":
			e.Kind, e.Index, e.ID, e.Name = chat.KindCallStart, number(0), strings.TrimSuffix(f[1], "none"), f[2]
		case "args":
			e.Kind, e.Index, e.Text = chat.KindCallArgs, number(0), quoted()
		case "end":
			c := &chat.Call{Index: number(0), ID: strings.TrimSuffix(f[1], "none"), Name: f[2], Arguments: f[3],
				Complete: f[4] == "complete"}
			e.Kind, e.Index, e.ID, e.Name, e.Detail = chat.KindCallEnd, c.Index, c.ID, c.Name, c
		case "rejected":
			e.Kind, e.Index = chat.KindRejected, -1
			e.Detail = &chat.RejectedDetail{Reason: chat.Reason(f[0]), Raw: quoted()}
		case "usage":
			e.Kind = chat.KindUsage
			e.Detail = &chat.Usage{Known: true, In: number(0), Out: number(1), Cached: number(3), Written: number(5)}
		case "finish":
			e.Kind = chat.KindFinish
			e.Detail = &chat.Finish{Reason: chat.FinishReason(f[0])}
			if len(f) > 1 {
				e.Detail.(*chat.Finish).Stop = quoted()
			}
		case "idle":
			e.Kind = chat.KindIdle
		default:
			t.Fatalf("no such event: %s", line)
		}
		events = append(events, e)
	}
	return events
}
