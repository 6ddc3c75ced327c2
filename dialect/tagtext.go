package dialect

import (
	"strings"

	"wield/chat"
)

// passEscaped emits a chunk of a value in which nothing begins or ends, but that is not written as it is.
func (d *Decoder) passEscaped(dst []chat.Event, chunk string) []chat.Event {
	d.text.skip(chunk)
	d.text.dst, d.passing = dst, passesArgs
	d.call.writePieces(chunk, d.text.end())
	dst, d.text.dst = d.text.dst, nil
	return dst
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&apos;", "'", "&#39;", "'",
	"&#34;", `"`)

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

var xmlReferences = map[string]bool{"&lt;": true, "&gt;": true, "&amp;": true, "&quot;": true, "&apos;": true,
	"&#39;": true, "&#34;": true}
