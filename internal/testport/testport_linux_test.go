package testport_test

import (
	"net"
	"testing"

	"wield/internal/testport"
)

// TestReserve: what is reserved is given to nobody else, and can be listened at again and again.
func TestReserve(t *testing.T) {
	address := testport.Reserve(t)
	for range 2 { // it is reserved still after a server has ended
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Error("somebody answers although nobody listens")
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
}
