package compose

import "strings"

// saysError reports whether err is none, if nothing is wanted, or says what is wanted.
func saysError(err error, want string) bool {
	if want == "" || err == nil {
		return want == "" && err == nil
	}
	return strings.Contains(err.Error(), want)
}
