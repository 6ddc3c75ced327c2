package stats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/tool/atomicfile"
)

// Dims are what numbers are told apart by. What has no value of one, such as a call that came through a server's
// function calling of a dialect, has a word for that there.
type Dims struct {
	Model   string `json:"model,omitempty"`
	Client  string `json:"client,omitempty"`
	Dialect string `json:"dialect,omitempty"`
	Tool    string `json:"tool,omitempty"`
}

// The words for dimensions without a value.
const (
	Nobody    = "-"        // a client without a key
	Function  = "function" // the dialect of calls that did not come as text
	otherName = "other"    // the tool of all calls beyond maxTools
)

// Options say how a Store works. The zero value works.
type Options struct {
	Keep time.Duration    // how long numbers are kept; 0: 400 days
	Log  *slog.Logger     // nil: nothing is said
	Now  func() time.Time // nil: time.Now
}

const (
	defaultKeep = 400 * 24 * time.Hour
	flushEvery  = 15 * time.Second
	compactedBy = 2 * 24 * time.Hour // nobody adds to the file of a day that is over for so long
	hourly      = 8 * 24 * time.Hour // a day that is over for so long is kept as one hour, its first
	maxTools    = 500                // clients choose names of tools
	maxToolName = 64
	maxInMemory = 24 // hours that are kept where there is no directory
)

// A Store counts. Several goroutines, and several programs in one directory, may use one at once. A nil Store counts
// nothing.
type Store struct {
	dir string
	o   Options

	disk sync.Mutex // held while files are read or written; before mu

	mu      sync.Mutex
	pending map[key]*cell // what is not in a file yet
	tools   map[string]string
	hour    int64 // of the last cell
}

type key struct {
	hour int64 // since 1970
	Dims
}

// A cell holds the numbers of one key.
type cell struct {
	counts [numCounters]int64
	times  [numTimers]map[int]int64 // by bucket
}

// New returns the store in a directory, which is made when there is something to keep. An empty one keeps the last day
// in memory.
func New(dir string, o Options) *Store {
	if o.Keep <= 0 {
		o.Keep = defaultKeep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{dir: dir, o: o, pending: map[key]*cell{}, tools: map[string]string{}}
}

// Now returns the time by the clock that a Store counts by, which is where its numbers end.
func (s *Store) Now() time.Time {
	if s == nil {
		return time.Now()
	}
	return s.o.Now()
}

// A count is one step of a counter.
type count struct {
	Dims
	counter Counter
	n       int64
}

// A took is one time that something took.
type took struct {
	Dims
	timer Timer
	d     time.Duration
}

// add counts what happened at a time.
func (s *Store) add(at time.Time, counts []count, times []took) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hour := at.Unix() / 3600
	var c *cell
	for i := range counts {
		if c == nil || counts[i].Dims != counts[i-1].Dims {
			c = s.cell(hour, counts[i].Dims)
		}
		c.counts[counts[i].counter] += counts[i].n
	}
	for i := range times {
		s.cell(hour, times[i].Dims).time(times[i].timer, bucket(times[i].d), 1)
	}
	if s.dir == "" && hour != s.hour { // of a clock that was ahead, too
		maps.DeleteFunc(s.pending, func(k key, _ *cell) bool {
			return k.hour <= hour-maxInMemory || k.hour >= hour+maxInMemory
		})
	}
	s.hour = hour
}

func (s *Store) cell(hour int64, d Dims) *cell {
	d.Tool = s.tool(d.Tool)
	if d.Client == "" {
		d.Client = Nobody
	}
	k := key{hour, d}
	c := s.pending[k]
	if c == nil {
		c = &cell{}
		s.pending[k] = c
	}
	return c
}

// tool returns the name under which a tool is counted.
func (s *Store) tool(name string) string {
	kept, ok := s.tools[name]
	switch {
	case name == "" || ok:
		return kept
	case len(name) > maxToolName || len(s.tools) >= maxTools:
		return otherName
	}
	name = strings.Clone(name) // the rest of a request's body is not kept for it
	s.tools[name] = name
	return name
}

// Run adds what was counted to the files now and then, until ctx ends, and removes what is too old.
func (s *Store) Run(ctx context.Context) {
	if s == nil || s.dir == "" {
		return
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var tidied time.Time
	for {
		if now := s.o.Now(); now.Sub(tidied) > time.Hour {
			if err := s.tidy(now); err != nil {
				s.o.Log.Warn("cannot compact or remove old statistics", "error", err)
			}
			tidied = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.Flush(); err != nil {
			s.o.Log.Warn("cannot write statistics", "error", err)
		}
	}
}

// Flush adds what was counted to the files. What cannot be written is kept, and tried again the next time.
func (s *Store) Flush() error {
	if s == nil || s.dir == "" {
		return nil
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	days := s.take()
	if len(days) == 0 {
		return nil
	}
	err := os.MkdirAll(s.dir, 0o700)
	for day, cells := range days {
		failed := err
		if failed == nil {
			failed = appendTo(filepath.Join(s.dir, day+suffix), lines(cells))
		}
		if failed != nil {
			s.putBack(cells)
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	return nil
}

// take returns what is in no file yet, by the name of the day, and begins anew.
func (s *Store) take() map[string]map[key]*cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	days := map[string]map[key]*cell{}
	for k, c := range s.pending {
		day := dayOf(k.hour)
		if days[day] == nil {
			days[day] = map[key]*cell{}
		}
		days[day][k] = c
	}
	s.pending = map[key]*cell{}
	return days
}

func (s *Store) putBack(cells map[key]*cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, old := range cells {
		c := s.pending[k]
		if c == nil {
			s.pending[k] = old
			continue
		}
		for i, n := range old.counts {
			c.counts[i] += n
		}
		for t, buckets := range old.times {
			for i, n := range buckets {
				c.time(Timer(t), i, n)
			}
		}
	}
}

// Close adds what was counted to the files.
func (s *Store) Close() error { return s.Flush() }

const suffix = ".stats"

func dayOf(hour int64) string { return time.Unix(hour*3600, 0).UTC().Format(time.DateOnly) }

// appendTo adds text to a file in one write, so that what several programs add does not mix. It begins with a newline:
// a program that was killed may have left half a line.
func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte{'\n'}, text...))
	return errors.Join(err, f.Close())
}

// tidy removes the files of days that are too old, and adds up the lines of days that are over.
func (s *Store) tidy(now time.Time) error {
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		day, err := time.Parse(time.DateOnly+suffix, f.Name())
		if err != nil {
			continue
		}
		path := filepath.Join(s.dir, f.Name())
		switch age := now.Sub(day); {
		case age > s.o.Keep+24*time.Hour:
			errs = append(errs, os.Remove(path))
		case age > 24*time.Hour+hourly:
			errs = append(errs, compact(path, daily))
		case age > 24*time.Hour+compactedBy:
			errs = append(errs, compact(path, compacted))
		}
	}
	return errors.Join(errs...)
}

// How a file begins in which every cell has one line, and one whose cells are those of the day.
const (
	compacted = "# one line a cell\n"
	daily     = "# one line a cell, of the whole day\n"
)

// compact makes one line of all lines of a cell, or of a day. Whoever does it at the same time writes the same.
func compact(path, head string) error {
	text, err := os.ReadFile(path)
	if err != nil || bytes.HasPrefix(text, []byte(head)) {
		return err
	}
	cells := map[key]*cell{}
	eachLine(text, func(l *line) {
		k := key{l.hour, Dims{string(l.dims[0]), string(l.dims[1]), string(l.dims[2]), string(l.dims[3])}}
		if head == daily {
			k.hour -= k.hour % 24
		}
		if cells[k] == nil {
			cells[k] = &cell{}
		}
		l.numbers(cells[k])
	})
	return atomicfile.Write(path, append([]byte(head), lines(cells)...), 0o600)
}

// lines writes cells, in order.
func lines(cells map[key]*cell) []byte {
	keys := slices.SortedFunc(maps.Keys(cells), func(a, b key) int { return a.compare(&b) })
	var b bytes.Buffer
	for _, k := range keys {
		writeLine(&b, k, cells[k])
	}
	return b.Bytes()
}

// unwritten returns what is in no file yet, as lines.
func (s *Store) unwritten() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lines(s.pending)
}
