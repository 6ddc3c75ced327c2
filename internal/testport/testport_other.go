//go:build !linux

package testport

import (
	"net"
	"testing"
)

// Reserve returns an address that is free. Nothing keeps it so.
func Reserve(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
