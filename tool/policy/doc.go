// Package policy decides about tool calls before they run: allow, ask a person, or deny.
//
// Words:
//
//   - A rule says what becomes of the calls that its selector fits. Order and specificity of rules mean nothing: of all
//     rules that fit, the strictest decides, and deny is stricter than ask, ask stricter than allow.
//   - A subject is one thing that a call would do: a command that would run, a path that would be used, a host that
//     would be asked, or the call of the tool itself where nothing else is known. A call is decided by its strictest
//     subject.
//   - The facts of a call are the commands, paths and URLs in it. The tool says which of its arguments they are;
//     nothing is guessed here. What a command line does is read from the shell's syntax tree.
//   - A built-in check needs no rule: files outside the root, key material, hooks of a repository, addresses of the own
//     network. It can make a decision stricter, never milder.
//   - A command is undecidable if what would run is known only when it runs, as with a program name in a variable. Such
//     a command is asked about at least.
//   - The table of programs tells which options of a program run other programs, write, or read elsewhere. A rule that
//     allows a program does not allow those, unless it spells them.
//
// Rules keep an honest model from damage and a person informed. They are no wall: a program that is allowed to run can
// do what its user can. The wall is the sandbox that processes run in.
package policy
