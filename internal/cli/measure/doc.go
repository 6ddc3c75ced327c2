// Package measure has the commands that measure how well calls are read and which way of calling tools suits a model,
// and that show what a model is told.
package measure
