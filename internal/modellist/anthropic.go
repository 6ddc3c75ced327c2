package modellist

import (
	"time"

	"wield/schema/shape"
)

// AnthropicModel describes a model on offer.
type AnthropicModel struct {
	ID      string
	Created time.Time
}

// AppendAnthropicModel appends the description of one model.
func AppendAnthropicModel(dst []byte, m AnthropicModel) []byte {
	dst = append(dst, `{"type":"model","id":`...)
	dst = shape.AppendQuoted(dst, m.ID)
	dst = append(dst, `,"display_name":`...)
	dst = shape.AppendQuoted(dst, m.ID)
	dst = append(dst, `,"created_at":"`...)
	dst = m.Created.UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, `"}`...)
}

// AppendAnthropicModels appends the list of all models, in one page.
func AppendAnthropicModels(dst []byte, models []AnthropicModel) []byte {
	dst = append(dst, `{"data":[`...)
	for i, m := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendAnthropicModel(dst, m)
	}
	dst = append(dst, `],"has_more":false,"first_id":`...)
	if len(models) == 0 {
		return append(dst, `null,"last_id":null}`...)
	}
	dst = shape.AppendQuoted(dst, models[0].ID)
	dst = append(dst, `,"last_id":`...)
	dst = shape.AppendQuoted(dst, models[len(models)-1].ID)
	return append(dst, '}')
}
