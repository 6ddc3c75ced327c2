package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"wield/chat"
	"wield/schema"
)

// Func makes a tool of a Go function. In is a struct; its schema is inferred from it: fields are named by their json
// tag, those without omitempty or omitzero are required, the tag jsonschema says what they mean. Out is anything that
// encoding/json writes, or a Result. What is wrong with In is told when the tool is added to a registry.
//
// Numbers in fields of type any arrive as json.Number, with all their digits.
func Func[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error)) *Tool {
	return Stream(name, description, func(ctx context.Context, _ *Call, in In) (Out, error) { return f(ctx, in) })
}

// Stream makes a tool as Func does, of a function that also gets the call itself, to tell how far it is and where it
// may write.
func Stream[In, Out any](name, description string, f func(ctx context.Context, c *Call, in In) (Out, error)) *Tool {
	t := &Tool{Definition: chat.Tool{Name: name, Description: description}}
	t.Definition.Parameters, t.err = inputSchema[In]()
	loose := holdsAny(reflect.TypeFor[In](), make(map[reflect.Type]bool))
	t.Handler = HandlerFunc(func(ctx context.Context, c *Call) (Result, error) {
		var in In
		if err := decode(c.Arguments, &in, loose); err != nil {
			return Result{}, err
		}
		out, err := f(ctx, c, in)
		if err != nil {
			return Result{}, err
		}
		return resultOf(out)
	})
	return t
}

// Raw makes a tool with a schema of its own. f gets the call with its arguments as JSON text that fits the schema.
func Raw(name, description string, parameters json.RawMessage, f func(ctx context.Context, c *Call) (Result,
	error)) *Tool {
	return &Tool{Definition: chat.Tool{Name: name, Description: description, Parameters: parameters},
		Handler: HandlerFunc(f)}
}

func inputSchema[In any]() (json.RawMessage, error) {
	if t := reflect.TypeFor[In](); t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("its input is %s, and must be a struct whose fields are the arguments", t)
	}
	return schema.For[In]()
}

// decode reads arguments that fit the schema of in. loose says that in has a place for any value, where a number has
// to keep its digits; a decoder costs more than reading a text at once.
func decode(arguments string, in any, loose bool) (err error) {
	if loose {
		dec := json.NewDecoder(strings.NewReader(arguments)) // one strict object: nothing stands behind it
		dec.UseNumber()
		err = dec.Decode(in)
	} else {
		err = json.Unmarshal([]byte(arguments), in)
	}
	if err != nil {
		return &Error{Kind: ErrInvalid, Message: "Invalid arguments: " + err.Error(), Cause: err}
	}
	return nil
}

// holdsAny reports whether a value of type t has a place for any value.
func holdsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsAny(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

func resultOf[Out any](out Out) (Result, error) {
	switch v := any(out).(type) {
	case Result:
		return v, nil
	case string:
		return Text(v), nil
	}
	return JSON(out)
}

// Example returns the first JSON object in a description.
func Example(description string) (string, bool) {
	for i := 0; i < len(description); i++ {
		if description[i] != '{' {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(description[i:]))
		var raw json.RawMessage
		if dec.Decode(&raw) == nil {
			return string(raw), true
		}
	}
	return "", false
}
