package gateway

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"wield/chat"
)

// Limits of the report on dropped fields.
const (
	maxDropped  = 128 // a backend names 64 and counts the others
	maxDropName = 64
)

// hints are fields that change no answer: they concern the cache, the bill or the bookkeeping of a protocol's own
// server. Agents send them with every request, so that only the log and the inspector name them.
var hints = map[string]bool{
	"betas": true, "cache_control": true, "client_metadata": true, "metadata": true, "prompt_cache_key": true,
	"prompt_cache_options": true, "prompt_cache_retention": true, "safety_identifier": true, "service_tier": true,
	"user": true,
}

// drop notes what of the request a backend was not sent. Its name may hold what a client sent.
func (x *exchange) drop(n *chat.NoteDetail) {
	name := n.Path
	if name == paramFormat && x.front.form != "" {
		name = x.front.form
	}
	if n.Before != "" {
		name += "=" + n.Before
	}
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || r == ',' {
			return '_'
		}
		return r
	}, name[:min(len(name), maxDropName)])
	if n.Kind == chat.NoteUnsent && len(x.dropped) < maxDropped && !slices.Contains(x.dropped, name) {
		x.dropped = append(x.dropped, name)
	}
}

// tellDropped sets the header that says what a backend was not sent and may change the answer.
func (x *exchange) tellDropped() {
	matters := slices.DeleteFunc(slices.Clone(x.dropped), func(name string) bool {
		return hints[name[strings.LastIndexByte(name, '.')+1:]]
	})
	if len(matters) > 0 {
		x.set("X-Wield-Dropped", joinedNames(matters))
	}
}

// joinedNames joins names for a header, of which proxies take a few thousand bytes. The log has all of them.
func joinedNames(names []string) string {
	const most = 2048
	text := names[0]
	for i, name := range names[1:] {
		if len(text)+len(name) > most {
			return text + ", " + strconv.Itoa(len(names)-i-1) + "_more_fields"
		}
		text += ", " + name
	}
	return text
}

// loggedNames remembers which fields the log has named for which model, so that it names each once.
type loggedNames struct {
	mutex sync.Mutex
	names map[string]bool
}

// maxLogged bounds what is remembered. Clients make up names.
const maxLogged = 10_000

// first returns the names that were not logged for a model before.
func (l *loggedNames) first(model string, names []string) (list []string) {
	if len(names) == 0 {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.names == nil || len(l.names) > maxLogged {
		l.names = map[string]bool{}
	}
	for _, name := range names {
		if key := model + "\x00" + name; !l.names[key] {
			l.names[key] = true
			list = append(list, name)
		}
	}
	return list
}
