package schema

import (
	"slices"
	"strings"

	"wield/schema/shape"
)

// anyType is every type there is.
const anyType = shape.Null | shape.Boolean | shape.Integer | shape.Number | shape.String | shape.Array | shape.Object

// typeNames are the types of JSON Schema. Every number type holds the integers.
var typeNames = [...]struct {
	name  string
	types shape.Types
}{
	{"null", shape.Null}, {"boolean", shape.Boolean}, {"integer", shape.Integer},
	{"number", shape.Number | shape.Integer}, {"string", shape.String}, {"array", shape.Array},
	{"object", shape.Object},
}

// typeAliases are names of other type systems that stand in tool definitions, by the type of JSON Schema they mean.
var typeAliases = [...]struct {
	types shape.Types
	names []string
}{
	{shape.Null, []string{"none", "nonetype", "nil"}},
	{shape.Boolean, []string{"bool"}},
	{shape.Integer, []string{"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64",
		"long", "short", "bigint"}},
	{shape.Number | shape.Integer, []string{"float", "float32", "float64", "double", "decimal", "numeric", "real"}},
	{shape.String, []string{"str", "text", "varchar", "char", "uuid", "enum", "date", "datetime", "date-time", "time"}},
	{shape.Array, []string{"list", "tuple", "set", "arraylist"}},
	{shape.Object, []string{"dict", "map", "hashmap", "mapping"}},
	{anyType, []string{"any", ""}},
}

// typeOf returns the types that a name in a schema stands for: a type of JSON Schema, in any case, or an alias, where
// list[str], list<str> and the like count as list.
func typeOf(name string) (shape.Types, bool) {
	name = strings.ToLower(name)
	if i := strings.IndexAny(name, "[<("); i > 0 {
		name = name[:i]
	}
	for _, t := range typeNames {
		if t.name == name {
			return t.types, true
		}
	}
	for _, a := range typeAliases {
		if slices.Contains(a.names, name) {
			return a.types, true
		}
	}
	return 0, false
}

// listTypes writes a set of types as "integer, string or null".
func listTypes(t shape.Types) string {
	var names []string
	for i := len(typeNames) - 1; i >= 0; i-- {
		n := typeNames[i]
		if t.Has(n.types) && (n.types != shape.Integer || !t.Has(shape.Number)) {
			names = append(names, n.name)
		}
	}
	slices.Reverse(names)
	if i := slices.Index(names, "null"); i >= 0 {
		names = append(slices.Delete(names, i, i+1), "null")
	}
	return listOr(names)
}

// listOr writes "a", "a or b", "a, b or c".
func listOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
