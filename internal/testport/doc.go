// Package testport reserves addresses for servers that tests start, end and start again.
package testport
