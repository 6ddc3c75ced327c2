package apikey

import (
	"net/http"
	"testing"
)

func TestFromHeader(t *testing.T) {
	for _, c := range []struct{ authorization, anthropic, gemini, want string }{
		{},
		{authorization: "Bearer k", want: "k"},
		{authorization: "bearer  k ", want: "k"},
		{authorization: "k", want: "k"},
		{authorization: "Bearer", want: ""},
		{authorization: "Bearer ", anthropic: "a", want: "a"},
		{authorization: "Basic dTpw", want: ""},
		{authorization: "Basic dTpw", anthropic: "a", want: "a"},
		{authorization: "Bearer k", anthropic: "a", gemini: "g", want: "k"},
		{anthropic: "a", gemini: "g", want: "a"},
		{gemini: "g", want: "g"},
	} {
		h := http.Header{}
		for name, v := range map[string]string{"Authorization": c.authorization, "X-Api-Key": c.anthropic,
			"X-Goog-Api-Key": c.gemini} {
			if v != "" {
				h.Set(name, v)
			}
		}
		if got := FromHeader(h); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
