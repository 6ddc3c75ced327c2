// Package cli has what all commands of the program share: what they see of the world outside, their errors and exit
// codes, the log, and how text is printed.
package cli
