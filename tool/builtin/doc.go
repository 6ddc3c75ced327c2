// Package builtin is a set of useful tools: files, searching and editing them, commands, the web, sums, dates,
// databases.
//
// Words:
//
//   - A builder makes one tool of the options; [Names] lists those there are.
//   - The workspace is the directory that a call works in. File tools see nothing else.
//   - A window is the part of a long file that one call reads; the answer says where the next begins.
//
// All of them are switched off until somebody switches them on, and change nothing unless their mode is rw. What they
// are allowed to touch is decided before they run, by the policy and the guard, from the facts that stand beside each
// definition; the tools themselves only keep to the workspace, to their limits and to what they say.
package builtin
