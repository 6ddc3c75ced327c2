package dialect

// The dialects with elements whose attribute is the name.
var invokeRows = []Dialect{}
