-- The log. Of an entry that was deleted only position, leaf and hash are left.
CREATE TABLE entries (
	position INTEGER PRIMARY KEY,
	stream   TEXT,
	seq      INTEGER,
	session  TEXT,
	kind     TEXT,
	call     TEXT,
	at       INTEGER, -- microseconds since 1970
	body     BLOB,
	salt     BLOB,
	leaf     BLOB NOT NULL,
	hash     BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX entries_stream ON entries (stream, seq) WHERE stream IS NOT NULL;
CREATE UNIQUE INDEX entries_call ON entries (stream, kind, call) WHERE call IS NOT NULL;
CREATE INDEX entries_session ON entries (session, position, kind) WHERE session IS NOT NULL;

-- What is known of each stream without reading it, and who drives it.
CREATE TABLE heads (
	stream  TEXT PRIMARY KEY,
	session TEXT NOT NULL,
	opened  TEXT NOT NULL,
	state   TEXT NOT NULL,
	seq     INTEGER NOT NULL,
	first   INTEGER NOT NULL,
	last    INTEGER NOT NULL,
	bytes   INTEGER NOT NULL,
	begun   INTEGER NOT NULL,
	changed INTEGER NOT NULL,
	owner   TEXT NOT NULL,
	token   INTEGER NOT NULL,
	until   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX heads_last ON heads (last);
CREATE INDEX heads_session ON heads (session, last);
CREATE INDEX heads_state ON heads (opened, state, last);
