// Package apikey finds the key of a client in its request.
package apikey

import (
	"net/http"
	"strings"
)

// FromHeader returns the key that a client sent as each of the protocols has it: as a bearer token, or in the header of
// the Anthropic or the Gemini API. Authorization may hold the key alone. Any other scheme there is of somebody else,
// such as a proxy in front of the service.
func FromHeader(h http.Header) string {
	scheme, key, schemed := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(key) != "":
		return strings.TrimSpace(key)
	case scheme != "" && !schemed && !strings.EqualFold(scheme, "Bearer"):
		return scheme
	}
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return h.Get("X-Goog-Api-Key")
}
