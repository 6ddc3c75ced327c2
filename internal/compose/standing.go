package compose

import (
	"crypto/sha256"
	"fmt"
	"net/http"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/gateway"
)

// A standing backend is one that is in use. A service that takes the place of another takes over those that stayed as
// they were, with their connections, their queues and the requests that they have under way.
type standing struct {
	print [sha256.Size]byte // of all that it was made from
	model chat.Model
	relay gateway.Relay // nil: the backend answers conversations alone
	close func()
}

// standing returns the backend of this name, if it was made from the same.
func (s *Service) standing(name string, print [sha256.Size]byte) *standing {
	if s == nil || s.servers[name] == nil || s.servers[name].print != print {
		return nil
	}
	return s.servers[name]
}

// printOf sums up what a backend is made from. Secrets go into the sum and nowhere else.
func printOf(b *config.Backend, key string, headers http.Header, t config.Timeouts) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q\n%q\n%v\n%v", fmt.Sprintf("%+v", *b), key, headers, t))
}
