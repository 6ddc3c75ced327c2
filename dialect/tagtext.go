package dialect

import "strings"

// writeEscaped writes s as the inside of a JSON string. Short texts, as they come in small chunks, are written in pieces, so
// that nothing is copied.
func writeEscaped(v *value, s string) {
	if len(s) > 64 {
		v.write(string(appendEscaped(make([]byte, 0, len(s)+len(s)/8), s)), 0)
		return
	}
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		v.write(s[from:i], 0)
		switch c {
		case '"':
			v.write(`\"`, 0)
		case '\\':
			v.write(`\\`, 0)
		default:
			v.write(controlEscape(c), 0)
		}
		from = i + 1
	}
	v.write(s[from:], 0)
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#34;", `"`)

// decodeEntities decodes character references if all in s are ones that XML has.
func decodeEntities(s string) string {
	for rest := s; ; {
		k := strings.IndexByte(rest, '&')
		if k < 0 {
			return entities.Replace(s)
		}
		rest = rest[k:]
		end := strings.IndexByte(rest, ';')
		if end < 0 || !xmlReferences[rest[:end+1]] {
			return s
		}
		rest = rest[end:]
	}
}

var xmlReferences = map[string]bool{"&lt;": true, "&gt;": true, "&amp;": true, "&quot;": true, "&apos;": true, "&#39;": true, "&#34;": true}
