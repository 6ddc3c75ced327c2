package config

import "path/filepath"

// Journal says where runs are recorded, and for how long.
type Journal struct {
	Store string     `key:"store" enum:"sqlite|postgres|memory" doc:"What keeps runs: a file, a PostgreSQL database, or nothing that outlives the process."`
	Path  string     `key:"path" doc:"File of the store sqlite. Empty: journal.db in the directory data."`
	URL   Secret     `key:"url" doc:"Address of the store postgres, as env:NAME or file:PATH, because it may hold a password."`
	Mask  bool       `key:"mask" doc:"Whether what looks like a secret, and the secrets of this file, are masked before anything is stored."`
	Keep  JournalAge `key:"keep" doc:"How much is kept. What is over goes when a program opens the journal to write, the oldest sessions first."`
}

// JournalAge says how much of a journal is kept.
type JournalAge struct {
	Age  Duration `key:"age" doc:"Sessions that were not changed for so long are deleted; 0s: none."`
	Size Size     `key:"size" doc:"What all records may have; 0: any size."`
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
