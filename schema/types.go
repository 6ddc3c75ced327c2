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
	{"null", shape.Null}, {"boolean", shape.Boolean}, {"integer", shape.Integer}, {"number", shape.Number | shape.Integer},
	{"string", shape.String}, {"array", shape.Array}, {"object", shape.Object},
}

// typeAliases are names of other type systems that stand in tool definitions, by the type of JSON Schema they mean.
var typeAliases = [...]struct {
	types shape.Types
	names []string
}{
	{shape.Null, []string{"none", "nonetype", "nil"}},
	{shape.Boolean, []string{"bool"}},
	{shape.Integer, []string{"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "long", "short", "bigint"}},
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

// nearest returns the one of names that is most like name, if any is close enough to be a slip of the pen.
func nearest(name string, names []string) (string, bool) {
	best, found := min(3, len(name)/2+1), ""
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n), best); d < best {
			best, found = d, n
		}
	}
	return found, found != ""
}

// distance returns how many bytes must be added, removed, changed or swapped with their neighbour to make b of a; at least
// limit if it is more than that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 64 || len(b) > 64 {
		return limit
	}
	var rows [3][65]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, up, up2 := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(up[j]+1, cur[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], up2[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
