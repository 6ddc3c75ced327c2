package config

import "path/filepath"

// Journal says where runs are recorded, and for how long.
type Journal struct {
	Store string     `key:"store" enum:"sqlite|postgres|memory" doc:"Where runs are stored."`
	Path  string     `key:"path" doc:"File of the store sqlite. Empty: journal.db in data."`
	URL   Secret     `key:"url" doc:"Address of the store postgres, as env:NAME or file:PATH."`
	Mask  bool       `key:"mask" doc:"Mask secrets before storing."`
	Keep  JournalAge `key:"keep" doc:"Retention; the oldest sessions go first."`
}

// JournalAge says how much of a journal is kept.
type JournalAge struct {
	Age  Duration `key:"age" doc:"Delete sessions unchanged for this long; 0s: never."`
	Size Size     `key:"size" doc:"Size of all records; 0: no limit."`
}

func (j *Journal) check(d *decoder) {
	switch {
	case j.Store == "postgres" && j.URL.IsZero():
		d.at("journal.store", "a database needs its address: set journal.url, such as env:WIELD_JOURNAL_DATABASE")
	case j.Store != "postgres" && !j.URL.IsZero():
		d.at("journal.url", "only the store postgres has an address")
	case j.Store != "sqlite" && j.Path != "":
		d.at("journal.path", "only the store sqlite has a file")
	}
}

// JournalPath returns the file that the journal stands in. It is empty if there is no place for one.
func (c *Config) JournalPath(getenv func(string) string) string {
	if c.Journal.Path != "" {
		return c.Journal.Path
	}
	if dir := c.DataDir(getenv); dir != "" {
		return filepath.Join(dir, "journal.db")
	}
	return ""
}
