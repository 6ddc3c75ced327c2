package runs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"wield/agent"
	"wield/chat"
	"wield/internal/cli"
	"wield/tool/runner"
)

// A runInput reads a pipe with --input stream-json: one message a line, of which the first begins a
// run. Those that come while a run is under way enter its conversation as soon as no call is open; those that come
// later begin the next run of the session. docs/run-input.schema.json describes a line.
type runInput struct {
	lines <-chan inputLine
	next  *inputLine // that a run did not take any more
}

// An inputLine is a line that was read, or why none was.
type inputLine struct {
	message chat.Message
	Err     error
}

// newRunInput begins to read lines. The reader ends with the input, or with the program.
func newRunInput(ctx context.Context, r io.Reader) *runInput {
	lines := make(chan inputLine)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			raw, err := readLine(in)
			if len(bytes.TrimSpace(raw)) > 0 || err != nil && !errors.Is(err, io.EOF) {
				l := parseInput(raw, err)
				if l.Err != nil {
					l.Err = cli.UsageErrorf("--input: line %d: %w", n, l.Err)
				}
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
				if l.Err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return &runInput{lines: lines}
}

// readLine reads to the end of a line, and no more than a task may have.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxTask {
			return nil, fmt.Errorf("more than %d MiB", maxTask>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// parseInput reads a line.
func parseInput(raw []byte, err error) inputLine {
	if err != nil && !errors.Is(err, io.EOF) {
		return inputLine{Err: err}
	}
	var l struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	switch err := d.Decode(&l); {
	case err != nil:
		return inputLine{Err: err}
	case l.Type != "message":
		return inputLine{Err: fmt.Errorf("the type %q is unknown; there is message", l.Type)}
	case l.Text == nil || *l.Text == "":
		return inputLine{Err: errors.New("a message has a text")}
	}
	return inputLine{message: chat.Message{Role: chat.RoleUser, Parts: chat.Text(*l.Text)}}
}

// take returns the next message. It reports false at the end of the input.
func (in *runInput) take(ctx context.Context) (chat.Message, bool, error) {
	l, ok := inputLine{}, true
	if in.next != nil {
		l, in.next = *in.next, nil
	} else {
		select {
		case l, ok = <-in.lines:
		case <-ctx.Done():
			return chat.Message{}, false, ctx.Err()
		}
	}
	return l.message, ok, l.Err
}

// feed gives a run what comes while it is under way, until the function that it returns is called. What the run has
// taken is in the journal.
func (in *runInput) feed(ctx context.Context, run *agent.Run) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case l, ok := <-in.lines:
				if !ok {
					return
				}
				if l.Err != nil || run.Accept(ctx, l.message) != nil {
					in.next = &l
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// converse carries out one run after the other, as messages come. The error, and with it the exit code, is that of
// the last one.
func (f *runFlags) converse(ctx context.Context, app *cli.App, a *agent.Agent, runner *runner.Runner,
	req *chat.Request) (err error) {
	own := *app
	if f.outFile != "" { // one file for all runs
		file, err := os.Create(f.outFile)
		if err != nil {
			return cli.UsageErrorf("--out: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		own.Stdout, f.outFile = file, ""
	}
	in := newRunInput(ctx, app.Stdin)
	for {
		m, ok, failed := in.take(ctx)
		if failed != nil || !ok {
			return errors.Join(failed, err)
		}
		req.Messages = append(req.Messages, m)
		run := a.Run(req)
		stop := in.feed(ctx, run)
		err = f.carryOut(ctx, &own, run, runner, req)
		stop()
		if ctx.Err() != nil || run.Outcome().Reason == agent.EndWaiting {
			return err
		}
		req.Messages, req.Conversation = run.Messages(), run.Session()
	}
}
