package config

import (
	"net/url"
	"reflect"
	"slices"

	"wield/internal/mask"
)

// Hide returns what replaces every secret that the configuration can look up, wherever it stands in a text.
func (c *Config) Hide(getenv func(string) string) func(string) string {
	return mask.Values(c.Secrets(getenv))
}

// Secrets returns every secret that the configuration can look up now.
func (c *Config) Secrets(getenv func(string) string) []string {
	return SecretsIn(c, func(s Secret) (string, error) { return s.Resolve(getenv) })
}

var secretType = reflect.TypeFor[Secret]()

// SecretsIn looks up every secret that a part of a configuration refers to, in whatever field it stands, and what is
// secret about one that is an address.
func SecretsIn(part any, look LookUp) (list []string) {
	seen := map[string]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch {
		case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case v.Kind() == reflect.Map:
			for it := v.MapRange(); it.Next(); {
				walk(it.Value())
			}
		case v.Type() == secretType:
			ref := v.Field(0).String()
			if secret, err := look(Secret{ref: ref}); err == nil && secret != "" && !seen[secret] {
				// another one stands in no text either
				seen[secret] = true
				list = append(list, secret)
				if u, err := url.Parse(secret); err == nil && u.User != nil {
					if password, ok := u.User.Password(); ok {
						list = append(list, password)
					}
				}
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(part))
	slices.Sort(list)
	return list
}
