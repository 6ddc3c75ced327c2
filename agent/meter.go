package agent

import (
	"time"

	"wield/chat"
)

// A meter counts what a run uses.
type meter struct {
	began    time.Time
	before   time.Duration // that was used before it began
	unpriced bool          // an answer was not counted by the server
}

// start counts time from now on, behind what the run has used already.
func (m *meter) start(s *state) { m.began, m.before = time.Now(), s.Elapsed }

// read tells the run how much time it has used.
func (m *meter) read(s *state) { s.Elapsed = m.before + time.Since(m.began) }

// spend counts what an answer used, and reports whether the cost of the run is known. failed is why the answer
// broke off, if it did.
func (m *meter) spend(s *state, p Prices, u chat.Usage, failed error) (priced bool) {
	if u.Known && u.Requests == 0 {
		u.Requests = 1
	}
	s.Usage.Add(u)
	if u.Uncounted > 0 || !u.Known && (failed == nil || !unpaid[chat.AsError(failed).Kind]) {
		m.unpriced = true
	}
	cost, known := p.Cost(s.Usage)
	s.Cost = cost
	return known && !m.unpriced
}

// unpaid are the kinds of errors of servers that answered nothing.
var unpaid = map[chat.ErrorKind]bool{chat.ErrAuth: true, chat.ErrBadRequest: true, chat.ErrNotFound: true,
	chat.ErrRateLimit: true, chat.ErrContextLength: true, chat.ErrOverloaded: true}
