// Package note names the kinds of notes that only the decoder writes.
package note

import "wield/chat"

// The kinds. chat.NoteKind says which level of repair each needs.
const (
	BOM              chat.NoteKind = "byte_order_mark"
	WrappedJSON      chat.NoteKind = "arguments_string" // arguments were a JSON string holding the object
	MissingArguments chat.NoteKind = "missing_arguments"
	TrailingComma    chat.NoteKind = "trailing_comma"
	Comment          chat.NoteKind = "comment"
	SingleQuotes     chat.NoteKind = "single_quotes"
	Literal          chat.NoteKind = "literal" // a Python or JavaScript literal
	RawNewline       chat.NoteKind = "raw_control_character"
	Escape           chat.NoteKind = "escape" // an escape that JSON does not have
	UnquotedKey      chat.NoteKind = "unquoted_key"
	KeyAlias         chat.NoteKind = "key_alias" // args, input, parameters for arguments
	MissingMarkup    chat.NoteKind = "missing_markup_closer"
	ExtraCloser      chat.NoteKind = "extra_closer"
	Envelope         chat.NoteKind = "envelope" // an extra layer around the call was removed
	MissingCloser    chat.NoteKind = "missing_json_closer"
	Coerced          chat.NoteKind = "coerced"       // a scalar was made to fit its schema without loss
	PythonObject     chat.NoteKind = "python_object" // a Python dict or list became JSON
	// a value that is no literal was taken as its source text
	SourceText chat.NoteKind = "source_text"
	Name       chat.NoteKind = "name"                    // the name was written differently than declared
	More       chat.NoteKind = "more"                    // repairs that no notes were made of; Before says how many
	Promoted   chat.NoteKind = "promoted_from_reasoning" // a call in reasoning that was never closed
)
