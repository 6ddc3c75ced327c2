package grammar

import (
	"encoding/json"
	"strings"
)

// A structuralTag constrains a text in vLLM and SGLang: free up to a trigger, and from there on one of some tags. The
// notation is that of xgrammar.
type structuralTag struct {
	Type   string `json:"type"`
	Format struct {
		Type     string   `json:"type"`
		Triggers []string `json:"triggers"`
		Tags     []tag    `json:"tags"`
		Least    bool     `json:"at_least_one"`
		Most     bool     `json:"stop_after_first"`
	} `json:"format"`
}

type tag struct {
	Type    string `json:"type"`
	Begin   string `json:"begin"`
	Content struct {
		Type    string          `json:"type"`
		Schema  json.RawMessage `json:"json_schema,omitempty"`
		Grammar string          `json:"grammar,omitempty"`
	} `json:"content"`
	End string `json:"end"`
}

// StructuralTag returns the grammar as a structural tag, and whether there is one: only for dialects whose
// arguments are one JSON object.
func (g *Grammar) StructuralTag() (raw json.RawMessage, ok bool) {
	defer func() { ok = unsupported(recover()) == nil && ok }()
	if g.f.kind != kindObject || g.o.Behind != "" {
		return nil, false
	}
	s := structuralTag{Type: "structural_tag"}
	s.Format.Type, s.Format.Least, s.Format.Most = "triggered_tags", g.o.Required, g.o.MaxCalls == 1
	marker := g.f.opener().marker
	if marker != "" {
		s.Format.Triggers = []string{marker}
	}
	for i := range g.f.calls {
		c := &g.f.calls[i]
		t := tag{Type: "tag", Begin: numbered(c.front), End: c.back + g.f.tail}
		t.Content.Type, t.Content.Schema = "json_schema", g.o.Tools[i].Schema
		if args := g.o.Tools[i].Args; g.texts[args] != nil {
			v := values{w: &writer{}, n: g.f.value, texts: g.texts}
			t.Content.Type, t.Content.Schema, t.Content.Grammar = "grammar", nil, v.w.text(v.record(args))
		} else if len(t.Content.Schema) == 0 {
			t.Content.Schema = json.RawMessage(`{"type":"object"}`)
		}
		if marker == "" {
			s.Format.Triggers = append(s.Format.Triggers, t.Begin)
		}
		s.Format.Tags = append(s.Format.Tags, t)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(&s) != nil { // a schema that is no JSON
		return nil, false
	}
	return json.RawMessage(strings.TrimSpace(b.String())), true
}

// numbered writes the number of the first call where calls are numbered.
func numbered(s string) string { return strings.ReplaceAll(s, string(counter), "0") }
