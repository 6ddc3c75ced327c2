package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
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
// nothing between two requests, and the collector, which runs when the heap has doubled, would run all the time for so small a
// heap. With the floor it waits for that much garbage first; to a large heap it makes no difference.
const heapFloor = 16 << 20

// errDraining is the cause of the contexts that end because the server stops.
var errDraining = errors.New("the server is shutting down")

// Serve answers requests on l until ctx ends. It then takes no new connections, gives the exchanges that run the time drain
// to end by themselves, cancels the models of those that have not, so that their clients get an error frame, and returns.
// The error is nil unless l failed.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	srv := &http.Server{
		Handler:           g,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// No ReadTimeout and no WriteTimeout: both would cut off a model that takes longer. The handler sets its own deadlines.
		ErrorLog: slog.NewLogLogger(g.opts.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		cut(errDraining)
		srv.Close()
		return err
	case <-ctx.Done():
	}
	g.draining.Store(true)
	if !shutdown(srv, drain) {
		cut(errDraining)
		if !shutdown(srv, lastWords) {
			srv.Close()
		}
	}
	<-failed
	return nil
}

// shutdown waits at most d for all exchanges to end, and reports whether they have.
func shutdown(srv *http.Server, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return srv.Shutdown(ctx) == nil
}
