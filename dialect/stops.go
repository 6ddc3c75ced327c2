package dialect

import "unicode/utf8"

// The bytes that do not simply belong to what is read.
var (
	tagStop        = doubleStop.with("<")            // a tagged value: what is escaped in JSON, or may begin the end of the value
	entityStop     = tagStop.with("&")               // where character references are decoded
	referenceStop  = byteSet{}.with("<&")            // what makes such a value more than clean text
	elementStop    = doubleStop.with("]")            // where tags begin with a bracket
	openTagStop    = byteSet{}.with("<")             // the same without what is escaped
	lineTagStop    = openTagStop.with("\r\n")        // where lines around a value belong to its tags
	bracketStop    = byteSet{}.with("]")             // where tags begin with a bracket
	tagNameStop    = byteSet{}.with("<>\n")          // a name in a tag
	quotedNameStop = controls().with(`"'<`)          // the same in quotes
	attributeStop  = byteSet{}.with("<>\n")          // attributes behind a name
	bareNameStop   = byteSet{}.with("\n<{ \t\r")     // a name in no tag
	parenStop      = byteSet{}.with("\"'\\()[]{}\n") // arguments that are only looked through for their end
	literalStop    = doubleStop.with("<")            // a string between tokens
	waitStop       = doubleStop.with("(")            // a key or a name that waits for its end
	lineStop       = byteSet{}.with("\n")            // a line that is read as a whole
	blockStop      = doubleStop                      // a line of a block: what is escaped in JSON
)

// yamlStop are the bytes of a scalar of YAML that may be more than text, or that JSON writes in another way.
var yamlStop = func() (s byteSet) {
	for c := range s {
		if c == '#' || c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			s[c] = 1
		}
	}
	return s
}()

// headerWord are the bytes of the words and spaces in the header of a message.
var headerWord = func() (s byteSet) {
	for c := range s {
		if c := byte(c); isNameByte(c) || c == '=' || c == ' ' || c == ':' {
			s[c] = 1
		}
	}
	return s
}()

// headerStop are the others, and the bytes that tokens begin with.
var headerStop = headerWord.inverse()

// literalNameStop are the bytes that do not belong to the name before the braces of a call in Gemma's literals.
var literalNameStop = headerStop.with("=")

// wordStop are the bytes that do not belong to a keyword.
var wordStop = func() (s byteSet) {
	for c := range s {
		if c := byte(c); isWord(c) || c == '\\' {
			s[c] = 1
		}
	}
	return s.inverse()
}()
