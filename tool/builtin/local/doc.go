// Package local has the tools for a model that works on files by writing blocks of text, as people paste them:
//
//	```edit
//	=== FILE: greet.go
//	<<<<<<< SEARCH
//	return "hello"
//	=======
//	return "hello, " + name
//	>>>>>>> REPLACE
//	```
//
// The dialect cli-block reads such a block as a call of the tool edit. To a runner it is a call like any other: the
// same policy, approvals, sandbox and records, whichever way a model writes it.
//
// Words:
//
//   - A kind is a kind of block: read, edit, create, or an executor. Each is a tool.
//   - An executor is a program that gets the text of a block as its last argument, such as bash -c.
//   - The tracker remembers for the tools of one list how files were when the model or a person saw them, so that an
//     edit of a file that has changed since is refused, and which edits have failed.
package local
