package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// A requestReader reads the tool-request dialect, strictly: the whole message is one object with nothing but
// tool_request, which holds a name and, if there are any, arguments. Reasoning may stand in front of it. Everything
// else is text, read as in a request without tools.
type requestReader struct {
	brief
	met int // bytes of requestStart that were read
}

// requestStart begins the message, white space left out.
const requestStart = `{"tool_request"`

func newRequest(d *driver, _ *opener) body {
	r := ready(&d.readers.request)
	*r = requestReader{}
	return r
}

// run goes on as long as the message may be a request.
func (r *requestReader) run(d *driver, i int) (int, verdict) {
	if r.met == 0 {
		r.met = 1
		if d.text.seen || d.turn.closed >= 0 || !d.blankBefore() ||
			!chars.Blank(d.text.held(d.text.holdAt, d.text.candAt)) {
			return i, refused
		}
	}
	for ; i < len(d.text.in) && r.met < len(requestStart); i++ {
		switch c := d.text.in[i]; {
		case chars.IsBlank(c) && r.met == 1:
		case c == '\\' && r.met > 1:
			r.met = len(requestStart) // an escape, which may stand for what is wanted
		case c != requestStart[r.met]:
			d.cand.rescan = true
			return i, refused
		default:
			r.met++
		}
	}
	return len(d.text.in), more
}

// end decides about the message.
func (r *requestReader) end(d *driver) verdict {
	d.cand.rescan = true
	text := strings.TrimRight(d.text.held(d.text.candAt, d.text.at(0)), " \t\r\n")
	name, args, ok := readRequest(text)
	if ok {
		name, ok = strings.CutPrefix(name, d.set.opts.Prefix)
	}
	tool := &shape.Tool{Name: name}
	if tools := d.set.names.tools; len(tools) > 0 {
		k := slices.IndexFunc(tools, func(t shape.Tool) bool { return t.Name == name })
		if k < 0 {
			return refused
		}
		tool = &tools[k]
	}
	if !ok {
		return refused
	}
	at := d.text.candAt
	end := at + len(text)
	d.call.dialect = "tool-request"
	d.call.startTool(tool, name, "", at, at)
	if n := strings.Index(text, args); n > 0 {
		at += n + len(args)
	}
	d.call.Write(args, at)
	d.call.end(end, true)
	return finished
}

// readRequest reads a request. Keys that stand twice or in another case, names with blanks around them, and anything
// that is not plain JSON make it none.
func readRequest(text string) (name, args string, ok bool) {
	var message, request map[string]json.RawMessage
	if !strictly(text) || json.Unmarshal([]byte(text), &message) != nil || len(message) != 1 {
		return "", "", false
	}
	if json.Unmarshal(message["tool_request"], &request) != nil {
		return "", "", false
	}
	args = "{}"
	for key, raw := range request {
		switch key {
		case "name":
			if json.Unmarshal(raw, &name) != nil {
				return "", "", false
			}
		case "arguments":
			if args = string(raw); args[0] != '{' {
				return "", "", false
			}
		default:
			return "", "", false
		}
	}
	return name, args, name != "" && strings.TrimSpace(name) == name
}

// strictly reports whether text is JSON in which no key stands twice in an object, and nothing nests deeper than
// elsewhere.
func strictly(text string) bool {
	if !json.Valid([]byte(text)) {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var keys []map[string]bool // of the open objects; nil: an array
	for isKey := false; ; {
		tok, err := dec.Token()
		if err != nil {
			return true
		}
		switch tok := tok.(type) {
		case json.Delim:
			switch tok {
			case '{':
				keys = append(keys, map[string]bool{})
			case '[':
				keys = append(keys, nil)
			default:
				keys = keys[:len(keys)-1]
			}
		case string:
			if isKey {
				if top := keys[len(keys)-1]; top[tok] {
					return false
				} else {
					top[tok] = true
				}
				isKey = false
				continue
			}
		}
		if len(keys) > value.MaxDepth {
			return false
		}
		isKey = len(keys) > 0 && keys[len(keys)-1] != nil
	}
}
