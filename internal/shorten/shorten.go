// Package shorten cuts texts for messages, logs and lists.
package shorten

import (
	"strconv"
	"unicode/utf8"
)

// Text returns the first bytes of a text, to the last whole character, and behind them … if there was more.
func Text(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Quoted puts what a client sent into a message, cut to a length that can be read.
func Quoted(s string) string { return strconv.Quote(Text(s, 80)) }
