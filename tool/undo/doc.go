// Package undo keeps what actions change in files, so that each can be taken back.
//
// Words:
//
//   - An action is one call of a tool that changes files, all of them or none.
//   - A [Log] is a directory with the last actions: which files each has changed, what stood in them before, and the
//     hash of what it wrote.
//   - To undo an action is to put back what stood there before. It is refused when any of the files is not what the
//     action made of it: whatever came later would be lost.
//
// What is needed to undo an action is on disk before the first of its files is touched, so that a process that ends
// in between leaves nothing that could not be undone.
package undo
