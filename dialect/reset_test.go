package dialect

import (
	"bytes"
	"reflect"
	"testing"

	"wield/schema/shape"
)

// TestResetLeavesNothing looks through all that a decoder holds, and what lies behind it, for the text that
// it read before it was Reset: the example of each dialect, whole and cut short.
func TestResetLeavesNothing(t *testing.T) {
	for i := range table {
		o := Options{Dialect: table[i].Name, Tools: []shape.Tool{{Name: "N"}}, Edits: true}
		example := table[i].Example
		for _, text := range []string{example, "before\n" + example, "<think>before" + example,
			example[:len(example)/2], example[:len(example)-2]} {
			d, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for k := 0; k < len(text); k += 3 {
				d.Feed(nil, text[k:min(k+3, len(text))])
			}
			d.Reset()
			held := reachable(d)
			for k := 0; k+5 <= len(text); k++ {
				if bytes.Contains(held, []byte(text[k:k+5])) {
					t.Fatalf("%s: of %q %q is reachable from the decoder", o.Dialect, text, text[k:k+5])
				}
			}
		}
	}
}

// reachable returns the bytes that the fields of a decoder lead to, its set apart: those of slices up to
// their capacity.
func reachable(d *Decoder) (all []byte) {
	walked := make(map[uintptr]bool)
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() || v.Type() == reflect.TypeFor[*set]() {
				return
			}
			if v.Kind() == reflect.Pointer {
				if walked[v.Pointer()] && v.Type() == reflect.TypeFor[*Decoder]() {
					return
				}
				walked[v.Pointer()] = true
			}
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.String:
			all = append(all, v.String()...)
		case reflect.Slice:
			v = v.Slice3(0, v.Cap(), v.Cap())
			for i := range v.Len() {
				if e := v.Index(i); e.Kind() == reflect.Uint8 {
					all = append(all, byte(e.Uint()))
				} else {
					walk(e)
				}
			}
		}
	}
	walk(reflect.ValueOf(d))
	return all
}
