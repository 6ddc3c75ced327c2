package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
)

// A Definition holds what a server says of one tool, as it is pinned.
type Definition struct {
	Name        string          `json:"name"` // the server's own
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`

	app string // address of the document that shows its results; no part of what is pinned
}

// Hash returns what tells a definition from another.
func (d *Definition) Hash() string {
	text, err := json.Marshal(d)
	if err != nil {
		return "" // it was made of JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// String returns the definition as JSON, a member a line, with nothing hidden in it.
func (d *Definition) String() string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return err.Error() // it was made of JSON
	}
	var b strings.Builder
	for line := range strings.Lines(text.String()) {
		b.WriteString(policy.Visible(strings.TrimRight(line, "\n")))
		b.WriteByte('\n')
	}
	return b.String()
}

// made is a tool with the hash of the definition that it was made of.
type made struct {
	hash string
	tool *tool.Tool
}

// make makes the tools of a list, in the order of their names, and says what is wrong with others.
func (s *Server) make(list []*sdk.Tool) (tools []*tool.Tool, problems []error) {
	wrong := func(format string, args ...any) {
		problems = append(problems, &ServerError{s.o.Name, fmt.Errorf(format, args...)})
	}
	if len(list) > maxTools {
		wrong("it has more than %d tools; allow names those that are wanted", maxTools)
		list = list[:maxTools]
	}
	var defs []Definition
	for _, t := range list {
		app, forModels, err := appOf(t)
		if !s.wanted(t.Name) {
			continue
		}
		if err != nil {
			wrong("tool %q: %w", policy.Visible(t.Name), err)
		}
		if !forModels {
			continue
		}
		d, err := define(t)
		if err != nil {
			wrong("tool %q: %w", policy.Visible(t.Name), err)
			continue
		}
		if s.o.Apps {
			d.app = app
		}
		defs = append(defs, d)
	}
	slices.SortStableFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	defs = slices.CompactFunc(defs, func(a, b Definition) bool {
		if a.Name == b.Name {
			wrong("it has two tools named %q; the first is used", policy.Visible(a.Name))
		}
		return a.Name == b.Name
	})
	held, err := s.o.Pins.Check(s.o.Name, defs)
	if err != nil {
		wrong("%w", err)
	}
	if len(held) > 0 {
		wrong("the definition of %s has changed since it was accepted, and the tool is withheld: "+
			"wield mcp show %s prints the change, wield mcp accept %s accepts it",
			strings.Join(held, ", of "), s.o.Name, s.o.Name)
	}
	s.mu.Lock()
	before := make(map[string]made, len(s.tools))
	for _, t := range s.tools {
		if h, ok := t.Handler.(*handler); ok {
			before[t.Name()] = made{h.hash, t}
		}
	}
	s.mu.Unlock()
	names := map[string]bool{}
	for _, t := range s.asking { // a server's own tool of such a name gets another
		unique(t.Name(), names)
	}
	for i := range defs {
		d := &defs[i]
		if slices.Contains(held, d.Name) {
			continue
		}
		name := unique(OfferedName(s.o.Name, d.Name), names)
		for _, f := range suspicious(d) {
			wrong("tool %s: %s", name, f)
		}
		hash := d.Hash()
		if old, ok := before[name]; ok && old.hash == hash && old.tool.App == d.app {
			tools = append(tools, old.tool)
			continue
		}
		tools = append(tools, s.tool(name, hash, d))
	}
	return tools, problems
}

// wanted reports whether a tool is to be used at all.
func (s *Server) wanted(name string) bool {
	match := func(pattern string) bool {
		ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
		return ok && err == nil
	}
	return (len(s.o.Allow) == 0 || slices.ContainsFunc(s.o.Allow, match)) && !slices.ContainsFunc(s.o.Deny, match)
}

// define checks the bounds of a definition.
func define(t *sdk.Tool) (d Definition, err error) {
	d = Definition{Name: t.Name, Title: t.Title, Description: t.Description}
	if t.Name == "" {
		return d, errors.New("it has no name")
	}
	if _, found := clean(t.Name); found {
		return d, errors.New("its name holds characters that cannot be seen")
	}
	if mixed(t.Name) {
		return d, errors.New("its name mixes Latin letters with those of another alphabet that look like them")
	}
	if len(t.Description) > maxDescription {
		return d, fmt.Errorf("its description has more than %d bytes", maxDescription)
	}
	for _, part := range []struct {
		to   *json.RawMessage
		from any
	}{{&d.Input, t.InputSchema}, {&d.Output, t.OutputSchema}, {&d.Annotations, t.Annotations}} {
		if *part.to, err = json.Marshal(part.from); err != nil {
			return d, err
		}
		if bytes.Equal(*part.to, []byte("null")) {
			*part.to = nil
		}
		if len(*part.to) > maxSchema {
			return d, fmt.Errorf("its schema has more than %d bytes", maxSchema)
		}
	}
	return d, nil
}

// maxName limits names to what all protocols take.
const maxName = 64

// OfferedName returns the name that a model sees: letters, digits, _ and -, at most maxName of them.
func OfferedName(server, name string) string {
	var b strings.Builder
	for _, r := range server + tool.Separator + name {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() <= maxName {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return b.String()[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// unique returns a name that no other tool has, and takes it. Registries take capitals, and - and _, for each other.
func unique(name string, taken map[string]bool) string {
	fold := func(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }
	for n, base := 2, name; taken[fold(name)]; n++ {
		end := fmt.Sprint("_", n)
		name = base[:min(len(base), maxName-len(end))] + end
	}
	taken[fold(name)] = true
	return name
}

// tool makes a tool of a definition.
func (s *Server) tool(name, hash string, d *Definition) *tool.Tool {
	description, _ := clean(d.Description)
	if description == "" {
		description, _ = clean(d.Title)
	}
	schema := d.Input
	if schema == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	var hints sdk.ToolAnnotations
	json.Unmarshal(d.Annotations, &hints) // they were made of these
	return &tool.Tool{
		Definition: chat.Tool{Name: name, Description: description, Parameters: schema},
		Handler:    &handler{server: s, name: d.Name, hash: hash, def: *d},
		Source:     "mcp server " + s.o.Name,
		Namespace:  s.o.Name,
		App:        d.app,
		Facts:      tool.Facts{Network: s.o.URL != ""},
		Dangerous:  hints.DestructiveHint != nil && *hints.DestructiveHint && !hints.ReadOnlyHint,
	}
}

// A handler calls one tool of a server.
type handler struct {
	server *Server
	name   string
	hash   string
	def    Definition
	relay  *Relay // nil: the call is wield's own
}

// Run implements [tool.Handler].
func (h *handler) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	s := h.server
	switch {
	case h.relay != nil && h.relay.Through != nil:
		s = h.relay.Through
	case s.o.Each && c.Scope.By != "":
		s = s.of(c.Scope.By)
	}
	params := h.params(c)
	before, err := h.answered(c.Reply)
	switch {
	case err != nil:
		return tool.Result{}, err
	case before != nil && before.Held != 0:
		return h.continueCall(ctx, s.held.find(before.Held), c)
	case before != nil && before.Task != "":
		return h.reply(ctx, s, c, before)
	case c.Detached != "":
		return h.await(ctx, s, c.Detached, c, nil)
	case before != nil:
		params.RequestState, params.InputResponses = before.State, sdk.InputResponseMap{}
		for key, answer := range before.Answers {
			params.InputResponses[key] = answer
		}
	}
	conn, err := s.connection(ctx)
	if err != nil {
		return tool.Result{}, h.failed(tool.ErrNotAvailable, "cannot be reached: %v", err)
	}
	token, done := s.track(c)
	defer done()
	defer func() { c.Told(s.o.Watch.Compare(s.o.Name)) }()
	params.SetProgressToken(token)
	if h.relay == nil && conn.protocol() < stateless {
		return h.follow(ctx, s.held.begin(conn, params), c)
	}
	r, err := conn.session.CallTool(ctx, params)
	if err == nil { // wield says that it knows tasks in the name of clients, too, that say nothing of themselves
		if id := taskOf(r); id != "" {
			return h.await(ctx, s, id, c, before)
		}
	}
	return h.ended(ctx, conn, r, err, c, before)
}

// ended makes a result of what came of a call.
func (h *handler) ended(ctx context.Context, conn *connection, r *sdk.CallToolResult, err error, c *tool.Call,
	before *asking) (tool.Result, error) {
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case errors.As(err, &refused):
		if h.relay != nil {
			h.relay.Refused = refused
		}
		return tool.Result{}, h.failed(tool.ErrTool, "says: %s", refused.Message)
	case err != nil:
		conn.wait()
		return tool.Result{}, h.failed(tool.ErrInterrupted, "went away during the call: %v", conn.explain(err))
	case r.NeedsInput() && h.relay != nil:
		h.relay.Needs = r
		return tool.Result{}, h.failed(tool.ErrTool, "asks its client for input")
	case r.NeedsInput() && !c.Asks:
		return tool.Result{}, h.failed(tool.ErrTool,
			"asks for input that only a person can give, and there is nobody to ask")
	case r.NeedsInput():
		return tool.Result{}, h.needed(r, before, "")
	}
	return result(r), nil
}

// failed returns an error that says what the server did.
func (h *handler) failed(kind tool.ErrorKind, format string, args ...any) error {
	return tool.Errorf(kind, "the MCP server %s "+format, append([]any{h.server.o.Name}, args...)...)
}

// result makes a result of what a server answered.
func result(r *sdk.CallToolResult) tool.Result {
	var texts []string
	out := tool.Result{OK: !r.IsError}
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
		case *sdk.ImageContent:
			out.Parts = append(out.Parts, chat.Part{Kind: chat.PartImage, MediaType: c.MIMEType, Data: c.Data})
		case *sdk.AudioContent:
			out.Parts = append(out.Parts, modelPart(fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data)), c))
		case *sdk.ResourceLink:
			out.Parts = append(out.Parts,
				modelPart(strings.TrimSpace(fmt.Sprintf("[resource %s] %s %s", c.URI, c.Name, c.Description)), c))
		case *sdk.EmbeddedResource:
			out.Parts = append(out.Parts, modelPart(embedded(c.Resource), c))
		}
	}
	text := strings.Join(texts, "\n")
	if r.IsError {
		if text == "" && len(out.Parts) == 0 {
			text = "the server says that it failed, and not why"
		}
		out.Error, out.ErrorType = text, tool.ErrTool
		return out
	}
	if out.Data = structured(r.StructuredContent, text); out.Data == nil && (text != "" || len(out.Parts) == 0) {
		out.Data = tool.Text(text).Data
	}
	return out
}

// modelPart is content as models read it, with what it is for clients of MCP.
func modelPart(text string, c sdk.Content) chat.Part {
	raw, err := c.MarshalJSON()
	if err != nil {
		return chat.Part{Text: text}
	}
	return chat.Part{Text: text, Raw: raw, Protocol: chat.ProtocolMCP}
}

// Content returns a part of a result as it came from a server. It reports false for other parts.
func Content(p *chat.Part) (sdk.Content, bool) {
	if p.Protocol != chat.ProtocolMCP {
		return nil, false
	}
	var r sdk.CallToolResult
	if json.Unmarshal(slices.Concat([]byte(`{"content":[`), p.Raw, []byte("]}")), &r) != nil || len(r.Content) != 1 {
		return nil, false
	}
	return r.Content[0], true
}

// structured returns a structured result. The text beside it is the same in the server's own words, if it is
// JSON: numbers keep all their digits there, and keys their order.
func structured(v any, text string) json.RawMessage {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var same any
	if json.Unmarshal([]byte(text), &same) == nil {
		if again, err := json.Marshal(same); err == nil && bytes.Equal(again, data) {
			return json.RawMessage(text)
		}
	}
	return data
}

// embedded returns a resource as text.
func embedded(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "" || r.Blob == nil:
		return r.Text
	}
	return fmt.Sprintf("[resource %s, %s, %d bytes]", r.URI, r.MIMEType, len(r.Blob))
}

// clean takes characters out of a text that nobody sees, but models read: format and private characters, and
// controls. It reports whether there were any.
func clean(s string) (string, bool) {
	out := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) {
			return r
		}
		return -1
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n"))
	return out, len(out) != len(strings.ReplaceAll(s, "\r\n", "\n"))
}

// orders are phrases that speak to a model behind a person's back. A description has no reason to.
var orders = []string{
	"<important>", "<system", "</system",
	"ignore previous", "ignore all previous", "disregard previous", "ignore the above",
	"do not tell the user", "don't tell the user", "do not mention", "without telling the user", "hide this from",
	"before using this tool", "before calling any other tool", "instead of using", "you must always call",
}

// crossOrders are descriptions that say what another tool must do.
var crossOrders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(when|whenever|before|after|if|each time|every time)\b[^.\n]{0,80}\b` +
		`(is|are|was|were|gets?|being)? ?(used|called|invoked|run)\b` +
		`[^.\n]{0,40}\b(always|must|also|first|instead|secretly|silently)\b`)
})

// mixed reports whether a name has Latin letters beside Cyrillic or Greek ones, with which other names are imitated.
func mixed(name string) bool {
	has := func(t *unicode.RangeTable) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(t, r) })
	}
	return has(unicode.Latin) && (has(unicode.Cyrillic) || has(unicode.Greek))
}

// suspicious tells what in a definition is no description of a tool.
func suspicious(d *Definition) []string {
	var found []string
	text := d.Title + "\n" + d.Description + "\n" + string(d.Input)
	if _, hidden := clean(text); hidden {
		found = append(found, "its description holds characters that cannot be seen; they are left out")
	}
	lower := strings.ToLower(text)
	for _, o := range orders {
		if strings.Contains(lower, o) {
			found = append(found, fmt.Sprintf("its description gives orders to the model (%q): look at it first", o))
			break
		}
	}
	if order := crossOrders().FindString(text); order != "" {
		found = append(found, fmt.Sprintf("its description says how other tools are to be used (%q): look at it first",
			policy.Visible(order)))
	}
	return found
}
