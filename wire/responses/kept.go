package responses

import (
	"strings"

	"wield/schema/shape"
	"wield/wire/jsonbody"
)

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
