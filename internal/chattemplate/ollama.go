package chattemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// isOllama reports whether a template is one of Ollama's, which are in Go's language of templates.
func isOllama(source string) bool {
	for _, mark := range []string{"{{ .", "{{- .", "{{.", ".Messages", ".Prompt", "{{ if .", "{{- if ."} {
		if strings.Contains(source, mark) {
			return !strings.Contains(source, "{%")
		}
	}
	return false
}

// parserOf returns the parser that a server names, or that stands in its Modelfile.
func parserOf(named, modelfile string) string {
	for line := range strings.Lines(modelfile) {
		if f := strings.Fields(line); len(f) == 2 && strings.EqualFold(f[0], "PARSER") && named == "" {
			named = f[1]
		}
	}
	return named
}

// parsers are the dialects of the parsers that Ollama has beside its templates.
var parsers = map[string]string{
	"qwen3-coder": "qwen3-coder", "qwen3.5": "qwen3-coder", "qwen3-vl-instruct": "hermes",
	"qwen3-vl-thinking": "hermes", "qwen3": "hermes", "qwen3-thinking": "hermes", "harmony": "harmony",
	"deepseek3": "deepseek-v31", "cogito": "deepseek-v3", "glm-4.6": "glm", "glm-4.7": "glm", "olmo3": "olmo3",
	"olmo3-think": "olmo3", "functiongemma": "functiongemma", "gemma4": "gemma4", "lfm2": "lfm2",
	"lfm2-thinking": "lfm2", "ministral": "mistral-args", "nemotron-3-nano": "qwen3-coder", "kimi-k2": "kimi-k2",
	"minimax-m2": "minimax-m2", "kolibri1": "hermes",
}

// Ollama returns the template with this source, which is in the language of Ollama's Modelfiles. The parser is what
// Ollama says of how answers are read, "" if nothing.
func Ollama(source, parser string) (*Template, error) {
	t, err := template.New("chat template").Funcs(functions(anyDay)).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	messages := strings.Contains(source, ".Messages")
	return &Template{parser: parser, render: func(c conversation, now time.Time) (string, error) {
		today, err := t.Clone()
		if err != nil {
			return "", err
		}
		out := bounded{left: 4 << 20}
		err = today.Funcs(functions(now)).Execute(&out, ollamaValues(c, messages))
		return out.String(), err
	}}, nil
}

// functions are those of Ollama's templates.
func functions(now time.Time) template.FuncMap {
	return template.FuncMap{
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
		"currentDate":      func(...string) string { return now.Format("2006-01-02") },
		"yesterdayDate":    func(...string) string { return now.AddDate(0, 0, -1).Format("2006-01-02") },
		"toTypeScriptType": func(any) string { return "any" },
		"last":             func(i, n int) bool { return i == n-1 },
	}
}

// bounded is a text that does not grow without end.
type bounded struct {
	strings.Builder
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the output is too long")
	}
	return b.Builder.Write(p)
}

// arguments print as JSON, as Ollama's do.
type arguments map[string]json.RawMessage

func (a arguments) String() string {
	b, err := json.Marshal(map[string]json.RawMessage(a))
	if err != nil {
		return "{}"
	}
	return string(b)
}

// An ollamaCall is a call as Ollama's templates see it.
type ollamaCall struct {
	ID       string
	Function struct {
		Index     int
		Name      string
		Arguments arguments
	}
}

// An ollamaMessage is a message as they see it.
type ollamaMessage struct {
	Role, Content, Thinking, ToolName, ToolCallID string
	Images                                        []string
	ToolCalls                                     []ollamaCall
}

// ollamaTool is a tool as they see it: printed, it is JSON.
type ollamaTool struct {
	Type     string         `json:"type"`
	Function ollamaFunction `json:"function"`
}

type ollamaFunction struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  ollamaParameters `json:"parameters"`
}

type ollamaParameters struct {
	Type       string                    `json:"type"`
	Required   []string                  `json:"required"`
	Properties map[string]ollamaProperty `json:"properties"`

	raw json.RawMessage // as the client wrote it, with all that the fields have no place for
}

// MarshalJSON implements [json.Marshaler].
func (p ollamaParameters) MarshalJSON() ([]byte, error) { return p.raw, nil }

type ollamaProperty struct {
	Type        ollamaType `json:"type"`
	Description string     `json:"description"`
	Enum        []string   `json:"enum,omitempty"`
}

type ollamaType string

func (p ollamaProperty) ToTypeScriptType() string { return "any" }

func (t ollamaTool) String() string {
	b, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return string(b)
}

type ollamaTools []ollamaTool

func (t ollamaTools) String() string {
	b, err := json.Marshal([]ollamaTool(t))
	if err != nil {
		return ""
	}
	return string(b)
}

// values are the data of an Ollama template.
type values struct {
	System, Prompt, Response, Suffix, ThinkLevel string
	Think, IsThinkSet                            bool
	Messages                                     []ollamaMessage
	Tools                                        ollamaTools
}

// ollamaValues puts a conversation as Ollama does. A template without Messages knows one turn: the last question, and
// the answer.
func ollamaValues(c conversation, messages bool) values {
	var v values
	for _, t := range c.Tools {
		o := ollamaTool{Type: t.Type,
			Function: ollamaFunction{Name: t.Function.Name, Description: t.Function.Description}}
		_ = json.Unmarshal(t.Function.Parameters, &o.Function.Parameters) // what the fields have no place for is in raw
		o.Function.Parameters.raw = t.Function.Parameters
		v.Tools = append(v.Tools, o)
	}
	for _, m := range c.Messages {
		o := ollamaMessage{Role: m.Role, Content: m.Content, Thinking: m.Reasoning, ToolName: m.Name,
			ToolCallID: m.CallID}
		for _, c := range m.Calls {
			var oc ollamaCall
			oc.ID, oc.Function.Name = c.ID, c.Function.Name
			if json.Unmarshal(c.Function.Arguments, &oc.Function.Arguments) == nil {
				o.ToolCalls = append(o.ToolCalls, oc)
			}
		}
		switch m.Role {
		case "system":
			v.System = strings.TrimSpace(v.System + "\n\n" + m.Content)
		case "user":
			v.Prompt = strings.TrimSpace(v.Prompt + "\n\n" + m.Content)
		case "assistant":
			v.Response = strings.TrimSpace(v.Response + "\n\n" + m.Content)
		}
		if n := len(v.Messages); n > 0 && v.Messages[n-1].Role == o.Role && o.ToolCalls == nil && o.Role != "tool" {
			v.Messages[n-1].Content += "\n\n" + o.Content
			continue
		}
		v.Messages = append(v.Messages, o)
	}
	if messages {
		v.Prompt, v.Response = "", ""
	}
	return v
}
