package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// yamlFlow returns the JSON of a flow sequence or mapping of YAML, [a, b] or {k: v}, where the schema wants one. Its
// words need no quotes.
func yamlFlow(text string, s *shape.Shape) ([]byte, bool) {
	if text == "" || !(text[0] == '[' && s.Type().Has(shape.Array) || text[0] == '{' && s.Type().Has(shape.Object)) {
		return nil, false
	}
	p := flowParser{in: text}
	out, ok := p.value(nil, s)
	p.blanks()
	return out, ok && p.at == len(p.in)
}

type flowParser struct {
	in    string
	at    int
	depth int
}

func (p *flowParser) blanks() {
	for p.at < len(p.in) && chars.IsBlank(p.in[p.at]) {
		p.at++
	}
}

// eat reports whether c comes next behind blanks, and reads it.
func (p *flowParser) eat(c byte) bool {
	p.blanks()
	if p.at == len(p.in) || p.in[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *flowParser) value(dst []byte, s *shape.Shape) ([]byte, bool) {
	if p.depth++; p.depth > value.MaxDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	switch {
	case p.eat('['):
		return p.list(append(dst, '['), s, ']', (*flowParser).item)
	case p.eat('{'):
		return p.list(append(dst, '{'), s, '}', (*flowParser).pair)
	}
	word, ok := p.word(",]}")
	if !ok {
		return nil, false
	}
	return appendYAMLScalar(dst, word, s), true
}

// list reads what read reads, with commas between, up to the closer.
func (p *flowParser) list(dst []byte, s *shape.Shape, closer byte,
	read func(*flowParser, []byte, *shape.Shape) ([]byte, bool)) ([]byte, bool) {
	for n := 0; !p.eat(closer); n++ {
		if n > 0 {
			if !p.eat(',') {
				return nil, false
			}
			if p.eat(closer) {
				break
			}
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = read(p, dst, s); !ok {
			return nil, false
		}
	}
	return append(dst, closer), true
}

func (p *flowParser) item(dst []byte, s *shape.Shape) ([]byte, bool) { return p.value(dst, s.Item()) }

func (p *flowParser) pair(dst []byte, s *shape.Shape) ([]byte, bool) {
	key, ok := p.word(":,]}")
	if !ok || !p.eat(':') {
		return nil, false
	}
	if n := len(key); n >= 2 && (key[0] == '"' || key[0] == '\'') && key[n-1] == key[0] {
		key = key[1 : n-1]
	}
	prop, _ := s.Prop(key)
	return p.value(append(shape.AppendQuoted(dst, key), ':'), prop)
}

// word reads a scalar, quotes included, up to one of the bytes in stop.
func (p *flowParser) word(stop string) (string, bool) {
	p.blanks()
	from := p.at
	if p.at < len(p.in) && (p.in[p.at] == '"' || p.in[p.at] == '\'') {
		quote := p.in[p.at]
		for p.at++; p.at < len(p.in) && p.in[p.at] != quote; p.at++ {
			if p.in[p.at] == '\\' && quote == '"' {
				p.at++
			}
		}
		if p.at >= len(p.in) {
			return "", false
		}
		p.at++
		return p.in[from:p.at], true
	}
	for p.at < len(p.in) && strings.IndexByte(stop, p.in[p.at]) < 0 {
		p.at++
	}
	word := strings.TrimSpace(p.in[from:p.at])
	return word, word != "" && p.at < len(p.in)
}
