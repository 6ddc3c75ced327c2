package modellist

import (
	"time"

	"wield/schema/shape"
)

// OllamaModel is a model in the list of a server.
type OllamaModel struct {
	Name         string
	Modified     time.Time
	Family       string
	Capabilities []string // such as completion and tools
}

// AppendOllamaTags appends the body of GET /api/tags, the list of models.
func AppendOllamaTags(dst []byte, models []OllamaModel) []byte {
	dst = append(dst, `{"models":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(models[i].appendEntry(dst), '}')
	}
	return append(dst, "]}"...)
}

// AppendOllamaRunning appends the body of GET /api/ps, the list of models that are loaded until a time.
func AppendOllamaRunning(dst []byte, models []OllamaModel, until time.Time) []byte {
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
func (m *OllamaModel) appendEntry(dst []byte) []byte {
	dst = shape.AppendQuoted(append(dst, `{"name":`...), m.Name)
	dst = shape.AppendQuoted(append(dst, `,"model":`...), m.Name)
	dst = append(dst, `,"modified_at":"`...)
	dst = m.Modified.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","size":0,"digest":"","details":`...)
	return m.appendDetails(dst)
}

func (m *OllamaModel) appendDetails(dst []byte) []byte {
	dst = shape.AppendQuoted(append(dst, `{"parent_model":"","format":"","family":`...), m.Family)
	dst = shape.AppendQuoted(append(dst, `,"families":[`...), m.Family)
	return append(dst, `],"parameter_size":"","quantization_level":""}`...)
}

// AppendOllamaModel appends the body of POST /api/show, what is known of one model.
func AppendOllamaModel(dst []byte, m OllamaModel) []byte {
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

// AppendOllamaVersion appends the body of GET /api/version.
func AppendOllamaVersion(dst []byte, version string) []byte {
	return append(shape.AppendQuoted(append(dst, `{"version":`...), version), '}')
}
