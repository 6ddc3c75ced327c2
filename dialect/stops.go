package dialect

import (
	"unicode/utf8"

	"wield/dialect/internal/chars"
)

// The bytes that do not simply belong to what is read.
var (
	// a tagged value: what is escaped in JSON, or may begin the end of the value
	tagStop         = chars.Escaped.With("<")
	entityStop      = tagStop.With("&")                 // where character references are decoded
	referenceStop   = chars.Set{}.With("<&")            // what makes such a value more than clean text
	elementStop     = chars.Escaped.With("]")           // where tags begin with a bracket
	openTagStop     = chars.Set{}.With("<")             // the same without what is escaped
	lineTagStop     = openTagStop.With("\r\n")          // where lines around a value belong to its tags
	bracketStop     = chars.Set{}.With("]")             // where tags begin with a bracket
	tagNameStop     = chars.Set{}.With("<>\n")          // a name in a tag
	elementNameStop = tagNameStop.With("/ \t\r")        // the same where it ends with the tag
	quotedNameStop  = chars.Controls().With(`"'<`)      // the same in quotes
	bareNameStop    = chars.Set{}.With("\n<{ \t\r")     // a name in no tag
	parenStop       = chars.Set{}.With("\"'\\()[]{}\n") // arguments that are only looked through for their end
	literalStop     = chars.Escaped.With("<")           // a string between tokens
	waitStop        = chars.Escaped.With("(")           // a key or a name that waits for its end
	lineStop        = chars.Set{}.With("\n")            // a line that is read as a whole
	blockStop       = chars.Escaped                     // a line of a block: what is escaped in JSON
)

// yamlStop are the bytes of a scalar of YAML that may be more than text, or that JSON writes in another way.
var yamlStop = func() (s chars.Set) {
	for c := range s {
		if c == '#' || c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			s[c] = 1
		}
	}
	return s
}()

// headerWord are the bytes of the words and spaces in the header of a message.
var headerWord = func() (s chars.Set) {
	for c := range s {
		if c := byte(c); isNameByte(c) || c == '=' || c == ' ' || c == ':' {
			s[c] = 1
		}
	}
	return s
}()

// headerStop are the others, and the bytes that tokens begin with.
var headerStop = headerWord.Inverse()

// literalNameStop are the bytes that do not belong to the name before the braces of a call in Gemma's literals.
var literalNameStop = headerStop.With("=")

// wordStop are the bytes that do not belong to a keyword.
var wordStop = func() (s chars.Set) {
	for c := range s {
		if c := byte(c); chars.IsWord(c) || c == '\\' {
			s[c] = 1
		}
	}
	return s.Inverse()
}()
