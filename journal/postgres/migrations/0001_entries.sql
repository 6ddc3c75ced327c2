-- The log. Of an entry that was deleted only position, leaf and hash are left.
CREATE TABLE wield_entries (
	position bigint PRIMARY KEY,
	stream   text COLLATE "C",
	seq      bigint,
	session  text COLLATE "C",
	kind     text COLLATE "C",
	call     text COLLATE "C",
	at       bigint, -- microseconds since 1970
	body     bytea,
	salt     bytea,
	leaf     bytea NOT NULL,
	hash     bytea NOT NULL
);
CREATE UNIQUE INDEX wield_entries_stream ON wield_entries (stream, seq) WHERE stream IS NOT NULL;
CREATE UNIQUE INDEX wield_entries_call ON wield_entries (stream, kind, call) WHERE call IS NOT NULL;
CREATE INDEX wield_entries_session ON wield_entries (session, position, kind) WHERE session IS NOT NULL;

-- What is known of each stream without reading it, and who drives it.
CREATE TABLE wield_heads (
	stream  text COLLATE "C" PRIMARY KEY,
	session text COLLATE "C" NOT NULL,
	opened  text COLLATE "C" NOT NULL,
	state   text COLLATE "C" NOT NULL,
	seq     bigint NOT NULL,
	first   bigint NOT NULL,
	last    bigint NOT NULL,
	bytes   bigint NOT NULL,
	begun   bigint NOT NULL,
	changed bigint NOT NULL,
	owner   text COLLATE "C" NOT NULL,
	token   bigint NOT NULL,
	until   bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX wield_heads_last ON wield_heads (last);
CREATE INDEX wield_heads_session ON wield_heads (session, last);
CREATE INDEX wield_heads_state ON wield_heads (opened, state, last);
