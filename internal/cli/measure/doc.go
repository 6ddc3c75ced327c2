// Package measure has the commands that measure how well calls are read and which way of calling tools suits a model.
package measure
