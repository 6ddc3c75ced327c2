//go:build unix

package worker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"wield/internal/cluster"
	"wield/internal/worker"
)

// BenchmarkDispatch measures calls of a tool that does nothing, to a worker over loopback and back: as many as go at a
// time, and 500 a second, for which it reports quantiles. Service and worker share the process.
func BenchmarkDispatch(b *testing.B) {
	s := newService(b)
	s.work(b, "build", "a", func(o *worker.Options) { o.Concurrent = 256 }, echo("a"))
	r := s.runner(b, pool("build"))
	b.Run("flood", func(b *testing.B) {
		b.SetParallelism(16)
		before := cpu(b)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if got := call(b, r, "build__echo", "{}"); !got.OK {
					b.Errorf("%+v", got)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/call")
	})
	b.Run("500s", func(b *testing.B) {
		took := make([]time.Duration, b.N)
		var all sync.WaitGroup
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for i := range took {
			<-tick.C
			all.Go(func() {
				at := time.Now()
				if got := call(b, r, "build__echo", "{}"); !got.OK {
					b.Errorf("%+v", got)
				}
				took[i] = time.Since(at)
			})
		}
		all.Wait()
		slices.Sort(took)
		for _, q := range []float64{0.5, 0.99} {
			b.ReportMetric(float64(took[int(q*float64(len(took)-1))].Microseconds())/1000,
				fmt.Sprintf("p%.0f-ms", 100*q))
		}
	})
}

// BenchmarkIdle connects 2000 workers that do nothing but beat, and reports by how much the memory of the process
// grows, and what they cost of a processor. It holds both ends of each connection, so that a service needs less.
func BenchmarkIdle(b *testing.B) {
	const workers = 2000
	for range b.N {
		s := newService(b)
		before := resident(b)
		var beating sync.WaitGroup
		stop := make(chan struct{})
		for range workers {
			r := s.intrude(b, "build", "")
			r.publish(b, r.address.From(), "", &cluster.FromWorker{Hello: &cluster.Hello{Name: "idle", Concurrent: 4,
				Tools: []cluster.Definition{{Name: "echo", Description: "A tool of a test.",
					Parameters: json.RawMessage(anyObject)}}}})
			beating.Go(func() { r.beat(stop) })
		}
		used, began := cpu(b), time.Now()
		time.Sleep(2 * cluster.LostAfter)
		b.ReportMetric(float64((cpu(b)-used).Milliseconds())/time.Since(began).Seconds(), "cpu-ms/s")
		if n := len(s.Addresses("build")); n != workers {
			b.Errorf("of %d workers %d are known after %v of beats", workers, n, time.Since(began))
		}
		b.ReportMetric(float64(resident(b)-before)/(1<<20), "MiB")
		close(stop)
		beating.Wait()
	}
}

// beat beats, and answers pings, as a worker does that runs nothing. Whoever is lost for it is missed by the service.
func (r *rogue) beat(stop <-chan struct{}) {
	go func() { _, _ = io.Copy(io.Discard, r) }() // it ends with the connection
	t := time.NewTicker(cluster.BeatEvery)
	defer t.Stop()
	const beat = `{"beat":{}}`
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		if _, err := fmt.Fprintf(r, "PUB %s %d\r\n%s\r\nPONG\r\n", r.address.From(), len(beat), beat); err != nil {
			return
		}
	}
}

// cpu returns the processor time that this process has used, which other programs on the machine change little.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident returns the memory of this process that is in use.
func resident(b *testing.B) int {
	b.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("the memory of the process cannot be read here")
	}
	var total, pages string
	if _, err := fmt.Sscan(string(text), &total, &pages); err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(pages)
	if err != nil {
		b.Fatal(err)
	}
	return n * os.Getpagesize()
}
