package dialect

// The dialects with a marker and a JSON value: the JSON decides where the call ends.
var jsonRows = []Dialect{}
