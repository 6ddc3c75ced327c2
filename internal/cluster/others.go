package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Subjects of what services tell and ask each other, before the topic. Workers can neither send nor hear them.
const (
	tellSubject = "wield.tell."
	askSubject  = "wield.ask."
)

// Headers of what services tell and ask.
const (
	headerFrom = "From" // the service
	headerHas  = "Has"  // of an answer: the service has what was asked about
	headerWait = "Wait" // the answer takes a while
)

const (
	askTime     = 30 * time.Second // that an answer may take
	askSoon     = time.Second      // after which a service says that it takes a while
	askSilent   = 3 * time.Second  // after which one that has said nothing is not asked any more
	rememberFor = 5 * time.Minute  // that a service is counted that fell silent
)

// Tell tells all other services something about a topic. A service that is cut off does not hear it.
func (c *Cluster) Tell(topic string, data []byte) {
	if err := c.conn.PublishMsg(c.message(tellSubject+topic, data)); err != nil {
		c.o.Log.Debug("cannot publish to other services", "topic", topic, "error", err)
	}
}

func (c *Cluster) message(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{headerFrom: {c.id}}}
}

// Hear takes what other services tell about a topic, one after the other.
func (c *Cluster) Hear(topic string, take func(from string, data []byte)) error {
	_, err := c.conn.Subscribe(tellSubject+topic, func(m *nats.Msg) {
		if from := m.Header.Get(headerFrom); from != c.id {
			take(from, m.Data)
		}
	})
	return err
}

// Ask asks all other services about a topic, and returns what the one says that has what is asked about. It reports
// false if none of them does.
func (c *Cluster) Ask(ctx context.Context, topic string, question []byte) (answer []byte, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	left := c.others()
	if len(left) == 0 {
		return nil, false, nil
	}
	m := c.message(askSubject+topic, question)
	m.Reply = nats.NewInbox()
	answers := make(chan *nats.Msg, 64)
	sub, err := c.conn.ChanSubscribe(m.Reply, answers)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be closed
	if err := c.conn.PublishMsg(m); err != nil {
		return nil, false, err
	}
	look := time.NewTicker(tick)
	defer look.Stop()
	began, heard := time.Now(), map[string]bool{}
	for len(left) > 0 {
		select {
		case a := <-answers:
			switch from := a.Header.Get(headerFrom); {
			case a.Header.Get(headerHas) != "":
				return a.Data, true, nil
			case a.Header.Get(headerWait) != "":
				heard[from] = true
			default:
				delete(left, from)
			}
		case <-look.C:
			there, late := c.others(), time.Since(began) > askSilent
			for id := range left {
				if !there[id] || late && !heard[id] {
					delete(left, id)
				}
			}
		case <-ctx.Done():
			return nil, false, fmt.Errorf("the other services do not answer: %w", ctx.Err())
		}
	}
	return nil, false, nil
}

// Answer answers what other services ask about a topic. The function reports false where this service does not have
// what is asked about.
func (c *Cluster) Answer(topic string, answer func(ctx context.Context, question []byte) ([]byte, bool)) error {
	_, err := c.conn.Subscribe(askSubject+topic, func(m *nats.Msg) {
		if m.Header.Get(headerFrom) == c.id || m.Reply == "" {
			return
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), askTime)
			defer cancel()
			wait := time.AfterFunc(askSoon, func() {
				m := c.message(m.Reply, nil)
				m.Header.Set(headerWait, "1")
				_ = c.conn.PublishMsg(m) // else the answer comes to nobody
			})
			data, ok := answer(ctx, m.Data)
			wait.Stop()
			reply := c.message(m.Reply, data)
			if ok {
				reply.Header.Set(headerHas, "1")
			}
			if err := c.conn.PublishMsg(reply); err != nil {
				c.o.Log.Warn("cannot answer another service", "topic", topic, "error", err)
			}
		}()
	})
	return err
}

// Any reports whether other services are there.
func (c *Cluster) Any() bool { return len(c.others()) > 0 }

// others returns the ids of the other services that are there.
func (c *Cluster) others() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[string]bool{}
	for id := range c.services {
		if id != c.id {
			ids[id] = true
		}
	}
	return ids
}

// Share returns how many services are there, and how many there were before some fell silent a short time ago. While
// the numbers differ this service may be cut off.
func (c *Cluster) Share() (here, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	here = max(len(c.services), 1)
	return here, here + len(c.silent)
}

// serverLog passes on what the server of messages says.
type serverLog struct{ *slog.Logger }

func (l serverLog) say(level slog.Level, format string, args []any) {
	if l.Enabled(context.Background(), level) {
		l.Log(context.Background(), level, "messages between services", "say", fmt.Sprintf(format, args...))
	}
}

func (l serverLog) Noticef(format string, args ...any) { l.say(slog.LevelDebug, format, args) }
func (l serverLog) Warnf(format string, args ...any)   { l.say(slog.LevelWarn, format, args) }
func (l serverLog) Errorf(format string, args ...any)  { l.say(slog.LevelWarn, format, args) }
func (l serverLog) Fatalf(format string, args ...any)  { l.say(slog.LevelError, format, args) }
func (l serverLog) Debugf(string, ...any)              {}
func (l serverLog) Tracef(string, ...any)              {}
