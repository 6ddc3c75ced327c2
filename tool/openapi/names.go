package openapi

import (
	"net/url"
	"strings"
	"unicode"
)

// maxName limits the length of a name: some protocols take no longer ones.
const maxName = 64

// snake writes a name in small letters with underscores: listPets and List-Pets become list_pets.
func snake(name string) string {
	var b strings.Builder
	var before rune
	runes := []rune(name)
	for i, r := range runes {
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) &&
			(unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && next) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return identifier(b.String())
}

// identifier makes a name of letters, digits and single underscores, which is not too long.
func identifier(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range name {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	name = b.String()
	return strings.Trim(name[:min(len(name), maxName)], "_")
}

// madeName names an operation by its method and path: get_pets_by_pet_id.
func madeName(method, path string) string {
	parts := []string{strings.ToLower(method)}
	for _, segment := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			segment = "by_" + strings.TrimSuffix(name, "}")
		}
		if segment = snake(segment); segment != "" {
			parts = append(parts, segment)
		}
	}
	return identifier(strings.Join(parts, "_"))
}

// spoken writes a name as words.
func spoken(name string) string { return strings.ReplaceAll(snake(name), "_", " ") }

// wildcard reports whether a pattern, in which * stands for any characters, fits a text, letters in any case.
func wildcard(pattern, text string) bool {
	parts := strings.Split(strings.ToLower(pattern), "*")
	text = strings.ToLower(text)
	if len(parts) == 1 {
		return parts[0] == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	last := parts[len(parts)-1]
	if !ok || len(text) < len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[:len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

func unescapeFragment(s string) (string, error) { return url.PathUnescape(s) }
