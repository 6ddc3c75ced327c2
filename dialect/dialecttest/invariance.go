package dialecttest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"wield/chat"
	"wield/dialect/internal/check"
)

// Limits of the splits that Splits yields for long texts.
const (
	maxPairs  = 4096 // texts up to this length are cut at every offset, longer ones at this many
	randoms   = 8    // random splits of a text
	bytewise  = 1 << 20
	maxShrink = 512 // splits that are tried to find a smaller one that fails
)

// A SplitError says that a text gives other events when it is cut at Cuts than when it is fed whole.
type SplitError struct {
	Text string
	Cuts []int
	Diff string // the first difference
}

func (e *SplitError) Error() string {
	return fmt.Sprintf("cut at %s: %s", cutsText(e.Cuts), e.Diff)
}

func cutsText(cuts []int) string {
	if len(cuts) > 8 {
		return fmt.Sprintf("%v... (%d cuts)", cuts[:8], len(cuts))
	}
	return fmt.Sprint(cuts)
}

// splits yields the splits that Invariance tries: every cut in two, then byte by byte, blocks of 2, 3, 4, 7
// and 16 bytes, and random ones, some with empty chunks. The random ones depend on nothing but the text.
func splits(text string) func(yield func(cuts []int) bool) {
	return func(yield func([]int) bool) {
		step := 1 + len(text)/maxPairs
		for i := 0; i <= len(text); i += step {
			if !yield([]int{i}) {
				return
			}
		}
		for cuts := range blocks(text, 1, 2, 3, 4, 7, 16) {
			if !yield(cuts) {
				return
			}
		}
		h := fnv.New64a()
		h.Write([]byte(text))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range randoms {
			if !yield(random(r, len(text))) {
				return
			}
		}
	}
}

// blocks yields the splits of text into blocks of these sizes.
func blocks(text string, sizes ...int) func(yield func(cuts []int) bool) {
	return func(yield func([]int) bool) {
		for _, n := range sizes {
			if len(text)/n <= bytewise && !yield(every(len(text), n)) {
				return
			}
		}
	}
}

// every cuts a text of size bytes into blocks of n.
func every(size, n int) []int {
	var cuts []int
	for i := n; i < size; i += n {
		cuts = append(cuts, i)
	}
	return cuts
}

// random cuts a text of size bytes into chunks of random length, 0 included.
func random(r *rand.Rand, size int) []int {
	longest := 1 + r.IntN(24)
	var cuts []int
	for i := r.IntN(longest + 1); i < size; i += r.IntN(longest + 1) {
		cuts = append(cuts, i)
		if len(cuts) > 2*size+2 {
			break
		}
	}
	return cuts
}

// invariance checks that every one of the splits gives the events of the whole and conserves the text. It fails with a
// *SplitError, whose split has as few cuts as could be found.
func (r *reader) invariance(text string, whole []chat.Event, splits func(yield func(cuts []int) bool)) error {
	want := check.Merge(whole)
	for cuts := range splits {
		err := r.check(text, cuts, want)
		if err == nil {
			continue
		}
		var reset *resetError
		if errors.As(err, &reset) {
			return err
		}
		fresh := func(cuts []int) error { return (&reader{mk: r.mk}).check(text, cuts, want) }
		if few := fewerCuts(cuts, func(cuts []int) bool { return fresh(cuts) != nil }); len(few) < len(cuts) {
			cuts, err = few, fresh(few)
		}
		return &SplitError{text, cuts, err.Error()}
	}
	return nil
}

// fewerCuts leaves out cuts, many at a time and then fewer, as long as the split still fails.
func fewerCuts(cuts []int, fails func([]int) bool) []int {
	tries := 0
	for size := (len(cuts) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(cuts) && len(cuts) > 1 && tries < maxShrink; tries++ {
			if less := slices.Concat(cuts[:i], cuts[i+size:]); fails(less) {
				cuts = less
			} else {
				i += size
			}
		}
	}
	return cuts
}

// reuse checks that a decoder with a method Reset reads text again as a fresh one does, when it was left in
// the middle of a text and when it was closed. Others pass.
func reuse(mk Maker, text string) (err error) {
	fresh, err := decodeFresh(mk, text)
	if err != nil {
		return err
	}
	defer caught(&err)
	d := mk()
	r, ok := d.(interface{ Reset() })
	if !ok {
		return nil
	}
	decode(d, nil, nil, text[:len(text)/2], nil) // leaves it wherever half of the text ends
	for _, after := range []string{"half of the text", "the text"} {
		r.Reset()
		again, _ := decode(d, nil, nil, text, nil)
		if diff := check.Diff(check.Merge(fresh), check.Merge(again)); diff != "" {
			return fmt.Errorf("after Reset behind %s: %s", after, diff)
		}
	}
	return nil
}
