package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"wield/chat"
	"wield/internal/shorten"
	"wield/journal"
	"wield/journal/record"
	"wield/wire/jsonbody"
	"wield/wire/responses"
)

// The codes of failures with responses that are made in the background.
const (
	codeUnfinished    = "response_in_progress"
	codeElsewhere     = "response_made_elsewhere"
	codeNotBackground = "response_not_in_background"
	codeFrames        = "events_not_kept"
)

// background answers a request for a response that is made whether or not the client waits for it.
func (x *exchange) background(m *Model, k storedResponse, size int) *failure {
	if f := x.prepare(&k.req.Request); f != nil {
		return f
	}
	if x.g.draining.Load() {
		return stopping()
	}
	k.x = nil
	j := x.g.newJob(k, x.traced(m.Model), 0)
	j.bytes = size
	if f := x.g.jobs.admit(j); f != nil {
		return f
	}
	if m.Lasting != nil {
		answer, err := m.Lasting.Begin(x.r.Context(), &k.req.Request)
		if err != nil {
			x.g.jobs.dismiss(j)
			return x.modelFailure(x.r.Context(), err)
		}
		if answer != "" {
			j.last, j.answer, j.model = m.Lasting, answer, x.traced(m.Lasting.Answer(answer))
		}
	}
	j.queue()
	lease, err := j.storedResponse.begin(x.r.Context(), j.body(), &making{Model: m.Name, Answer: j.answer})
	if err != nil {
		if j.last != nil {
			_ = j.last.Abandon(x.r.Context(), j.answer) // the journal cannot take this either
		}
		x.g.jobs.dismiss(j)
		return x.storeFailure(err)
	}
	x.g.jobs.know(j, j.storedResponse.record)
	x.lent = true
	first, holder := j.body(), x.holder
	x.g.launch(j, &k.req.Request, lease, func() { x.g.giveBack(holder) })
	if k.req.Stream {
		return x.follow(j, -1)
	}
	x.body(http.StatusOK, first)
	return nil
}

// newJob returns a job that is not worked on yet.
func (g *Gateway) newJob(k storedResponse, m chat.Model, life int) *job {
	j := &job{g: g, storedResponse: k, model: m, life: life, writer: responses.NewStreamWriter(k.o)}
	j.ctx, j.cancel = context.WithCancelCause(g.jobs.base)
	return j
}

// begin remembers a response that is about to be made, and makes this process the one that makes it. Without a journal
// there is no lease, since no other process knows of the response. A journal that cannot take it is an error: the
// client relies on finding the response later.
func (k *storedResponse) begin(ctx context.Context, body []byte, m *making) (*journal.Lease, error) {
	ctx = context.WithoutCancel(ctx)
	k.record = &stored{key: k.key(), kind: keptResponseKind, created: k.o.Created, body: body, previous: k.req.Previous,
		input: k.input(), making: m}
	if k.responses.journal == nil {
		k.responses.cache(k.record)
		return nil, nil
	}
	seq, err := k.responses.write(ctx, k.record, k.record.object())
	if err != nil {
		return nil, err
	}
	lease, err := k.responses.journal.Claim(ctx, k.key().stream(), journal.NewID("own"), jobLease)
	if err != nil {
		return nil, err
	}
	k.record.seq = max(seq, lease.Seq)
	k.responses.cache(k.record)
	return &lease, nil
}

// finish remembers what became of a response that begin has remembered.
func (k *storedResponse) finish(ctx context.Context, body []byte, items []json.RawMessage) {
	next := *k.record
	next.body, next.making = body, nil
	next.output, _ = outputOf(items)
	if k.req.Kept != "" {
		k.responses.add(ctx, recordKey{k.owner, k.req.Kept}, k.o.Created, slices.Concat(next.input, next.output))
	}
	k.responses.update(ctx, &next)
	k.record = &next
}

// making returns the job of a response, and nil if it is not made here and was not made of late. One that was left by a
// process is taken up.
func (x *exchange) making(r *stored) (*job, *failure) {
	if j := x.g.jobs.get(r.key); j != nil {
		return j, nil
	}
	if !r.unfinished() {
		return nil, nil
	}
	j, err := x.g.adopt(x.r.Context(), r)
	switch {
	case errors.Is(err, journal.ErrHeld): // another process makes it, or did until a moment ago
		return nil, nil
	case err != nil:
		return nil, x.storeFailure(err)
	}
	return j, nil
}

// adopt continues a response that its process has left unfinished. One that cannot go on is said to have failed.
func (g *Gateway) adopt(ctx context.Context, r *stored) (*job, error) {
	s := &g.responses
	if s.journal == nil { // its job was cut off here, and nothing is left to go on with
		return nil, journal.ErrHeld
	}
	lease, err := s.journal.Claim(context.WithoutCancel(ctx), r.key.stream(), journal.NewID("own"), jobLease)
	if err != nil {
		return nil, err
	}
	r, err = s.load(ctx, r.key) // as it is now that nobody else writes
	if err != nil || r == nil || !r.unfinished() {
		return nil, errors.Join(err, s.journal.Release(ctx, lease))
	}
	req, err := responses.Restore(r.body)
	if err != nil {
		return nil, errors.Join(err, s.journal.Release(ctx, lease))
	}
	req.Previous = r.previous
	was := r.making
	m := g.models[was.Model]
	k := storedResponse{responses: s, owner: r.key.owner, req: req, record: r,
		o: responses.ResponseOptions{ID: r.key.id, Created: r.created, Model: was.Model, Request: req}}
	var served chat.Model = orphan{}
	if m != nil {
		k.o.Natives = m.Annotations
	}
	j := g.newJob(k, served, was.Life+1)
	if m != nil && m.Lasting != nil && was.Answer != "" {
		j.last, j.answer, j.model = m.Lasting, was.Answer, m.Lasting.Answer(was.Answer)
	}
	j.begun = r
	if f := g.jobs.admit(j); f != nil {
		return nil, errors.Join(f.err, s.journal.Release(ctx, lease))
	}
	j.queue()
	again := *r
	again.making = &making{Model: was.Model, Answer: was.Answer, Life: j.life}
	s.update(ctx, &again)
	j.storedResponse.record = &again
	g.running.Add(1)
	g.launch(j, &req.Request, &lease, func() { g.giveBack(nil) })
	return j, nil
}

// An orphan is the model of a response that no process can go on with.
type orphan struct{}

// Stream implements chat.Model.
func (orphan) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return chat.Fail(processEnded("the process that made this response ended before the answer was whole"))
}

// abandon ends a response before it is whole.
func (x *exchange) abandon(r *stored, cause error) *failure {
	j, f := x.making(r)
	if f != nil {
		return f
	}
	if j == nil {
		f := refuse(http.StatusConflict, chat.ErrBadRequest, codeElsewhere,
			"the response "+shorten.Quoted(r.key.id)+" is made by another process of this service, or was a moment "+
				"ago; try "+
				"again")
		f.err.RetryAfter = jobLease
		return f
	}
	if err := j.end(x.r.Context(), cause); err != nil {
		return x.modelFailure(x.r.Context(), err)
	}
	return nil
}

// cancelResponse answers POST /v1/responses/ID/cancel.
func (x *exchange) cancelResponse() *failure {
	r, f := x.kept(keptResponseKind)
	if f != nil {
		return f
	}
	req, err := responses.Restore(r.body)
	if err != nil || !req.Background {
		return refuse(http.StatusBadRequest, chat.ErrBadRequest, codeNotBackground,
			"the response "+shorten.Quoted(x.arg)+
				" was not made in the background, so that there is nothing to cancel: to end such an answer, close "+
				"the "+
				"connection that it comes on")
	}
	if r.unfinished() {
		if f := x.abandon(r, errCancelled); f != nil {
			return f
		}
		if r, f = x.kept(keptResponseKind); f != nil {
			return f
		}
	}
	x.body(http.StatusOK, r.body)
	return nil
}

// showStream answers with the events of a response behind a number, and goes on until its end.
func (x *exchange) showStream(r *stored, j *job, after string) *failure {
	switch {
	case j == nil && r.unfinished():
		return refuse(http.StatusConflict, chat.ErrBadRequest, codeElsewhere, "the response "+shorten.Quoted(r.key.id)+
			" is made by another process of this service, or was a moment ago; try again, or leave stream out")
	case j == nil:
		return badField("stream", codeFrames,
			"the events of this response are not kept: those of responses in the background are, for some time; "+
				"leave stream out")
	case after == "":
		return x.follow(j, -1)
	}
	n, err := strconv.Atoi(after)
	if err != nil || n < 0 {
		return badField("starting_after", jsonbody.CodeInvalidValue,
			"starting_after: this must be the sequence_number of an event")
	}
	return x.follow(j, n)
}

// checkPlace refuses to follow a response from an event on that is not there.
func (j *job) checkPlace(after int) *failure {
	j.mu.Lock()
	defer j.mu.Unlock()
	begin := j.life * numbersPerLife
	switch {
	case after >= j.frames.next():
		return badField("starting_after", jsonbody.CodeInvalidValue,
			"starting_after: the last event of this response so far is number "+strconv.Itoa(j.frames.next()-1))
	case after >= 0 && after < begin-1:
		return badField("starting_after", codeFrames,
			"starting_after: the service was started again since that event, and tells the response anew: "+
				"follow it from its beginning (without starting_after), or ask for it without stream")
	case j.frames.first > begin && after < j.frames.first-1:
		return badField("starting_after", codeFrames, "starting_after: the events up to number "+
			strconv.Itoa(j.frames.first-1)+
			" are not kept any more; ask for the response without stream")
	}
	return nil
}

// follow answers with the events of a job, those behind a number. A client that goes away changes nothing.
func (x *exchange) follow(j *job, after int) *failure {
	if f := j.checkPlace(after); f != nil {
		return f
	}
	h := x.w.Header()
	h["Content-Type"] = x.front.streamType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = unbuffered
	x.head(http.StatusOK)
	alive := x.aliveTimer()
	defer alive.Stop()
	after = max(after, j.life*numbersPerLife-1)
	for {
		list, lost, over, changed := j.since(after)
		after += len(list)
		switch {
		case !x.push(list):
			return nil
		case lost:
			x.push([][]byte{responses.AppendBroken(nil, after+1, tooSlow())})
			return nil
		case over && j.left:
			x.push([][]byte{responses.AppendBroken(nil, after+1, stopping().err)})
			return nil
		case over:
			return nil
		}
		if len(list) > 0 && x.g.opts.KeepAlive >= 0 {
			alive.Reset(x.g.opts.KeepAlive)
		}
		select {
		case <-changed:
		case <-alive.C:
			if !x.push([][]byte{[]byte(x.front.keepAlive)}) {
				return nil
			}
			alive.Reset(x.g.opts.KeepAlive)
		case <-x.r.Context().Done():
			if errors.Is(context.Cause(x.r.Context()), errDraining) {
				x.push([][]byte{responses.AppendBroken(nil, after+1, stopping().err)})
			}
			return nil
		}
	}
}

// tooSlow is the error of a stream whose client has not taken the events before they were forgotten.
func tooSlow() *chat.Error {
	return &chat.Error{Kind: chat.ErrBadRequest, Code: codeFrames,
		Message: "the events that come next are not kept any more: they were made faster than this client took them; " +
			"ask for the response without stream"}
}

// aliveTimer returns the timer of signs of life, which never fires where there are none.
func (x *exchange) aliveTimer() *time.Timer {
	if x.g.opts.KeepAlive < 0 {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(x.g.opts.KeepAlive)
}

// push sends frames, and reports whether the client takes them.
func (x *exchange) push(list [][]byte) bool {
	if len(list) == 0 {
		return true
	}
	x.deadline(time.Now())
	for _, b := range list {
		n, err := x.w.Write(b)
		x.written += int64(n)
		x.keepAnswer(b)
		if err != nil {
			return false
		}
	}
	return x.rc.Flush() == nil
}

// Recover takes up the responses that an earlier process was making in the background, until ctx ends. Those of agents
// go on, the others have failed. It returns at once.
func (g *Gateway) Recover(ctx context.Context) {
	if g.opts.Journal == nil {
		return
	}
	g.jobs.start(func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.jobs.base, cancel)()
		if err := g.adoptJobs(ctx); err != nil && ctx.Err() == nil {
			g.opts.Log.ErrorContext(ctx, "cannot resume responses of an earlier process", "error", err)
		}
	})
}

// longestAgo is how long ago a process may have ended whose responses are looked for at the start. Older ones are seen
// to when somebody asks for them.
const longestAgo = 48 * time.Hour

// adoptJobs adopts what is left, as soon as nobody holds it.
func (g *Gateway) adoptJobs(ctx context.Context) error {
	left, err := g.leftBehind(ctx)
	for err == nil && len(left) > 0 {
		if left, err = g.adoptAll(ctx, left); err != nil || len(left) == 0 {
			break
		}
		// a process that was killed holds them for so long, and one that lives for longer
		wait := time.NewTimer(jobLease)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil
		}
	}
	return err
}

// leftBehind returns the keys of the responses that have no end.
func (g *Gateway) leftBehind(ctx context.Context) (left []recordKey, err error) {
	for h, err := range g.opts.Journal.Heads(ctx, journal.HeadQuery{Opened: record.KindObject}) {
		if err != nil {
			return nil, err
		}
		if time.Since(h.Changed) > longestAgo {
			break
		}
		if h.Seq < 2 { // a response that is made has an owner besides; this one was whole from the beginning
			continue
		}
		var last keptObject
		for e, err := range g.opts.Journal.Read(ctx,
			journal.Query{Stream: h.Stream, Kinds: []record.Kind{record.KindObject}}) {
			if err != nil {
				return nil, err
			}
			last = keptObject{}
			if o := e.Record.Object; o == nil || o.Type != objectKept || json.Unmarshal(o.Data, &last) != nil {
				break
			}
		}
		if last.Making != nil {
			left = append(left, recordKey{last.Owner, last.ID})
		}
	}
	return left, nil
}

// adoptAll adopts responses, and returns those that somebody else holds.
func (g *Gateway) adoptAll(ctx context.Context, keys []recordKey) (held []recordKey, err error) {
	for _, key := range keys {
		if g.jobs.get(key) != nil {
			continue
		}
		_, err := g.current.Load().adopt(ctx, &stored{key: key})
		switch {
		case errors.Is(err, journal.ErrHeld):
			held = append(held, key)
		case errors.Is(err, journal.ErrNotFound): // it was deleted meanwhile
		case err != nil:
			return held, err
		}
	}
	return held, nil
}
