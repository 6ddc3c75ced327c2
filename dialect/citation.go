package dialect

import "wield/dialect/internal/chars"

// A citationReader reads the rest of a tag that ends a cited passage, such as 0:[1,2],1:[3]>. The tag is left out.
type citationReader struct {
	brief
	read int
}

func newCitation(d *driver, _ *opener) body {
	r := ready(&d.readers.cite)
	*r = citationReader{}
	return r
}

func (r *citationReader) run(d *driver, i int) (int, verdict) {
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		if c == '>' {
			d.body = nil
			return d.yield(i+1, (*Decoder).dropToken)
		}
		if r.read++; r.read > maxHeader || !chars.IsDigit(c) && c != ':' && c != ',' && c != '[' && c != ']' &&
			c != ' ' {
			return i, refused
		}
	}
	return i, more
}
