package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// defaultMaxTokens bounds answers to requests that say nothing of a bound, which the protocol wants.
const defaultMaxTokens = 8192

// RequestOptions adapt a request to the server that it is for.
type RequestOptions struct {
	Model     string // name of the model there; empty: the request's
	Stream    bool   // ask for a stream
	MaxTokens int    // bound on the answer where the request has none; 0: DefaultMaxTokens
	// keys of opaque parts that the server understands, beyond those of the protocol that need no permission
	Forward []string

	// SystemInside says that the server takes instructions among the messages. Else those of them that did not stand
	// there in a request of this protocol go to the field system.
	SystemInside bool
}

// understood are the keys of opaque parts that a server of the protocol understands without further headers, wherever
// they stand.
var understood = []string{"thinking", "top_k", "metadata", "service_tier", "speed", "output_config", "cache_control",
	"citations", "context", "inference_geo", "defer_loading", "input_examples", "eager_input_streaming",
	"allowed_callers", "caller", keyToolset, "transformations", keyFailed, keyBetas}

// keyServers is a field without which an answer would be another one.
const keyServers = "mcp_servers"

// Understands reports whether the server understands opaque parts of this protocol with a key.
func (o *RequestOptions) Understands(key string) bool {
	return slices.Contains(understood, key) || slices.Contains(o.Forward, key)
}

// AppendRequest appends the body of a request. It fails with a *chat.Error if req holds something that the protocol
// cannot say.
//
// Results stand at the beginning of a user's message. The protocol wants one for each call of the message before, and
// none for other calls: a call that has none gets one which says so, and a result without its call is written as
// text.
func AppendRequest(dst []byte, req *chat.Request, o RequestOptions) ([]byte, error) {
	for _, x := range req.Extra {
		if x.Key == keyServers && x.Protocol == chat.ProtocolAnthropic && !o.Understands(x.Key) &&
			len(x.Value) > len("[]") {
			return dst, &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Param: keyServers,
				Message: keyServers + ": the server takes it only with a header: " +
					"set anthropic-beta in the backend's headers and list " + keyServers + " in its forward"}
		}
	}
	w := requestWriter{b: dst, req: req, o: &o}
	w.b = append(w.b, `{"model":`...)
	if o.Model != "" {
		w.b = shape.AppendQuoted(w.b, o.Model)
	} else {
		w.b = shape.AppendQuoted(w.b, req.Model)
	}
	w.b = append(w.b, `,"max_tokens":`...)
	w.b = strconv.AppendInt(w.b, int64(o.maxTokens(req)), 10)
	w.system(req.Messages)
	if err := w.messages(req.Messages); err != nil {
		return dst, err
	}
	w.tools(req)
	w.settings(req)
	w.extras(req.Extra)
	return append(w.b, '}'), nil
}

func (o *RequestOptions) maxTokens(req *chat.Request) int {
	switch {
	case req.MaxTokens > 0:
		return req.MaxTokens
	case o.MaxTokens > 0:
		return o.MaxTokens
	}
	return defaultMaxTokens
}

type requestWriter struct {
	b    []byte
	req  *chat.Request
	o    *RequestOptions
	open bool // the list under way has an element

	inside []insert // instructions that are still to be written among the messages
}

func (w *requestWriter) key(name string) {
	w.b = append(w.b, ',', '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *requestWriter) str(name, value string) {
	w.key(name)
	w.b = shape.AppendQuoted(w.b, value)
}

// list begins a list, item an element of it.
func (w *requestWriter) list() {
	w.b = append(w.b, '[')
	w.open = false
}

func (w *requestWriter) item() {
	if w.open {
		w.b = append(w.b, ',')
	}
	w.open = true
}

func isInstruction(m *chat.Message) bool {
	return m.Role == chat.RoleSystem || m.Role == chat.RoleDeveloper
}

func hasOpaque(m *chat.Message, key string) bool {
	return slices.ContainsFunc(m.Opaque, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolAnthropic && x.Key == key
	})
}

// An insert is instructions that stand among the messages, in front of the one that is at a place among those that
// are none.
type insert struct {
	at    int
	parts []chat.Part
}

// inserts returns the instructions of a message that stood among the messages of a request of this protocol, and the
// other parts. If the message is not as it was then, there are none.
func inserts(m *chat.Message) (top []chat.Part, inside []insert) {
	var numbers []int
	for _, x := range m.Opaque {
		if x.Protocol == chat.ProtocolAnthropic && x.Key == opaqueInside && json.Unmarshal(x.Value, &numbers) != nil {
			return m.Parts, nil
		}
	}
	left := len(m.Parts)
	for i := 1; i < len(numbers); i += 2 {
		left -= numbers[i]
	}
	if left < 0 || len(numbers)%2 != 0 {
		return m.Parts, nil
	}
	top = m.Parts[:left]
	for i := 0; i < len(numbers); i += 2 {
		n := numbers[i+1]
		inside = append(inside, insert{numbers[i], m.Parts[left : left+n]})
		left += n
	}
	return top, inside
}

// system writes the instructions that do not stand among the messages, and keeps those that do: a string, or a list
// if there are several pieces or marks on them.
func (w *requestWriter) system(messages []chat.Message) {
	var parts []chat.Part
	others := 0
	for i := range messages {
		m := &messages[i]
		if !isInstruction(m) {
			others++
			continue
		}
		top, inside := inserts(m)
		w.inside = append(w.inside, inside...)
		if w.o.SystemInside && others > 0 {
			w.inside = append(w.inside, insert{others, top})
			continue
		}
		for _, p := range top {
			if p.Kind == chat.PartText && p.Text != "" {
				parts = append(parts, p)
			}
		}
	}
	switch {
	case len(parts) == 0:
	case len(parts) == 1 && parts[0].Raw == nil:
		w.str("system", parts[0].Text)
	default:
		w.key("system")
		w.list()
		for i := range parts {
			w.item()
			w.text(&parts[i])
		}
		w.b = append(w.b, ']')
	}
}

// instruct writes the instructions that stand in front of the message at a place, or of an earlier one.
func (w *requestWriter) instruct(at int) *chat.Error {
	for len(w.inside) > 0 && w.inside[0].at <= at {
		m := chat.Message{Role: chat.RoleSystem, Parts: w.inside[0].parts}
		w.inside = w.inside[1:]
		if err := w.plain(&m, "system"); err != nil {
			return err
		}
	}
	return nil
}

// messages writes all that are no instructions at the top.
func (w *requestWriter) messages(messages []chat.Message) error {
	w.key("messages")
	w.list()
	place := 0
	for i := 0; i < len(messages); {
		m := &messages[i]
		n := i + 1
		if isInstruction(m) {
			i = n
			continue
		}
		err := w.instruct(place)
		switch {
		case err != nil:
		case m.Role == chat.RoleAssistant:
			if err = w.plain(m, "assistant"); err != nil {
				break
			}
			if n = behindResults(messages, n); n > i+1 || len(m.Calls) > 0 {
				n = behindUser(messages, n)
				err = w.answers(m.Calls, messages[i+1:n])
			}
		case m.Role == chat.RoleTool: // of calls that are not there
			n = behindUser(messages, behindResults(messages, n))
			err = w.answers(nil, messages[i:n])
		case hasOpaque(m, opaqueInside):
			err = w.plain(m, "system")
		default:
			err = w.plain(m, "user")
		}
		if err != nil {
			err.Status = 400
			err.Param = fmt.Sprintf("messages[%d].%s", i, err.Param)
			return err
		}
		place += n - i
		i = n
	}
	if err := w.instruct(place); err != nil {
		return err
	}
	w.b = append(w.b, ']')
	return nil
}

// behindResults goes behind the results at n, behindUser behind the user's message there, if there is one.
func behindResults(messages []chat.Message, n int) int {
	for n < len(messages) && messages[n].Role == chat.RoleTool {
		n++
	}
	return n
}

func behindUser(messages []chat.Message, n int) int {
	if n < len(messages) && messages[n].Role == chat.RoleUser && !hasOpaque(&messages[n], opaqueInside) {
		n++
	}
	return n
}

// begin begins a message, end ends it. A message without content, which the protocol does not take, is taken back.
func (w *requestWriter) begin(role string) (before int) {
	before = len(w.b)
	w.item()
	w.b = append(w.b, `{"role":"`...)
	w.b = append(w.b, role...)
	w.b = append(w.b, `","content":`...)
	w.list()
	return before
}

func (w *requestWriter) end(before int, m *chat.Message) {
	if !w.open {
		w.b = w.b[:before]
		w.open = w.b[before-1] != '['
		return
	}
	w.b = append(w.b, ']')
	if m != nil {
		w.extras(m.Opaque)
	}
	w.b = append(w.b, '}')
	w.open = true
}

// plain writes a message that holds no results.
func (w *requestWriter) plain(m *chat.Message, role string) *chat.Error {
	before := w.begin(role)
	if err := w.blocks(m); err != nil {
		return err
	}
	w.end(before, m)
	return nil
}

// answers writes the results of calls, and the user's message behind them if there is one, as one message.
func (w *requestWriter) answers(calls []chat.Call, messages []chat.Message) *chat.Error {
	before := w.begin("user")
	results := messages
	var said *chat.Message
	if n := len(messages) - 1; n >= 0 && messages[n].Role == chat.RoleUser {
		results, said = messages[:n], &messages[n]
	}
	answered := make([]bool, len(calls))
	index := make(map[string]int, len(calls)) // of the first call of an id
	for i := range slices.Backward(calls) {
		index[calls[i].ID] = i
	}
	var orphans []*chat.Message
	for i := range results {
		m := &results[i]
		n, ok := index[m.CallID]
		if !ok || answered[n] {
			orphans = append(orphans, m)
			continue
		}
		answered[n] = true
		if err := w.result(m); err != nil {
			return err
		}
	}
	for i := range calls {
		if !answered[i] {
			w.item()
			w.b = append(w.b, `{"type":"tool_result","tool_use_id":`...)
			w.b = shape.AppendQuoted(w.b, serverID(calls[i].ID))
			w.b = append(w.b, `,"content":"There is no result of this call.","is_error":true}`...)
		}
	}
	for _, m := range orphans {
		w.item()
		w.text(&chat.Part{Text: "Result of " + orWord(m.Name, "a call") + " (" + m.CallID + "):"})
		if err := w.parts(m); err != nil {
			return err
		}
	}
	if said != nil {
		if err := w.blocks(said); err != nil {
			return err
		}
	}
	w.end(before, said)
	return nil
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// result writes a result. Its content is a string where that is all there is to say.
func (w *requestWriter) result(m *chat.Message) *chat.Error {
	w.item()
	w.b = append(w.b, `{"type":"tool_result","tool_use_id":`...)
	w.b = shape.AppendQuoted(w.b, serverID(m.CallID))
	switch {
	case len(m.Parts) == 1 && m.Parts[0].Kind == chat.PartText && m.Parts[0].Raw == nil:
		w.str("content", m.Parts[0].Text)
	case len(m.Parts) > 0:
		w.key("content")
		w.list()
		if err := w.parts(m); err != nil {
			return err
		}
		w.b = append(w.b, ']')
		w.open = true
	}
	if m.IsError {
		w.b = append(w.b, `,"is_error":true`...)
	}
	w.extras(m.Opaque)
	w.b = append(w.b, '}')
	return nil
}

// blocks writes the parts and the calls of a message, the calls last unless it says otherwise.
func (w *requestWriter) blocks(m *chat.Message) *chat.Error {
	order := orderOf(m)
	if order == nil {
		if err := w.parts(m); err != nil {
			return err
		}
		for i := range m.Calls {
			w.call(&m.Calls[i], nil)
		}
		return nil
	}
	part, call := 0, 0
	for _, more := range order {
		if more == nil {
			if err := w.part(m, part); err != nil {
				return err
			}
			part++
			continue
		}
		w.call(&m.Calls[call], more)
		call++
	}
	return nil
}

// orderOf returns the order of a message's blocks as opaqueBlocks has it, with nil for a part, or nil if it does not
// say, or is about another content: whoever changed that did not change this.
func orderOf(m *chat.Message) (order []json.RawMessage) {
	parts, calls := 0, 0
	for _, x := range m.Opaque {
		if x.Protocol != chat.ProtocolAnthropic || x.Key != opaqueBlocks || order != nil {
			continue
		}
		s := jsonbody.Scanner{Bytes: x.Value}
		for s.Enter('['); s.Next(']'); {
			raw := json.RawMessage(s.Raw())
			if len(raw) == 0 || raw[0] != '{' {
				raw = nil
				parts++
			} else {
				calls++
			}
			order = append(order, raw)
		}
	}
	if parts != len(m.Parts) || calls != len(m.Calls) {
		return nil
	}
	return order
}

func (w *requestWriter) parts(m *chat.Message) *chat.Error {
	for i := range m.Parts {
		if err := w.part(m, i); err != nil {
			return err
		}
	}
	return nil
}

// part writes one part of a message. Of what a model wrote, which may hold the thinking of another server, nothing is
// lost by leaving out what this protocol cannot say; what a client says must not be lost without a word.
func (w *requestWriter) part(m *chat.Message, i int) *chat.Error {
	p := &m.Parts[i]
	var err *chat.Error
	switch {
	case p.Kind == chat.PartText && p.Text == "" && p.Raw == nil: // which the protocol does not take
	case p.Kind == chat.PartText:
		w.item()
		w.text(p)
	case p.Kind == chat.PartImage:
		w.item()
		w.b = append(w.b, `{"type":"image"`...)
		w.source(p, "image/png")
		w.more(p)
		w.b = append(w.b, '}')
	case p.Kind == chat.PartFile:
		w.item()
		w.b = append(w.b, `{"type":"document"`...)
		w.source(p, "application/pdf")
		if p.Name != "" {
			w.str("title", p.Name)
		}
		w.more(p)
		w.b = append(w.b, '}')
	case p.Kind == chat.PartOpaque && p.Protocol == chat.ProtocolAnthropic:
		w.item()
		w.b = append(w.b, p.Raw...)
	case m.Role == chat.RoleAssistant:
	case p.Kind == chat.PartOpaque:
		err = chat.Errorf(chat.ErrBadRequest, "content of the type %q cannot be said in the protocol of this server",
			p.Name)
	default:
		err = chat.Errorf(chat.ErrBadRequest, "the protocol of this server takes no audio")
	}
	if err != nil {
		err.Param = fmt.Sprintf("content[%d]", i)
	}
	return err
}

// text writes a text, or the block that it is the text of.
func (w *requestWriter) text(p *chat.Part) {
	kind := typeOf(p.Raw) // a reference has a definition as its text
	if p.Protocol == chat.ProtocolAnthropic && kind != "" &&
		(textOf(p.Raw) == p.Text || kind == "tool_reference" || string(p.Raw) == p.Text) {
		w.b = append(w.b, p.Raw...)
		return
	}
	w.b = append(w.b, `{"type":"text","text":`...)
	w.b = shape.AppendQuoted(w.b, p.Text)
	w.more(p)
	w.b = append(w.b, '}')
}

// more writes the members of a part that the vocabulary has no place for.
func (w *requestWriter) more(p *chat.Part) {
	if p.Protocol == chat.ProtocolAnthropic && len(p.Raw) > 0 && typeOf(p.Raw) == "" {
		w.members(p.Raw)
	}
}

// members writes the members of an object that the server understands.
func (w *requestWriter) members(object []byte) {
	s := jsonbody.Scanner{Bytes: object}
	for s.Enter('{'); s.Next('}'); {
		key := s.Name()
		if raw := s.Raw(); raw != nil && w.o.Understands(key) {
			w.b = append(w.b, ',')
			w.b = append(shape.AppendQuoted(w.b, key), ':')
			w.b = append(w.b, raw...)
		}
	}
}

// source writes where the content of an image or a document is.
func (w *requestWriter) source(p *chat.Part, media string) {
	data, isData := strings.CutPrefix(p.URL, "data:")
	if p.MediaType != "" {
		media = p.MediaType
	}
	w.b = append(w.b, `,"source":{"type":`...)
	if p.URL != "" && !isData {
		w.b = append(w.b, `"url"`...)
		w.str("url", p.URL)
		w.b = append(w.b, '}')
		return
	}
	var content string
	if isData {
		content, media = splitData(data, media)
	} else {
		content = base64.StdEncoding.EncodeToString(p.Data)
	}
	if media == "text/plain" {
		if text, err := base64.StdEncoding.DecodeString(content); err == nil {
			w.b = append(w.b, `"text","media_type":"text/plain"`...)
			w.str("data", string(text))
			w.b = append(w.b, '}')
			return
		}
	}
	w.b = append(w.b, `"base64"`...)
	w.str("media_type", media)
	w.str("data", content)
	w.b = append(w.b, '}')
}

// splitData returns the content of a data URL in base64, without its scheme, and its media type, media if it has none.
func splitData(data, media string) (content, kind string) {
	head, content, _ := strings.Cut(data, ",")
	name, coded := strings.CutSuffix(head, ";base64")
	if !coded {
		content = base64.StdEncoding.EncodeToString([]byte(content))
	}
	return content, orWord(name, media)
}

func (w *requestWriter) call(c *chat.Call, more []byte) {
	w.item()
	w.b = append(w.b, `{"type":"tool_use","id":`...)
	w.b = shape.AppendQuoted(w.b, serverID(c.ID))
	if family := familyOf(more); family != "" { // the set need not be declared any more
		w.str("name", strings.TrimPrefix(c.Name, memberName(family, "")))
	} else {
		w.b = appendName(w.b, w.req, c.Name)
	}
	w.key("input")
	w.b = appendInput(w.b, c.Arguments)
	if more != nil {
		w.members(more)
	}
	w.b = append(w.b, '}')
}

// appendInput appends arguments, which must be an object here. What is none, because a model wrote it wrong, is
// carried as the string that it is.
func appendInput(dst []byte, args string) []byte {
	trimmed := strings.TrimSpace(args)
	switch {
	case trimmed == "":
		return append(dst, "{}"...)
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return jsonbody.AppendCompact(dst, []byte(trimmed))
	}
	dst = append(dst, `{"arguments":`...)
	dst = shape.AppendQuoted(dst, args)
	return append(dst, '}')
}

func (w *requestWriter) tools(req *chat.Request) {
	if len(req.Tools) == 0 {
		return
	}
	w.key("tools")
	w.list()
	allows := req.Choice.Allows()
	for i := range req.Tools {
		t := &req.Tools[i]
		if !allows(t.Name) {
			continue // the protocol cannot say that it must not be called
		}
		w.item()
		if t.Protocol == chat.ProtocolAnthropic && len(t.Raw) > 0 {
			w.b = append(w.b, t.Raw...)
			continue
		}
		w.b = append(w.b, `{"name":`...)
		w.b = shape.AppendQuoted(w.b, t.Name)
		if t.Description != "" {
			w.str("description", t.Description)
		}
		w.key("input_schema")
		w.b = append(w.b, jsonbody.ObjectSchema(t.Parameters)...)
		if t.Strict != nil {
			w.key("strict")
			w.b = strconv.AppendBool(w.b, *t.Strict)
		}
		w.extras(t.Opaque)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
	w.choice(req)
}

func (w *requestWriter) choice(req *chat.Request) {
	c := &req.Choice
	if c.Mode == chat.ChoiceAuto && req.Parallel == nil {
		return
	}
	w.key("tool_choice")
	switch c.Mode {
	case chat.ChoiceNone:
		w.b = append(w.b, `{"type":"none"}`...)
		return
	case chat.ChoiceRequired:
		w.b = append(w.b, `{"type":"any"`...)
	case chat.ChoiceNamed:
		w.b = append(w.b, `{"type":"tool"`...)
		w.str("name", c.Name)
	default:
		w.b = append(w.b, `{"type":"auto"`...)
	}
	if req.Parallel != nil {
		w.key("disable_parallel_tool_use")
		w.b = strconv.AppendBool(w.b, !*req.Parallel)
	}
	w.b = append(w.b, '}')
}

// efforts are the words for an effort that the protocol has.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// settings writes what governs the answer.
func (w *requestWriter) settings(req *chat.Request) {
	if len(req.Stop) > 0 {
		w.key("stop_sequences")
		w.list()
		for _, s := range req.Stop {
			w.item()
			w.b = shape.AppendQuoted(w.b, s)
		}
		w.b = append(w.b, ']')
	}
	if req.Temperature != nil { // other protocols go up to 2
		w.key("temperature")
		w.b = strconv.AppendFloat(w.b, min(*req.Temperature, 1), 'g', -1, 64)
	}
	if req.TopP != nil {
		w.key("top_p")
		w.b = strconv.AppendFloat(w.b, *req.TopP, 'g', -1, 64)
	}
	if w.o.Stream {
		w.b = append(w.b, `,"stream":true`...)
	}
	if req.User != "" && !hasExtra(req, "metadata") {
		w.b = append(w.b, `,"metadata":{"user_id":`...)
		w.b = shape.AppendQuoted(w.b, req.User)
		w.b = append(w.b, '}')
	}
	w.output(req)
}

// output writes the format and the effort of a request that came in another protocol.
func (w *requestWriter) output(req *chat.Request) {
	effort := slices.Contains(efforts, req.Effort)
	format := req.Format != nil && req.Format.Kind == chat.FormatSchema && len(req.Format.Schema) > 0
	if hasExtra(req, "output_config") || !effort && !format {
		return
	}
	w.b = append(w.b, `,"output_config":{`...)
	if effort {
		w.b = append(w.b, `"effort":"`...)
		w.b = append(w.b, req.Effort...)
		w.b = append(w.b, '"')
	}
	if format {
		if effort {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, `"format":{"type":"json_schema","schema":`...)
		w.b = append(w.b, req.Format.Schema...)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, '}')
}

func hasExtra(req *chat.Request, key string) bool {
	return slices.ContainsFunc(req.Extra, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolAnthropic && x.Key == key
	})
}

// written are the keys that AppendRequest may write itself and that an opaque part must not repeat.
var written = []string{"model", "max_tokens", "system", "messages", "tools", "tool_choice", "stop_sequences",
	"temperature", "top_p", "stream", "role", "content", "type", "tool_use_id", "is_error", "name", "description",
	"input_schema", "strict", opaqueInside, opaqueBlocks, keyBetas}

func (w *requestWriter) extras(extras []chat.Extra) {
	for _, x := range extras {
		if x.Protocol == chat.ProtocolAnthropic && w.o.Understands(x.Key) && !slices.Contains(written, x.Key) &&
			json.Valid(x.Value) {
			w.b = append(w.b, ',')
			w.b = append(shape.AppendQuoted(w.b, x.Key), ':')
			w.b = append(w.b, x.Value...)
		}
	}
}
