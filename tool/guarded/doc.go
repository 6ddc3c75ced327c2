// Package guarded knows the files that no tool changes by itself: those that decide what tools may do, and those that
// other programs run later, when nobody looks any more.
//
// [Of] classifies a path by its names, [Find] lists such files of a workspace, and a [Snapshot] tells which
// of them have changed while a process ran.
package guarded
