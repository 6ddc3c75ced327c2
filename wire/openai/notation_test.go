package openai

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
//	text "..."             reasoning "..."
//	start 0 id name        args 0 "..."        end 0 id name {"a":1} complete
//	rejected spent malformed "raw"
//	usage 10 5 cached 2 reasoning 1
//	finish stop
func notation(events []chat.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case chat.KindText, chat.KindReasoning, chat.KindCallArgs:
			word := map[chat.Kind]string{chat.KindText: "text", chat.KindReasoning: "reasoning"}[e.Kind]
			if word == "" {
				word = "args " + strconv.Itoa(e.Index)
			}
			fmt.Fprintf(&b, "%s %q", word, e.Text)
			if probs, ok := e.Detail.(chat.LogProbs); ok {
				fmt.Fprintf(&b, " %s", probs)
			}
		case chat.KindCallStart:
			fmt.Fprintf(&b, "start %d %s %s", e.Index, e.ID, e.Name)
		case chat.KindCallEnd:
			c := e.Detail.(*chat.Call)
			state := "complete"
			if !c.Complete {
				state = "incomplete"
			}
			fmt.Fprintf(&b, "end %d %s %s %s %s", c.Index, c.ID, c.Name, c.Arguments, state)
		case chat.KindRejected:
			r := e.Detail.(*chat.RejectedDetail)
			spent := "open"
			if e.Flags&chat.FlagSpent != 0 {
				spent = "spent"
			}
			fmt.Fprintf(&b, "rejected %s %s %q", spent, r.Reason, r.Raw)
		case chat.KindUsage:
			u := e.Detail.(*chat.Usage)
			fmt.Fprintf(&b, "usage %d %d cached %d reasoning %d", u.In, u.Out, u.Cached, u.Reasoning)
		case chat.KindFinish:
			fmt.Fprintf(&b, "finish %s", e.Detail.(*chat.Finish).Reason)
		default:
			b.WriteString(e.Kind.String())
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// parseNotation reads what notation writes.
func parseNotation(t *testing.T, text string) (events []chat.Event) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		f := strings.Fields(rest)
		quoted := func() string {
			at := strings.IndexByte(rest, '"')
			q, err := strconv.QuotedPrefix(rest[max(at, 0):])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			s, _ := strconv.Unquote(q)
			if tail := strings.TrimSpace(rest[at+len(q):]); tail != "" {
				events = append(events, chat.Event{Detail: chat.LogProbs([]byte(tail))})
			} else {
				events = append(events, chat.Event{})
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
		last := func() *chat.Event { return &events[len(events)-1] }
		switch word {
		case "text", "reasoning":
			text := quoted()
			last().Kind, last().Text = chat.KindText, text
			if word == "reasoning" {
				last().Kind = chat.KindReasoning
			}
		case "args":
			text := quoted()
			last().Kind, last().Text, last().Index = chat.KindCallArgs, text, number(0)
		case "start":
			e := chat.Event{Kind: chat.KindCallStart, Index: number(0), ID: f[1], Name: f[2]}
			if e.ID == "none" {
				e.ID = ""
			}
			events = append(events, e)
		case "end":
			c := &chat.Call{Index: number(0), ID: f[1], Name: f[2], Arguments: f[3], Complete: f[4] == "complete"}
			if c.ID == "none" {
				c.ID = ""
			}
			events = append(events, chat.Event{Kind: chat.KindCallEnd, Index: c.Index, ID: c.ID, Name: c.Name,
				Detail: c})
		case "rejected":
			raw := quoted()
			last().Kind, last().Index = chat.KindRejected, -1
			last().Detail = &chat.RejectedDetail{Reason: chat.Reason(f[1]), Raw: raw}
			if f[0] == "spent" {
				last().Flags = chat.FlagSpent
			}
		case "usage":
			u := &chat.Usage{Known: true, In: number(0), Out: number(1), Cached: number(3), Reasoning: number(5)}
			events = append(events, chat.Event{Kind: chat.KindUsage, Detail: u})
		case "finish":
			events = append(events,
				chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishReason(f[0])}})
		case "idle":
			events = append(events, chat.Event{Kind: chat.KindIdle})
		default:
			t.Fatalf("no such event: %s", line)
		}
	}
	return events
}
