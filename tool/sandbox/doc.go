// Package sandbox runs programs that a model asked for: with nothing inherited, with limits, behind the walls that the
// system offers, and so that nothing of them is left when they end.
//
// Words:
//
//	run      one program with everything it starts, from Start to Wait
//	tree     the processes of a run: the program, its children, theirs, also those that made themselves independent
//	supervisor   a process between the caller and the tree. Orphans of the tree become its children, whatever they
//	         do to get away, so that it can end them all and knows when there are none
//	level    what is promised: none, limits, workspace, strict
//	layer    a means by which a promise is kept: rlimits, Landlock, seccomp, namespaces
//	marker   a variable in the environment of each process of a run, by which it can be found: Marker
//
// A level that the machine cannot give is an error that says what is missing and how to get it. A run never gets less
// than it asked for without saying so; what it got is in [Process.Effective].
//
// The supervisor is the calling program itself, started again with a hidden first argument. Every program that uses
// this package, and every test binary, calls [Main] before anything else:
//
//	func main() {
//		sandbox.Main()
//		...
//	}
//
// Programs are started from a list of arguments. There is no shell here and no string that is taken apart.
package sandbox
