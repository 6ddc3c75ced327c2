package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Effective says what a run got.
type Effective struct {
	// Level is the level that holds. It is at least the one that was asked for.
	Level Level `json:"level"`
	// Layers are the means, in the order in which they were put up.
	Layers []Layer `json:"layers"`
}

// A Layer is one means by which a level is given.
type Layer struct {
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

// An Exit describes the end of a run.
type Exit struct {
	// Code is the exit code of the program, -1 if a signal ended it or it is not known.
	Code int
	// Signal is the name of the signal that ended the program, if one did, and SignalNumber its number.
	Signal       string
	SignalNumber int
	// Stdout and Stderr are how many bytes the tree wrote to each stream. Truncated says that the writers did not get
	// all.
	Stdout, Stderr int64
	Truncated      bool
	// Time is the duration of the run, User and System the processor time of all processes of the tree.
	Time, User, System time.Duration
	// MaxMemory is the most bytes that one process of the tree had in memory.
	MaxMemory int64
	// Survivors counts the processes of the tree that could not be ended, because the kernel holds them. It is nearly
	// always 0.
	Survivors int
}

// A Process is a run that was started. Wait must be called.
type Process struct {
	effective Effective
	id        string
	pid       int

	done chan struct{}
	exit Exit
	err  error
}

// Run runs a command to its end.
func Run(ctx context.Context, c Command) (Exit, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return Exit{Code: -1}, err
	}
	return p.Wait()
}

// Start starts a command. When the context ends, the tree is asked to end, and ended after the grace.
func Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Kind: contextKind(ctx), Err: err}
	}
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	p := &Process{id: rand.Text(), done: make(chan struct{})}
	s, err := openStreams(c)
	if err != nil {
		return nil, err
	}
	t, err := plant(ctx, p, c, program, s)
	if err != nil {
		s.close()
		return nil, err
	}
	s.start()
	go p.supervise(ctx, c.Limits, t, s)
	return p, nil
}

// Effective tells what the run got.
func (p *Process) Effective() Effective { return p.effective }

// Wait waits until the run has ended and nothing of it is left. The error is nil if the program ended by itself,
// whatever its exit code; otherwise it is an *Error that says what ended it.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// A tree is the running processes, as each system can hold them together.
type tree interface {
	// stop asks the processes to end, and ends them after the grace. It does not wait.
	stop(grace time.Duration)
	// kill ends them now. It does not wait.
	kill()
	// wait returns when there is no process left.
	wait() report
	// sweep looks for processes of the run that got away and ends them.
	sweep() (survivors int)
	// cleanup removes what was made for the run.
	cleanup()
}

// A report tells how a tree ended.
type report struct {
	Code      int           `json:"code"`
	Signal    string        `json:"signal,omitempty"`
	Number    int           `json:"number,omitempty"`
	Reason    string        `json:"reason,omitempty"` // a limit that ended it; see reasons
	User      time.Duration `json:"user"`
	System    time.Duration `json:"system"`
	MaxMemory int64         `json:"max_memory"`
	Survivors int           `json:"survivors,omitempty"`
	lost      bool          // there was no report
}

// late limits the time that a supervisor takes for its work beyond the grace before it is given up.
const late = 10 * time.Second

// supervise sees to it that the run ends, and says how.
func (p *Process) supervise(ctx context.Context, l ProcessLimits, t tree, s *streams) {
	defer close(p.done)
	started := time.Now()
	ended := make(chan report, 1)
	go func() { ended <- t.wait() }()

	var timeout <-chan time.Time
	if l.Time > 0 {
		timer := time.NewTimer(l.Time)
		defer timer.Stop()
		timeout = timer.C
	}
	var why error
	var r report
	select {
	case r = <-ended:
	case <-ctx.Done():
		why = &Error{Kind: contextKind(ctx), Err: context.Cause(ctx)}
	case <-timeout:
		why = &Error{Kind: ErrTimeout, Text: fmt.Sprintf("the limit is %v", l.Time)}
	case why = <-s.failed:
	}
	if why != nil {
		if errors.Is(why, ErrOutput) {
			t.kill() // it is at full speed: politeness only makes more of it
		} else {
			t.stop(l.Grace)
		}
		giveUp := time.NewTimer(l.Grace + late)
		select {
		case r = <-ended:
		case <-giveUp.C:
			t.kill()
			t.sweep()
			r = <-ended
		}
		giveUp.Stop()
	}
	if r.lost {
		r.Survivors = t.sweep()
	}
	streamErr := s.wait()
	t.cleanup()

	p.exit = Exit{Code: r.Code, Signal: r.Signal, SignalNumber: r.Number, Time: time.Since(started), User: r.User,
		System: r.System, MaxMemory: r.MaxMemory, Survivors: r.Survivors}
	p.exit.Stdout, p.exit.Stderr, p.exit.Truncated = s.counts()
	p.err = reason(why, streamErr, r)
}

// reason says what ended a run; what was noticed first counts most.
func reason(why, streamErr error, r report) error {
	switch {
	case why != nil:
		return why
	case r.Reason != "":
		return &Error{Kind: reasons[r.Reason]}
	case r.lost:
		return &Error{Kind: ErrLost}
	}
	return streamErr
}

func contextKind(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ErrCanceled
}

// streams are the three standard streams of a run.
type streams struct {
	stdin, stdout, stderr *os.File // the ends of the tree
	out                   []*capture
	in                    *os.File // our end
	source                io.Reader
	lent                  bool       // stdin is the caller's file and stays open
	failed                chan error // gets the first thing that must end the run
	wg                    sync.WaitGroup
	excess                *excess
}

func openStreams(c Command) (s *streams, err error) {
	s = &streams{failed: make(chan error, 1), excess: &excess{left: c.Limits.Excess}}
	defer func() {
		if err != nil {
			s.close()
			err = &Error{Kind: ErrHelper, Err: err}
		}
	}()
	if s.stdin, err = s.input(c.Stdin); err != nil {
		return s, err
	}
	if s.stdout, err = s.output(c.Stdout, c.Limits.Output); err != nil {
		return s, err
	}
	if c.Stderr != nil && same(c.Stdout, c.Stderr) {
		s.stderr = s.stdout
		return s, nil
	}
	s.stderr, err = s.output(c.Stderr, c.Limits.Output)
	return s, err
}

// same reports whether two writers are one. Writers that cannot be compared are two.
func same(a, b io.Writer) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return a == b
}

func (s *streams) input(r io.Reader) (*os.File, error) {
	if f, ok := r.(*os.File); ok {
		s.lent = true
		return f, nil
	}
	if r == nil {
		return os.Open(os.DevNull)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.in, s.source = ours, r
	return theirs, nil
}

func (s *streams) output(w io.Writer, limit int64) (*os.File, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if w == nil {
		w, limit = io.Discard, unlimited(0)
	}
	s.out = append(s.out, &capture{pipe: ours, to: w, left: limit, excess: s.excess})
	return theirs, nil
}

// theirs returns the files for the tree.
func (s *streams) theirs() []*os.File { return []*os.File{s.stdin, s.stdout, s.stderr} }

// closeTheirs closes them on this side.
func (s *streams) closeTheirs() {
	for i, f := range s.theirs() {
		if f != nil && !(i == 0 && s.lent) {
			f.Close()
		}
	}
}

// start begins to copy. The ends of the tree must be closed on this side by now, or the end of output is never seen.
func (s *streams) start() {
	s.closeTheirs()
	for _, c := range s.out {
		s.wg.Go(func() {
			if err := c.copy(); err != nil {
				select {
				case s.failed <- err:
				default:
				}
			}
		})
	}
	if s.in != nil {
		// Not waited for: who reads from a terminal or a network would hold the run's end up. It ends with its next
		// read, or write.
		go func() {
			io.Copy(s.in, s.source)
			s.in.Close()
		}()
	}
}

// dangling limits the time to read the output of a tree that has ended. A pipe of 64 KiB and a writer are all
// there is to wait for.
const dangling = 5 * time.Second

// wait waits for the output. Nobody writes any more by now.
func (s *streams) wait() error {
	if s.in != nil {
		s.in.Close()
	}
	for _, c := range s.out {
		// If something of the tree did get away with a pipe in its hand, it does not hold us.
		c.pipe.SetReadDeadline(time.Now().Add(dangling))
	}
	s.wg.Wait()
	for _, c := range s.out {
		c.pipe.Close()
	}
	select {
	case err := <-s.failed:
		return err
	default:
		return nil
	}
}

// counts returns how much there was, and whether the writers got it all.
func (s *streams) counts() (stdout, stderr int64, truncated bool) {
	stdout = s.out[0].seen
	truncated = s.out[0].truncated
	if len(s.out) > 1 {
		stderr = s.out[1].seen
		truncated = truncated || s.out[1].truncated
	}
	return stdout, stderr, truncated
}

// close gives everything back if the run did not start.
func (s *streams) close() {
	s.closeTheirs()
	if s.in != nil {
		s.in.Close()
	}
	for _, c := range s.out {
		c.pipe.Close()
	}
}

// An excess counts what both streams write beyond what is wanted.
type excess struct {
	mu   sync.Mutex
	left int64
}

// spend takes n bytes and reports whether they were there.
func (e *excess) spend(n int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left -= n
	return e.left >= 0
}

// A capture copies one stream up to its limit, and reads on so that the tree is not held up.
type capture struct {
	pipe      *os.File
	to        io.Writer
	left      int64
	excess    *excess
	seen      int64
	truncated bool
}

func (c *capture) copy() error {
	buf := make([]byte, 32<<10)
	for {
		n, err := c.pipe.Read(buf)
		c.seen += int64(n)
		keep := min(int64(n), c.left)
		c.left -= keep
		if keep > 0 {
			if _, err := c.to.Write(buf[:keep]); err != nil {
				return &Error{Kind: ErrCanceled, Text: "the output cannot be passed on", Err: err}
			}
		}
		if over := int64(n) - keep; over > 0 {
			c.truncated = true
			if !c.excess.spend(over) {
				return &Error{Kind: ErrOutput, Text: fmt.Sprintf("after %d bytes", c.seen)}
			}
		}
		if err != nil {
			return nil // its end, or ours
		}
	}
}
