package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/journal/sqlite"
)

// An agent records its runs in the store that agent.Options names. Any process can read them, and continue a run whose
// process has ended.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "journal.db"), sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	question := chat.Message{Role: chat.RoleUser, Parts: chat.Text("Do I need an umbrella in Oslo?")}
	_, err = store.Append(ctx, "run_1", 0, // the stream is new: it has no records yet
		record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_1", Model: "any"}},
		record.Record{Kind: record.KindMessage, Message: &record.Message{Message: question}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for entry, err := range store.Read(ctx, journal.Query{Stream: "run_1"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(entry.Position, entry.Record.Kind, entry.Session)
	}
	// Output:
	// 1 run ses_1
	// 2 message ses_1
}
