package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the server around the handler.
const (
	headerTimeout = 10 * time.Second // in which the head of a request must have arrived
	idleTimeout   = 2 * time.Minute  // how long a connection without a request is kept
	maxHeader     = 64 << 10
	lastWords     = 5 * time.Second // in which an exchange that is cut off, or refused half way, comes to its end
)

// heapFloor is memory that is reserved and never touched, so that it costs address space alone. A gateway holds next to
// nothing between two requests, and the collector, which runs when the heap has doubled, would run all the time for so
// small a heap. With the floor it waits for that much garbage first; to a large heap it makes no difference.
const heapFloor = 4 << 20

// errDraining is the cause of the contexts that end because the server stops.
var errDraining = errors.New("the server is shutting down")

// Serve answers requests on l until ctx ends. It then takes no new connections, gives the exchanges that run, and the
// responses that are made in the background, the time drain to end by themselves, cancels the models of those that have
// not, so that their clients get an error frame, and returns. The error is nil unless l failed.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	var exchanges atomic.Int64
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			exchanges.Add(1)
			defer exchanges.Add(-1)
			g.ServeHTTP(w, r)
		}),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// No ReadTimeout and no WriteTimeout: both would cut off a model that takes longer. The handler sets its own
		// deadlines.
		ErrorLog: slog.NewLogLogger(g.opts.Log.Handler(), slog.LevelWarn),
	}
	var resting sync.WaitGroup
	defer resting.Wait()
	awake, sleep := context.WithCancel(base)
	defer sleep()
	resting.Go(func() { g.rest(awake, debug.FreeOSMemory) })
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		cut(errDraining)
		srv.Close()
		g.jobs.drain(base)
		return err
	case <-ctx.Done():
	}
	if !g.draining.Swap(true) {
		close(g.stopping)
	}
	limit, over := context.WithTimeout(base, drain)
	defer over()
	quiet := shutdown(limit, srv)
	g.jobs.drain(limit)
	if !quiet {
		cut(errDraining)
		last, over := context.WithTimeout(context.WithoutCancel(base), lastWords)
		defer over()
		if !shutdown(last, srv) {
			srv.Close()
			// Close does not wait for them, and what they log stands before the end of the service.
			for over := time.Now().Add(lastWords); exchanges.Load() > 0 && time.Now().Before(over); {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	<-failed
	return nil
}

// restAfter is the time without requests after which memory is given back.
const restAfter = 30 * time.Second

// rest calls free, which gives memory back to the system, once after each time of work. The runtime by itself keeps
// what the work needed, in case it comes again, and a gateway that is used now and then would look as large as at its
// busiest.
func (g *Gateway) rest(ctx context.Context, free func()) {
	tick := time.NewTicker(restAfter)
	defer tick.Stop()
	var last, freed int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := g.asked.Load()
		if asked == last && asked != freed {
			free()
			freed = asked
		}
		last = asked
	}
}

// shutdown waits for all exchanges to end until ctx does, and reports whether they have.
func shutdown(ctx context.Context, srv *http.Server) bool { return srv.Shutdown(ctx) == nil }
