package config

// Results says what becomes of results that are used again.
type Results struct {
	Persist bool `key:"persist" doc:"Whether they outlive the program, in a file of the directory data."`
	Size    Size `key:"size" doc:"What they may have there; 0: 64MiB. The oldest go first."`
}
