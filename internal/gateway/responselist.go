package gateway

import (
	"encoding/json"
	"strconv"

	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// An itemPage is a part of a list of items.
type itemPage struct {
	items []json.RawMessage
	ids   []string // of the items
	more  bool     // something follows
}

// appendPage appends the body of a list.
func appendPage(dst []byte, p itemPage) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, raw := range p.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonbody.AppendCompact(dst, raw)
	}
	first, last := "", ""
	if len(p.ids) > 0 {
		first, last = p.ids[0], p.ids[len(p.ids)-1]
	}
	dst = append(dst, `],"first_id":`...)
	dst = appendStringOrNull(dst, first)
	dst = append(dst, `,"last_id":`...)
	dst = appendStringOrNull(dst, last)
	dst = append(dst, `,"has_more":`...)
	dst = strconv.AppendBool(dst, p.more)
	return append(dst, '}')
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return shape.AppendQuoted(dst, s)
}

// appendDeleted appends the body that says that something is kept no more. object is its kind, such as response.
func appendDeleted(dst []byte, object, id string) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, id)
	dst = append(dst, `,"object":`...)
	dst = shape.AppendQuoted(dst, object)
	return append(dst, `,"deleted":true}`...)
}

// appendConversation appends the body that describes a conversation. metadata is an object, or nil.
func appendConversation(dst []byte, id string, created int64, metadata json.RawMessage) []byte {
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
