package value

// A Keys finds the keys of one object: those of a list from an index on, in which the keys of all open
// objects stand.
type Keys struct {
	From   int
	byName map[string]int // once there are many
}

// A keyed is an element of such a list.
type keyed interface{ Name() string }

// fewKeys limits the keys of an object that are compared one by one.
const fewKeys = 32

// FindKey returns where key stands in the list, or -1.
func FindKey[T keyed](x *Keys, list []T, key string) int {
	if x.byName == nil && len(list)-x.From > fewKeys {
		x.byName = make(map[string]int)
		for j := x.From; j < len(list); j++ {
			x.byName[list[j].Name()] = j
		}
	}
	if x.byName != nil {
		if j, ok := x.byName[key]; ok {
			return j
		}
		return -1
	}
	for j := x.From; j < len(list); j++ {
		if list[j].Name() == key {
			return j
		}
	}
	return -1
}

// AddKey adds a key that the object does not have yet.
func AddKey[T keyed](x *Keys, list []T, k T) []T {
	if x.byName != nil {
		x.byName[k.Name()] = len(list)
	}
	return append(list, k)
}
