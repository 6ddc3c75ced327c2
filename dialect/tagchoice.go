package dialect

// A tagChoice follows a text byte by byte through the tags that may stand there. Those that it left are not looked at again.
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

// whole returns the tag that in begins with at i, if it is all there.
func (t *tagChoice) whole(in string, i int) (kind tagKind, n int) {
	for _, tag := range t.tags {
		if n := len(tag.text); len(in)-i >= n && in[i] == tag.text[0] && in[i:i+n] == tag.text {
			return tag.kind, n
		}
	}
	return 0, 0
}

// next takes c, the byte number n of the text. Of a part, want is what may follow in all of the tags that are left.
func (t *tagChoice) next(c byte, n int) (m tagMatch, want string) {
	for k, tag := range t.tags {
		switch bit := uint16(1) << k; {
		case t.alive&bit == 0:
		case tag.text[n] != c:
			t.alive &^= bit
		case n+1 == len(tag.text):
			t.kind = tag.kind
			return fullMatch, ""
		default:
			rest := tag.text[n+1:]
			if m == noMatch {
				want = rest
			}
			m, want = partMatch, want[:common(want, rest)]
		}
	}
	return m, want
}
