// Package mcp makes tools of MCP servers: programs that speak the Model Context Protocol over their standard
// input and output, and services that speak it over HTTP.
//
// Words:
//
//   - A server is one program or address. It is connected to when its tools are first asked for, and again when the
//     connection has broken.
//   - The name that a model sees is SERVER__TOOL; on the wire a tool has the server's own name.
//   - A pin is the definition of a tool as it was when it was first seen. A definition that has changed since is held
//     back: the tool is not offered before somebody accepts it.
//
// What a server says of its tools is text from outside. Annotations make a tool stricter, never freer, and
// results are data.
package mcp

import (
	"log/slog"
	"net/http"
	"time"

	"wield/tool/runner"
	"wield/tool/sandbox"
)

// Options say how a server is reached, and what of it is used.
type Options struct {
	Name string // in front of the names of its tools, behind which "__" follows

	Command sandbox.Command // a program; Argv is empty for a service
	Watch   *runner.Watch   // over what the program must not change; nil: over nothing
	URL     string          // the address of a service
	Header  http.Header     // sent to the service with each request, such as a token
	Client  *http.Client    // nil: http.DefaultClient
	OAuth   *OAuth          // how a service is logged in to; nil: not at all

	Allow []string // patterns of the server's names of tools, in which * stands for any characters; empty: all
	Deny  []string // patterns of names that are left out

	Each bool // every one of those on whose behalf calls run has a connection of their own

	Prompts   bool // prompts are used as well
	Resources bool // and resources
	Apps      bool // and documents that show results of tools

	Protocol string // the revision that is asked for, such as 2025-11-25; empty: the newest

	Peer  Peer          // in whose name the connection is made; the zero value: wield's own
	Start time.Duration // how long connecting and listing may take; 0: 30 s
	Pins  *Pins         // where definitions are kept; nil: every definition is taken as it is
	Log   *slog.Logger  // nil: none

	Hide func(string) string // takes secrets out of what the server says; nil: there are none
}

// Bounds of what a server may say of its tools. What exceeds them costs the tool, or what is too many, and
// nothing else.
const (
	maxTools       = 1000
	maxPages       = 1000
	maxProgress    = 1 << 10
	maxOthers      = 1000 // prompts, resources, and templates of resources, of each
	maxDescription = 16 << 10
	maxSchema      = 256 << 10
)

const (
	defaultStart  = time.Minute
	listAgain     = 5 * time.Minute // servers that tell of no changes are asked again
	shortestAgain = 2 * time.Second // however short a server says that its list is good
	firstPause    = time.Second     // before a server that could not be reached is tried again
	longestPause  = time.Minute
	closeTime     = 2 * time.Second // that a service has to take leave of its client
	maxLine       = 400             // of it that is told
	keptErrOutput = 4 << 10         // of what a program writes to its standard error
)

// A Status describes the connection to a server.
type Status struct {
	Connected bool
	Protocol  string // the revision that is spoken, such as 2025-11-25
	Server    string // name and version that the server gives itself
	Tools     int
	Err       error // why it is not connected; nil: nobody has tried
}

// A ServerError reports a problem of a server or of one of its tools.
type ServerError struct {
	Server string // its name
	Err    error
}

func (e *ServerError) Error() string { return "mcp server " + e.Server + ": " + e.Err.Error() }

func (e *ServerError) Unwrap() error { return e.Err }
