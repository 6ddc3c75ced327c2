package dialect

// The dialects in which the header of a message says what its body is.
var channelRows = []Dialect{}
