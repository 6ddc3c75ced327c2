package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// hideAnswers takes secrets out of what a server answers: definitions, results and errors.
func (s *Server) hideAnswers(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		if err == nil {
			err = hideIn(result, s.o.Hide)
		}
		if err != nil {
			return nil, hideError(err, s.o.Hide)
		}
		return result, nil
	}
}

// hideAsked takes secrets out of what a server asks and tells.
func (s *Server) hideAsked(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if err := hideIn(r.GetParams(), s.o.Hide); err != nil {
			return nil, err
		}
		return next(ctx, method, r)
	}
}

// hideIn takes secrets out of the texts of a message, which is a pointer.
func hideIn(message any, hide func(string) string) error {
	v := reflect.ValueOf(message)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	raw, err := json.Marshal(message)
	if err != nil || hide(string(raw)) == string(raw) {
		return nil // who reads it says what is wrong
	}
	clean := reflect.New(v.Type().Elem())
	if err := json.Unmarshal(hideJSON(raw, hide), clean.Interface()); err != nil {
		return errors.New("it repeats a secret where none can be left out")
	}
	v.Elem().Set(clean.Elem())
	return nil
}

// hideJSON takes secrets out of the names and texts of a value.
func hideJSON(raw json.RawMessage, hide func(string) string) json.RawMessage {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	clean, _ := json.Marshal(hideValue(v, hide)) // it came as JSON
	return clean
}

func hideValue(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		for i := range v {
			v[i] = hideValue(v[i], hide)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, one := range v {
			clean[hide(name)] = hideValue(one, hide)
		}
		return clean
	}
	return v
}

// hideError returns an error without secrets, and err itself if it has none.
func hideError(err error, hide func(string) string) error {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		wire.Message = hide(wire.Message)
		if len(wire.Data) > 0 {
			wire.Data = hideJSON(wire.Data, hide)
		}
	}
	if text := err.Error(); hide(text) != text {
		return &hiddenError{hide(text), err}
	}
	return err
}

// A hiddenError is an error whose text has no secrets.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }
