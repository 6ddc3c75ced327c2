package shape

import (
	"strconv"
	"testing"
)

// TestIndex finds the same properties and values with and without an index.
func TestIndex(t *testing.T) {
	for _, n := range []int{0, 1, few, few + 1, 1000} {
		s := &Shape{Extra: &Shape{Types: Null}}
		for i := range n {
			s.Enum = append(s.Enum, []string{`"a`, `"A`}[i%3/2]+strconv.Itoa(i%900)+`"`)
			s.Props = append(s.Props, Prop{Name: strconv.Itoa(i % 900), Shape: &Shape{Types: Types(i % 60)}})
		}
		indexed := *s
		indexed.Index()
		for i := range n + 2 {
			want, named := s.Prop(strconv.Itoa(i))
			if got, ok := indexed.Prop(strconv.Itoa(i)); got != want || ok != named {
				t.Errorf("%d properties: %d is %v, %v, without an index %v, %v", n, i, got, ok, want, named)
			}
			for _, v := range []string{`"a` + strconv.Itoa(i) + `"`, `"A` + strconv.Itoa(i) + `"`, strconv.Itoa(i)} {
				out, c, fits := FitScalar(v, s, true)
				if got, as, ok := FitScalar(v, &indexed, true); got != out || as != c || ok != fits {
					t.Errorf("%d values: %s is %s, %v, %v, without an index %s, %v, %v", n, v, got, as, ok, out, c, fits)
				}
			}
		}
	}
}
