package runner

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"wield/tool"
)

// Records keeps what was run. For every Start that returned nil there is exactly one Finish, unless the process ended
// in between: then it is not known whether the call took effect.
type Records interface {
	// Start notes that a call is about to run. When it returns nil, the note outlives the process.
	Start(ctx context.Context, r StartRecord) error
	// Finish notes the result of a call that was started, or that never ran.
	Finish(ctx context.Context, r FinishRecord) error
	// Detach notes the name under which a call that was started continues elsewhere, such as a task of a server. Such a
	// call may begin again after its process ended. When it returns nil, the note outlives the process.
	Detach(ctx context.Context, call, name string) error
	// Detached returns the name of a call that was started again; empty: it has none.
	Detached(call string) string
}

// A StartRecord says that a call is about to run.
type StartRecord struct {
	CallID     string          `json:"call_id"`
	Tool       string          `json:"tool"`
	Definition string          `json:"definition"`
	Arguments  json.RawMessage `json:"arguments"`
	Binding    string          `json:"binding"`
	Approval   string          `json:"approval,omitempty"` // id
	Idempotent bool            `json:"idempotent,omitempty"`
	At         time.Time       `json:"at"`
}

// A FinishRecord says what came of a call.
type FinishRecord struct {
	CallID  string        `json:"call_id"`
	Tool    string        `json:"tool"`
	Started bool          `json:"started"` // there is a StartRecord
	Result  tool.Result   `json:"result"`
	Elapsed time.Duration `json:"elapsed"`
	At      time.Time     `json:"at"`
}

// MemoryRecords keeps records for as long as the process runs. The zero value is empty and ready.
type MemoryRecords struct {
	mu       sync.Mutex
	started  []StartRecord
	finished []FinishRecord
	detached map[string]string
}

// Start keeps r.
func (m *MemoryRecords) Start(_ context.Context, r StartRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = append(m.started, r)
	return nil
}

// Finish keeps r.
func (m *MemoryRecords) Finish(_ context.Context, r FinishRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished = append(m.finished, r)
	return nil
}

// Detach keeps the name of a call.
func (m *MemoryRecords) Detach(_ context.Context, call, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.detached == nil {
		m.detached = map[string]string{}
	}
	m.detached[call] = name
	return nil
}

// Detached returns the name of a call.
func (m *MemoryRecords) Detached(call string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.detached[call]
}

// Started returns what was started, in order.
func (m *MemoryRecords) Started() []StartRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.started)
}

// Finished returns the results, in order.
func (m *MemoryRecords) Finished() []FinishRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.finished)
}
