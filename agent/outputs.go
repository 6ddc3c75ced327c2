package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// outputs lets the tools of a run read again what came out of its earlier calls: results by the ids of their calls,
// from the conversation, and outputs that were too long to be shown, from the journal.
type outputs struct {
	log *runRecorder // nil: there is no journal

	mu       sync.Mutex
	messages []chat.Message // up to the last calls; nothing is inserted before those
}

// turn takes the conversation as it is when the calls of a turn begin.
func (o *outputs) turn(s *state) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.messages = s.Messages[:s.at]
}

// Output implements tool.Outputs.
func (o *outputs) Output(ctx context.Context, id string) (string, bool, error) {
	o.mu.Lock()
	messages := o.messages
	o.mu.Unlock()
	for i := range messages {
		if m := &messages[i]; m.Role == chat.RoleTool && m.CallID == id {
			return m.Text(), true, nil
		}
	}
	return o.log.output(ctx, id)
}

// typeOutput is the type of the object that an output is in a journal.
const typeOutput = "output"

// outputStream returns the id of the stream of an output. One that several sessions were shown stands in each of
// them, and goes with it.
func (l *runRecorder) outputStream(id string) string { return "out_" + id + "_" + l.session }

// output returns an output of the session that was too long to be shown whole.
func (l *runRecorder) output(ctx context.Context, id string) (text string, ok bool, err error) {
	if l == nil {
		return "", false, nil
	}
	for e, err := range l.store.Read(ctx,
		journal.Query{Stream: l.outputStream(id), Kinds: []record.Kind{record.KindObject}}) {
		if err != nil {
			return "", false, fmt.Errorf("agent: output %s: %w", id, err)
		}
		if x := e.Record.Object; x.Session == l.session && x.Type == typeOutput {
			var t record.Text
			if err := json.Unmarshal(x.Data, &t); err != nil {
				return "", false, fmt.Errorf("agent: output %s: %w", id, err)
			}
			text, ok = string(t), true
		}
	}
	return text, ok, nil
}

// records are those of a run. An output that was too long to be shown is kept with them, so that it can be read when
// the process that has its file is gone.
type records struct {
	*journal.Writer
	log    *runRecorder
	shared *runner.Shared
}

// Finish keeps the whole output first: a result never names one that there is not.
func (r *records) Finish(ctx context.Context, f runner.FinishRecord) error {
	if t := f.Result.Truncated; t != nil && t.Spill != "" {
		if err := r.keep(ctx, t.Spill); err != nil {
			return err
		}
	}
	return r.Writer.Finish(ctx, f)
}

func (r *records) keep(ctx context.Context, id string) error {
	text, ok := r.shared.Spilled(id)
	if !ok {
		return nil // it was the oldest, and there was no room
	}
	data, err := json.Marshal(record.Text(text))
	if err != nil {
		return fmt.Errorf("agent: output %s: %w", id, err)
	}
	_, err = r.log.store.Append(ctx, r.log.outputStream(id), 0, record.Record{Kind: record.KindObject,
		Object: &record.Object{Session: r.log.session, Type: typeOutput, Data: data}})
	if err != nil && !errors.Is(err, journal.ErrConflict) { // else it stands there
		return fmt.Errorf("agent: output %s cannot be kept: %w", id, err)
	}
	return nil
}
