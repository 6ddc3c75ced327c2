package cluster_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"wield/internal/cluster"
)

// join starts a service, which ends with the test.
func join(t *testing.T, name string, j cluster.Join) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(cluster.Options{Name: name, Join: j})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// knows waits until a service knows of so many, itself included.
func knows(t *testing.T, c *cluster.Cluster, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); len(c.Status().Services) != n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it knows %+v, and not %d services", c.Status().Services, n)
		}
	}
}

// exchange lets one service ask and tell the other.
func exchange(t *testing.T, a, b *cluster.Cluster) {
	t.Helper()
	heard := make(chan string, 1)
	err := b.Hear("topic", func(from string, data []byte) { heard <- fmt.Sprintf("%v %s", from == a.ID(), data) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*cluster.Cluster{a, b} {
		has := c == b
		if err := c.Answer("topic", func(_ context.Context, question []byte) ([]byte, bool) {
			return append(question, '!'), has && string(question) == "mine"
		}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond) // until the other one knows what is heard
	a.Tell("topic", []byte("news"))
	select {
	case got := <-heard:
		if got != "true news" {
			t.Errorf("it hears %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("it hears nothing")
	}
	if answer, ok, err := a.Ask(t.Context(), "topic", []byte("mine")); string(answer) != "mine!" || !ok || err != nil {
		t.Errorf("the answer is %s, %v, %v", answer, ok, err)
	}
	began := time.Now()
	if _, ok, err := a.Ask(t.Context(), "topic", []byte("nobody's")); ok || err != nil {
		t.Errorf("somebody has it: %v, %v", ok, err)
	}
	if took := time.Since(began); took > 10*time.Second { // one of them does not know the topic
		t.Errorf("that nobody has it is known after %v", took)
	}
}

// TestJoin lets three services find each other through one, and one with another secret find nobody.
func TestJoin(t *testing.T) {
	a := join(t, "a", cluster.Join{Listen: "127.0.0.1:0", Secret: "s"})
	b := join(t, "b", cluster.Join{Listen: "127.0.0.1:0", Secret: "s", Peers: []string{a.Address()}})
	c := join(t, "c", cluster.Join{Listen: "127.0.0.1:0", Secret: "s", Peers: []string{a.Address()}})
	stranger := join(t, "stranger", cluster.Join{Listen: "127.0.0.1:0", Secret: "other",
		Peers: []string{a.Address(), b.Address()}})
	for _, one := range []*cluster.Cluster{a, b, c} {
		knows(t, one, 3)
	}
	exchange(t, b, c)
	knows(t, stranger, 1)
	if here, all := a.Share(); here != 3 || all != 3 {
		t.Errorf("%d of %d services share the limits", here, all)
	}
}

// TestJoinNATS lets two services meet at a server of NATS.
func TestJoinNATS(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		LeafNode: server.LeafNodeOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "u", Password: "p"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS does not start")
	}
	leaf := fmt.Sprintf("nats://u:p@%s", net.JoinHostPort("127.0.0.1", fmt.Sprint(leafPort(t, s))))
	a, b := join(t, "a", cluster.Join{NATS: leaf}), join(t, "b", cluster.Join{NATS: leaf})
	knows(t, a, 2)
	knows(t, b, 2)
	exchange(t, a, b)
}

func leafPort(t *testing.T, s *server.Server) int {
	t.Helper()
	v, err := s.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.LeafNode.Port
}

// TestJoinWrong refuses addresses that are none, without repeating what may hold a password.
func TestJoinWrong(t *testing.T) {
	for _, j := range []cluster.Join{{NATS: "nats://user:pass word@"}, {Listen: "nowhere"}} {
		if c, err := cluster.Start(cluster.Options{Join: j}); err == nil {
			_ = c.Close()
			t.Errorf("%+v is taken", j)
		}
	}
}
