package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// Options say what is measured.
type Options struct {
	Dialect string         // that has priority; empty: auto
	Only    bool           // Dialect alone
	Repair  dialect.Repair // level
	Models  []string       // only these; nil: all
	Without []string       // all but these
	Fails   io.Writer      // gets a JSON line for each row with gold that was not matched; nil: none
}

// Run reads the rows of the files, decodes their texts and scores what comes out. Rows are decoded on all cores and
// scored in their order; few are in memory at a time. Errors name the file and the line.
func Run(ctx context.Context, files []string, o Options) (*Report, error) {
	return run(ctx, files, o, func() (answerer, error) { return newReader(o) })
}

// An answerer says which calls a row's text holds. It is used by one goroutine.
type answerer interface {
	answer(r *Row, tools []toolRow) ([]ComparedCall, error)
}

// batch is the number of rows that a worker takes at a time.
const batch = 128

type job struct {
	lines []line
	done  chan result
}

type result struct {
	scored []scored
	err    error
}

func run(ctx context.Context, files []string, o Options, open func() (answerer, error)) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan job)                     // to the workers
	order := make(chan chan result, 2*workers) // to this goroutine, in the order of the rows
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		a, err := open()
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			for j := range jobs {
				j.done <- work(a, j.lines, o)
			}
		})
	}
	wg.Go(func() {
		defer close(order)
		defer close(jobs)
		produce(ctx, files, jobs, order)
	})
	report := newReport()
	for done := range order {
		r := <-done
		if r.err != nil {
			return nil, r.err
		}
		for i := range r.scored {
			if err := report.add(&r.scored[i], o.Fails); err != nil {
				return nil, err
			}
		}
	}
	return report, ctx.Err()
}

// produce sends the lines of the files to the workers until it is cancelled.
func produce(ctx context.Context, files []string, jobs chan<- job, order chan<- chan result) {
	send := func(lines []line, err error) bool {
		done := make(chan result, 1)
		select {
		case order <- done:
		case <-ctx.Done():
			return false
		}
		if err != nil {
			done <- result{err: err}
			return false
		}
		select {
		case jobs <- job{lines, done}:
			return true
		case <-ctx.Done():
			done <- result{err: ctx.Err()}
			return false
		}
	}
	var next []line
	for _, name := range files {
		for l, err := range lines(name) {
			if err != nil {
				send(nil, err)
				return
			}
			if next = append(next, l); len(next) == batch {
				if !send(next, nil) {
					return
				}
				next = nil
			}
		}
	}
	if len(next) > 0 {
		send(next, nil)
	}
}

// work decodes and scores a batch.
func work(a answerer, lines []line, o Options) (r result) {
	for _, l := range lines {
		row, err := l.row()
		if err != nil {
			return result{err: err}
		}
		if o.Models != nil && !slices.Contains(o.Models, row.Model) || slices.Contains(o.Without, row.Model) {
			continue
		}
		var tools []toolRow
		if err := json.Unmarshal(row.Tools, &tools); err != nil {
			return result{err: fmt.Errorf("%s:%d: tools: %w", l.file, l.n, err)}
		}
		calls, err := a.answer(row, tools)
		if err != nil {
			return result{err: fmt.Errorf("%s:%d: %w", l.file, l.n, err)}
		}
		r.scored = append(r.scored, score(row, tools, calls))
	}
	return r
}

// reader is the answerer that decodes the text. Rows of one question follow one another with the same tools, so the
// decoder for the last ones is kept.
type reader struct {
	options dialect.Options
	schemas schema.Cache
	tools   string // of the decoder
	decoder *dialect.Decoder
}

func newReader(o Options) (*reader, error) {
	r := &reader{options: dialect.Options{Dialect: o.Dialect, Only: o.Only, Repair: o.Repair}}
	_, err := dialect.New(r.options)
	return r, err
}

func (r *reader) answer(row *Row, tools []toolRow) ([]ComparedCall, error) {
	if err := r.offer(row, tools); err != nil {
		return nil, err
	}
	var c dialect.Collector
	for _, e := range r.decoder.Feed(nil, row.Text) {
		c.Add(e)
	}
	for _, e := range r.decoder.Close(nil) {
		c.Add(e)
	}
	var calls []ComparedCall
	for _, call := range c.Calls {
		if call.Complete {
			calls = append(calls, ComparedCall{call.Name, json.RawMessage(call.Arguments)})
		}
	}
	return calls, nil
}

// offer makes the decoder ready for a text with these tools on offer.
func (r *reader) offer(row *Row, tools []toolRow) (err error) {
	if r.decoder != nil && r.tools == string(row.Tools) {
		r.decoder.Reset()
		return nil
	}
	o := r.options
	for _, t := range tools {
		s, err := r.schemas.Compile(t.Function.Parameters)
		if err != nil {
			return fmt.Errorf("parameters of %s: %w", t.Function.Name, err)
		}
		o.Tools = append(o.Tools, shape.Tool{Name: t.Function.Name, Args: s.Shape()})
	}
	r.decoder, err = dialect.New(o)
	r.tools = string(row.Tools)
	return err
}
