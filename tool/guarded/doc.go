// Package guarded remembers which files that decide about tools a person has agreed to, and which changes of them are
// held back until one does.
package guarded
