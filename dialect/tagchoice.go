package dialect

import "math/bits"

// A tagChoice follows a text through the tags that may stand there, none of which begins with another. Those that it left are not looked
// at again.
type tagChoice struct {
	tags  []choiceTag
	alive uint16
	kind  tagKind // of the tag that is whole
}

// Each tag has a bit in tagChoice.alive.
var _ [16 - tagKinds]struct{}

type choiceTag struct {
	kind tagKind
	text string
}

// begin begins anew with tags by kind; empty ones are left out.
func (t *tagChoice) begin(tags []string) {
	t.tags = t.tags[:0]
	for k, text := range tags {
		if text != "" {
			t.tags = append(t.tags, choiceTag{tagKind(k), text})
		}
	}
	t.restart()
}

// restart begins anew with the same tags.
func (t *tagChoice) restart() { t.alive = 1<<len(t.tags) - 1 }

// likely returns how the text most likely goes on behind its first n bytes, or nothing if there are none.
func (t *tagChoice) likely(n int) string {
	if n == 0 || t.alive == 0 {
		return ""
	}
	return t.tags[bits.TrailingZeros16(t.alive)].text[n:]
}

// take follows in from i on, behind the first n bytes of the text, to the byte that decides or to its end. It returns how many bytes that
// are.
func (t *tagChoice) take(in string, i, n int) (m tagMatch, used int) {
	m, in = noMatch, in[i:]
	for alive := t.alive; alive != 0; alive &= alive - 1 {
		k := bits.TrailingZeros16(alive)
		rest := t.tags[k].text[n:]
		same := common(rest, in)
		switch {
		case same == len(rest):
			t.kind = t.tags[k].kind
			return fullMatch, same
		case same == len(in):
			m = partMatch
		default:
			t.alive &^= 1 << k
			same++ // the byte that differs was read as well
		}
		used = max(used, same)
	}
	return m, used
}
