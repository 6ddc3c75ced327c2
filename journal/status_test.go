package journal

import (
	"slices"
	"testing"
)

// TestStatus: a session has the one word for where its last run stands, and each status is one of the list.
func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		last []Record
		want Status
	}{
		{nil, StatusRunning},
		{[]Record{{Kind: KindWait, Wait: &Wait{For: WaitApproval}}}, StatusApproval},
		{[]Record{{Kind: KindWait, Wait: &Wait{For: WaitClient}}}, StatusClient},
		{[]Record{{Kind: KindWait, Wait: &Wait{For: WaitRetry}}}, StatusFailed},
		{[]Record{{Kind: KindWait, Wait: &Wait{For: WaitDrain}}}, StatusInterrupted},
		{[]Record{{Kind: KindWait, Wait: &Wait{For: WaitRetry}}, {Kind: KindResume, Resume: &Resume{}}}, StatusRunning},
		{[]Record{{Kind: KindWait, Wait: &Wait{For: WaitRetry}}, {Kind: KindEnd, End: &End{Reason: "answer"}}},
			StatusDone},
		{[]Record{{Kind: KindEnd, End: &End{Reason: "limit"}}}, StatusLimit},
		{[]Record{{Kind: KindEnd, End: &End{Reason: "empty"}}}, StatusEmpty},
		{[]Record{{Kind: KindEnd, End: &End{Reason: "canceled"}}}, StatusCancelled},
		{[]Record{{Kind: KindEnd, End: &End{Reason: "error"}}}, StatusFailed},
	} {
		s := new(Memory)
		t.Cleanup(func() { s.Close() })
		first := Record{Kind: KindRun, Run: &RunRecord{Session: "ses_1"}}
		if _, err := s.Append(t.Context(), "run_0", 0, first,
			Record{Kind: KindEnd, End: &End{Reason: "limit"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), "run_1", 0, append([]Record{first}, tt.last...)...); err != nil {
			t.Fatal(err)
		}
		session, err := LookUp(t.Context(), s, "ses_1")
		if err != nil || session.Status != tt.want || !slices.Contains(Statuses(), string(session.Status)) {
			t.Errorf("%+v: %s, want %s (%v)", tt.last, session.Status, tt.want, err)
		}
	}
}
