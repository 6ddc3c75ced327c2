package modellist

import (
	"testing"
	"time"
)

func at(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }

// The lists have what clients of the protocol read.
func TestOllama(t *testing.T) {
	m := OllamaModel{Name: "a/b", Modified: at(1), Family: "f", Capabilities: []string{"completion", "tools"}}
	const details = `{"parent_model":"","format":"","family":"f","families":["f"],"parameter_size":"","quantization_level":""}`
	const entry = `{"name":"a/b","model":"a/b","modified_at":"2026-01-02T03:04:01Z","size":0,"digest":"","details":` +
		details
	for _, c := range []struct{ got, want string }{
		{string(AppendOllamaTags(nil, []OllamaModel{m, m})), `{"models":[` + entry + `},` + entry + `}]}`},
		{string(AppendOllamaTags(nil, nil)), `{"models":[]}`},
		{string(AppendOllamaRunning(nil, []OllamaModel{m}, at(9))),
			`{"models":[` + entry + `,"size_vram":0,"expires_at":"2026-01-02T03:04:09Z"}]}`},
		{string(AppendOllamaModel(nil, m)), `{"license":"","modelfile":"","parameters":"","template":"","details":` +
			details +
			`,"model_info":{"general.architecture":"f","general.basename":"a/b"},"capabilities":["completion","tools"],"modified_at":"2026-01-02T03:04:01Z"}`},
		{string(AppendOllamaVersion(nil, "1.2.3")), `{"version":"1.2.3"}`},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
}

func TestOpenAI(t *testing.T) {
	got := string(AppendOpenAIModels(nil, []OpenAIModel{{ID: "m", Created: 1700000000, OwnedBy: "wield"}, {ID: "n"}}))
	want := `{"object":"list","data":[{"id":"m","object":"model","created":1700000000,"owned_by":"wield","type":"model","display_name":"m","created_at":"2023-11-14T22:13:20Z"},` +
		`{"id":"n","object":"model","created":0,"owned_by":"","type":"model","display_name":"n","created_at":"1970-01-01T00:00:00Z"}],"has_more":false}`
	if got != want {
		t.Errorf("models:\n%s\nwant:\n%s", got, want)
	}
}
