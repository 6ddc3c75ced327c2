package dialect

// A keyIndex finds the keys of one object: those of a list from an index on, in which the keys of all open
// objects stand.
type keyIndex struct {
	from   int
	byName map[string]int // once there are many
}

// A keyed is an element of such a list.
type keyed interface{ Name() string }

// fewKeys is how many keys of an object are compared one by one.
const fewKeys = 32

// findKey returns where key stands in the list, or -1.
func findKey[T keyed](x *keyIndex, list []T, key string) int {
	if x.byName == nil && len(list)-x.from > fewKeys {
		x.byName = make(map[string]int)
		for j := x.from; j < len(list); j++ {
			x.byName[list[j].Name()] = j
		}
	}
	if x.byName != nil {
		if j, ok := x.byName[key]; ok {
			return j
		}
		return -1
	}
	for j := x.from; j < len(list); j++ {
		if list[j].Name() == key {
			return j
		}
	}
	return -1
}

// addKey adds a key that the object does not have yet.
func addKey[T keyed](x *keyIndex, list []T, k T) []T {
	if x.byName != nil {
		x.byName[k.Name()] = len(list)
	}
	return append(list, k)
}
