package shape

// A Coercion says how a value was made to fit its shape. The texts are those of the notes that record it; "" means that
// there is nothing to record.
type Coercion string

// The coercions.
const (
	Fits         Coercion = ""              // the value fits as it stands
	Coerced      Coercion = "coerced"       // a scalar took the type of its schema without loss
	PythonObject Coercion = "python_object" // a Python literal became JSON
	Uncoerced    Coercion = "uncoerced"     // nothing fits; the value was left as it is
	EnumCase     Coercion = "enum_case"     // an enum value that was written in another case
	ArrayWrap    Coercion = "array_wrap"    // a scalar became an array of one
	ArrayUnwrap  Coercion = "array_unwrap"  // an array of one became its element
)

// Untyped says how the text of a value without a known type is read.
type Untyped uint8

// The ways. A text that cannot be read in any of them is a string.
const (
	UntypedString Untyped = iota // always a string
	UntypedJSON                  // as JSON, else a string
	UntypedPython                // as JSON, else as a Python literal, else a string
)

// CoerceOptions say how Coerce reads.
type CoerceOptions struct {
	Untyped Untyped // how a value of unknown type is read
	Python  bool    // None is null where null is allowed
}

// Coerce reads text, the text of one value in a format that has no types of its own, as the value that s asks for, and
// returns its JSON text.
func Coerce(text string, s *Shape, o CoerceOptions) (json string, c Coercion) { return text, Fits }

// FitScalar makes the JSON text of a scalar, or of an array of one, fit s if that loses nothing. With full it also
// corrects the case of enum values and puts a scalar in, or takes it out of, an array of one. It reports what it did, and
// whether the result fits s; a value that cannot be made to fit is returned as it is.
func FitScalar(json string, s *Shape, full bool) (out string, c Coercion, ok bool) {
	return json, Fits, true
}

// PythonJSON translates src, one Python literal, into JSON text.
func PythonJSON(src string) (json string, ok bool) { return "", false }
