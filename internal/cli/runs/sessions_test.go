package runs

import (
	"encoding/json"
	"testing"

	"wield/chat"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// What a client's tool gave is shown too, though it is no JSON.
func TestDescribeResult(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result tool.Result
		want   string
	}{
		{"data", tool.Result{OK: true, Data: json.RawMessage(`"2"`)}, `press gave "2"`},
		{"text", tool.Result{OK: true, Parts: chat.Text("pressed")}, "press gave pressed"},
		{"a failure", tool.Result{Error: "it is stuck"}, "press failed: it is stuck"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := describe(&record.Record{Kind: record.KindResult,
				Result: &runner.FinishRecord{Tool: "press", Result: tt.result}})
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
