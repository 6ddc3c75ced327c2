package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"wield/chat"
)

// Chat returns the result of a call as a model gets it.
func (r *Result) Chat(c *chat.Call, s Style) chat.Result {
	out := chat.Result{CallID: c.ID, Name: c.Name, IsError: !r.OK}
	if text := r.Append(nil, s); len(text) > 0 || len(r.Parts) == 0 {
		out.Parts = append(out.Parts, chat.Part{Kind: chat.PartText, Text: string(text)})
	}
	out.Parts = append(out.Parts, r.Parts...)
	return out
}

// Append appends the text of the result, without its Parts, in the given style.
func (r *Result) Append(dst []byte, s Style) []byte {
	switch s {
	case StyleC:
		return r.appendC(dst)
	case StyleLLF:
		return r.appendLLF(dst)
	}
	return r.appendPlain(dst)
}

func (r *Result) appendPlain(dst []byte) []byte {
	start := len(dst)
	if r.Denied != "" {
		dst = append(append(append(dst, "(Left out, because it is denied: "...), r.Denied...), ")\n"...)
	}
	switch {
	case r.Refused != "" && r.OK:
		dst = append(append(append(dst, "(The user refused "...), r.Refused...),
			". The rest of the call was carried out.)\n"...)
	case r.Refused != "":
		dst = append(append(append(dst, "(The user refused "...), r.Refused...), ". The rest of the call failed.)\n"...)
	case len(r.Edited) > 0:
		dst = append(dst, "(The user changed the arguments to "...)
		dst = append(append(dst, r.Edited...), ")\n"...)
	}
	if !r.OK {
		dst = append(append(dst, "Error: "...), r.Error...)
		for _, m := range r.extra() {
			dst = append(append(append(append(dst, "\n"...), m.name...), ": "...), m.value...)
		}
		if r.empty() {
			return dst
		}
		dst = append(dst, '\n')
	}
	switch {
	case !r.empty() && r.Data[0] == '"':
		dst = appendText(dst, r.Data)
	case !r.empty():
		dst = append(dst, r.Data...)
	case len(dst) == start && len(r.Parts) == 0:
		dst = append(dst, "OK"...) // several servers take no message without a text
	}
	if t := r.Truncated; t != nil {
		dst = fmt.Appendf(dst, "\n[truncated: %d of %d bytes are shown", t.Shown, t.Size)
		if t.Member != "" {
			dst = fmt.Appendf(dst, " of %s", t.Member)
		}
		if t.Spill != "" {
			dst = fmt.Appendf(dst, `; %s reads on from {"id":"%s","offset":%d}`, ReadOutputName, t.Spill, t.Shown)
		}
		dst = append(dst, ']')
	}
	return dst
}

func (r *Result) empty() bool { return len(r.Data) == 0 || string(r.Data) == "null" }

// appendC writes the object of the Tool Calling Protocol.
func (r *Result) appendC(dst []byte) []byte {
	dst = append(dst, `{"success":`...)
	dst = strconv.AppendBool(dst, r.OK)
	dst = append(dst, `,"data":`...)
	if r.empty() {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, r.Data...)
	}
	dst = append(dst, `,"error":`...)
	if r.OK {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, quote(r.Error)...)
	}
	for _, m := range slices.Concat(r.code(), r.denial(), r.notes()) {
		dst = m.append(dst)
	}
	return append(dst, '}')
}

// appendLLF writes one flat object, or the list that the data is.
func (r *Result) appendLLF(dst []byte) []byte {
	notes := r.notes()
	if r.OK && !r.empty() && r.Data[0] == '[' && len(notes) == 0 {
		return append(dst, r.Data...)
	}
	dst = append(dst, `{"success":`...)
	dst = strconv.AppendBool(dst, r.OK)
	var own []member
	if !r.OK {
		own = append([]member{{"error", quote(r.Error)}, {"error_type", quote(string(r.ErrorType))}}, r.extra()...)
	}
	own = append(own, notes...)
	switch {
	case r.empty():
	case r.Data[0] == '{':
		own = append(own, without(members(r.Data), own)...)
	default:
		own = append(own, member{"result", r.Data})
	}
	for _, m := range own {
		dst = m.append(dst)
	}
	return append(dst, '}')
}

// A member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

func (m member) append(dst []byte) []byte {
	dst = append(append(dst, ','), quote(m.name)...)
	return append(append(dst, ':'), m.value...)
}

// extra are the members that tell more about a failure.
func (r *Result) extra() []member {
	list := r.denial()
	if len(r.Details) > 0 {
		list = append(list, member{"details", r.Details})
	}
	if r.Timeout > 0 {
		list = append(list,
			member{"timeout", strconv.AppendFloat(nil, float64(r.Timeout)/float64(time.Second), 'f', -1, 64)})
	}
	return list
}

// code is the member that names a failure for programs.
func (r *Result) code() []member {
	if r.Code == "" {
		return nil
	}
	return []member{{"error_code", quote(r.Code)}}
}

// denial are the members that tell of a path that the ignore file leaves out.
func (r *Result) denial() []member {
	if r.DeniedPath == "" {
		return nil
	}
	return []member{{"accessDenied", json.RawMessage("true")}, {"deniedPath", quote(r.DeniedPath)}}
}

// notes are the members that tell what was done to the result, or to the call.
func (r *Result) notes() []member {
	var list []member
	if t := r.Truncated; t != nil {
		list = append(list, member{"truncated", json.RawMessage("true")},
			member{"shown_bytes", strconv.AppendInt(nil, int64(t.Shown), 10)},
			member{"total_bytes", strconv.AppendInt(nil, int64(t.Size), 10)})
		if t.Spill != "" {
			list = append(list, member{"output_id", quote(t.Spill)})
		}
	}
	if r.Denied != "" {
		list = append(list, member{"denied", quote(r.Denied)})
	}
	switch {
	case r.Refused != "":
		list = append(list, member{"refused", quote(r.Refused)})
	case len(r.Edited) > 0:
		list = append(list, member{"edited_arguments", r.Edited})
	}
	return list
}

// without returns the members of list that have no name of own, nor the name of what comes first.
func without(list, own []member) []member {
	var rest []member
	for _, m := range list {
		taken := m.name == "success"
		for _, o := range own {
			taken = taken || o.name == m.name
		}
		if !taken {
			rest = append(rest, m)
		}
	}
	return rest
}

// members returns the members of a JSON object in their order.
func members(object json.RawMessage) []member {
	var list []member
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return list
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil && err != io.EOF {
			return list
		}
		m.value = bytes.Clone(value)
		list = append(list, m)
	}
	return list
}

// withMember returns object with another value for the member of the given name.
func withMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	dst := []byte{'{'}
	for i, m := range members(object) {
		if m.name == name {
			m.value = value
		}
		start := len(dst)
		if dst = m.append(dst); i == 0 {
			dst = append(dst[:start], dst[start+1:]...) // no comma in front of the first
		}
	}
	return append(dst, '}')
}
