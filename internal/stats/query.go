package stats

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Dim is the name of a dimension.
type Dim string

// The dimensions.
const (
	ByModel   Dim = "model"
	ByClient  Dim = "client"
	ByDialect Dim = "dialect"
	ByTool    Dim = "tool"
)

var dims = [4]Dim{ByModel, ByClient, ByDialect, ByTool}

// ErrQuery says that a question cannot be answered.
var ErrQuery = errors.New("stats: bad question")

// A Query asks for numbers. The zero value asks for all of them in one row.
type Query struct {
	From, To time.Time     // hours that begin from From and before To; zero: no bound
	By       []Dim         // one row for each value of these; cells that have none of one are left out
	Step     time.Duration // one row for each so long time, of whole hours; 0: one for all
	Only     Dims          // where a dimension has a value, cells of that value alone
}

// Check reports what is wrong with a question.
func (q *Query) Check() error {
	for _, d := range q.By {
		if !slices.Contains(dims[:], d) {
			return fmt.Errorf("%w: by %q: numbers are told apart by model, client, dialect and tool", ErrQuery, d)
		}
	}
	switch {
	case q.Step < 0 || q.Step%time.Hour != 0:
		return fmt.Errorf("%w: step %s: a step is a number of whole hours, such as 1h or 24h", ErrQuery, q.Step)
	case !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To):
		return fmt.Errorf("%w: the time from %s to %s is empty", ErrQuery, q.From.Format(time.RFC3339),
			q.To.Format(time.RFC3339))
	}
	return nil
}

// ParseSince reads how far to look back, such as 90m, 24h, 7d or 4w.
func ParseSince(text string) (time.Duration, error) {
	for unit, size := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.Atoi(number); err == nil && n > 0 && n < 10_000 {
				return time.Duration(n) * size, nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%w: %q is no time to look back: write it as 24h, 7d or 4w", ErrQuery, text)
	}
	return d, nil
}

// A Row holds the numbers of one selection.
type Row struct {
	Time time.Time // where the step begins; zero without steps
	Dims
	counts [numCounters]int64
	times  [numTimers]*Histogram
}

// Count returns a number.
func (r *Row) Count(c Counter) int64 { return r.counts[c] }

// Sum returns the sum of numbers.
func (r *Row) Sum(of ...Counter) int64 {
	var n int64
	for _, c := range of {
		n += r.counts[c]
	}
	return n
}

// Times returns what times a timer took. It is nil if there are none.
func (r *Row) Times(t Timer) *Histogram { return r.times[t] }

// Attempts returns how many times something was a call, or tried to be one.
func (r *Row) Attempts() int64 { return r.counts[Calls] + r.Sum(Rejections()...) }

func (r *Row) time(t Timer, bucket int, n int64) {
	if r.times[t] == nil {
		r.times[t] = &Histogram{}
	}
	r.times[t].add(bucket, n)
}

// Query returns the rows that q asks for, in the order of time and names. It reads the files anew each time, so that
// other programs' numbers are in it, and fails with ErrQuery or with what the disk says.
func (s *Store) Query(ctx context.Context, q Query) ([]*Row, error) {
	all, err := s.Queries(ctx, q)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Queries answers several questions in one reading, each like Query.
func (s *Store) Queries(ctx context.Context, list ...Query) ([][]*Row, error) {
	p := pass{folders: make([]folder, len(list))}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return nil, err
		}
		p.folders[i] = newFolder(&list[i])
	}
	if s != nil {
		if err := s.read(ctx, &p); err != nil {
			return nil, err
		}
	}
	answers := make([][]*Row, len(list))
	for i := range p.folders {
		answers[i] = p.folders[i].sorted()
	}
	return answers, nil
}

// hours returns the first whole hour that does not begin before a time.
func hours(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return (t.Unix() + 3599) / 3600
}

// read folds all there is. Nothing is written meanwhile, which would be there twice, or not at all.
func (s *Store) read(ctx context.Context, p *pass) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	if err := s.files(ctx, p); err != nil {
		return err
	}
	eachLine(s.unwritten(), p.fold)
	return nil
}

// files folds what is in the files of the days that are asked for.
func (s *Store) files(ctx context.Context, p *pass) error {
	if s.dir == "" {
		return nil
	}
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	for _, file := range files {
		day, ok := strings.CutSuffix(file.Name(), suffix)
		begin, err := time.Parse(time.DateOnly, day)
		if !ok || err != nil {
			continue
		}
		first := begin.Unix() / 3600
		if !slices.ContainsFunc(p.folders, func(f folder) bool {
			return first+24 > f.from &&
				(f.to == 0 || first < f.to)
		}) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(s.dir, file.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("stats: %w", err)
		}
		eachLine(text, p.fold)
	}
	return nil
}

// A pass goes through lines once for several questions.
type pass struct {
	folders []folder
	counts  []lineCount // of the present line
	times   []lineTime
}

type lineCount struct {
	c Counter
	n int64
}

type lineTime struct {
	t      Timer
	bucket int
	n      int64
}

func (p *pass) count(c Counter, n int64) { p.counts = append(p.counts, lineCount{c, n}) }

func (p *pass) time(t Timer, bucket int, n int64) { p.times = append(p.times, lineTime{t, bucket, n}) }

// fold adds a line to the rows that it belongs to. Its numbers are read once, if at all.
func (p *pass) fold(l *line) {
	read := false
	for i := range p.folders {
		r := p.folders[i].rowOf(l)
		if r == nil {
			continue
		}
		if !read {
			p.counts, p.times, read = p.counts[:0], p.times[:0], true
			l.numbers(p)
		}
		for _, x := range p.counts {
			r.counts[x.c] += x.n
		}
		for _, x := range p.times {
			r.time(x.t, x.bucket, x.n)
		}
	}
}

// A folder knows the rows of one question.
type folder struct {
	from, to int64 // hours
	step     int64
	by       [4]bool
	only     [4]string
	rows     map[string]*Row
	id       []byte // of a row: a buffer
}

func newFolder(q *Query) folder {
	f := folder{from: hours(q.From), to: hours(q.To), step: int64(q.Step / time.Hour), rows: map[string]*Row{},
		only: [4]string{q.Only.Model, q.Only.Client, q.Only.Dialect, q.Only.Tool}}
	for i, d := range dims {
		f.by[i] = slices.Contains(q.By, d)
	}
	return f
}

// sorted returns the rows in order.
func (f *folder) sorted() []*Row {
	return slices.SortedFunc(maps.Values(f.rows), func(a, b *Row) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Client, b.Client),
			cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Tool, b.Tool))
	})
}

// rowOf returns the row that a line belongs to, or nil if nobody asked for it.
func (f *folder) rowOf(l *line) *Row {
	if l.hour < f.from || f.to > 0 && l.hour >= f.to {
		return nil
	}
	f.id = f.id[:0]
	var at int64
	if f.step > 0 {
		at = l.hour - l.hour%f.step
		f.id = binary.BigEndian.AppendUint64(f.id, uint64(at))
	}
	for i, value := range l.dims {
		if f.only[i] != "" && f.only[i] != string(value) || f.by[i] && len(value) == 0 {
			return nil
		}
		if f.by[i] {
			f.id = append(binary.BigEndian.AppendUint32(f.id, uint32(len(value))), value...)
		}
	}
	r := f.rows[string(f.id)]
	if r == nil {
		r = f.row(at, l)
		f.rows[string(f.id)] = r
	}
	return r
}

func (f *folder) row(at int64, l *line) *Row {
	r := &Row{}
	if f.step > 0 {
		r.Time = time.Unix(at*3600, 0).UTC()
	}
	for i, to := range [...]*string{&r.Model, &r.Client, &r.Dialect, &r.Tool} {
		if f.by[i] {
			*to = string(l.dims[i])
		}
	}
	return r
}
