package dialecttest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"wield/chat"
	"wield/dialect/internal/check"
)

// Limits of work. What is counted is compared between a text and one that is sixteen times as long: that may cost
// five times what sixteen of the short one do, since memory grows by doubling. With the square of the length it costs
// sixteen times as much. Time is compared over a wider range and with more slack, since other programs disturb each
// other's caches.
const (
	workSize  = 2 << 10
	workTimes = 16
	workSlack = 5
	workTries = 8
	workGrant = 16 // bytes allocated a byte of text that are never too many

	timeSize  = 1 << 10
	timeTimes = 64
	timeSlack = 16
	timeTries = 16
	timeSure  = 2 // readings after which a text that takes twice too long is not read again
	timeGrant = 5 * time.Millisecond

	workChunk  = 8
	proseSize  = 1 << 20
	proseMost  = 64 // allocations a MiB of prose
	proseTries = 3
)

// repeats are texts of about any size that make a careless decoder slow.
var repeats = [...]string{"<", "[", "{", `{"`, `{"arguments":`, `{"name":"`, "```json\n", "` `` ``` ", "<tool_call>",
	"<tool_call", "<think></think", "\n", " ", "\\", `"`, "é", "<think>", "<think>\n", "<think>\n<thinking>\n",
	"<|channel|>analysis<|message|>"}

// linear compares what one long text costs with what many short ones of the same kind do: in bytes allocated, in steps
// where the decoder counts them, and in time.
func (s *Suite) linear() []Failure {
	mk, f := s.made("linear", hostileTools)
	if f != nil {
		return []Failure{*f}
	}
	for _, w := range s.workloads() {
		for _, rule := range []func(Maker, workload) error{growsInCounts, growsInTime} {
			if err := rule(mk, w); err != nil {
				// others like it are as slow, and would take long
				return []Failure{{Rule: ruleLinear, Case: w.name, Err: err}}
			}
		}
	}
	return nil
}

// A workload is a text of any size.
type workload struct {
	name string
	text func(size int) string
}

func (s *Suite) workloads() []workload {
	var all []workload
	add := func(name string, text func(size int) string) { all = append(all, workload{name, text}) }
	for _, r := range repeats {
		add(fmt.Sprintf("%s again and again", check.Short(r)), func(size int) string { return check.Repeat(r, size) })
	}
	for _, m := range s.markers() {
		if m == "" {
			continue
		}
		add(fmt.Sprintf("%s again and again", check.Short(m)), func(size int) string { return check.Repeat(m, size) })
		add(fmt.Sprintf("most of %s again and again", check.Short(m)),
			func(size int) string { return check.Repeat(m[:(len(m)*3+3)/4], size) })
	}
	if s.Calls == nil {
		return all
	}
	add("many calls", func(size int) string {
		return s.open(size, `{"path":"x-x"}`, func(text string) string { return check.Repeat(text+"\n", size) })
	})
	add("many arguments", func(size int) string { return s.open(size, numberedArguments(size), nil) })
	add("a long list", func(size int) string {
		return s.open(size, `{"list":[`+strings.Repeat(`"x",`, size/4)+`""]}`, nil)
	})
	for _, inside := range append(s.markers(), `"`, `\`, "<", "word ", "\n") {
		add(fmt.Sprintf("an argument of %s", check.Short(inside)), func(size int) string {
			return s.open(size, `{"path":`+quote(check.Repeat(inside+" ", size))+`}`, nil)
		})
		add(fmt.Sprintf("an open argument of %s", check.Short(inside)), func(size int) string {
			return s.open(size, `{"path":"x-x"}`, func(text string) string {
				before, _, _ := strings.Cut(text, "x-x")
				return before + check.Repeat(inside+" ", size)
			})
		})
	}
	return all
}

// open writes a call of the hostile tool and changes its text, or returns words where the format cannot carry it.
func (s *Suite) open(size int, args string, change func(text string) string) string {
	text, err := s.Calls([]chat.Call{{ID: "call_0", Name: check.HostileTool, Arguments: args, Complete: true}})
	if err != nil {
		return check.Repeat("word ", size)
	}
	if change != nil {
		return change(text)
	}
	return text
}

func numberedArguments(size int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `"key%d":%d,`, i, i)
	}
	return b.String() + `"path":"x"}`
}

// A cost holds the time and memory that reading took.
type cost struct {
	bytes uint64
	steps int // of a counter
	time  time.Duration
}

// growsInCounts compares what is counted for a long text and for short ones. Bytes are allocated by others too, such as
// the runtime, and so are read again before they are found to be too many.
func growsInCounts(mk Maker, w workload) (err error) {
	defer caught(&err)
	small, large := w.text(workSize), w.text(workTimes*workSize)
	most := workSlack * share(small, large, workTimes)
	var buf []chat.Event
	for range workTries {
		short, long := read(mk, small, 1, &buf), read(mk, large, 1, &buf)
		if float64(long.steps) > most*float64(workTimes*short.steps) {
			return fmt.Errorf("a text of %d bytes takes %d steps, one of %d bytes %d", len(small), short.steps,
				len(large), long.steps)
		}
		if float64(long.bytes) <= most*float64(workTimes*short.bytes)+workGrant*float64(len(large)) {
			return nil
		}
		err = fmt.Errorf("a text of %d bytes allocates %d bytes, one of %d bytes %d", len(small), short.bytes,
			len(large), long.bytes)
	}
	return err
}

// growsInTime compares the time of a long text with that of short ones. Both sides take as long if all is well; the
// least of several readings counts for each. A long text that is read in no time is compared with nothing.
func growsInTime(mk Maker, w workload) (err error) {
	defer caught(&err)
	small, large := w.text(timeSize), w.text(timeTimes*timeSize)
	most := timeSlack * share(small, large, timeTimes)
	short, long := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	var buf []chat.Event
	for try := range timeTries {
		if long = min(long, read(mk, large, 1, &buf).time); long <= timeGrant {
			return nil
		}
		short = min(short, read(mk, small, timeTimes, &buf).time)
		times := float64(long) / float64(max(1, short))
		if times <= most {
			return nil
		}
		if times > 2*most && try+1 >= timeSure {
			break
		}
	}
	return fmt.Errorf("%d texts of %d bytes take %v, one of %d bytes %v", timeTimes, len(small), short, len(large),
		long)
}

// share returns how much more than so many times as long as the small text the large one is; 1 if it is not.
func share(small, large string, times int) float64 {
	return max(1, float64(len(large))/float64(times*max(1, len(small))))
}

// read returns what it costs to read a text some times, each time with a fresh decoder. The buffer of the events is
// none of the decoder's.
func read(mk Maker, text string, times int, buf *[]chat.Event) (c cost) {
	decoders := make([]Decoder, times)
	for i := range decoders {
		decoders[i] = mk()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime()
	for _, d := range decoders {
		*buf = feed(d, *buf, text, workChunk)
		*buf = d.Close((*buf)[:0])
	}
	c.time = threadTime() - start
	runtime.ReadMemStats(&after)
	c.bytes = after.TotalAlloc - before.TotalAlloc
	for _, d := range decoders {
		if d, ok := d.(counter); ok {
			c.steps += d.Steps()
		}
	}
	return c
}

// feed reads text in chunks of size bytes and drops the events.
func feed(d Decoder, buf []chat.Event, text string, size int) []chat.Event {
	for i := 0; i < len(text); i += size {
		buf = d.Feed(buf[:0], text[i:min(i+size, len(text))])
	}
	return buf
}

// prose reads prose: nothing may be made of it, and once a decoder has read some, it reads more without allocating,
// save now and then for what it has to hold.
func (s *Suite) prose() []Failure {
	mk, f := s.made("prose", hostileTools)
	if f != nil {
		return []Failure{*f}
	}
	block := check.Prose(1 << 10)
	text := strings.Repeat(block, proseSize/len(block)+1)
	events, f := s.reader.use(mk).checkText(text[:min(len(text), 4*len(block))], blockChecks[:])
	if f == nil && !s.Alone {
		for _, e := range events {
			if e.Kind != chat.KindText {
				f = &Failure{Rule: ruleProse, Text: block, Err: fmt.Errorf("prose becomes %s", check.Format(e))}
				break
			}
		}
	}
	if f == nil {
		if err := allocates(mk, text); err != nil {
			f = &Failure{Rule: ruleProse, Err: err}
		}
	}
	if f == nil {
		return nil
	}
	f.Case = "prose"
	return []Failure{*f}
}

// allocates counts the allocations of a decoder that has read some of the text before.
func allocates(mk Maker, text string) (err error) {
	defer caught(&err)
	var errs []error
	for _, size := range []int{4, 16, 1 << 10} {
		d := mk()
		buf := feed(d, make([]chat.Event, 0, 1<<10), text[:len(text)/8], size)
		most := uint64(proseMost * len(text) / proseSize)
		best := ^uint64(0)
		for i := 0; i < proseTries && best > most; i++ {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			buf = feed(d, buf, text, size)
			runtime.ReadMemStats(&after)
			best = min(best, after.Mallocs-before.Mallocs)
		}
		if best > most {
			errs = append(errs, fmt.Errorf("%d bytes of prose in chunks of %d take %d allocations", len(text), size,
				best))
		}
	}
	return errors.Join(errs...)
}
