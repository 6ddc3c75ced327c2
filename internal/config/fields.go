package config

import (
	"reflect"
	"strings"
	"unicode"
)

// A field is one key of a struct, as its tags describe it.
type field struct {
	name     string
	doc      string
	enum     []string
	min, max string
	required bool
	tools    bool  // it names tools, those of workers also as TOOL@POOL
	index    []int // of the field, as reflect takes it
}

// fieldsOf returns the keys of a struct type in the order of the file.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, sf := range reflect.VisibleFields(t) {
		tag := sf.Tag
		f := field{
			name:     tag.Get("key"),
			doc:      tag.Get("doc"),
			min:      tag.Get("min"),
			max:      tag.Get("max"),
			required: tag.Get("required") == "true",
			tools:    tag.Get("names") == "tools",
			index:    sf.Index,
		}
		if list := tag.Get("enum"); list != "" {
			f.enum = strings.Split(list, "|")
		}
		if f.name != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// fieldOf returns the field of the given name in a struct.
func fieldOf(v any, name string) field {
	fields := fieldsOf(reflect.TypeOf(v))
	return fields[indexField(fields, name)]
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// setDefaults gives v the values that an entry of its type begins with.
func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(interface{ setDefaults() }); ok {
		d.setDefaults()
	}
}

func asScalar(v reflect.Value) (scalar, bool) {
	if !v.CanAddr() {
		return nil, false
	}
	s, ok := v.Addr().Interface().(scalar)
	return s, ok
}

// envName returns the variable that sets the key at path: timeouts.first_byte is WIELD_TIMEOUTS_FIRST_BYTE.
func envName(path string) string {
	return "WIELD_" + strings.Map(func(r rune) rune {
		if r == '.' {
			return '_'
		}
		return unicode.ToUpper(r)
	}, path)
}

// A leaf is a key with one value that stands at a fixed place, in no list and under no name of the user's choice.
type leaf struct {
	path  string
	field field
	value reflect.Value
}

// leaves lists the keys of a struct that variables and flags can set.
func leaves(prefix string, v reflect.Value) []leaf {
	var found []leaf
	for _, f := range fieldsOf(v.Type()) {
		fv := v.FieldByIndex(f.index)
		path := prefix + f.name
		_, isScalar := asScalar(fv)
		switch {
		case isScalar, fv.Kind() == reflect.String, fv.Kind() == reflect.Int, fv.Kind() == reflect.Bool:
			found = append(found, leaf{path, f, fv})
		case fv.Kind() == reflect.Struct:
			found = append(found, leaves(path+".", fv)...)
		}
	}
	return found
}
