package stats

import (
	"math"
	"time"
)

// accuracy is how far a time that comes out of a histogram may be from the one that went in, as a part of it.
const accuracy = 0.01

var (
	growth    = (1 + accuracy) / (1 - accuracy) // of one bucket to the next
	logGrowth = math.Log(growth)
)

// maxBucket is the last bucket: half a year in microseconds.
const maxBucket = 1520

// bucket returns the number of the bucket of a time. Bucket i > 0 holds what is above growth^(i-1) and up to growth^i
// microseconds, bucket 0 what is no longer than one.
func bucket(d time.Duration) int {
	us := float64(d) / float64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return min(int(math.Ceil(math.Log(us)/logGrowth)), maxBucket)
}

// middle returns the time that stands for a bucket: the one whose distance to both ends is the same part of them.
func middle(i int) time.Duration {
	return time.Duration(2 * math.Pow(growth, float64(i)) / (growth + 1) * float64(time.Microsecond))
}

// A Histogram counts times in buckets. The zero value is empty.
type Histogram struct {
	counts [maxBucket + 1]int64
	n      int64
	least  int // first bucket that may hold something, if n > 0
	most   int
}

func (h *Histogram) add(i int, n int64) {
	if h.n == 0 {
		h.least, h.most = i, i
	}
	h.least, h.most = min(h.least, i), max(h.most, i)
	h.counts[i] += n
	h.n += n
}

// Add counts a time.
func (h *Histogram) Add(d time.Duration) { h.add(bucket(d), 1) }

// N returns how many times were counted.
func (h *Histogram) N() int64 {
	if h == nil {
		return 0
	}
	return h.n
}

// Quantile returns the time that a part q of the times, from 0 to 1, does not exceed, within 1 %. It is 0 if there are
// none.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.N() == 0 {
		return 0
	}
	rank := max(1, int64(math.Ceil(q*float64(h.n))))
	for i := h.least; ; i++ {
		if rank -= h.counts[i]; rank <= 0 || i == h.most {
			return middle(i)
		}
	}
}

// Sum returns about how long all times are together.
func (h *Histogram) Sum() time.Duration {
	if h.N() == 0 {
		return 0
	}
	var sum time.Duration
	for i := h.least; i <= h.most; i++ {
		sum += time.Duration(h.counts[i]) * middle(i)
	}
	return sum
}
