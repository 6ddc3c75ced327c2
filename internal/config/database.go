package config

// A Database is one that query_database knows by name.
type Database struct {
	URL Secret `key:"url" doc:"postgres:// address or sqlite:PATH, as env:NAME or file:PATH."`
}
