package render

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// A Frame holds the text around each result. Between them is always the same envelope, one line of
// JSON in which no string holds anything that a dialect could take for a call, and whose first key is none of
// a call.
type Frame struct {
	open, close string
	bare        bool // what came out is shown without a word on success, which nobody here has judged
}

var (
	ResultsLabel = Frame{open: "TOOL_RESULT: "}
	ResultsTag   = Frame{open: elementOpen + "\n", close: "\n" + elementEnd}

	ResultsLongcat  = Frame{open: "<longcat_tool_response>", close: "</longcat_tool_response>"}
	ResultsNemotron = Frame{open: "<TOOL_RESPONSE>[", close: "]</TOOL_RESPONSE>"}
	ResultsMistral  = Frame{open: "[TOOL_RESULTS] ", close: "[/TOOL_RESULTS]"}
	ResultsCohere   = Frame{open: "<|START_TOOL_RESULT|>[", close: "]<|END_TOOL_RESULT|>"}
	ResultsDeepseek = Frame{open: "<｜tool▁output▁begin｜>", close: "<｜tool▁output▁end｜>"}
	ResultsOutputs  = Frame{open: "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>",
		close: "<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"}
	ResultsReact    = Frame{open: "Observation: "}
	ResultsFunction = Frame{open: "<function_results>\n<result>", close: "</result>\n</function_results>"}
	ResultsMinimax  = Frame{open: "<response>", close: "</response>"}

	ResultsSatellite = Frame{open: ResultsLabel.open, bare: true}
)

// frames are the frames that only one dialect has.
var frames = [...]*Frame{&ResultsLongcat, &ResultsNemotron, &ResultsMistral, &ResultsCohere, &ResultsDeepseek,
	&ResultsOutputs, &ResultsReact, &ResultsFunction, &ResultsMinimax}

// envelope is a result as it is read. The Tool Calling Protocol has the first three keys; the others
// say which call it answers.
type envelope struct {
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

// AppendResults appends results as one message's text. Whatever they hold, no dialect of a model that has these
// tools, or nil for any, reads a call in the text.
func (row *Row) AppendResults(dst []byte, results []chat.Result, tools []chat.Tool) []byte {
	frame := row.Results
	if frame == nil {
		frame = &ResultsLabel
	}
	callLike := func(raw string) bool { return looksLikeCall(raw) && (tools == nil || namesTool(raw, tools)) }
	for i := range results {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, frame.open...)
		dst = appendResult(dst, &results[i], frame.bare, callLike)
		dst = append(dst, frame.close...)
	}
	return dst
}

func appendResult(dst []byte, r *chat.Result, bare bool, callLike func(raw string) bool) []byte {
	text := partsText(r.Parts)
	switch {
	case r.IsError:
		dst = append(dst, `{"success":false,"data":null,"error":`...)
		dst = appendString(dst, strings.TrimPrefix(text, "Error: "), safe) // the key says so
	case bare:
		dst = appendData(append(dst, `{"content":`...), text, callLike)
	default:
		dst = append(dst, `{"success":true,"data":`...)
		dst = appendData(dst, text, callLike)
		dst = append(dst, `,"error":null`...)
	}
	if r.Name != "" {
		dst = append(dst, `,"from":`...)
		dst = appendString(dst, r.Name, safe)
	}
	if r.CallID != "" {
		dst = append(dst, `,"call_id":`...)
		dst = appendString(dst, r.CallID, safe)
	}
	return append(dst, '}')
}

// appendData appends what came out: an object or a list as it is, any other text as a string. So is JSON in
// which an object could be taken for a call.
func appendData(dst []byte, text string, callLike func(raw string) bool) []byte {
	start := len(dst)
	if text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		if dst = compact(dst, text, safe); !callLike(string(dst[start:])) {
			return dst
		}
		dst = dst[:start]
	}
	return appendString(dst, text, safe)
}

// callKeys are beginnings of keys without which no object is a call.
var callKeys = []string{"name", "tool", "function", "action", "recipient", "call"}

// looksLikeCall reports whether an object in compact JSON has a key of a call.
func looksLikeCall(raw string) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := stringEnd(raw, i)
		if end < len(raw) && raw[end] == ':' {
			key := strings.ToLower(raw[i+1 : end-1])
			for _, k := range callKeys {
				if strings.HasPrefix(key, k) {
					return true
				}
			}
		}
		i = end - 1
	}
	return false
}

// namesTool reports whether JSON may hold the name of a tool, however it is spelled.
func namesTool(raw string, tools []chat.Tool) bool {
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

// partsText joins the parts. One that is no text is named, so that the model knows that it is there.
func partsText(parts []chat.Part) string {
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
		case chat.PartImage, chat.PartAudio, chat.PartFile:
			b.WriteString("(" + p.Describe() + ")")
		default:
			b.Write(p.Raw)
		}
	}
	return b.String()
}

// The places where a result begins, always at the start of a line.
const (
	labelTool   = "TOOL_RESULT:"
	labelPTK    = "PTK_RESULT:"
	elementOpen = "<tool_response>"

	elementEnd = "</tool_response>"
)

// Results reads back, in order, all results that stand in text.
func Results(text string) []chat.Result {
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
	case strings.HasPrefix(rest, labelTool):
		return r.json(at, at+len(labelTool))
	case strings.HasPrefix(rest, labelPTK):
		if res, end := r.json(at, at+len(labelPTK)); end > at {
			return res, end
		}
		return sentence(r.text, at)
	case strings.HasPrefix(rest, elementOpen):
		return r.element(at)
	case strings.HasPrefix(rest, "```"):
		if line := strings.IndexByte(rest, '\n'); line >= 0 {
			return r.json(at, at+line+1)
		}
	}
	for _, f := range frames {
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
	i := space(r.text, from)
	if i >= len(r.text) || r.text[i] != '{' {
		return chat.Result{}, at
	}
	end := valueEnd(r.text, i)
	if end < 0 {
		r.left -= len(r.text) - i
		return chat.Result{}, at
	}
	raw := r.text[i:end]
	r.left -= len(raw)
	res, ok := decode(raw)
	if !ok || r.text[at] == '`' && !strings.Contains(raw, `"function_call_output"`) {
		return chat.Result{}, at
	}
	return res, end
}

// element reads an element whose content is an envelope, or any text.
func (r *resultsReader) element(at int) (chat.Result, int) {
	start := at + len(elementOpen)
	if res, end := r.json(at, start); end > at {
		if rest := strings.TrimLeft(r.text[end:], " \t\r\n"); strings.HasPrefix(rest, elementEnd) {
			return res, len(r.text) - len(rest) + len(elementEnd)
		}
	}
	n := strings.Index(r.text[start:], elementEnd)
	if n < 0 {
		r.left -= len(r.text) - start
		return chat.Result{}, at
	}
	body := strings.TrimSuffix(strings.TrimPrefix(r.text[start:start+n], "\n"), "\n")
	return chat.Result{Parts: chat.Text(body)}, start + n + len(elementEnd)
}

// sentence reads the PTK form without JSON: a sentence that says how it went, and what came out.
func sentence(text string, at int) (chat.Result, int) {
	rest, end := strings.TrimLeft(text[at+len(labelPTK):], " "), len(text)
	if i := strings.Index(rest, "\n"+labelPTK); i >= 0 {
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

func decode(raw string) (chat.Result, bool) {
	var e envelope
	if json.Unmarshal([]byte(raw), &e) != nil {
		return chat.Result{}, false
	}
	r := chat.Result{CallID: e.CallID, Name: or(e.From, or(e.Tool, e.Name))}
	switch {
	case e.Success != nil && *e.Success:
		r.Parts = partsOf(e.Data)
	case e.Success != nil:
		r.IsError = true
		if r.Parts = partsOf(e.Error); r.Parts == nil {
			r.Parts = partsOf(e.Data)
		}
	case e.Output != nil:
		r.Parts = partsOf(e.Output)
	case e.Content != nil:
		r.Parts = partsOf(e.Content)
	default:
		return r, false
	}
	return r, true
}

// partsOf returns a string's text, and any other value's JSON text. Null and absence are nil.
func partsOf(raw json.RawMessage) []chat.Part {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if s, ok := Unquote(string(raw)); ok {
		return chat.Text(s)
	}
	return chat.Text(readable(string(raw)))
}

// readable returns JSON text without the escapes that keep a result from being read as a call.
func readable(raw string) string {
	if !strings.Contains(raw, `\u00`) {
		return raw
	}
	var dst []byte
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		end := stringEnd(raw, i)
		if s, ok := Unquote(raw[i:end]); ok {
			dst = appendString(dst, s, asWritten)
		} else {
			dst = append(dst, raw[i:end]...)
		}
		i = end
	}
	return string(dst)
}
