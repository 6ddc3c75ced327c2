// Package files reads and changes files below one directory, for tools that a model steers.
//
// A path from a model is a wish, not an address. So nothing here takes a path, looks at it and then opens it by name: a
// path is cleaned by [Root.Rel], opened once inside the root with [os.Root], looked at through the handle, and used
// through the handle. Whoever swaps a directory for a symbolic link in between gains nothing.
//
// Words:
//
//	root      the one directory that a [Root] works in. Nothing above it or beside it can be named
//	name      a path relative to the root, cleaned, with slashes; "." is the root
//	special   neither a regular file nor a directory: pipes, sockets, devices. They are refused and never waited for
//	shared    a file with more than one name (hard links). Its other name may lie outside, so that it is refused too
//	replace   to write a file beside its old version and put it in its place at once: readers see the old or the new
//
// Symbolic links are followed as long as they stay inside. Rules about which names may be used at all are no business
// of this package; tool/policy has them.
package files
