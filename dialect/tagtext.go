package dialect

import (
	"strings"

	"wield/chat"
)

// writeEscaped writes s, which ends where v stands in the text, as the inside of a JSON string.
func writeEscaped(v *value, s string) {
	d := v.d
	switch {
	case v.hold.on:
		v.hold.text = appendEscaped(v.hold.text, s)
	case v.discard || s == "":
	case len(s) > maxPieces || !d.call.later:
		d.writeBuilt(s, v.base)
	default:
		d.passPieces(s, v.base)
	}
}

// writeBuilt writes s, which need not stand in the text, as the inside of a JSON string; the text was read up to end.
func (d *Decoder) writeBuilt(s string, end int) {
	d.flattenArgs()
	n := d.call.args.Len()
	grow(&d.call.args, len(s)+len(s)/8)
	buildEscaped(&d.call.args, s)
	d.builtArgs(d.call.args.Len()-n, end)
}

// maxPieces is up to which length a text is written in pieces. Then what it is in the arguments is built only when they are asked
// for, so that a long value that comes in small chunks is not copied again and again.
const maxPieces = 64

// passPieces emits what s, the bytes of the text before the offset end, is inside a JSON string: its pieces and the escapes between them, so
// that nothing is copied. They follow in the arguments.
func (d *Decoder) passPieces(s string, end int) {
	i, from := doubleStop.index(s, 0), 0
	d.settleLater(end-len(s), end, i < len(s))
	dst := d.text.dst
	for ; i < len(s); i = doubleStop.index(s, i+1) {
		if from < i {
			dst = d.emitDelta(dst, s[from:i], end-len(s)+i)
		}
		dst = d.emitDelta(dst, escapes[s[i]], end-len(s)+i+1)
		from = i + 1
	}
	if from < len(s) {
		dst = d.emitDelta(dst, s[from:], end)
	}
	d.text.dst = dst
}

// passEscaped emits a chunk of a value in which nothing begins or ends, but that is not written as it is.
func (d *Decoder) passEscaped(dst []chat.Event, chunk string) []chat.Event {
	d.text.skip(chunk)
	d.text.dst, d.passing = dst, passesArgs
	d.passPieces(chunk, d.text.end())
	dst, d.text.dst = d.text.dst, nil
	return dst
}

// escapes are what stands for the bytes of doubleStop in a JSON string.
var escapes = func() (t [256]string) {
	for c := range 0x20 {
		t[c] = controlEscape(byte(c))
	}
	t['"'], t['\\'] = `\"`, `\\`
	return t
}()

// buildEscaped adds s as the inside of a JSON string to b.
func buildEscaped(b *strings.Builder, s string) {
	from := 0
	for i := indexEscaped(s, 0); i < len(s); i = indexEscaped(s, i+1) {
		b.WriteString(s[from:i])
		b.WriteString(escapes[s[i]])
		from = i + 1
	}
	b.WriteString(s[from:])
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
