package gateway

import (
	"container/list"
	"encoding/json"
	"sync"

	"wield/wire/responses"
)

// An archiveKey names what is kept. Those of different owners have nothing to do with each other, whatever their ids.
type archiveKey struct{ owner, id string }

// A recordKind tells what a record is of.
type recordKind string

const (
	keptResponseKind recordKind = "response"
	conversationKind recordKind = "conversation"
)

// A record is a response or a conversation that is kept. Records are never changed, only replaced.
type record struct {
	key      archiveKey
	kind     recordKind
	body     []byte           // a response's
	previous string           // id of the response that a response continues
	input    []responses.Item // a conversation's items are all here
	output   []responses.Item
	created  int64
	metadata json.RawMessage
	seq      int64 // how many records the journal has of it; 0: none
	bytes    int

	making *making // of a response that is made in the background and has not ended: how
}

// A making is what has to be known of a response to go on with it, or to say that nobody does.
type making struct {
	Model  string `json:"model"`
	Answer string `json:"answer,omitempty"` // of the model's Lasting; none: it ended with its process
	Life   int    `json:"life,omitempty"`   // how many processes have worked on it before
}

// unfinished reports whether a response is being made, or was when its process ended.
func (r *record) unfinished() bool { return r.making != nil }

// An archive keeps the responses and conversations that were used last. The zero value is ready, and safe for concurrent use.
type archive struct {
	mu    sync.Mutex
	byKey map[archiveKey]*list.Element
	items map[archiveKey]place // where the items are, by their ids
	order list.List            // of *record, last used first
	bytes int
}

// A place is where an item is.
type place struct {
	record *record
	item   *responses.Item
}

// Limits of what is kept.
const (
	maxRecords     = 1000
	maxRecordBytes = 64 << 20
)

// get returns a record, or nil.
func (a *archive) get(key archiveKey) *record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.use(key)
}

// use finds a record and makes it the one that was used last.
func (a *archive) use(key archiveKey) *record {
	e := a.byKey[key]
	if e == nil {
		return nil
	}
	a.order.MoveToFront(e)
	return e.Value.(*record)
}

// item returns an item by its id.
func (a *archive) item(key archiveKey) (responses.Item, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.items[key]
	if !ok {
		return responses.Item{}, false
	}
	a.use(p.record.key)
	it, err := responses.DecodeItem(p.item.Raw)
	return it, err == nil
}

// put keeps a record in the place of one with its key, and forgets those that were not used for the longest time if there are
// too many.
func (a *archive) put(r *record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(r)
}

// revise changes a conversation, which is made if it is not known, and returns it.
func (a *archive) revise(key archiveKey, created int64, o *keptObject, items []responses.Item) *record {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &record{key: key, kind: conversationKind, created: created}
	if old := a.use(key); old != nil && old.kind == conversationKind {
		r.created, r.metadata, r.input = old.created, old.metadata, old.input
	}
	r.revise(o, items)
	a.keep(r)
	return r
}

func (a *archive) keep(r *record) {
	a.drop(a.byKey[r.key])
	if a.byKey == nil {
		a.byKey = make(map[archiveKey]*list.Element)
		a.items = make(map[archiveKey]place)
	}
	r.bytes = 512 + len(r.body) + len(r.metadata)
	for _, items := range [][]responses.Item{r.input, r.output} {
		for i := range items {
			r.bytes += 256 + len(items[i].Raw)
			a.items[archiveKey{r.key.owner, items[i].ID}] = place{r, &items[i]}
		}
	}
	a.byKey[r.key] = a.order.PushFront(r)
	a.bytes += r.bytes
	for a.order.Len() > maxRecords || a.bytes > maxRecordBytes {
		a.drop(a.order.Back())
	}
}

// remove forgets a record.
func (a *archive) remove(key archiveKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(a.byKey[key])
}

func (a *archive) drop(e *list.Element) {
	if e == nil {
		return
	}
	r := a.order.Remove(e).(*record)
	delete(a.byKey, r.key)
	a.bytes -= r.bytes
	for _, items := range [][]responses.Item{r.input, r.output} {
		for i := range items {
			if key := (archiveKey{r.key.owner, items[i].ID}); a.items[key].record == r {
				delete(a.items, key)
			}
		}
	}
}
