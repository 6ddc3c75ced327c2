package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"wield/chat"
	"wield/tool/internal/value"
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
			dst = append(append(append(append(dst, "\n"...), m.Name...), ": "...), m.Value...)
		}
		if r.empty() {
			return dst
		}
		dst = append(dst, '\n')
	}
	switch {
	case !r.empty() && r.Data[0] == '"':
		dst = value.AppendText(dst, r.Data)
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
		dst = append(dst, value.Quote(r.Error)...)
	}
	for _, m := range slices.Concat(r.code(), r.denial(), r.notes()) {
		dst = m.Append(dst)
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
	var own []value.Member
	if !r.OK {
		own = append([]value.Member{{Name: "error", Value: value.Quote(r.Error)},
			{Name: "error_type", Value: value.Quote(string(r.ErrorType))}}, r.extra()...)
	}
	own = append(own, notes...)
	switch {
	case r.empty():
	case r.Data[0] == '{':
		own = append(own, without(value.Members(r.Data), own)...)
	default:
		own = append(own, value.Member{Name: "result", Value: r.Data})
	}
	for _, m := range own {
		dst = m.Append(dst)
	}
	return append(dst, '}')
}

// extra are the members that tell more about a failure.
func (r *Result) extra() []value.Member {
	list := r.denial()
	if len(r.Details) > 0 {
		list = append(list, value.Member{Name: "details", Value: r.Details})
	}
	if r.Timeout > 0 {
		seconds := strconv.AppendFloat(nil, float64(r.Timeout)/float64(time.Second), 'f', -1, 64)
		list = append(list, value.Member{Name: "timeout", Value: seconds})
	}
	return list
}

// code is the member that names a failure for programs.
func (r *Result) code() []value.Member {
	if r.Code == "" {
		return nil
	}
	return []value.Member{{Name: "error_code", Value: value.Quote(r.Code)}}
}

// denial are the members that tell of a path that the ignore file leaves out.
func (r *Result) denial() []value.Member {
	if r.DeniedPath == "" {
		return nil
	}
	return []value.Member{{Name: "accessDenied", Value: json.RawMessage("true")},
		{Name: "deniedPath", Value: value.Quote(r.DeniedPath)}}
}

// notes are the members that tell what was done to the result, or to the call.
func (r *Result) notes() []value.Member {
	var list []value.Member
	if t := r.Truncated; t != nil {
		list = append(list, value.Member{Name: "truncated", Value: json.RawMessage("true")},
			value.Member{Name: "shown_bytes", Value: strconv.AppendInt(nil, int64(t.Shown), 10)},
			value.Member{Name: "total_bytes", Value: strconv.AppendInt(nil, int64(t.Size), 10)})
		if t.Spill != "" {
			list = append(list, value.Member{Name: "output_id", Value: value.Quote(t.Spill)})
		}
	}
	if r.Denied != "" {
		list = append(list, value.Member{Name: "denied", Value: value.Quote(r.Denied)})
	}
	switch {
	case r.Refused != "":
		list = append(list, value.Member{Name: "refused", Value: value.Quote(r.Refused)})
	case len(r.Edited) > 0:
		list = append(list, value.Member{Name: "edited_arguments", Value: r.Edited})
	}
	return list
}

// without returns the members of list that have no name of own, nor the name of what comes first.
func without(list, own []value.Member) []value.Member {
	var rest []value.Member
	for _, m := range list {
		taken := m.Name == "success"
		for _, o := range own {
			taken = taken || o.Name == m.Name
		}
		if !taken {
			rest = append(rest, m)
		}
	}
	return rest
}
