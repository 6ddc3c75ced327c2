package openapi

import (
	"strings"

	"wield/schema"
)

// maxSample bounds an example of arguments.
const maxSample = 400

// sample makes an example of the required arguments, or of the first if none is; "" if it would be too long or does
// not fit.
func (op *operation) sample(props []property, fits *schema.Schema) string {
	var parts []string
	for i, p := range props {
		if p.required || i == 0 && !anyRequired(props) {
			parts = append(parts, string(appendText(nil, p.name))+":"+string(op.doc.example(nil, p.sample, p.name, 0)))
		}
	}
	text := "{" + strings.Join(parts, ",") + "}"
	if len(props) == 0 || len(text) > maxSample || len(fits.Validate(text)) > 0 {
		return ""
	}
	return text
}

func anyRequired(props []property) bool {
	for _, p := range props {
		if p.required {
			return true
		}
	}
	return false
}

// samples are values of a type or format about which nothing more is known.
var samples = map[string]string{
	"integer": "1", "number": "1.5", "boolean": "true", "null": "null",
	"date": `"2025-01-31"`, "date-time": `"2025-01-31T12:00:00Z"`, "uuid": `"123e4567-e89b-12d3-a456-426614174000"`,
	"email": `"ann@example.com"`, "uri": `"https://example.com/"`, "hostname": `"example.com"`, "ipv4": `"192.0.2.1"`,
}

// example appends a value that fits a schema, as far as one can be told from it.
func (d *document) example(dst []byte, n *docNode, name string, depth int) []byte {
	n, err := d.resolve(n)
	if err != nil || depth > 8 || len(dst) > maxSample {
		return append(dst, "null"...)
	}
	for _, key := range []string{"example", "const", "default"} {
		if v := n.get(key); v != nil {
			return v.append(dst)
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list := n.list(key); len(list) > 0 {
			return list[0].append(dst)
		}
	}
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		if list := n.list(key); len(list) > 0 && n.get("properties") == nil {
			return d.example(dst, list[0], name, depth+1)
		}
	}
	kind := n.str("type")
	if types := n.list("type"); len(types) > 0 {
		kind = types[0].text
	}
	switch {
	case kind == "object" || n.get("properties") != nil:
		return d.exampleObject(dst, n, depth)
	case kind == "array":
		dst = append(dst, '[')
		if items := n.get("items"); items != nil {
			dst = d.example(dst, items, name, depth+1)
		}
		return append(dst, ']')
	case samples[n.str("format")] != "" && kind == "string":
		return append(dst, samples[n.str("format")]...)
	case kind == "integer" || kind == "number":
		if low := n.get("minimum"); low != nil && low.kind == '0' {
			return append(dst, low.text...)
		}
		return append(dst, samples[kind]...)
	case samples[kind] != "":
		return append(dst, samples[kind]...)
	}
	return appendText(dst, spoken(name))
}

// exampleObject appends an object of the required properties.
func (d *document) exampleObject(dst []byte, n *docNode, depth int) []byte {
	dst = append(dst, '{')
	first := len(dst)
	for _, name := range n.list("required") {
		p := n.get("properties").get(name.text)
		if p == nil {
			continue
		}
		if r, err := d.resolve(p); err != nil || r.is("readOnly") {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = d.example(append(appendText(dst, name.text), ':'), p, name.text, depth+1)
	}
	return append(dst, '}')
}
