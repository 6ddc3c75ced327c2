package dialect

// The dialects with a name and pairs of key and value elements.
var pairRows = []Dialect{}
