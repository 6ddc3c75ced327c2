package capture

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"wield/chat"
)

// A Prefix compares a prompt with the previous one of the same conversation. What the two have in common at the front,
// the server's prefix cache can reuse.
type Prefix struct {
	Share float64 `json:"share" jsonschema:"of the bytes of the previous prompt"`
	At    int     `json:"at,omitempty" jsonschema:"byte at which the line with the first difference begins"`
	Where string  `json:"where,omitempty" jsonschema:"the place of that line, such as system, line 1"`
	Line  Body    `json:"line,omitempty" jsonschema:"that line, cut short"`
}

// String returns the comparison in words.
func (p *Prefix) String() string {
	text := fmt.Sprintf("%.0f %% of the previous prompt is at the front of this one", 100*p.Share)
	if p.Where != "" {
		text += fmt.Sprintf("; the first difference is at byte %d (%s): %s", p.At, p.Where, p.Line)
	}
	return text
}

// Steady is the share below which a client defeats the prefix cache of its server.
const Steady = 0.95

// maxQuote limits the bytes of a line that are quoted.
const maxQuote = 80

// maxLines bounds the lines of a prompt that are compared; what comes later is passed over.
const maxLines = 1 << 16

// A prompt holds the hashes of one, to compare the next one with. It keeps no text.
type prompt struct {
	lines []line
	turns map[uint64]bool // messages that are no instructions, by their hashes
}

type line struct {
	hash uint64
	size int
	role string
	n    int // number of the line in its message, from 1
}

// promptOf hashes the prompt of a request: the tools that are sent beside it, then the messages.
func promptOf(seed maphash.Seed, req *chat.Request) *prompt {
	p := &prompt{turns: map[uint64]bool{}}
	var turn maphash.Hash
	turn.SetSeed(seed)
	eachPart(req, func(role, text string) {
		n := 0
		role = strings.Clone(role) // it may be part of the request's body
		p.lines = slices.Grow(p.lines, min(strings.Count(text, "\n")+1, maxLines-len(p.lines)))
		for l := range strings.SplitSeq(text, "\n") {
			if n++; len(p.lines) == maxLines {
				break
			}
			p.lines = append(p.lines, line{maphash.String(seed, l), len(l) + 1, role, n})
		}
		if role == string(chat.RoleUser) || role == string(chat.RoleAssistant) || role == string(chat.RoleTool) {
			turn.Reset()
			turn.WriteString(role)
			turn.WriteString(text)
			p.turns[turn.Sum64()] = true
		}
	})
	return p
}

// eachPart calls f with the parts of a prompt in their order. Each ends a line.
func eachPart(req *chat.Request, f func(role, text string)) {
	var b strings.Builder
	for i := range req.Tools {
		t := &req.Tools[i]
		fmt.Fprintf(&b, "%s %q %s\n", t.Name, t.Description, t.Parameters)
	}
	if len(req.Tools) > 0 {
		f("tools", strings.TrimSuffix(b.String(), "\n"))
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		text := m.Text()
		if len(m.Calls) > 0 {
			b.Reset()
			b.WriteString(text)
			for j := range m.Calls {
				b.WriteString("\n" + m.Calls[j].Name + " ")
				b.WriteString(m.Calls[j].Arguments)
			}
			text = b.String()
		}
		f(string(m.Role), text)
	}
}

// follows reports whether a prompt continues the conversation of an earlier one: it has more turns, and most of the
// earlier ones.
func (p *prompt) follows(earlier *prompt) bool {
	if len(p.turns) <= len(earlier.turns) || len(earlier.turns) == 0 {
		return false
	}
	again := 0
	for hash := range earlier.turns {
		if p.turns[hash] {
			again++
		}
	}
	return 2*again >= len(earlier.turns)
}

// behind compares a prompt with the previous one.
func (p *prompt) behind(earlier *prompt, req *chat.Request) *Prefix {
	all, shared, n := 0, 0, 0
	for i, l := range earlier.lines {
		all += l.size
		if n == i && i < len(p.lines) && p.lines[i] == l {
			n++
			shared += l.size
		}
	}
	if n == len(earlier.lines) {
		return &Prefix{Share: 1}
	}
	out := &Prefix{Share: float64(shared) / float64(max(all, 1)), At: shared}
	if n < len(p.lines) {
		l := p.lines[n]
		out.Where, out.Line = fmt.Sprintf("%s, line %d", l.role, l.n), Body(quoteLine(req, n))
	}
	return out
}

// quoteLine returns the beginning of a line of a prompt.
func quoteLine(req *chat.Request, number int) (quote string) {
	n := 0
	eachPart(req, func(_, text string) {
		for l := range strings.SplitSeq(text, "\n") {
			if n == number {
				l = strings.TrimSpace(l)
				quote = strings.ToValidUTF8(l[:min(len(l), maxQuote)], "")
			}
			n++
		}
	})
	return quote
}

// compare compares a record's prompt with the previous one of the same key, model and conversation. r.mu is held.
func (r *Ring) compare(rec *Record) {
	later := rec.prompt != nil && len(rec.prompt.turns) > 1
	for i := len(r.records) - 1; later && i >= 0; i-- {
		old := r.records[i]
		if old.prompt != nil && old.Key == rec.Key && old.Model == rec.Model && rec.prompt.follows(old.prompt) {
			rec.Prefix = rec.prompt.behind(old.prompt, rec.sent)
			break
		}
	}
	rec.sent = nil // it would keep the body of the request
}

// A Report sums up how steady the front of a client's prompts is.
type Report struct {
	Key, Model  string
	Turns, Lost int     // compared, and below Steady
	Worst       *Prefix // of these
}

// Reports reads the lines of a file of captures and returns the clients whose prompts could be compared.
func Reports(lines []byte) (list []Report) {
	for text := range strings.Lines(string(lines)) {
		var rec struct {
			Key, Model string
			Prefix     *struct {
				Share       float64
				At          int
				Where, Line string
			}
		}
		if json.Unmarshal([]byte(text), &rec) != nil || rec.Prefix == nil {
			continue
		}
		at := slices.IndexFunc(list, func(r Report) bool { return r.Key == rec.Key && r.Model == rec.Model })
		if at < 0 {
			at = len(list)
			list = append(list, Report{Key: rec.Key, Model: rec.Model})
		}
		b, p := &list[at], rec.Prefix
		b.Turns++
		if p.Share < Steady {
			if b.Lost++; b.Worst == nil || p.Share < b.Worst.Share {
				b.Worst = &Prefix{p.Share, p.At, p.Where, Body(p.Line)}
			}
		}
	}
	return list
}
