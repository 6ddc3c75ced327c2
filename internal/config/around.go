package config

// An AroundProgram is asked about calls of tools.
type AroundProgram struct {
	Command []string `key:"command" required:"true" doc:"Program and its arguments, as a shell would find it from the directory that wield runs in."`
	Tools   []Glob   `key:"tools" doc:"Patterns of the only tools whose calls it is asked about. Empty: all."`
	Hooks   []string `key:"hooks" enum:"before|after" doc:"When it is asked. Empty: before a tool runs and afterwards."`
	Timeout Duration `key:"timeout" doc:"For one answer of the program; 0s: 10s."`
	Network bool     `key:"network" doc:"Whether the program may reach the network."`
	Write   []string `key:"write" doc:"Directories and files that the program may change; they must exist."`
}
