package check

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// SameJSON reports whether two JSON texts hold the same value. The order of keys and white space are free; a number
// must have the same text, so that 1.0 is not 1.
func SameJSON(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := DecodeJSON(a)
	y, errY := DecodeJSON(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// DecodeJSON reads one value and keeps the text of numbers.
func DecodeJSON(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = errors.New("more than one value")
	}
	return v, err
}
