package dialect

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// A resultsFrame is what stands around each result. Between them is always the same envelope, one line of
// JSON in which no string holds anything that a dialect could take for a call, and whose first key is none of
// a call.
type resultsFrame struct {
	open, close string
	bare        bool // what came out is shown without a word on success, which nobody here has judged
}

var (
	resultsLabel = resultsFrame{open: "TOOL_RESULT: "}
	resultsTag   = resultsFrame{open: resultsElement + "\n", close: "\n" + resultsElementEnd}

	resultsLongcat  = resultsFrame{open: "<longcat_tool_response>", close: "</longcat_tool_response>"}
	resultsNemotron = resultsFrame{open: "<TOOL_RESPONSE>[", close: "]</TOOL_RESPONSE>"}
	resultsMistral  = resultsFrame{open: "[TOOL_RESULTS] ", close: "[/TOOL_RESULTS]"}
	resultsCohere   = resultsFrame{open: "<|START_TOOL_RESULT|>[", close: "]<|END_TOOL_RESULT|>"}
	resultsDeepseek = resultsFrame{open: "<｜tool▁output▁begin｜>", close: "<｜tool▁output▁end｜>"}
	resultsOutputs  = resultsFrame{open: "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>", close: "<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"}
	resultsReact    = resultsFrame{open: "Observation: "}
	resultsFunction = resultsFrame{open: "<function_results>\n<result>", close: "</result>\n</function_results>"}
	resultsMinimax  = resultsFrame{open: "<response>", close: "</response>"}

	resultsSatellite = resultsFrame{open: resultsLabel.open, bare: true}
)

// resultsFrames are the frames that only one dialect has.
var resultsFrames = [...]*resultsFrame{&resultsLongcat, &resultsNemotron, &resultsMistral, &resultsCohere, &resultsDeepseek, &resultsOutputs, &resultsReact, &resultsFunction, &resultsMinimax}

// resultsEnvelope is a result as it is read. The Tool Calling Protocol has the first three keys; the others
// say which call it answers.
type resultsEnvelope struct {
	Success *bool           `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   json.RawMessage `json:"error"`
	From    string          `json:"from"`
	CallID  string          `json:"call_id"`

	// In the shapes of Hermes and of the Responses API.
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Tool    string          `json:"tool_name"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

// AppendResults appends results as one message's text. Whatever they hold, no dialect of a model that has these tools, or nil for any,
// reads a call in the text.
func (row *renderRow) AppendResults(dst []byte, results []chat.Result, tools []chat.Tool) []byte {
	frame := row.results
	if frame == nil {
		frame = &resultsLabel
	}
	callLike := func(raw string) bool { return resultsCallLike(raw) && (tools == nil || resultsNames(raw, tools)) }
	for i := range results {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, frame.open...)
		dst = resultsAppend(dst, &results[i], frame.bare, callLike)
		dst = append(dst, frame.close...)
	}
	return dst
}

func resultsAppend(dst []byte, r *chat.Result, bare bool, callLike func(raw string) bool) []byte {
	text := resultsText(r.Parts)
	switch {
	case r.IsError:
		dst = append(dst, `{"success":false,"data":null,"error":`...)
		dst = renderString(dst, strings.TrimPrefix(text, "Error: "), renderSafe) // the key says so
	case bare:
		dst = resultsData(append(dst, `{"content":`...), text, callLike)
	default:
		dst = append(dst, `{"success":true,"data":`...)
		dst = resultsData(dst, text, callLike)
		dst = append(dst, `,"error":null`...)
	}
	if r.Name != "" {
		dst = append(dst, `,"from":`...)
		dst = renderString(dst, r.Name, renderSafe)
	}
	if r.CallID != "" {
		dst = append(dst, `,"call_id":`...)
		dst = renderString(dst, r.CallID, renderSafe)
	}
	return append(dst, '}')
}

// resultsData appends what came out: an object or a list as it is, any other text as a string. So is JSON in
// which an object could be taken for a call.
func resultsData(dst []byte, text string, callLike func(raw string) bool) []byte {
	start := len(dst)
	if text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		if dst = renderCompact(dst, text, renderSafe); !callLike(string(dst[start:])) {
			return dst
		}
		dst = dst[:start]
	}
	return renderString(dst, text, renderSafe)
}

// resultsCallKeys are beginnings of keys without which no object is a call.
var resultsCallKeys = []string{"name", "tool", "function", "action", "recipient", "call"}

// resultsCallLike reports whether an object in compact JSON has a key of a call.
func resultsCallLike(raw string) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := renderStringEnd(raw, i)
		if end < len(raw) && raw[end] == ':' {
			key := strings.ToLower(raw[i+1 : end-1])
			for _, k := range resultsCallKeys {
				if strings.HasPrefix(key, k) {
					return true
				}
			}
		}
		i = end - 1
	}
	return false
}

// resultsNames reports whether JSON may hold the name of a tool, however it is spelled.
func resultsNames(raw string, tools []chat.Tool) bool {
	if strings.Contains(raw, `\u`) {
		return true
	}
	raw = chars.Fold(raw)
	for i := range tools {
		if strings.Contains(raw, chars.Fold(tools[i].Name)) {
			return true
		}
	}
	return false
}

// resultsText joins the parts. One that is no text is named, so that the model knows that it is there.
func resultsText(parts []chat.Part) string {
	if len(parts) == 1 && parts[0].Kind == chat.PartText {
		return parts[0].Text
	}
	var b strings.Builder
	for i := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		p := &parts[i]
		switch p.Kind {
		case chat.PartText:
			b.WriteString(p.Text)
		case chat.PartImage:
			b.WriteString("(image)")
		case chat.PartAudio:
			b.WriteString("(audio)")
		case chat.PartFile:
			b.WriteString("(file " + p.Name + ")")
		default:
			b.Write(p.Raw)
		}
	}
	return b.String()
}

// The places where a result begins, always at the start of a line.
const (
	resultsTool    = "TOOL_RESULT:"
	resultsPTK     = "PTK_RESULT:"
	resultsElement = "<tool_response>"

	resultsElementEnd = "</tool_response>"
)

// readResults reads back, in order, all results that stand in text.
func readResults(text string) []chat.Result {
	var list []chat.Result
	r := resultsReader{text: text, left: 16*len(text) + 1<<12}
	for at := 0; at < len(text) && r.left > 0; {
		res, end := r.result(at)
		if end > at {
			list = append(list, res)
			at = end
		}
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return list
}

// A resultsReader finds results in a text. It looks no further when it has looked at 16 times as many bytes
// as there are, so that a text of nothing but beginnings takes no longer than others.
type resultsReader struct {
	text string
	left int
}

// result reads the result that begins at the line at offset at, and returns the offset after it, or at if
// there is none.
func (r *resultsReader) result(at int) (chat.Result, int) {
	rest := r.text[at:]
	switch {
	case strings.HasPrefix(rest, resultsTool):
		return r.json(at, at+len(resultsTool))
	case strings.HasPrefix(rest, resultsPTK):
		if res, end := r.json(at, at+len(resultsPTK)); end > at {
			return res, end
		}
		return resultsSentence(r.text, at)
	case strings.HasPrefix(rest, resultsElement):
		return r.element(at)
	case strings.HasPrefix(rest, "```"):
		if line := strings.IndexByte(rest, '\n'); line >= 0 {
			return r.json(at, at+line+1)
		}
	}
	for _, f := range resultsFrames {
		if !strings.HasPrefix(rest, f.open) {
			continue
		}
		if res, end := r.json(at, at+len(f.open)); end > at && strings.HasPrefix(r.text[end:], f.close) {
			return res, end + len(f.close)
		}
	}
	return chat.Result{}, at
}

// json reads the envelope that begins at or after from.
func (r *resultsReader) json(at, from int) (chat.Result, int) {
	i := renderSpace(r.text, from)
	if i >= len(r.text) || r.text[i] != '{' {
		return chat.Result{}, at
	}
	end := renderValueEnd(r.text, i)
	if end < 0 {
		r.left -= len(r.text) - i
		return chat.Result{}, at
	}
	raw := r.text[i:end]
	r.left -= len(raw)
	res, ok := resultsDecode(raw)
	if !ok || r.text[at] == '`' && !strings.Contains(raw, `"function_call_output"`) {
		return chat.Result{}, at
	}
	return res, end
}

// element reads an element whose content is an envelope, or any text.
func (r *resultsReader) element(at int) (chat.Result, int) {
	start := at + len(resultsElement)
	if res, end := r.json(at, start); end > at {
		if rest := strings.TrimLeft(r.text[end:], " \t\r\n"); strings.HasPrefix(rest, resultsElementEnd) {
			return res, len(r.text) - len(rest) + len(resultsElementEnd)
		}
	}
	n := strings.Index(r.text[start:], resultsElementEnd)
	if n < 0 {
		r.left -= len(r.text) - start
		return chat.Result{}, at
	}
	body := strings.TrimSuffix(strings.TrimPrefix(r.text[start:start+n], "\n"), "\n")
	return chat.Result{Parts: chat.Text(body)}, start + n + len(resultsElementEnd)
}

// resultsSentence reads the PTK form without JSON: a sentence that says how it went, and what came out.
func resultsSentence(text string, at int) (chat.Result, int) {
	rest, end := strings.TrimLeft(text[at+len(resultsPTK):], " "), len(text)
	if i := strings.Index(rest, "\n"+resultsPTK); i >= 0 {
		end -= len(rest) - i
		rest = rest[:i]
	}
	if body, ok := strings.CutPrefix(rest, "Tool executed successfully"); ok {
		return chat.Result{Parts: chat.Text(strings.TrimPrefix(body, "\n"))}, end
	}
	if body, ok := strings.CutPrefix(rest, "Tool execution failed"); ok {
		body = strings.TrimPrefix(strings.TrimPrefix(body, "\n"), "Error: ")
		return chat.Result{Parts: chat.Text(body), IsError: true}, end
	}
	return chat.Result{}, at
}

func resultsDecode(raw string) (chat.Result, bool) {
	var e resultsEnvelope
	if json.Unmarshal([]byte(raw), &e) != nil {
		return chat.Result{}, false
	}
	r := chat.Result{CallID: e.CallID, Name: renderOr(e.From, renderOr(e.Tool, e.Name))}
	switch {
	case e.Success != nil && *e.Success:
		r.Parts = resultsValue(e.Data)
	case e.Success != nil:
		r.IsError = true
		if r.Parts = resultsValue(e.Error); r.Parts == nil {
			r.Parts = resultsValue(e.Data)
		}
	case e.Output != nil:
		r.Parts = resultsValue(e.Output)
	case e.Content != nil:
		r.Parts = resultsValue(e.Content)
	default:
		return r, false
	}
	return r, true
}

// resultsValue returns a string's text, and any other value's JSON text. Null and absence are nil.
func resultsValue(raw json.RawMessage) []chat.Part {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if s, ok := renderUnquote(string(raw)); ok {
		return chat.Text(s)
	}
	return chat.Text(string(raw))
}
