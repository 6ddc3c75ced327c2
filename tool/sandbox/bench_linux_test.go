package sandbox_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"wield/tool/sandbox"
)

// BenchmarkStart starts the shortest program there is and waits for its end: by itself, and in the sandbox at each
// level. It reports the processor time of all processes together, and the least time that one run took: both say more
// than the mean on a machine with other things to do. What the sandbox costs depends on the program that uses it, which
// is started again once for a run, and twice at strict.
func BenchmarkStart(b *testing.B) {
	run := func(name string, one func() error) {
		b.Run(name, func(b *testing.B) {
			before, least := used(b), time.Hour
			for b.Loop() {
				start := time.Now()
				if err := one(); err != nil {
					b.Fatal(err)
				}
				least = min(least, time.Since(start))
			}
			b.ReportMetric(float64((used(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(least.Microseconds()), "least-µs")
		})
	}
	run("plain", func() error { return exec.Command("/bin/true").Run() })
	m := sandbox.Probe()
	for _, l := range sandbox.Levels() {
		if !m.Level(l).OK {
			continue
		}
		c := sandbox.Command{Argv: []string{"/bin/true"}, Dir: b.TempDir(), Level: l}
		run(string(l), func() error {
			_, err := sandbox.Run(b.Context(), c)
			return err
		})
	}
}

// used is the processor time of this process and of those that it has waited for.
func used(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if err := syscall.Getrusage(who, &ru); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	return sum
}
