package journal

import (
	"slices"
	"testing"

	"wield/journal/record"
)

// TestStatus: a session has the one word for where its last run stands, and each status is one of the list.
func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		last []record.Record
		want Status
	}{
		{nil, StatusRunning},
		{[]record.Record{{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitApproval}}}, StatusApproval},
		{[]record.Record{{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitClient}}}, StatusClient},
		{[]record.Record{{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitRetry}}}, StatusFailed},
		{[]record.Record{{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitDrain}}}, StatusInterrupted},
		{[]record.Record{{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitRetry}}, {Kind: record.KindResume, Resume: &record.Resume{}}}, StatusRunning},
		{[]record.Record{{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitRetry}}, {Kind: record.KindEnd, End: &record.End{Reason: "answer"}}},
			StatusDone},
		{[]record.Record{{Kind: record.KindEnd, End: &record.End{Reason: "limit"}}}, StatusLimit},
		{[]record.Record{{Kind: record.KindEnd, End: &record.End{Reason: "empty"}}}, StatusEmpty},
		{[]record.Record{{Kind: record.KindEnd, End: &record.End{Reason: "canceled"}}}, StatusCancelled},
		{[]record.Record{{Kind: record.KindEnd, End: &record.End{Reason: "error"}}}, StatusFailed},
	} {
		s := new(Memory)
		t.Cleanup(func() { s.Close() })
		first := record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_1"}}
		if _, err := s.Append(t.Context(), "run_0", 0, first,
			record.Record{Kind: record.KindEnd, End: &record.End{Reason: "limit"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), "run_1", 0, append([]record.Record{first}, tt.last...)...); err != nil {
			t.Fatal(err)
		}
		session, err := LookUp(t.Context(), s, "ses_1")
		if err != nil || session.Status != tt.want || !slices.Contains(Statuses(), string(session.Status)) {
			t.Errorf("%+v: %s, want %s (%v)", tt.last, session.Status, tt.want, err)
		}
	}
}
