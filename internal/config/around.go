package config

// An AroundProgram is asked about calls of tools.
type AroundProgram struct {
	Command []string `key:"command" required:"true" doc:"Program and arguments."`
	Tools   []Glob   `key:"tools" names:"tools" doc:"Tools whose calls it sees. Empty: all."`
	Hooks   []string `key:"hooks" enum:"before|after" doc:"When it is asked. Empty: before and after a call."`
	Timeout Duration `key:"timeout" doc:"Timeout of one response; 0s: 10s."`
	Network bool     `key:"network" doc:"Allow network access."`
	Write   []string `key:"write" doc:"Existing directories and files it may change."`
}
