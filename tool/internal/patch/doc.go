// Package patch changes files the way language models write changes.
//
// Models write edits in several notations and copy the text they want to change with small errors. This package reads
// the notations into one list of operations, finds the place of each in the file by a ladder of exact rules, and puts
// all files of a list in place or none of them. What is shown to a person and what is written come from the same
// values.
//
// Words:
//
//   - A syntax is a notation for edits: blocks of search and replace text, patches, whole files. [Parse] knows five.
//   - An operation ([Op]) says how one file changes: made, changed, deleted, moved.
//   - A hunk is one place of a file that changes: lines that stay, lines that go, lines that come.
//   - The ladder is the order of rules by which a hunk is found, from byte for byte to more and more lenient. Each rule
//     is deterministic, and must find exactly one place. Nothing is ever placed because it is similar.
//   - A step ([edit.Step]) is the rule that found a hunk. It is reported, so that a person and the model can see what
//     was overlooked.
//   - A change ([edit.Change]) is a file before and after.
//
// Inserted text is inserted as it is written: nothing in it is a pattern or a reference. Line ends, a byte order mark
// and a missing newline at the end of a file stay what they were, as do the bytes of lines that a hunk only names as
// context.
package patch
