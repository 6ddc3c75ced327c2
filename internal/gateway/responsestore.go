package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"wield/chat"
	"wield/journal"
	"wield/wire/responses"
)

// A responseStore is where responses and conversations are kept: the archive in memory and, if there is a journal, that as well, so that
// they outlive the process and the bounds of the memory. Each is a session of its own there, so that it can be deleted alone.
type responseStore struct {
	*archive
	store journal.Store // nil: none
	log   *slog.Logger
}

// responseStore returns where the exchange keeps responses.
func (x *exchange) responseStore() responseStore {
	return responseStore{&x.g.archive, x.g.opts.Journal, x.g.opts.Log}
}

// objectKept is the type of the objects in the journal.
const objectKept = "responses"

// A keptObject is a record as it stands in the journal. Those of a conversation follow one another, each with the items that came to
// it. Of a response that was made in the background the last one says what became of it, and the first one what was asked.
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
func (r *record) object() keptObject {
	return keptObject{Owner: r.key.owner, ID: r.key.id, Kind: r.kind, Created: r.created, Previous: r.previous,
		Body: r.body, Metadata: r.metadata, Input: rawOf(r.input), Output: rawOf(r.output), Making: r.making}
}

// stream is the name under which the journal has a record. A client can choose the id of a conversation, so that it is the hash that
// keeps those of different owners apart.
func (k archiveKey) stream() string {
	sum := sha256.Sum256([]byte(k.owner + "\x00" + k.id))
	return "kept_" + hex.EncodeToString(sum[:12])
}

// get returns a record, or nil. What was deleted by another program is gone, and what it added is there.
func (s responseStore) get(ctx context.Context, key archiveKey) (*record, error) {
	r := s.archive.get(key)
	if s.store == nil || key.id == "" {
		return r, nil
	}
	seq := int64(0)
	for h, err := range s.store.Heads(ctx, journal.HeadQuery{Stream: key.stream(), Limit: 1}) {
		if err != nil {
			return nil, err
		}
		seq = h.Seq
	}
	if r != nil && r.seq == seq {
		return r, nil
	}
	if seq == 0 {
		s.archive.remove(key)
		return nil, nil
	}
	r, err := s.load(ctx, key)
	if err == nil && r != nil {
		s.archive.put(r)
	}
	return r, err
}

// load reads a record from the journal.
func (s responseStore) load(ctx context.Context, key archiveKey) (*record, error) {
	var r *record
	last := int64(0)
	for e, err := range s.store.Read(ctx, journal.Query{Stream: key.stream()}) {
		if err != nil {
			return nil, err
		}
		last = e.Seq
		var o keptObject
		if e.Record.Object == nil || e.Record.Object.Type != objectKept || json.Unmarshal(e.Record.Object.Data, &o) != nil || o.Owner != key.owner || o.ID != key.id {
			continue
		}
		if r == nil {
			r = &record{key: key, kind: o.Kind, created: o.Created, previous: o.Previous}
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
func (s responseStore) write(ctx context.Context, r *record, o keptObject) (int64, error) {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(&o); err != nil {
		return 0, err
	}
	name := r.key.stream()
	_, err := s.store.Append(context.WithoutCancel(ctx), name, r.seq, journal.Record{Kind: journal.KindObject,
		Object: &journal.Object{Session: name, Type: objectKept, Data: bytes.TrimSpace(data.Bytes())}})
	return r.seq + 1, err
}

// put keeps a new record. Where the journal cannot take it, it is kept in memory all the same.
func (s responseStore) put(ctx context.Context, r *record) {
	if s.store != nil {
		seq, err := s.write(ctx, r, r.object())
		if err != nil {
			s.log.ErrorContext(ctx, "a response is kept in memory alone, and not for long", "id", r.key.id, "error", err)
		} else {
			r.seq = seq
		}
	}
	s.archive.put(r)
}

// revise makes of a conversation what the next object of it says. The items are those that the object adds.
func (r *record) revise(o *keptObject, items []responses.Item) {
	if len(o.Metadata) > 0 {
		r.metadata = o.Metadata
	}
	r.input = slices.Concat(r.input, items)
	if len(o.Removed) > 0 {
		r.input = slices.DeleteFunc(r.input, func(it responses.Item) bool { return slices.Contains(o.Removed, it.ID) })
	}
}

// add puts items behind those of a conversation, which is made if it is not known.
func (s responseStore) add(ctx context.Context, key archiveKey, created int64, items []responses.Item) {
	s.revise(ctx, key, created, keptObject{Input: rawOf(items)}, items)
}

// revise changes a conversation, which is made if it is not known, and returns it.
func (s responseStore) revise(ctx context.Context, key archiveKey, created int64, o keptObject, items []responses.Item) *record {
	o.Owner, o.ID, o.Kind = key.owner, key.id, conversationKind
	for s.store != nil {
		old, err := s.get(ctx, key)
		next := &record{key: key, kind: conversationKind, created: created}
		if old != nil && old.kind == conversationKind {
			*next = *old
		}
		if o.Created = next.created; err == nil {
			next.seq, err = s.write(ctx, next, o)
		}
		switch {
		case errors.Is(err, journal.ErrConflict): // somebody else changed it
			s.archive.remove(key)
			continue
		case err != nil:
			s.log.ErrorContext(ctx, "a conversation goes on in memory alone, and not for long", "id", key.id, "error", err)
		default:
			next.revise(&o, items)
			s.archive.put(next)
			return next
		}
		break
	}
	return s.archive.revise(key, created, &o, items)
}

// update puts a record in the place of what is kept of it. Its input stands in the journal already.
func (s responseStore) update(ctx context.Context, r *record) {
	if s.store != nil && r.seq > 0 {
		seq, err := s.write(ctx, r, keptObject{Owner: r.key.owner, ID: r.key.id, Kind: r.kind, Body: r.body, Output: rawOf(r.output), Making: r.making})
		if err != nil {
			s.log.ErrorContext(ctx, "what became of a response is kept in memory alone, and not for long", "id", r.key.id, "error", err)
		} else {
			r.seq = seq
		}
	}
	s.archive.put(r)
}

// errUnfinished says that a response has no end yet.
var errUnfinished = errors.New("the response is still being made")

// chain returns what was said up to the end of a response, oldest first. missing is the id of one that is not kept, or has no end.
func (s responseStore) chain(ctx context.Context, key archiveKey) (items []responses.Item, missing string, err error) {
	var links []*record
	for ; key.id != ""; key.id = links[len(links)-1].previous {
		r, err := s.get(ctx, key)
		if err != nil || r == nil || r.kind != keptResponseKind {
			return nil, key.id, err
		}
		if r.unfinished() {
			return nil, key.id, errUnfinished
		}
		links = append(links, r)
	}
	for i := len(links) - 1; i >= 0; i-- {
		items = append(append(items, links[i].input...), links[i].output...)
	}
	return items, "", nil
}

// said returns the items of a conversation. One that is not known has none.
func (s responseStore) said(ctx context.Context, key archiveKey) (items []responses.Item, known bool, err error) {
	r, err := s.get(ctx, key)
	if err != nil || r == nil || r.kind != conversationKind {
		return nil, false, err
	}
	return append([]responses.Item(nil), r.input...), true, nil
}

// item returns an item by its id.
func (s responseStore) item(ctx context.Context, key archiveKey) (responses.Item, bool, error) {
	if it, ok := s.archive.item(key); ok || s.store == nil {
		return it, ok, nil
	}
	// Ids of items are made of that of their response: msg_STEM_in0.
	_, stem, _ := strings.Cut(key.id, "_")
	stem, _, _ = strings.Cut(stem, "_")
	if _, err := s.get(ctx, archiveKey{key.owner, "resp_" + stem}); err != nil {
		return responses.Item{}, false, err
	}
	it, ok := s.archive.item(key)
	return it, ok, nil
}

// remove forgets a record.
func (s responseStore) remove(ctx context.Context, key archiveKey) error {
	s.archive.remove(key)
	if s.store == nil {
		return nil
	}
	if err := s.store.Delete(ctx, key.stream(), journal.ReasonAsked); err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	return nil
}

// shelfFailure is what a client is told when what was kept cannot be read or deleted.
func (x *exchange) shelfFailure(err error) *failure {
	x.g.opts.Log.ErrorContext(x.r.Context(), "what was kept cannot be reached", "request", x.id, "error", err)
	return refuse(http.StatusServiceUnavailable, chat.ErrOverloaded, codeInternal, "what this service keeps cannot be reached now; try again")
}
