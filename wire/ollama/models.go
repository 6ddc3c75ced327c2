package ollama

import (
	"time"

	"wield/schema/shape"
)

// ModelInfo is what a server says of a model.
type ModelInfo struct {
	Name         string
	Modified     time.Time
	Family       string
	Capabilities []string // such as completion and tools
}

// AppendTags appends the body of GET /api/tags, the list of models.
func AppendTags(dst []byte, models []ModelInfo) []byte {
	dst = append(dst, `{"models":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(models[i].appendEntry(dst), '}')
	}
	return append(dst, "]}"...)
}

// AppendRunning appends the body of GET /api/ps, the list of models that are loaded until a time.
func AppendRunning(dst []byte, models []ModelInfo, until time.Time) []byte {
	dst = append(dst, `{"models":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(models[i].appendEntry(dst), `,"size_vram":0,"expires_at":"`...)
		dst = append(until.UTC().AppendFormat(dst, time.RFC3339Nano), `"}`...)
	}
	return append(dst, "]}"...)
}

// appendEntry appends the beginning of a model's entry in a list.
func (m *ModelInfo) appendEntry(dst []byte) []byte {
	dst = shape.AppendQuoted(append(dst, `{"name":`...), m.Name)
	dst = shape.AppendQuoted(append(dst, `,"model":`...), m.Name)
	dst = append(dst, `,"modified_at":"`...)
	dst = m.Modified.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","size":0,"digest":"","details":`...)
	return m.appendDetails(dst)
}

func (m *ModelInfo) appendDetails(dst []byte) []byte {
	dst = shape.AppendQuoted(append(dst, `{"parent_model":"","format":"","family":`...), m.Family)
	dst = shape.AppendQuoted(append(dst, `,"families":[`...), m.Family)
	return append(dst, `],"parameter_size":"","quantization_level":""}`...)
}

// AppendModel appends the body of POST /api/show, what is known of one model.
func AppendModel(dst []byte, m ModelInfo) []byte {
	dst = append(dst, `{"license":"","modelfile":"","parameters":"","template":"","details":`...)
	dst = m.appendDetails(dst)
	dst = shape.AppendQuoted(append(dst, `,"model_info":{"general.architecture":`...), m.Family)
	dst = shape.AppendQuoted(append(dst, `,"general.basename":`...), m.Name)
	dst = append(dst, `},"capabilities":[`...)
	for i, c := range m.Capabilities {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = shape.AppendQuoted(dst, c)
	}
	dst = append(dst, `],"modified_at":"`...)
	return append(m.Modified.UTC().AppendFormat(dst, time.RFC3339Nano), `"}`...)
}

// AppendVersion appends the body of GET /api/version.
func AppendVersion(dst []byte, version string) []byte {
	return append(shape.AppendQuoted(append(dst, `{"version":`...), version), '}')
}
