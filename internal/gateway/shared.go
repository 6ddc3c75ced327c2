package gateway

import "time"

// A KeyUse counts the use of a key at one service since its last report.
type KeyUse struct {
	Name    string `json:"name"`
	Started int    `json:"started,omitempty"` // completions
	Active  int    `json:"active,omitempty"`  // completions that run now
}

// otherUse is another service's report of a key.
type otherUse struct {
	active int
	at     time.Time
}

// reportLife limits the age of a report of another service.
const reportLife = 3 * time.Second

// Uses returns how keys with limits were used here since the last call, for other services.
func (g *Gateway) Uses() (list []KeyUse) {
	for _, h := range g.current.Load().holders {
		if h.RPM == 0 && h.Concurrent == 0 {
			continue
		}
		h.mu.Lock()
		one := KeyUse{h.Name, h.started, h.active}
		if one.Started > 0 || one.Active > 0 || h.reported > 0 {
			list = append(list, one)
		}
		h.started, h.reported = 0, h.active
		h.mu.Unlock()
	}
	return list
}

// Used counts what another service reported within the limits of the keys.
func (g *Gateway) Used(from string, uses []KeyUse) {
	now, holders := time.Now(), g.current.Load().holders
	for _, u := range uses {
		h := holderNamed(holders, u.Name)
		if h == nil {
			continue
		}
		h.mu.Lock()
		if h.RPM > 0 {
			h.fill(now)
			h.tokens = max(h.tokens-float64(u.Started), -float64(h.RPM))
		}
		if h.others == nil {
			h.others = map[string]otherUse{}
		}
		h.others[from] = otherUse{u.Active, now}
		h.mu.Unlock()
	}
}

// Share says how many services keep the limits, and how many there are with those that cannot be reached: of these
// nobody knows what they have started, so that each keeps to its part.
func (g *Gateway) Share(here, all int) {
	for _, h := range g.current.Load().holders {
		h.mu.Lock()
		h.share = float64(here) / float64(all)
		h.mu.Unlock()
	}
}

// Busy returns how many completions run, and whether the service takes no more.
func (g *Gateway) Busy() (completions int, draining bool) {
	return int(g.running.Load()), g.leaving.Load() || g.draining.Load()
}

// Leave has /health say that the service is about to end. Requests are answered as before.
func (g *Gateway) Leave() { g.leaving.Store(true) }

// Unready has /health say that the service cannot do its work for now, so that others are sent the requests.
func (g *Gateway) Unready(is bool) { g.unready.Store(is) }

// limit returns what is left of a limit for this service. Whoever calls it holds mu.
func (h *holder) limit(n int) float64 {
	if h.share <= 0 || h.share >= 1 {
		return float64(n)
	}
	return max(float64(n)*h.share, 1)
}

// fill adds the completions that time has brought. Whoever calls it holds mu.
func (h *holder) fill(now time.Time) (rate float64) {
	limit := h.limit(h.RPM)
	rate = limit / float64(time.Minute)
	since := max(now.Sub(h.filled), 0) // a clock that is set back takes nothing away
	h.tokens = min(limit, h.tokens+rate*float64(since))
	h.filled = now
	return rate
}

// elsewhere returns how many completions run at other services. Whoever calls it holds mu.
func (h *holder) elsewhere(now time.Time) (n int) {
	for from, u := range h.others {
		if now.Sub(u.at) > reportLife {
			delete(h.others, from)
			continue
		}
		n += u.active
	}
	return n
}
