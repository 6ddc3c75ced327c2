package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"wield/tool"
	"wield/tool/builtin/conversation"
	"wield/tool/runner"
)

// A past is the one conversation that a call may see. All its messages have the same time.
type past struct {
	texts []string
	words []string // that were searched for
	limit int      // that was asked for
	err   error
}

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("x", 3600))

func (p *past) list() (list []tool.Passage) {
	for i, t := range p.texts {
		list = append(list, tool.Passage{Session: "ses_1", Title: "Old", Number: i + 1, Role: "user", Text: t, At: at})
	}
	return list
}

func (p *past) Search(_ context.Context, words []string, limit int) ([]tool.Passage, error) {
	p.words, p.limit = words, limit
	return p.list(), p.err
}

func (p *past) Read(_ context.Context, session string, from, limit int) ([]tool.Passage, int, error) {
	p.limit = limit
	if session != "ses_1" {
		return nil, 0, fmt.Errorf("%w: %s", tool.ErrNoConversation, session)
	}
	list := p.list()
	list = list[min(from-1, len(list)):]
	return list[:min(limit, len(list))], len(p.texts), p.err
}

// call calls a tool in a scope.
func call(t *testing.T, scope tool.Scope, name, args string) tool.Result {
	t.Helper()
	var reg runner.Registry
	for _, made := range conversation.Tools() {
		made.State = tool.StateEnabled
		if err := reg.Add(made); err != nil {
			t.Fatal(err)
		}
	}
	r := runner.New(runner.Settings{Tools: &reg, Scope: scope, Shared: &runner.Shared{Temp: t.TempDir()}})
	defer r.Settings().Shared.Close()
	result, err := r.Call(t.Context(), name, args)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// into reads the data of a result that went well.
func into(t *testing.T, r tool.Result, v any) {
	t.Helper()
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	if err := json.Unmarshal(r.Data, v); err != nil {
		t.Fatalf("%s: %v", r.Data, err)
	}
}

// TestOff: the tools are there, change nothing, and are off unless somebody switches them on.
func TestOff(t *testing.T) {
	var names []string
	for _, made := range conversation.Tools() {
		names = append(names, made.Name())
		if made.State != tool.StateDisabled || !made.Facts.ReadOnly || made.Facts.Network {
			t.Errorf("%s: %+v", made.Name(), made)
		}
	}
	if want := []string{"conversation_search", "conversation_read"}; !reflect.DeepEqual(names, want) {
		t.Errorf("the tools are %q", names)
	}
}

// TestBounds: how many messages are wanted is held to what the tools give.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		limit      int
	}{
		{"conversation_search", `{"query":"a"}`, 10},
		{"conversation_search", `{"query":"a","limit":-4}`, 10},
		{"conversation_search", `{"query":"a","limit":7}`, 7},
		{"conversation_search", `{"query":"a","limit":5000}`, 50},
		{"conversation_read", `{"session":"ses_1"}`, 20},
		{"conversation_read", `{"session":"ses_1","limit":0}`, 20},
		{"conversation_read", `{"session":"ses_1","limit":5000}`, 100},
	} {
		p := &past{texts: []string{"a"}}
		if r := call(t, tool.Scope{Conversations: p}, tt.name, tt.args); !r.OK || p.limit != tt.limit {
			t.Errorf("%s %s: %d messages are asked for, want %d: %+v", tt.name, tt.args, p.limit, tt.limit, r)
		}
	}
}

// TestExcerpt: of a long message the part around the first word is shown, in whole characters, with a mark where
// there is more.
func TestExcerpt(t *testing.T) {
	long := strings.Repeat("ü", 1000)
	for _, tt := range []struct{ name, text, begin, end string }{
		{"short", "the Invoice", "the Invoice", "the Invoice"},
		{"at the beginning", "Invoice " + long, "Invoice ü", "ü…"},
		{"in the middle", long + " INVOICE " + long, "…ü", "ü…"},
		{"at the end", long + " invoice", "…ü", "invoice"},
		{"nowhere", long, "ü", "ü…"}, // the store knows other forms of the word
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &past{texts: []string{tt.text}}
			var got conversation.Found
			into(t, call(t, tool.Scope{Conversations: p}, "conversation_search", `{"query":" invoice  lisbon "}`), &got)
			if !reflect.DeepEqual(p.words, []string{"invoice", "lisbon"}) {
				t.Errorf("searched for %q", p.words)
			}
			m := got.Messages[0]
			if got.Count != 1 || !strings.HasPrefix(m.Text, tt.begin) || !strings.HasSuffix(m.Text, tt.end) ||
				len(m.Text) > 420 || !utf8.ValidString(m.Text) {
				t.Errorf("%d bytes: %s", len(m.Text), m.Text)
			}
			if strings.Contains(strings.ToLower(tt.text), "invoice") != strings.Contains(strings.ToLower(m.Text),
				"invoice") {
				t.Errorf("the word is missing: %s", m.Text)
			}
			if m.Session != "ses_1" || m.Title != "Old" || m.Number != 1 || m.Role != "user" ||
				m.At != "2026-03-04T04:06:07Z" {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestRead goes through a conversation part by part and meets each message once.
func TestRead(t *testing.T) {
	p := &past{}
	for i := range 7 {
		p.texts = append(p.texts, fmt.Sprint("message ", i+1))
	}
	p.texts[3] = strings.Repeat("é", 4<<10)
	var numbers []int
	for from := 1; from != 0; {
		var got conversation.Page
		into(t, call(t, tool.Scope{Conversations: p}, "conversation_read",
			fmt.Sprintf(`{"session":"ses_1","from":%d,"limit":3}`, from)), &got)
		if got.Session != "ses_1" || got.Title != "Old" || got.Total != 7 {
			t.Errorf("%+v", got)
		}
		for _, m := range got.Messages {
			numbers = append(numbers, m.Number)
			if m.Number == 4 && (len(m.Text) > 4<<10+len("…") || !strings.HasSuffix(m.Text, "é…")) {
				t.Errorf("a long message has %d bytes and ends with %q", len(m.Text), m.Text[len(m.Text)-6:])
			}
		}
		from = got.Next
	}
	if !reflect.DeepEqual(numbers, []int{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("read %v", numbers)
	}
}

// TestRefused: what is wrong is said, and said to the model.
func TestRefused(t *testing.T) {
	here := tool.Scope{Conversations: &past{}}
	broken := tool.Scope{Conversations: &past{err: errors.New("the disk is gone")}}
	for _, tt := range []struct {
		scope      tool.Scope
		name, args string
		kind       tool.ErrorKind
		say        string
	}{
		{tool.Scope{}, "conversation_search", `{"query":"a"}`, tool.ErrNotAvailable, "recorded nowhere"},
		{tool.Scope{}, "conversation_read", `{"session":"ses_1"}`, tool.ErrNotAvailable, "recorded nowhere"},
		{here, "conversation_search", `{"query":" \t"}`, tool.ErrInvalid, "query is empty"},
		{here, "conversation_search", `{}`, tool.ErrInvalid, "query"},
		{here, "conversation_read", `{"session":"ses_2"}`, tool.ErrInvalid, `There is no conversation "ses_2"`},
		{broken, "conversation_search", `{"query":"a"}`, tool.ErrTool, "cannot be read: the disk is gone"},
		{broken, "conversation_read", `{"session":"ses_1"}`, tool.ErrTool, "cannot be read: the disk is gone"},
	} {
		if r := call(t, tt.scope, tt.name, tt.args); r.OK || r.ErrorType != tt.kind ||
			!strings.Contains(r.Error, tt.say) {
			t.Errorf("%s %s: %+v", tt.name, tt.args, r)
		}
	}
}
