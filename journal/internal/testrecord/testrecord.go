// Package testrecord makes records for tests of journals.
package testrecord

import (
	"encoding/json"
	"testing"

	"wield/chat"
	"wield/journal"
	"wield/tool"
)

// Run begins a run of a session.
func Run(session string) journal.Record {
	return journal.Record{Kind: journal.KindRun, Run: &journal.RunRecord{Session: session, Model: "m"}}
}

// Start says that a call is about to run.
func Start(id string) journal.Record {
	return journal.Record{Kind: journal.KindStart, Start: &tool.StartRecord{CallID: id, Tool: "command_exec",
		Arguments: json.RawMessage(`{}`)}}
}

// Result says that it is done.
func Result(id string) journal.Record {
	return journal.Record{Kind: journal.KindResult, Result: &tool.FinishRecord{CallID: id, Tool: "command_exec",
		Started: true, Result: tool.Text("done")}}
}

// Message is a message of a person.
func Message(text string) journal.Record {
	m := chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}
	return journal.Record{Kind: journal.KindMessage, Message: &journal.Message{Message: m}}
}

// End closes a run.
func End() journal.Record {
	return journal.Record{Kind: journal.KindEnd, End: &journal.End{Reason: "stop"}}
}

// Add appends records and ends the test on an error.
func Add(t *testing.T, s journal.Store, stream string, after int64, records ...journal.Record) int64 {
	t.Helper()
	p, err := s.Append(t.Context(), stream, after, records...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
