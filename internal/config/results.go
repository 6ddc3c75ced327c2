package config

// Results says what becomes of results that are used again.
type Results struct {
	Persist bool `key:"persist" doc:"Keep results in a file in data."`
	Size    Size `key:"size" doc:"Size of that file; 0: 64MiB."`
}
