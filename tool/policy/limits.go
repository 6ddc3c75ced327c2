package policy

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ArgumentLimits bound the arguments of a call. A zero field is no limit, but for Key.
type ArgumentLimits struct {
	Bytes  int // of the JSON text
	Keys   int // members of objects, all together
	Key    int // bytes of one name; 0: 1024
	String int // bytes of one string
	Digits int // characters of one number
}

const defaultKey = 1024

// exceeded says which limit a text exceeds, which is strict JSON; "" if none.
func (l ArgumentLimits) exceeded(text string) string {
	if l.Key == 0 {
		l.Key = defaultKey
	}
	if l.Bytes > 0 && len(text) > l.Bytes {
		return fmt.Sprintf("the arguments have %d bytes, and may have %d", len(text), l.Bytes)
	}
	if l.Keys == 0 && l.String == 0 && l.Digits == 0 && len(text) <= l.Key {
		return ""
	}
	keys := 0
	for d := jsontext.NewDecoder(strings.NewReader(text)); ; {
		kind, length := d.StackIndex(d.StackDepth())
		name := kind == '{' && length%2 == 0
		value, err := d.ReadToken()
		if err != nil {
			return "" // the end
		}
		n := 0
		switch value.Kind() {
		case '"', '0':
			n = len(value.String())
		default:
			continue
		}
		switch {
		case name:
			if keys++; l.Keys > 0 && keys > l.Keys {
				return fmt.Sprintf("the arguments have more than %d names", l.Keys)
			}
			if n > l.Key {
				return fmt.Sprintf("a name of %d bytes, and it may have %d", n, l.Key)
			}
		case value.Kind() == '"' && l.String > 0 && n > l.String:
			return fmt.Sprintf("a text of %d bytes, and it may have %d", n, l.String)
		case value.Kind() == '0' && l.Digits > 0 && n > l.Digits:
			return fmt.Sprintf("a number of %d digits, and it may have %d", n, l.Digits)
		}
	}
}
