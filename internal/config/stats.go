package config

// Stats says how long numbers are kept.
type Stats struct {
	Off  bool     `key:"off" doc:"Turn statistics off."`
	Keep Duration `key:"keep" doc:"How long to keep statistics."`
}
