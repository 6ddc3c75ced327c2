package shape

import (
	"strconv"
	"testing"
)

// TestIndex finds the same properties with and without an index: the first of a name, or the shape of others.
func TestIndex(t *testing.T) {
	for _, n := range []int{0, 1, fewProps, fewProps + 1, 1000} {
		s := &Shape{Extra: &Shape{Types: Null}}
		for i := range n {
			s.Props = append(s.Props, Prop{Name: strconv.Itoa(i % 900), Shape: &Shape{Types: Types(i % 60)}})
		}
		indexed := *s
		indexed.Index()
		for i := range n + 2 {
			want, named := s.Prop(strconv.Itoa(i))
			if got, ok := indexed.Prop(strconv.Itoa(i)); got != want || ok != named {
				t.Errorf("%d properties: %d is %v, %v, without an index %v, %v", n, i, got, ok, want, named)
			}
		}
	}
}
