package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// MemoryApprovals keeps approvals for as long as the process runs. The zero value is empty and ready. Several
// goroutines may use it at once.
type MemoryApprovals struct {
	// Max limits the approvals that are kept; 0: 10000. When there are more, those that are over are forgotten, the
	// oldest first.
	Max int

	mu        sync.Mutex
	byID      map[string]*Approval
	byBinding map[string]string // id of the approval that stands for a binding
	order     []string
	changed   chan struct{} // closed at the next change
}

var _ Approvals = (*MemoryApprovals)(nil)

const defaultMaxApprovals = 10000

// Ask puts a question, or returns the approval that there is for its binding.
func (m *MemoryApprovals) Ask(_ context.Context, q Question) (Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.byID[m.byBinding[q.Binding]]; a != nil {
		if m.expire(a); stands(a.State) {
			return *a, nil
		}
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	a := &Approval{ID: "apr_" + hex.EncodeToString(random[:]), Question: q, State: ApprovalPending, Asked: time.Now()}
	if m.byID == nil {
		m.byID, m.byBinding = make(map[string]*Approval), make(map[string]string)
	}
	m.byID[a.ID], m.byBinding[q.Binding] = a, a.ID
	m.order = append(m.order, a.ID)
	m.forget()
	m.tell()
	return *a, nil
}

// stands reports whether an approval in this state may still lead to a run.
func stands(s ApprovalState) bool {
	return s == ApprovalPending || s == ApprovalApproved || s == ApprovalEdited
}

// forget makes room.
func (m *MemoryApprovals) forget() {
	for i := 0; i < len(m.order) && len(m.order) > cmp.Or(m.Max, defaultMaxApprovals); {
		a := m.byID[m.order[i]]
		if m.expire(a); stands(a.State) {
			i++
			continue
		}
		delete(m.byID, a.ID)
		if m.byBinding[a.Binding] == a.ID {
			delete(m.byBinding, a.Binding)
		}
		m.order = append(m.order[:i], m.order[i+1:]...)
	}
}

// expire makes an approval whose time is over expired.
func (m *MemoryApprovals) expire(a *Approval) {
	if stands(a.State) && !a.Expires.IsZero() && !time.Now().Before(a.Expires) {
		a.State = ApprovalExpired
	}
}

// tell wakes those who wait for a change.
func (m *MemoryApprovals) tell() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Get returns an approval.
func (m *MemoryApprovals) Get(_ context.Context, id string) (Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.byID[id]
	if a == nil {
		return Approval{}, ErrNoApproval
	}
	m.expire(a)
	return *a, nil
}

// Decide answers a question, if it was not answered before.
func (m *MemoryApprovals) Decide(_ context.Context, id string, answer Answer) (Approval, error) {
	if err := answer.Check(); err != nil {
		return Approval{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.byID[id]
	if a == nil {
		return Approval{}, ErrNoApproval
	}
	if m.expire(a); a.State != ApprovalPending {
		return *a, ErrDecided
	}
	if answer.Always && a.Always == "" {
		return *a, ErrAlways
	}
	a.State, a.Answer, a.Decided = answer.State, answer, time.Now()
	m.tell()
	return *a, nil
}

// Consume uses an approval for the one run that it allows.
func (m *MemoryApprovals) Consume(_ context.Context, id, binding string) (Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.byID[id]
	if a == nil {
		return Approval{}, ErrNoApproval
	}
	m.expire(a)
	switch {
	case a.Binding != binding:
		return *a, ErrBinding
	case a.State == ApprovalPending:
		return *a, ErrPending
	case a.State == ApprovalConsumed:
		return *a, ErrConsumed
	case !stands(a.State):
		return *a, ErrRefused
	}
	a.State = ApprovalConsumed
	delete(m.byBinding, a.Binding) // the same call asks anew
	m.tell()
	return *a, nil
}

// List returns the approvals in the order in which they were asked for.
func (m *MemoryApprovals) List(context.Context) []Approval {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Approval, len(m.order))
	for i, id := range m.order {
		a := m.byID[id]
		m.expire(a)
		list[i] = *a
	}
	return list
}

// Changed returns a channel that is closed at the next change, so that who shows approvals can wait for one. An
// approval that expires is no change.
func (m *MemoryApprovals) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}
