package config

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"wield/chat"
	"wield/internal/gateway"
	"wield/internal/mask"
)

// Hide returns what replaces every secret that the configuration can look up, wherever it stands in a text.
func (c *Config) Hide(getenv func(string) string) func(string) string {
	return mask.Values(c.secrets(getenv))
}

// secrets returns every secret that the configuration can look up now.
func (c *Config) secrets(getenv func(string) string) []string {
	return secretsIn(c, func(s Secret) (string, error) { return s.Resolve(getenv) })
}

var secretType = reflect.TypeFor[Secret]()

// secretsIn looks up every secret that a part of a configuration refers to, in whatever field it stands, and what is secret about
// one that is an address.
func secretsIn(part any, look lookUp) (list []string) {
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
			if secret, err := look(Secret{ref: ref}); err == nil && secret != "" && !seen[secret] { // another one stands in no text either
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

// A hidden model hides secrets in the errors of a backend: servers repeat the key that they refuse, and an
// error goes to clients, logs, captures, traces and the journal.
type hidden struct {
	next chat.Model
	hide func(string) string
}

// Stream implements chat.Model.
func (h hidden) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		h.next.Stream(ctx, req)(func(e chat.Event, err error) bool {
			if err != nil {
				err = hideError(err, h.hide)
			}
			return yield(e, err)
		})
	}
}

// A hiddenRelay does so for what is passed on as it is.
type hiddenRelay struct {
	next gateway.Relay
	hide func(string) string
}

// Relay implements gateway.Relay.
func (h hiddenRelay) Relay(ctx context.Context, path, contentType string, body []byte) (*http.Response, error) {
	resp, err := h.next.Relay(ctx, path, contentType, body)
	if err != nil {
		err = hideError(err, h.hide)
	}
	return resp, err
}

// hideError returns an error of the same kind without secrets, and err itself if it has none.
func hideError(err error, hide func(string) string) error {
	e := *chat.AsError(err)
	found := false
	for _, text := range []*string{&e.Message, &e.Code, &e.Param} {
		was := *text
		*text = hide(was)
		found = found || *text != was
	}
	if e.Cause != nil {
		if text := e.Cause.Error(); hide(text) != text {
			e.Cause, found = hiddenCause{e.Cause, hide(text)}, true
		}
	}
	if !found {
		return err
	}
	return &e
}

// A hiddenCause is an error whose text is another one.
type hiddenCause struct {
	err  error
	text string
}

func (c hiddenCause) Error() string        { return c.text }
func (c hiddenCause) Is(target error) bool { return errors.Is(c.err, target) }
