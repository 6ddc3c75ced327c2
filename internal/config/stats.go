package config

// Stats says how long numbers are kept.
type Stats struct {
	Off  bool     `key:"off" doc:"Whether nothing is counted."`
	Keep Duration `key:"keep" doc:"How long the numbers that wield stats and the page show are kept."`
}
