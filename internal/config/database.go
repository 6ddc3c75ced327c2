package config

// A Database is one that query_database knows by name.
type Database struct {
	URL Secret `key:"url" doc:"Address, as env:NAME or file:PATH: postgres://.., or sqlite:PATH."`
}
