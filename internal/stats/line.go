package stats

import (
	"bytes"
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A line of a file is a cell, its fields parted by tabs: the hour since 1970, model, client, dialect and tool, and then
// what is not 0: counter=N, and timer:BUCKET=N,BUCKET=N. A point comes last, without which a line is none.
type line struct {
	hour int64
	dims [4][]byte
	rest []byte
}

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.hour, o.hour), cmp.Compare(k.Model, o.Model), cmp.Compare(k.Client, o.Client),
		cmp.Compare(k.Dialect, o.Dialect), cmp.Compare(k.Tool, o.Tool))
}

var escaper = strings.NewReplacer("%", "%25", "\t", "%09", "\n", "%0A", "\r", "%0D")

func writeLine(b *bytes.Buffer, k key, c *cell) {
	b.WriteString(strconv.FormatInt(k.hour, 10))
	for _, d := range [...]string{k.Model, k.Client, k.Dialect, k.Tool} {
		b.WriteByte('\t')
		escaper.WriteString(b, d) // a buffer never fails
	}
	for i, n := range c.counts {
		if n != 0 {
			b.WriteByte('\t')
			b.WriteString(names[i])
			b.WriteByte('=')
			b.WriteString(strconv.FormatInt(n, 10))
		}
	}
	for i, buckets := range c.times {
		for j, bucket := range slices.Sorted(maps.Keys(buckets)) {
			if j == 0 {
				b.WriteByte('\t')
				b.WriteString(timerNames[i])
				b.WriteByte(':')
			} else {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(bucket))
			b.WriteByte('=')
			b.WriteString(strconv.FormatInt(buckets[bucket], 10))
		}
	}
	b.WriteString(ending)
}

// ending closes a line. One that was cut off has none, and its last number may be a part of one.
const ending = "\t.\n"

// eachLine calls do with each line of a file, whose parts point into the text. What is no line is left out.
func eachLine(text []byte, do func(*line)) {
	var l line
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return
		}
		if whole, ok := bytes.CutSuffix(text[:end+1], []byte(ending)); ok && l.parse(whole) {
			do(&l)
		}
		text = text[end+1:]
	}
}

func (l *line) parse(text []byte) bool {
	field, rest, ok := cutTab(text)
	if !ok || len(field) == 0 {
		return false
	}
	if l.hour, ok = number(field); !ok {
		return false
	}
	for i := range l.dims {
		l.dims[i], rest, ok = cutTab(rest)
		if !ok && i < len(l.dims)-1 {
			return false
		}
		if bytes.IndexByte(l.dims[i], '%') >= 0 {
			name, err := url.PathUnescape(string(l.dims[i]))
			if err != nil {
				return false
			}
			l.dims[i] = []byte(name)
		}
	}
	l.rest = rest
	return true
}

// A sink takes the numbers of lines.
type sink interface {
	count(c Counter, n int64)
	time(t Timer, bucket int, n int64)
}

func (c *cell) count(which Counter, n int64) { c.counts[which] += n }

func (c *cell) time(t Timer, bucket int, n int64) {
	if c.times[t] == nil {
		c.times[t] = map[int]int64{}
	}
	c.times[t][bucket] += n
}

// numbers hands the numbers of a line on. Names that a later version counts by are left out.
func (l *line) numbers(to sink) {
	for rest := l.rest; len(rest) > 0; {
		var field []byte
		field, rest, _ = cutTab(rest)
		i := 0
		for i < len(field) && field[i] != '=' && field[i] != ':' {
			i++
		}
		if i == len(field) {
			continue
		}
		if field[i] == '=' {
			if c, ok := numbers[string(field[:i])]; ok {
				n, _ := number(field[i+1:])
				to.count(c, n)
			}
		} else if t, ok := timerNumbers[string(field[:i])]; ok {
			l.buckets(field[i+1:], t, to)
		}
	}
}

func (l *line) buckets(text []byte, t Timer, to sink) {
	for len(text) > 0 {
		pair, rest, _ := bytes.Cut(text, []byte{','})
		text = rest
		name, n, _ := bytes.Cut(pair, []byte{'='})
		i, ok := number(name)
		many, fine := number(n)
		if ok && fine && i >= 0 && i <= maxBucket {
			to.time(t, int(i), many)
		}
	}
}

func cutTab(text []byte) (field, rest []byte, more bool) {
	if i := bytes.IndexByte(text, '\t'); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, nil, false
}

// number reads a number of up to 18 digits.
func number(text []byte) (int64, bool) {
	var n int64
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
