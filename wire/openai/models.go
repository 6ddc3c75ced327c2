package openai

import (
	"strconv"
	"time"

	"wield/schema/shape"
)

// ModelInfo is one entry of the list of models.
type ModelInfo struct {
	ID      string
	Created int64 // seconds since 1970
	OwnedBy string
}

// AppendModels appends the body of GET /models. Its entries have the keys that Anthropic's clients read as well.
func AppendModels(dst []byte, models []ModelInfo) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, m := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendModel(dst, m)
	}
	return append(dst, `],"has_more":false}`...)
}

// AppendModel appends the body of GET /models/NAME.
func AppendModel(dst []byte, m ModelInfo) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, m.ID)
	dst = append(dst, `,"object":"model","created":`...)
	dst = strconv.AppendInt(dst, m.Created, 10)
	dst = append(dst, `,"owned_by":`...)
	dst = shape.AppendQuoted(dst, m.OwnedBy)
	dst = append(dst, `,"type":"model","display_name":`...)
	dst = shape.AppendQuoted(dst, m.ID)
	dst = append(dst, `,"created_at":"`...)
	dst = time.Unix(m.Created, 0).UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, `"}`...)
}
