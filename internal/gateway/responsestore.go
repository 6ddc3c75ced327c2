package gateway

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/wire/responses"
)

// A responseStore keeps responses and conversations: those that were used last in memory and, if there is a journal,
// all of them there as well, so that they outlive the process and the bounds of the memory. Each is a session of its
// own in the journal, so that it can be deleted alone. It is safe for concurrent use.
type responseStore struct {
	journal journal.Store // nil: none
	log     *slog.Logger

	mu    sync.Mutex
	byKey map[recordKey]*list.Element
	items map[recordKey]storedItem // where the items are, by their ids
	order list.List                // of *record, last used first
	bytes int
}

// A recordKey names what is kept. Those of different owners have nothing to do with each other, whatever their ids.
type recordKey struct{ owner, id string }

// A recordKind tells what a record is of.
type recordKind string

const (
	keptResponseKind recordKind = "response"
	conversationKind recordKind = "conversation"
)

// A stored response or conversation is never changed, only replaced.
type stored struct {
	key      recordKey
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

// A making holds what is needed to continue a response, or to say that nobody does.
type making struct {
	Model  string `json:"model"`
	Answer string `json:"answer,omitempty"` // of the model's Lasting; none: it ended with its process
	Life   int    `json:"life,omitempty"`   // how many processes have worked on it before
}

// unfinished reports whether a response is being made, or was when its process ended.
func (r *stored) unfinished() bool { return r.making != nil }

// A storedItem locates an item.
type storedItem struct {
	record *stored
	item   *responses.Item
}

// Limits of what is kept.
const (
	maxRecords     = 1000
	maxRecordBytes = 64 << 20
)

// objectKept is the type of the objects in the journal.
const objectKept = "responses"

// A keptObject is a record as it stands in the journal. Those of a conversation follow one another, each with the items
// that came to it. Of a response that was made in the background the last one says what became of it, and the first one
// what was asked.
type keptObject struct {
	Owner    string            `json:"owner"`
	ID       string            `json:"id"`
	Kind     recordKind        `json:"kind"`
	Created  int64             `json:"created,omitempty"`
	Previous string            `json:"previous,omitempty"`
	Body     json.RawMessage   `json:"body,omitempty"`
	Metadata json.RawMessage   `json:"metadata,omitempty"`
	Input    []json.RawMessage `json:"input,omitempty"`
	Output   []json.RawMessage `json:"output,omitempty"`
	Making   *making           `json:"making,omitempty"`
	Removed  []string          `json:"removed,omitempty"` // ids of items of a conversation that are no longer in it
}

// object returns a record as the first of its stream.
func (r *stored) object() keptObject {
	return keptObject{Owner: r.key.owner, ID: r.key.id, Kind: r.kind, Created: r.created, Previous: r.previous,
		Body: r.body, Metadata: r.metadata, Input: rawOf(r.input), Output: rawOf(r.output), Making: r.making}
}

// stream is the name under which the journal has a record. A client can choose the id of a conversation, so that it is
// the hash that keeps those of different owners apart.
func (k recordKey) stream() string {
	sum := sha256.Sum256([]byte(k.owner + "\x00" + k.id))
	return "kept_" + hex.EncodeToString(sum[:12])
}

// get returns a record, or nil. What was deleted by another program is gone, and what it added is there.
func (s *responseStore) get(ctx context.Context, key recordKey) (*stored, error) {
	r := s.cached(key)
	if s.journal == nil || key.id == "" {
		return r, nil
	}
	seq := int64(0)
	for h, err := range s.journal.Heads(ctx, journal.HeadQuery{Stream: key.stream(), Limit: 1}) {
		if err != nil {
			return nil, err
		}
		seq = h.Seq
	}
	if r != nil && r.seq == seq {
		return r, nil
	}
	if seq == 0 {
		s.uncache(key)
		return nil, nil
	}
	r, err := s.load(ctx, key)
	if err == nil && r != nil {
		s.cache(r)
	}
	return r, err
}

// load reads a record from the journal.
func (s *responseStore) load(ctx context.Context, key recordKey) (*stored, error) {
	var r *stored
	last := int64(0)
	for e, err := range s.journal.Read(ctx, journal.Query{Stream: key.stream()}) {
		if err != nil {
			return nil, err
		}
		last = e.Seq
		var o keptObject
		if e.Record.Object == nil || e.Record.Object.Type != objectKept ||
			json.Unmarshal(e.Record.Object.Data, &o) != nil || o.Owner != key.owner || o.ID != key.id {
			continue
		}
		if r == nil {
			r = &stored{key: key, kind: o.Kind, created: o.Created, previous: o.Previous}
		}
		r.making = o.Making
		if len(o.Body) > 0 {
			r.body = o.Body
		}
		r.revise(&o, itemsOf(o.Input))
		r.output = append(r.output, itemsOf(o.Output)...)
	}
	if r != nil {
		r.seq = last
	}
	return r, nil
}

func itemsOf(list []json.RawMessage) []responses.Item {
	items := make([]responses.Item, 0, len(list))
	for _, raw := range list {
		if it, err := responses.DecodeItem(raw); err == nil { // it was an item when it was kept
			items = append(items, it)
		}
	}
	return items
}

func rawOf(items []responses.Item) []json.RawMessage {
	list := make([]json.RawMessage, len(items))
	for i := range items {
		list[i] = items[i].Raw
	}
	return list
}

// write adds an object to the stream of a record, which has as many as the record says, and returns their new number.
func (s *responseStore) write(ctx context.Context, r *stored, o keptObject) (int64, error) {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(&o); err != nil {
		return 0, err
	}
	name := r.key.stream()
	_, err := s.journal.Append(context.WithoutCancel(ctx), name, r.seq, record.Record{Kind: record.KindObject,
		Object: &record.Object{Session: name, Type: objectKept, Data: bytes.TrimSpace(data.Bytes())}})
	return r.seq + 1, err
}

// put keeps a new record. Where the journal cannot take it, it is kept in memory all the same.
func (s *responseStore) put(ctx context.Context, r *stored) {
	if s.journal != nil {
		seq, err := s.write(ctx, r, r.object())
		if err != nil {
			s.log.ErrorContext(ctx, "cannot store a response; it is kept in memory for a short time", "id", r.key.id,
				"error", err)
		} else {
			r.seq = seq
		}
	}
	s.cache(r)
}

// revise makes of a conversation what the next object of it says. The items are those that the object adds.
func (r *stored) revise(o *keptObject, items []responses.Item) {
	if len(o.Metadata) > 0 {
		r.metadata = o.Metadata
	}
	r.input = slices.Concat(r.input, items)
	if len(o.Removed) > 0 {
		r.input = slices.DeleteFunc(r.input, func(it responses.Item) bool { return slices.Contains(o.Removed, it.ID) })
	}
}

// add puts items behind those of a conversation, which is made if it is not known.
func (s *responseStore) add(ctx context.Context, key recordKey, created int64, items []responses.Item) {
	s.revise(ctx, key, created, keptObject{Input: rawOf(items)}, items)
}

// revise changes a conversation, which is made if it is not known, and returns it.
func (s *responseStore) revise(ctx context.Context, key recordKey, created int64, o keptObject,
	items []responses.Item) *stored {
	o.Owner, o.ID, o.Kind = key.owner, key.id, conversationKind
	for s.journal != nil {
		old, err := s.get(ctx, key)
		next := &stored{key: key, kind: conversationKind, created: created}
		if old != nil && old.kind == conversationKind {
			*next = *old
		}
		if o.Created = next.created; err == nil {
			next.seq, err = s.write(ctx, next, o)
		}
		switch {
		case errors.Is(err, journal.ErrConflict): // somebody else changed it
			s.uncache(key)
			continue
		case err != nil:
			s.log.ErrorContext(ctx, "cannot store a conversation; it is kept in memory for a short time", "id", key.id,
				"error", err)
		default:
			next.revise(&o, items)
			s.cache(next)
			return next
		}
		break
	}
	return s.reviseCached(key, created, &o, items)
}

// update puts a record in the place of what is kept of it. Its input stands in the journal already.
func (s *responseStore) update(ctx context.Context, r *stored) {
	if s.journal != nil && r.seq > 0 {
		seq, err := s.write(ctx, r, keptObject{Owner: r.key.owner, ID: r.key.id, Kind: r.kind, Body: r.body,
			Output: rawOf(r.output), Making: r.making})
		if err != nil {
			s.log.ErrorContext(ctx, "cannot store the outcome of a response; it is kept in memory for a short time",
				"id", r.key.id, "error", err)
		} else {
			r.seq = seq
		}
	}
	s.cache(r)
}

// errUnfinished says that a response has no end yet.
var errUnfinished = errors.New("the response is still being made")

// chain returns what was said up to the end of a response, oldest first. missing is the id of one that is not kept, or
// has no end. All of it is to have room.
func (s *responseStore) chain(ctx context.Context, key recordKey, left *room) (items []responses.Item, missing string,
	err error) {
	var links []*stored
	for ; key.id != ""; key.id = links[len(links)-1].previous {
		r, err := s.get(ctx, key)
		if err != nil || r == nil || r.kind != keptResponseKind {
			return nil, key.id, err
		}
		if r.unfinished() {
			return nil, key.id, errUnfinished
		}
		if err := errors.Join(left.take(r.input), left.take(r.output)); err != nil {
			return nil, key.id, err
		}
		links = append(links, r)
	}
	for i := len(links) - 1; i >= 0; i-- {
		items = append(append(items, links[i].input...), links[i].output...)
	}
	return items, "", nil
}

// said returns the items of a conversation. One that is not known has none.
func (s *responseStore) said(ctx context.Context, key recordKey) (items []responses.Item, known bool, err error) {
	r, err := s.get(ctx, key)
	if err != nil || r == nil || r.kind != conversationKind {
		return nil, false, err
	}
	return append([]responses.Item(nil), r.input...), true, nil
}

// item returns an item by its id.
func (s *responseStore) item(ctx context.Context, key recordKey) (responses.Item, bool, error) {
	if it, ok := s.cachedItem(key); ok || s.journal == nil {
		return it, ok, nil
	}
	// Ids of items are made of that of their response: msg_STEM_in0.
	_, stem, _ := strings.Cut(key.id, "_")
	stem, _, _ = strings.Cut(stem, "_")
	if _, err := s.get(ctx, recordKey{key.owner, "resp_" + stem}); err != nil {
		return responses.Item{}, false, err
	}
	it, ok := s.cachedItem(key)
	return it, ok, nil
}

// remove forgets a record.
func (s *responseStore) remove(ctx context.Context, key recordKey) error {
	s.uncache(key)
	if s.journal == nil {
		return nil
	}
	if err := s.journal.Delete(ctx, key.stream(), record.ReasonAsked); err != nil &&
		!errors.Is(err, journal.ErrNotFound) {
		return err
	}
	return nil
}

// cached returns a record that is in memory, or nil.
func (s *responseStore) cached(key recordKey) *stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.use(key)
}

// use finds a record and makes it the one that was used last.
func (s *responseStore) use(key recordKey) *stored {
	e := s.byKey[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*stored)
}

// cachedItem returns an item that is in memory by its id.
func (s *responseStore) cachedItem(key recordKey) (responses.Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.items[key]
	if !ok {
		return responses.Item{}, false
	}
	s.use(p.record.key)
	it, err := responses.DecodeItem(p.item.Raw)
	return it, err == nil
}

// cache keeps a record in memory in the place of one with its key, and forgets those that were not used for the longest
// time if there are too many.
func (s *responseStore) cache(r *stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(r)
}

// reviseCached changes a conversation in memory, which is made if it is not known, and returns it.
func (s *responseStore) reviseCached(key recordKey, created int64, o *keptObject, items []responses.Item) *stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &stored{key: key, kind: conversationKind, created: created}
	if old := s.use(key); old != nil && old.kind == conversationKind {
		r.created, r.metadata, r.input = old.created, old.metadata, old.input
	}
	r.revise(o, items)
	s.keep(r)
	return r
}

func (s *responseStore) keep(r *stored) {
	s.drop(s.byKey[r.key])
	if s.byKey == nil {
		s.byKey = make(map[recordKey]*list.Element)
		s.items = make(map[recordKey]storedItem)
	}
	r.bytes = 512 + len(r.body) + len(r.metadata)
	for _, items := range [][]responses.Item{r.input, r.output} {
		for i := range items {
			r.bytes += 256 + len(items[i].Raw)
			s.items[recordKey{r.key.owner, items[i].ID}] = storedItem{r, &items[i]}
		}
	}
	s.byKey[r.key] = s.order.PushFront(r)
	s.bytes += r.bytes
	for s.order.Len() > maxRecords || s.bytes > maxRecordBytes {
		s.drop(s.order.Back())
	}
}

// uncache forgets a record that is in memory.
func (s *responseStore) uncache(key recordKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.byKey[key])
}

func (s *responseStore) drop(e *list.Element) {
	if e == nil {
		return
	}
	r := s.order.Remove(e).(*stored)
	delete(s.byKey, r.key)
	s.bytes -= r.bytes
	for _, items := range [][]responses.Item{r.input, r.output} {
		for i := range items {
			if key := (recordKey{r.key.owner, items[i].ID}); s.items[key].record == r {
				delete(s.items, key)
			}
		}
	}
}

// storeFailure is the client's error when a stored response cannot be read or deleted.
func (x *exchange) storeFailure(err error) *failure {
	x.g.opts.Log.ErrorContext(x.r.Context(), "response store unavailable", "request", x.id, "error", err)
	return refuse(http.StatusServiceUnavailable, chat.ErrOverloaded, codeInternal,
		"what this service keeps cannot be reached now; try again")
}
