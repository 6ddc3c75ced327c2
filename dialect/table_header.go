package dialect

// The dialects with the name first and a JSON object behind it.
var headerRows = []Dialect{}
