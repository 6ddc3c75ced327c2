// Package tools has the commands that show, add, check and run tools and MCP servers, and the one that runs a program
// in the sandbox.
package tools
