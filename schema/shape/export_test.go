package shape

const (
	ArrayUnwrap  = arrayUnwrap
	ArrayWrap    = arrayWrap
	Coerced      = coerced
	EnumCase     = enumCase
	PythonObject = pythonObject
)

var PythonJSON = pythonJSON
