// Package runs has the commands that give an agent a task, and those that look at what runs did.
package runs
