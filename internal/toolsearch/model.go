package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/hosted"
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
	return hosted.New(m, &host{o}, hosted.Options{Log: o.Log})
}

type host struct{ o Options }

// Begin implements hosted.Host.
func (h *host) Begin(_ context.Context, req *chat.Request) (*hosted.Session, error) {
	hidden := h.hidden(req)
	if len(hidden) == 0 {
		return nil, nil
	}
	s := h.begin(req, hidden)
	return &hosted.Session{Request: s.req, Runner: s, Calls: maxSearches}, nil
}

// hidden returns the tools of a request that the model has to find.
func (h *host) hidden(req *chat.Request) []chat.Tool {
	c := &req.Choice
	if c.Mode == chat.ChoiceNone || c.Mode == chat.ChoiceNamed || len(c.Allowed) > 0 {
		return nil
	}
	wanted := func(*chat.Tool) bool { return true }
	switch i := slices.IndexFunc(req.Tools, isSearch); {
	case i >= 0 && req.Tools[i].Protocol == h.o.Protocol:
		return nil
	case i >= 0:
		wanted = deferred
	case h.o.Above <= 0 || len(req.Tools) <= h.o.Above:
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
	if t.Hosted == chat.HostedNot {
		return false
	}
	var raw struct{ Type string }
	return json.Unmarshal(t.Raw, &raw) == nil && strings.HasPrefix(raw.Type, "tool_search")
}

// deferred reports whether the client says that a tool is to be found first.
func deferred(t *chat.Tool) bool {
	return slices.ContainsFunc(t.Opaque, func(x chat.Extra) bool {
		return x.Key == "defer_loading" && string(x.Value) == "true"
	})
}

// A search serves the answer to one request.
type search struct {
	*host
	req   chat.Request // as the model is asked first
	index *index
	name  string // of the search tool
}

// begin makes the request that the model is asked first: it is shown no hidden tools but those that were called before.
// A call of any other counts as well, since the client offers them all.
func (h *host) begin(req *chat.Request, hidden []chat.Tool) *search {
	s := &search{host: h, req: *req, index: newIndex(hidden), name: searchName}
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
	for _, t := range hidden {
		t.Hidden, t.Deferred = true, true
		s.req.Tools = append(s.req.Tools, t)
	}
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
			s.show(called)
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
		Description: fmt.Sprintf("Finds tools by what they do. There are %d more tools that can be called once they "+
			"are "+
			"found, in these groups: %s. Search before you say that something cannot be done.", len(hidden),
			groups(hidden)),
		Parameters: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string",` +
			`"description":"What the tool should do, in a few words"}}}`),
	}
}

// show adds an earlier search and what it found to the conversation, and offers what was found.
func (s *search) show(found []chat.Tool) {
	c := s.call(found)
	result := chat.Result{CallID: c.ID, Name: c.Name, Parts: chat.Text(definitions(found))}
	s.req.Messages = append(s.req.Messages, chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{c}},
		result.Message())
	s.req.Tools = slices.DeleteFunc(s.req.Tools, func(t chat.Tool) bool {
		return slices.ContainsFunc(found, func(f chat.Tool) bool { return f.Name == t.Name })
	})
	s.req.Tools = append(s.req.Tools, described(found)...)
}

// described returns tools as they are offered once a result describes them.
func described(found []chat.Tool) []chat.Tool {
	list := slices.Clone(found)
	for i := range list {
		list[i].Deferred = true
	}
	return list
}

// Runs implements hosted.Runner.
func (s *search) Runs(name string) bool { return name == s.name }

// Shown implements hosted.Runner: clients do not see searches.
func (s *search) Shown(context.Context, *chat.Call) chat.Detail { return nil }

// Run implements hosted.Runner.
func (s *search) Run(_ context.Context, c *chat.Call) (hosted.Outcome, error) {
	var arguments struct{ Query string }
	json.Unmarshal([]byte(c.Arguments), &arguments)
	found := s.index.search(arguments.Query, maxFound)
	s.o.Log.Debug("tools searched", "query", arguments.Query, "found", len(found))
	return hosted.Outcome{Result: chat.Result{Parts: chat.Text(definitions(found))}, Tools: described(found)}, nil
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
