package dialect

// callParts hold the parts of one call that have been read.
type callParts struct {
	at        int // where its text begins
	name      string
	named     bool
	tool      int
	known     bool
	unknown   bool
	id        string
	reasoning string
	argsFrom  int // arguments that came before the name, in the held text
	argsTo    int
	argsKey   string
	nameKey   string
	started   bool
	done      bool // the arguments were read
	layered   bool // it stands in an object of its own inside the call
	flat      []flatValue
	said      bool // it has text that is content, as a result has
}

// A flatValue is a value under a key that has no meaning at call level. Where a call has no arguments of its
// own, these are them.
type flatValue struct {
	key      string
	from, to int
}

// keyClass gives the meaning of a key at call level.
type keyClass uint8

const (
	keyOther keyClass = iota
	keyName
	keyFunction // a name, or the object that holds the call
	keyArguments
	keyID
	keyReasoning
	keyCalls // an array of calls
	keyCall  // an object that holds the call
	keyDescription
	keyContent // text beside an array of calls
)

// A callKey is a key that has a meaning at call level.
type callKey struct {
	word  string
	class keyClass
	full  bool // only at the level full
}

// callKeys are those keys, by their length.
var callKeys = func() (keys [16][]callKey) {
	for class, words := range [...][]string{
		keyName: {"name", "tool", "tool_name"}, keyFunction: {"function"},
		keyArguments: {"arguments", "parameters", "args", "input"},
		keyID:        {"id", "tool_call_id", "call_id"}, keyReasoning: {"reasoning"},
		keyCalls: {"tool_calls"}, keyCall: {"tool_call", "function_call"},
		keyOther: {"type", "index"}, keyContent: {"content", "response"},
		keyDescription: {"description"},
	} {
		for _, w := range words {
			keys[len(w)] = append(keys[len(w)], callKey{word: w, class: keyClass(class)})
		}
	}
	for _, k := range []callKey{{"params", keyArguments, true}, {"func", keyName, true}} {
		keys[len(k.word)] = append(keys[len(k.word)], k)
	}
	return keys
}()

// meaning returns what the key means, if it means anything.
func meaning(key []byte) (k callKey, ok bool) {
	if len(key) < len(callKeys) {
		for _, k := range callKeys[len(key)] {
			if k.word == string(key) {
				return k, true
			}
		}
	}
	return callKey{}, false
}

// belong reports whether the keys for a name and for arguments go together; any other pair is a repair.
func belong(name, args string) bool {
	return name == "name" && args == "arguments" || pairs[[2]string{name, args}]
}

var pairs = map[[2]string]bool{
	{"name", "parameters"}: true, {"function", "arguments"}: true, {"function", "parameters"}: true,
	{"tool", "args"}: true, {"tool_name", "parameters"}: true, {"tool_name", "arguments"}: true,
}
