package gateway

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"wield/chat"
)

// guesses counts wrong keys by the address that they come from. A right key is always let in: behind a proxy
// everybody has one address. The zero value is ready, and safe for concurrent use.
type guesses struct {
	mu     sync.Mutex
	byAddr map[netip.Prefix]guess
}

// A guess counts the wrong keys that an address may still try.
type guess struct {
	left   float64
	filled time.Time // when left was right
}

const (
	maxGuesses   = 10 // at once, and then
	guessEvery   = 6 * time.Second
	maxGuessers  = 10_000
	guesserBits4 = 32
	guesserBits6 = 64 // of an IPv6 address: who has one has all that begin so
)

// wait returns how long an address has to wait until it may try another key.
func (s *guesses) wait(addr netip.Prefix, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled(addr, now).wait()
}

// add counts a wrong key, and returns how long the address would have had to wait.
func (s *guesses) add(addr netip.Prefix, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.filled(addr, now)
	wait := g.wait()
	if wait == 0 {
		g.left--
	}
	if s.byAddr == nil {
		s.byAddr = make(map[netip.Prefix]guess)
	}
	if len(s.byAddr) >= maxGuessers {
		for a := range s.byAddr { // any one
			delete(s.byAddr, a)
			break
		}
	}
	s.byAddr[addr] = g
	return wait
}

func (s *guesses) filled(addr netip.Prefix, now time.Time) guess {
	g, ok := s.byAddr[addr]
	if !ok {
		return guess{maxGuesses, now}
	}
	g.left = min(maxGuesses, g.left+float64(max(now.Sub(g.filled), 0))/float64(guessEvery))
	g.filled = now
	return g
}

func (g guess) wait() time.Duration {
	if g.left >= 1 {
		return 0
	}
	return time.Duration((1 - g.left) * float64(guessEvery))
}

// guesser returns the address that a request comes from, as guesses counts it.
func guesser(r *http.Request) netip.Prefix {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	bits := guesserBits6
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		bits = guesserBits4
	}
	p, _ := addr.Prefix(bits) // fits the address
	return p
}

// refuseKey refuses a key that is wrong: as such, or, if many came from the address, with the time to wait.
func (g *Gateway) refuseKey(r *http.Request) *failure {
	wait := g.guesses.add(guesser(r), time.Now())
	if wait > 0 {
		return tooManyGuesses(wait)
	}
	g.opts.Log.LogAttrs(r.Context(), slog.LevelWarn, "a wrong key", slog.String("address", r.RemoteAddr),
		slog.String("path", shownPath(r.URL.Path)))
	return wrongKey
}

func tooManyGuesses(wait time.Duration) *failure {
	f := refuse(http.StatusTooManyRequests, chat.ErrRateLimit, codeRate,
		"too many wrong keys came from this address; try again with a right one, or later")
	f.err.RetryAfter = wait
	return f
}
