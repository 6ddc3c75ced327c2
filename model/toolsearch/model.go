package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"wield/chat"
)

// Options say when tools are searched for.
type Options struct {
	// Above is the number of tools above which a model searches; 0: only among tools that the client defers itself.
	Above int
	// Protocol is that of the backend. A server that has a search of its own is sent the request as it is.
	Protocol chat.Protocol

	Log *slog.Logger // nil: none
}

// searchName is the name of the search tool, unless a client's tool has it.
const searchName = "search_tools"

const (
	maxFound    = 5 // tools that a search returns
	maxSearches = 5 // searches of one answer
)

// New returns a model that searches among the tools of requests that have many, and asks m.
func New(m chat.Model, o Options) chat.Model {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &model{m, o}
}

type model struct {
	next chat.Model
	o    Options
}

// Stream implements chat.Model.
func (m *model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	hidden := m.hidden(req)
	if len(hidden) == 0 {
		return m.next.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		s := m.begin(req, hidden)
		for s.turn(ctx, yield) {
		}
	}
}

// Sent returns what the model behind it would send; nil if that does not tell.
func (m *model) Sent(req *chat.Request) (sent *chat.Request, inText bool, err error) {
	behind, ok := m.next.(chat.Previewer)
	if !ok {
		return nil, false, nil
	}
	if hidden := m.hidden(req); len(hidden) > 0 {
		req = &m.begin(req, hidden).req
	}
	return behind.Sent(req)
}

// hidden returns the tools of a request that the model has to find.
func (m *model) hidden(req *chat.Request) []chat.Tool {
	c := &req.Choice
	if c.Mode == chat.ChoiceNone || c.Mode == chat.ChoiceNamed || len(c.Allowed) > 0 {
		return nil
	}
	wanted := func(*chat.Tool) bool { return true }
	switch i := slices.IndexFunc(req.Tools, isSearch); {
	case i >= 0 && req.Tools[i].Protocol == m.o.Protocol:
		return nil
	case i >= 0:
		wanted = deferred
	case m.o.Above <= 0 || len(req.Tools) <= m.o.Above:
		return nil
	}
	var list []chat.Tool
	for i := range req.Tools {
		if t := &req.Tools[i]; t.Hosted == chat.HostedNot && !t.Deferred && wanted(t) {
			list = append(list, *t)
		}
	}
	return list
}

// isSearch reports whether a tool is the search of a protocol's own server.
func isSearch(t chat.Tool) bool {
	var raw struct{ Type string }
	return t.Hosted != chat.HostedNot && json.Unmarshal(t.Raw, &raw) == nil && strings.HasPrefix(raw.Type, "tool_search")
}

// deferred reports whether the client says that a tool is to be found first.
func deferred(t *chat.Tool) bool {
	return slices.ContainsFunc(t.Opaque, func(x chat.Extra) bool {
		return x.Key == "defer_loading" && string(x.Value) == "true"
	})
}

// A search is the answer to one request.
type search struct {
	*model
	req   chat.Request // as the model is asked next
	index *index
	name  string // of the search tool

	searches int // so far
	turns    int // of the answers before this one
	calls    int // that the client has seen
	usage    chat.Usage
}

// begin makes the request that the model is asked first: without the hidden tools, but with those that were called
// before.
func (m *model) begin(req *chat.Request, hidden []chat.Tool) *search {
	s := &search{model: m, req: *req, index: newIndex(hidden), name: searchName}
	for req.Tool(s.name) != nil {
		s.name += "_"
	}
	waiting := map[string]*chat.Tool{}
	for i := range hidden {
		waiting[hidden[i].Name] = &hidden[i]
	}
	s.req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t chat.Tool) bool {
		return waiting[t.Name] != nil || isSearch(t)
	})
	s.req.Tools = append(s.req.Tools, s.tool(hidden))
	s.req.Messages = nil
	for i := range req.Messages {
		message := &req.Messages[i]
		var called []chat.Tool
		for _, c := range message.Calls {
			if t := waiting[c.Name]; t != nil {
				called = append(called, *t)
				delete(waiting, c.Name)
			}
		}
		if len(called) > 0 {
			s.show(&chat.Message{Role: chat.RoleAssistant}, []chat.Call{s.call(called)}, [][]chat.Tool{called})
		}
		s.req.Messages = append(s.req.Messages, *message)
	}
	return s
}

// call returns the call of a search that found some tools in an earlier answer. Clients do not see searches, so that
// their history does not hold it.
func (s *search) call(found []chat.Tool) chat.Call {
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].Name
	}
	arguments, _ := json.Marshal(map[string]string{"query": strings.Join(names, " ")})
	id := fmt.Sprintf("search_%d", len(s.req.Messages))
	return chat.Call{ID: id, Name: s.name, Arguments: string(arguments), Complete: true}
}

// tool returns the definition of the search tool.
func (s *search) tool(hidden []chat.Tool) chat.Tool {
	return chat.Tool{
		Name: s.name,
		Description: fmt.Sprintf("Finds tools by what they do. There are %d more tools that can be called once they are "+
			"found, in these groups: %s. Search before you say that something cannot be done.", len(hidden), groups(hidden)),
		Parameters: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string",` +
			`"description":"What the tool should do, in a few words"}}}`),
	}
}

// show adds searches and what they found to the conversation, and offers what was found.
func (s *search) show(said *chat.Message, calls []chat.Call, found [][]chat.Tool) {
	said.Calls = calls
	s.req.Messages = append(s.req.Messages, *said)
	for i := range calls {
		result := chat.Result{CallID: calls[i].ID, Name: calls[i].Name, Parts: chat.Text(definitions(found[i]))}
		s.req.Messages = append(s.req.Messages, result.Message())
		for _, t := range found[i] {
			if s.req.Tool(t.Name) == nil {
				t.Deferred = true // the result describes it
				s.req.Tools = append(s.req.Tools, t)
			}
		}
	}
}

// definitions writes tools as a model reads them.
func definitions(found []chat.Tool) string {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	all := struct {
		Tools []definition `json:"tools"`
		Hint  string       `json:"hint,omitempty"`
	}{Tools: []definition{}, Hint: "Call the tool that fits, or search again with other words."}
	for i := range found {
		all.Tools = append(all.Tools, definition{found[i].Name, found[i].Description, found[i].Parameters})
	}
	if len(found) == 0 {
		all.Hint = "No tool fits these words. Try others."
	}
	text, err := json.Marshal(all)
	if err != nil { // a schema that is no JSON
		for i := range all.Tools {
			all.Tools[i].Parameters = nil
		}
		text, _ = json.Marshal(all)
	}
	return string(text)
}

// turn asks the model once. It reports whether the model is to be asked again, since it did nothing but search.
func (s *search) turn(ctx context.Context, yield func(chat.Event, error) bool) bool {
	t := turn{search: s, searching: map[int]bool{}}
	req := s.req // nobody changes a request that a model was given
	for e, err := range s.next.Stream(ctx, &req) {
		if err != nil {
			yield(e, err)
			return false
		}
		if t.take(&e) && !yield(e, nil) {
			return false
		}
	}
	s.calls += t.calls
	s.turns += t.last + 1
	if len(t.asked) > 0 && t.calls == 0 {
		if s.searches += len(t.asked); s.searches <= maxSearches {
			return s.find(&t, yield)
		}
		s.o.Log.Warn("the model searched for tools and called none", "searches", s.searches)
	}
	usage := chat.Event{Kind: chat.KindUsage, Turn: s.turns - 1, Detail: &s.usage}
	if s.usage.Known && !yield(usage, nil) {
		return false
	}
	f := chat.Finish{Reason: chat.FinishStop}
	if t.finish != nil {
		f = *t.finish
	}
	if f.Reason == chat.FinishCalls && s.calls == 0 {
		f.Reason = chat.FinishStop
	}
	yield(chat.Event{Kind: chat.KindFinish, Turn: s.turns - 1, Detail: &f}, nil)
	return false
}

// find carries out the searches of a turn.
func (s *search) find(t *turn, yield func(chat.Event, error) bool) bool {
	found := make([][]chat.Tool, len(t.asked))
	for i, c := range t.asked {
		var arguments struct{ Query string }
		json.Unmarshal([]byte(c.Arguments), &arguments)
		found[i] = s.index.search(arguments.Query, maxFound)
		s.o.Log.Debug("tools were searched for", "query", arguments.Query, "found", len(found[i]))
		ran := []chat.Event{
			{Kind: chat.KindNativeCall, Turn: s.turns - 1, ID: c.ID, Name: c.Name, Text: c.Arguments},
			{Kind: chat.KindNativeResult, Turn: s.turns - 1, ID: c.ID, Name: c.Name, Text: definitions(found[i])},
		}
		for _, e := range ran {
			if !yield(e, nil) {
				return false
			}
		}
	}
	said := &chat.Message{Role: chat.RoleAssistant}
	if text := t.text.String(); text != "" {
		said.Parts = chat.Text(text)
	}
	s.show(said, t.asked, found)
	return true
}

// A turn is one answer of the model.
type turn struct {
	*search
	searching map[int]bool // whether the call of an index is a search
	asked     []chat.Call  // searches
	calls     int          // that are none
	text      strings.Builder
	last      int // turn of the model's own
	finish    *chat.Finish
}

// take takes in an event and makes it one of the whole answer. It reports false for one that the client does not see.
func (t *turn) take(e *chat.Event) bool {
	t.last = max(t.last, e.Turn)
	e.Turn += t.search.turns
	switch e.Kind {
	case chat.KindText:
		t.text.WriteString(e.Text)
	case chat.KindCallStart:
		if e.Name == t.name {
			t.searching[e.Index] = true
			return false
		}
		e.Index = t.search.calls + t.calls
	case chat.KindCallArgs:
		if t.searching[e.Index] {
			return false
		}
		e.Index = t.search.calls + t.calls
	case chat.KindCallEnd:
		c := *e.Detail.(*chat.Call)
		if t.searching[e.Index] {
			if c.Complete {
				t.asked = append(t.asked, c)
			}
			return false
		}
		e.Index = t.search.calls + t.calls
		c.Index = e.Index
		e.Detail = &c
		t.calls++
	case chat.KindRejected:
		if e.Index < 0 {
			return true
		}
		if t.searching[e.Index] {
			return false
		}
		e.Index = t.search.calls + t.calls
		t.calls++
	case chat.KindUsage:
		t.usage.Add(*e.Detail.(*chat.Usage))
		return false
	case chat.KindFinish:
		t.finish = e.Detail.(*chat.Finish)
		return false
	}
	return true
}

// maxGroups bounds the groups that the search tool names.
const maxGroups = 40

// groups names the groups of tools with the number of each: what stands in front of "__" or a dot in their names, or
// their first word.
func groups(tools []chat.Tool) string {
	count := map[string]int{}
	for i := range tools {
		count[group(tools[i].Name)]++
	}
	names := make([]string, 0, len(count))
	for name := range count {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	shown := make([]string, 0, maxGroups)
	rest := len(tools)
	for _, name := range names[:min(len(names), maxGroups)] {
		shown = append(shown, fmt.Sprintf("%s (%d)", name, count[name]))
		rest -= count[name]
	}
	if rest > 0 {
		shown = append(shown, fmt.Sprintf("others (%d)", rest))
	}
	return strings.Join(shown, ", ")
}

func group(name string) string {
	for _, separator := range []string{"__", ".", "_", "-"} {
		if first, _, ok := strings.Cut(name, separator); ok && first != "" {
			return first
		}
	}
	return name
}
