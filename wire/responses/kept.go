package responses

import (
	"encoding/json"
	"strconv"
	"strings"

	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// A Page is a part of a list.
type Page struct {
	Items []json.RawMessage
	IDs   []string // of the items
	More  bool     // something follows
}

// AppendPage appends the body of a list.
func AppendPage(dst []byte, p Page) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, raw := range p.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonbody.AppendCompact(dst, raw)
	}
	first, last := "", ""
	if len(p.IDs) > 0 {
		first, last = p.IDs[0], p.IDs[len(p.IDs)-1]
	}
	dst = append(dst, `],"first_id":`...)
	dst = appendStringOrNull(dst, first)
	dst = append(dst, `,"last_id":`...)
	dst = appendStringOrNull(dst, last)
	dst = append(dst, `,"has_more":`...)
	dst = strconv.AppendBool(dst, p.More)
	return append(dst, '}')
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return shape.AppendQuoted(dst, s)
}

// AppendDeleted appends the body that says that something is kept no more. object is its kind, such as response.
func AppendDeleted(dst []byte, object, id string) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, id)
	dst = append(dst, `,"object":`...)
	dst = shape.AppendQuoted(dst, object)
	return append(dst, `,"deleted":true}`...)
}

// AppendConversation appends the body that describes a conversation. metadata is an object, or nil.
func AppendConversation(dst []byte, id string, created int64, metadata json.RawMessage) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, id)
	dst = append(dst, `,"object":"conversation","created_at":`...)
	dst = strconv.AppendInt(dst, created, 10)
	dst = append(dst, `,"metadata":`...)
	if len(metadata) == 0 {
		metadata = json.RawMessage("{}")
	}
	return append(jsonbody.AppendCompact(dst, metadata), '}')
}

// idPrefixes are the beginnings of ids for items that come without one.
var idPrefixes = map[string]string{
	"message": prefixMessage, "function_call": prefixCall, "reasoning": prefixThought,
	"function_call_output": "fco_", "custom_tool_call": "ctc_", "custom_tool_call_output": "ctco_",
}

// Named returns an item as it is kept: in memory of its own, with its type and an id, made of stem if it has none.
func (i *Item) Named(stem string) Item {
	id := i.ID
	if id == "" {
		prefix := idPrefixes[i.Type]
		if prefix == "" {
			prefix = "item_"
		}
		id = prefix + stem
	}
	raw := append(make([]byte, 0, len(i.Raw)+64), `{"id":`...)
	raw = shape.AppendQuoted(raw, id)
	raw = append(raw, `,"type":`...)
	raw = shape.AppendQuoted(raw, i.Type)
	s := jsonbody.Scanner{Bytes: i.Raw}
	for s.Enter('{'); s.Next('}'); {
		switch key := s.Name(); key {
		case "id", "type":
			s.Skip()
		default:
			raw = append(raw, ',')
			raw = shape.AppendQuoted(raw, key)
			raw = append(raw, ':')
			raw = append(raw, s.Raw()...)
		}
	}
	return Item{Type: strings.Clone(i.Type), ID: strings.Clone(id), Raw: append(raw, '}')}
}
