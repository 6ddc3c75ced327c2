package dialect

import (
	"strings"

	"wield/chat"
)

// writeEscaped writes s as the inside of a JSON string.
func writeEscaped(v *value, s string) {
	switch {
	case v.hold.on:
		v.hold.text = appendEscaped(v.hold.text, s)
	case !v.discard && s != "":
		v.d.emitArgs(v.d.addEscaped("", s, ""), v.base)
	}
}

// addEscaped adds s as the inside of a JSON string to the arguments of the open call, between two texts that stay as they are. It
// returns what was added, which lies in the arguments and so is no copy.
func (d *Decoder) addEscaped(before, s, after string) string {
	d.flattenArgs()
	b := &d.call.args
	n := b.Len()
	grow(b, len(before)+len(s)+len(s)/8+len(after))
	b.WriteString(before)
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b.WriteString(s[from:i])
		if c < 0x20 {
			b.WriteString(controlEscape(c))
		} else {
			b.WriteByte('\\')
			b.WriteByte(c)
		}
		from = i + 1
	}
	b.WriteString(s[from:])
	b.WriteString(after)
	return b.String()[n:]
}

// passEscaped emits a chunk of a value in which nothing begins or ends, but that is not written as it is.
func (d *Decoder) passEscaped(dst []chat.Event, chunk string) []chat.Event {
	at, end := d.last, d.last+len(chunk)
	d.in, d.base, d.last = "", end, end
	d.arena.write(chunk)
	d.spilled = end
	return append(dst, chat.Event{Kind: chat.KindCallArgs, Index: d.call.index, Text: d.addEscaped("", chunk, ""), At: at, End: end})
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
