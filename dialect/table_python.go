package dialect

// The dialects with the syntax of function calls, of Gemma literals, and of lines.
var pythonRows = []Dialect{}
