// Package parsing has the commands that read calls out of texts and tell about dialects.
package parsing
