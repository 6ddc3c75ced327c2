package journal_test

import (
	"context"
	"fmt"

	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// ExampleCalls shows what a process finds that continues a run after another one was killed.
func ExampleCalls() {
	s := &journal.Memory{}
	w := journal.NewWriter(s, "run_1", 0)
	ctx := context.Background()
	_ = w.Append(ctx, record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_1"}})
	_ = w.Start(ctx, runner.StartRecord{CallID: "call_1", Tool: "command_exec", Arguments: []byte("{}")})
	// Here the process dies. Another one looks:
	calls, _ := journal.Calls(s.Read(ctx, journal.Query{Stream: "run_1"}))
	for _, c := range calls {
		fmt.Println(c.ID, c.Tool, c.Interrupted(), c.Repeatable())
	}
	// Output: call_1 command_exec true false
}
