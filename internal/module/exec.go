package module

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"wield/chat"
	"wield/tool/sandbox"
)

// A Hook is a moment at which a program is asked.
type Hook string

// The hooks. The names of the last two are those of module registries that are in use elsewhere.
const (
	OnMessage  Hook = "on_message"               // a text on its way to the model
	OnChunk    Hook = "on_llm_response_chunk"    // pieces of the answer, as they come
	OnComplete Hook = "on_llm_response_complete" // a whole segment of the answer
)

// Hooks are all hooks.
func Hooks() []Hook { return []Hook{OnMessage, OnChunk, OnComplete} }

// ExecOptions say which program [Exec] asks, and when.
type ExecOptions struct {
	Name    string
	Order   int
	Hooks   []Hook // OnChunk and OnComplete exclude one another
	Roles   []chat.Role
	Command sandbox.Command // without its input and outputs
	Timeout time.Duration   // of one answer of the program; 0: 10 s
	// Settings are given to the program with each question, as they are.
	Settings json.RawMessage
}

// A ProgramInput is sent to a program, as one line of JSON.
type ProgramInput struct {
	Hook     Hook              `json:"hook"`
	Text     string            `json:"text"`
	Final    bool              `json:"final,omitempty"`    // of OnChunk: nothing follows
	Metadata map[string]string `json:"metadata"`           // of the exchange
	Context  QuestionContext   `json:"context"`            // where the text belongs
	Settings json.RawMessage   `json:"settings,omitempty"` // from the configuration
}

// QuestionContext tells a program where a text belongs.
type QuestionContext struct {
	Model string `json:"model"`
}

// A ProgramOutput is read from a program, as one line of JSON.
type ProgramOutput struct {
	Text *string `json:"text"` // what stands in place of the text that was used; required
	// Used is how many bytes of the text Text stands for. The rest is given again, with more behind it. Not given: all.
	Used     *int              `json:"used,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"` // set in the exchange
}

// Exec returns a module whose texts a program changes. With OnMessage and OnComplete it runs once for each text,
// reads one [ProgramInput] and writes one [ProgramOutput]. With OnChunk it runs for a segment, and answers each line
// that it reads with one. It ends at the end of its input.
func Exec(o ExecOptions) (Module, error) {
	m := Module{Name: o.Name, Order: o.Order, Roles: o.Roles, Buffer: Whole}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	o.Command.Limits.Output = maxAnswers
	for _, h := range o.Hooks {
		switch h {
		case OnMessage:
			m.Input = func(ctx context.Context, x *Exchange, text string) (string, error) {
				out, _, err := o.once(ctx, x, h, text)
				return out, err
			}
		case OnComplete, OnChunk:
			if m.Output != nil {
				return m, fmt.Errorf("module %s: %s and %s exclude one another", o.Name, OnChunk, OnComplete)
			}
			if h == OnChunk {
				m.Buffer = chunk
				m.Output = func(x *Exchange) Transformer { return &talk{o: &o, x: x} }
				continue
			}
			m.Output = func(x *Exchange) Transformer { return completer{o: &o, x: x} }
		default:
			return m, fmt.Errorf("module %s: no hook %q; there are %v", o.Name, h, Hooks())
		}
	}
	if m.Input == nil && m.Output == nil {
		return m, fmt.Errorf("module %s: no hook; there are %v", o.Name, Hooks())
	}
	return m, nil
}

// maxAnswers bounds what a program may write in one run.
const maxAnswers = 64 << 20

// question returns a line for the program.
func (o *ExecOptions) question(x *Exchange, h Hook, text string, final bool) ([]byte, error) {
	line, err := json.Marshal(ProgramInput{Hook: h, Text: text, Final: final, Metadata: x.Meta,
		Context: QuestionContext{Model: x.Model}, Settings: o.Settings})
	return append(line, '\n'), err
}

// take reads an answer about text.
func take(x *Exchange, line []byte, text string) (out string, used int, err error) {
	var a ProgramOutput
	if err := json.Unmarshal(line, &a); err != nil {
		return "", 0, fmt.Errorf("the program's answer is no line of JSON: %w", err)
	}
	if a.Text == nil {
		return "", 0, errors.New("the program's answer has no text")
	}
	used = len(text)
	if a.Used != nil {
		used = *a.Used
	}
	maps.Copy(x.Meta, a.Metadata)
	return *a.Text, used, nil
}

// once runs the program for one text.
func (o *ExecOptions) once(ctx context.Context, x *Exchange, h Hook, text string) (string, int, error) {
	line, err := o.question(x, h, text, true)
	if err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var out, said bytes.Buffer
	c := o.Command
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(line), &out, &said
	exit, err := sandbox.Run(ctx, c)
	if err != nil {
		return "", 0, err
	}
	if exit.Code != 0 {
		return "", 0, fmt.Errorf("the program ended with %d: %s", exit.Code, lastLine(said.Bytes()))
	}
	return take(x, bytes.TrimSpace(out.Bytes()), text)
}

// lastLine returns the end of what a program complained about.
func lastLine(said []byte) string {
	said = bytes.TrimSpace(said)
	said = said[bytes.LastIndexByte(said, '\n')+1:]
	return string(said[:min(len(said), 300)])
}

// A completer changes a whole segment at once.
type completer struct {
	o *ExecOptions
	x *Exchange
}

// Transform implements [Transformer].
func (c completer) Transform(ctx context.Context, text string, _ bool) (string, int, error) {
	if text == "" {
		return "", 0, nil
	}
	return c.o.once(ctx, c.x, OnComplete, text)
}

// A talk is one run of a program over a segment.
type talk struct {
	o      *ExecOptions
	x      *Exchange
	cancel context.CancelFunc
	in     *io.PipeWriter
	lines  chan []byte   // its answers
	ended  chan struct{} // closed when nothing of the run is left; failed is set then
	failed error
}

// Transform implements [Transformer].
func (t *talk) Transform(ctx context.Context, text string, final bool) (out string, used int, err error) {
	defer func() {
		if err != nil || final {
			t.end(err == nil)
		}
	}()
	if t.in == nil {
		if text == "" {
			return "", 0, nil
		}
		if err := t.start(ctx); err != nil {
			return "", 0, err
		}
	}
	line, err := t.o.question(t.x, OnChunk, text, final)
	if err != nil {
		return "", 0, err
	}
	wait := time.NewTimer(t.o.Timeout)
	defer wait.Stop()
	go func() {
		_, _ = t.in.Write(line) // a program that reads no more ends, or does not answer in time
	}()
	select {
	case line := <-t.lines:
		return take(t.x, line, text)
	case <-t.ended:
		return "", 0, fmt.Errorf("the program ended: %w", t.failed)
	case <-wait.C:
		return "", 0, fmt.Errorf("the program did not answer within %v", t.o.Timeout)
	}
}

// start starts the program.
func (t *talk) start(ctx context.Context) error {
	ctx, t.cancel = context.WithCancel(ctx)
	in, w := io.Pipe()
	out, answers := io.Pipe()
	var said bytes.Buffer
	c := t.o.Command
	c.Stdin, c.Stdout, c.Stderr = in, answers, &said
	p, err := sandbox.Start(ctx, c)
	if err != nil {
		t.cancel()
		return err
	}
	t.in, t.lines, t.ended = w, make(chan []byte), make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, maxAnswers)
		for lines.Scan() {
			select {
			case t.lines <- bytes.Clone(lines.Bytes()):
			case <-ctx.Done():
			}
		}
		_ = out.CloseWithError(lines.Err())
	}()
	go func() {
		exit, err := p.Wait()
		_ = answers.Close()
		_ = in.Close()
		<-read
		if err == nil {
			err = fmt.Errorf("with %d: %s", exit.Code, lastLine(said.Bytes()))
		}
		t.failed = err
		close(t.ended)
	}()
	return nil
}

// Close ends the program at once.
func (t *talk) Close() error {
	t.end(false)
	return nil
}

// end ends the program, which may have its time if it can.
func (t *talk) end(wait bool) {
	if t.in == nil {
		return
	}
	_ = t.in.Close()
	if wait {
		late := time.NewTimer(t.o.Timeout)
		defer late.Stop()
		select {
		case <-t.ended:
		case <-late.C:
		}
	}
	t.cancel()
	<-t.ended
}
