package dialect

// A record is what was read of one call.
type record struct {
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
}

// A flatValue is a value under a key that has no meaning at call level. Where a call has no arguments of its own, these are them.
type flatValue struct {
	key      string
	from, to int
}

// keyClass is what a key at call level means.
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

var keyClasses = map[string]keyClass{
	"name": keyName, "tool": keyName, "tool_name": keyName, "function": keyFunction,
	"arguments": keyArguments, "parameters": keyArguments, "args": keyArguments, "input": keyArguments,
	"id": keyID, "tool_call_id": keyID, "call_id": keyID, "reasoning": keyReasoning,
	"tool_calls": keyCalls, "tool_call": keyCall, "function_call": keyCall,
	"type": keyOther, "index": keyOther, "content": keyContent, "response": keyContent,
	"description": keyDescription,
}

// pairs are the keys for a name and for arguments that belong together; any other pair is a repair.
var pairs = map[[2]string]bool{
	{"name", "arguments"}: true, {"name", "parameters"}: true, {"function", "arguments"}: true, {"function", "parameters"}: true,
	{"tool", "args"}: true, {"tool_name", "parameters"}: true, {"tool_name", "arguments"}: true,
}
