package prompt

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"wield/schema"
)

// A sampled holds the part of a JSON Schema that says which values fit.
type sampled struct {
	Type       json.RawMessage            `json:"type"`
	Const      json.RawMessage            `json:"const"`
	Default    json.RawMessage            `json:"default"`
	Examples   []json.RawMessage          `json:"examples"`
	Enum       []json.RawMessage          `json:"enum"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`

	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64 `json:"exclusiveMaximum"`
	MultipleOf       *float64 `json:"multipleOf"`
	MinLength        int      `json:"minLength"`
	MaxLength        *int     `json:"maxLength"`
	MinItems         int      `json:"minItems"`
	Format           string   `json:"format"`
	Pattern          string   `json:"pattern"`
	Unique           bool     `json:"uniqueItems"`
}

// formats are texts of the formats that schemas name.
var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "email": "ann@example.com",
	"uri": "https://example.com/", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "123e4567-e89b-12d3-a456-426614174000",
}

// sampleDepth bounds how deep a sample is nested.
const sampleDepth = 6

// sampleOf returns arguments that fit a schema; "" if none are found.
func sampleOf(schemas *schema.Cache, parameters json.RawMessage) string {
	text := sample(parameters, 0)
	if text == "{}" { // one argument shows how they are written
		if name := cheapest(schemas, parameters); name != "" {
			text = sample(requiring(parameters, name), 0)
		}
	}
	s, err := schemas.Compile(parameters)
	if err != nil || !strings.HasPrefix(text, "{") || len(s.Validate(text)) > 0 {
		return ""
	}
	return text
}

// maxPattern limits the pattern of an argument that is shown although it is not required: it takes memory
// to match.
const maxPattern = 100

// cheapest returns the first property without a long pattern; "" if there is none.
func cheapest(schemas *schema.Cache, parameters json.RawMessage) string {
	var s sampled
	shown := schemas.Shape(parameters)
	if shown == nil || json.Unmarshal(parameters, &s) != nil {
		return ""
	}
	for _, p := range shown.Props {
		var of sampled
		if _ = json.Unmarshal(s.Properties[p.Name], &of); len(of.Pattern) <= maxPattern {
			return p.Name
		}
	}
	return ""
}

// requiring returns a schema that requires a property.
func requiring(parameters json.RawMessage, name string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(parameters, &all) != nil {
		return parameters
	}
	all["required"], _ = json.Marshal([]string{name})
	out, _ := json.Marshal(all) // it was JSON
	return out
}

func sample(raw json.RawMessage, depth int) string {
	var s sampled
	if depth > sampleDepth || json.Unmarshal(raw, &s) != nil {
		return `"value"`
	}
	for _, one := range slices.Concat([]json.RawMessage{s.Const}, s.Examples, s.Enum, []json.RawMessage{s.Default}) {
		if len(one) > 0 && string(one) != "null" {
			return string(one)
		}
	}
	if union := slices.Concat(s.AnyOf, s.OneOf); len(union) > 0 && s.Properties == nil {
		return sample(union[0], depth+1)
	}
	switch kind := s.kind(); kind {
	case "object":
		return s.object(depth)
	case "array":
		return s.array(depth)
	case "integer", "number":
		return s.number(kind == "integer")
	case "boolean":
		return "true"
	case "null":
		return "null"
	}
	return s.text()
}

// kind returns the first type that is none of null.
func (s *sampled) kind() string {
	var one string
	var list []string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	if json.Unmarshal(s.Type, &list) == nil {
		for _, t := range list {
			if t != "null" {
				return t
			}
		}
	}
	if s.Properties != nil {
		return "object"
	}
	return "string"
}

func (s *sampled) object(depth int) string {
	var parts []string
	for _, name := range s.Required {
		key, _ := json.Marshal(name) // a text can always be written
		parts = append(parts, string(key)+": "+sample(s.Properties[name], depth+1))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// array returns as few items as there may be. Where each has to be another one, texts and numbers go up.
func (s *sampled) array(depth int) string {
	n := min(max(s.MinItems, 0), 100)
	items := slices.Repeat([]string{sample(s.Items, depth+1)}, n)
	var of sampled
	if s.Unique && json.Unmarshal([]byte(cmp.Or(string(s.Items), "{}")), &of) == nil {
		for i := range items {
			var text string
			var number float64
			switch {
			case i < len(of.Enum):
				items[i] = string(of.Enum[i])
			case i > 0 && json.Unmarshal([]byte(items[i]), &text) == nil:
				items[i] = strconv.Quote(text + strconv.Itoa(i+1))
			case i > 0 && json.Unmarshal([]byte(items[i]), &number) == nil:
				items[i] = strconv.FormatFloat(number+float64(i), 'g', -1, 64)
			}
		}
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// number returns 1, or the number within the bounds that is nearest to it.
func (s *sampled) number(whole bool) string {
	step := 1.0
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		step = *s.MultipleOf
	}
	v := math.Max(1, step)
	if low := cmp.Or(s.Minimum, s.ExclusiveMinimum); low != nil &&
		(v < *low || s.ExclusiveMinimum != nil && v <= *low) {
		if v = math.Ceil(*low/step) * step; s.ExclusiveMinimum != nil && v <= *low {
			v += step
		}
	}
	if high := cmp.Or(s.Maximum, s.ExclusiveMaximum); high != nil &&
		(v > *high || s.ExclusiveMaximum != nil && v >= *high) {
		if v = math.Floor(*high/step) * step; s.ExclusiveMaximum != nil && v >= *high {
			v -= step
		}
		if low := cmp.Or(s.Minimum, s.ExclusiveMinimum); !whole && low != nil && v < *low {
			v = (*low + *high) / 2
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return "1"
	}
	return string(out)
}

// text returns a text of the format, or one that is neither too short nor too long.
func (s *sampled) text() string {
	text := cmp.Or(formats[s.Format], matching(s.Pattern), "value")
	for len(text) < s.MinLength && len(text) < 1000 {
		text += "-value"
	}
	if s.MaxLength != nil && len(text) > max(*s.MaxLength, s.MinLength) {
		text = text[:max(*s.MaxLength, s.MinLength, 0)]
	}
	out, _ := json.Marshal(text) // a text can always be written
	return string(out)
}
