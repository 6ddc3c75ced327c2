package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen is net.Listen with an error that tells what to do.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf(
			"another program listens on %s: end it, or choose another port with --listen (--listen %s takes a free "+
				"one)",
			address, freePort(address))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("the system does not allow to listen on %s: choose a port above 1023 with --listen",
			address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

func freePort(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "127.0.0.1:0"
	}
	return net.JoinHostPort(host, "0")
}
