// Package modellist writes lists and descriptions of models as each protocol's servers do.
package modellist

import (
	"strconv"
	"time"

	"wield/schema/shape"
)

// OpenAIModel is one entry of the list of models.
type OpenAIModel struct {
	ID      string
	Created int64 // seconds since 1970
	OwnedBy string
}

// AppendOpenAIModels appends the body of GET /models. Its entries have the keys that Anthropic's clients read as well.
func AppendOpenAIModels(dst []byte, models []OpenAIModel) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, m := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendOpenAIModel(dst, m)
	}
	return append(dst, `],"has_more":false}`...)
}

// AppendOpenAIModel appends the body of GET /models/NAME.
func AppendOpenAIModel(dst []byte, m OpenAIModel) []byte {
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
