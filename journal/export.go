package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"
)

// An exportLine is an entry as Export writes it.
type exportLine struct {
	Position int64           `json:"position"`
	Stream   string          `json:"stream"`
	Seq      int64           `json:"seq"`
	Session  string          `json:"session,omitempty"`
	At       time.Time       `json:"at"`
	Hash     Hash            `json:"hash"`
	Record   json.RawMessage `json:"record"` // as it is stored
}

// Export writes entries as JSON Lines, in the order of their positions, and returns how many there were.
func Export(ctx context.Context, s Store, q Query, w io.Writer) (int, error) {
	n := 0
	for e, err := range s.Read(ctx, q) {
		if err != nil {
			return n, err
		}
		if e.Deleted() {
			continue
		}
		line, err := e.Line(Options{})
		if err != nil {
			return n, err
		}
		if _, err := w.Write(line); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Line returns the entry as Export writes it, with what o masks taken out.
func (e *Entry) Line(o Options) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(exportLine{e.Position, e.Stream, e.Seq, e.Session, e.At, e.Seal.Hash, o.Mask.JSON(e.Body)})
	return b.Bytes(), err
}
