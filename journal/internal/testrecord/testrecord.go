// Package testrecord makes records for tests of journals.
package testrecord

import (
	"encoding/json"
	"testing"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// Run begins a run of a session.
func Run(session string) record.Record {
	return record.Record{Kind: record.KindRun, Run: &record.Run{Session: session, Model: "m"}}
}

// Start says that a call is about to run.
func Start(id string) record.Record {
	return record.Record{Kind: record.KindStart, Start: &runner.StartRecord{CallID: id, Tool: "command_exec",
		Arguments: json.RawMessage(`{}`)}}
}

// Result says that it is done.
func Result(id string) record.Record {
	return record.Record{Kind: record.KindResult, Result: &runner.FinishRecord{CallID: id, Tool: "command_exec",
		Started: true, Result: tool.Text("done")}}
}

// Message is a message of a person.
func Message(text string) record.Record {
	m := chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}
	return record.Record{Kind: record.KindMessage, Message: &record.Message{Message: m}}
}

// End closes a run.
func End() record.Record {
	return record.Record{Kind: record.KindEnd, End: &record.End{Reason: "stop"}}
}

// Add appends records and ends the test on an error.
func Add(t *testing.T, s journal.Store, stream string, after int64, records ...record.Record) int64 {
	t.Helper()
	p, err := s.Append(t.Context(), stream, after, records...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
