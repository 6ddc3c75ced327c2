package journal

import (
	"strings"

	"wield/journal/record"
)

// A Status names the state of a run or a session, in the one word that every face shows: the page, the command
// line and the API. An underscore is a space there.
type Status string

// The statuses.
const (
	StatusRunning     Status = "running"
	StatusApproval    Status = "needs_approval"     // a person has to decide
	StatusClient      Status = "waiting_for_client" // the client has to run calls
	StatusFailed      Status = "failed"             // what failed can be tried again, unless the run is over
	StatusInterrupted Status = "interrupted"        // it was cut off and goes on when it is resumed
	StatusDone        Status = "done"
	StatusLimit       Status = "limit_reached"
	StatusEmpty       Status = "no_answer" // the model said nothing
	StatusCancelled   Status = "cancelled"
)

// Statuses returns all statuses, those of runs that are not over first.
func Statuses() []string {
	list := []Status{StatusRunning, StatusApproval, StatusClient, StatusFailed, StatusInterrupted, StatusDone,
		StatusLimit, StatusEmpty, StatusCancelled}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return names
}

// String returns the status as a person reads it.
func (s Status) String() string { return strings.ReplaceAll(string(s), "_", " ") }

var waitStatus = map[record.WaitFor]Status{record.WaitApproval: StatusApproval, record.WaitClient: StatusClient,
	record.WaitDrain: StatusInterrupted, record.WaitRetry: StatusFailed}

// endStatus are the statuses of runs that are over, by the reason of their end.
var endStatus = map[string]Status{"limit": StatusLimit, "empty": StatusEmpty, "canceled": StatusCancelled,
	"error": StatusFailed}

// StatusOf returns the status of a run in a state. last is the last record of it that is a Wait or an End;
// any other, or nil, tells nothing.
func StatusOf(state record.State, last *record.Record) Status {
	switch {
	case state == record.StateOpen:
		return StatusRunning
	case state == record.StateWaiting && last != nil && last.Wait != nil:
		if s, ok := waitStatus[last.Wait.For]; ok {
			return s
		}
	case state == record.StateEnded && last != nil && last.End != nil:
		if s, ok := endStatus[last.End.Reason]; ok {
			return s
		}
	}
	if state == record.StateWaiting {
		return StatusInterrupted
	}
	return StatusDone
}
