package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// A link is the connection of a worker that ends in this process.
type link struct {
	known func() bool // whether the key that it came with is in force
	since time.Time
	ends  []io.Closer
	once  sync.Once
}

func (l *link) close() {
	l.once.Do(func() {
		for _, e := range l.ends {
			_ = e.Close() // it may be broken, which is why it is closed
		}
	})
}

var workerID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Serve lets a worker in that has shown the key of the given name, as long as that is known. The protocol of NATS
// follows on the WebSocket.
func (c *Cluster) Serve(w http.ResponseWriter, r *http.Request, key string, known func() bool) {
	id := r.Header.Get(HeaderID)
	if !workerID.MatchString(id) {
		http.Error(w, "a worker sends its id in "+HeaderID+": connect with wield worker", http.StatusBadRequest)
		return
	}
	a := Address{hex.EncodeToString([]byte(key)), id}
	token := rand.Text()
	w.Header().Set(HeaderKey, a.Key)
	w.Header().Set(HeaderToken, token)
	// origins were looked at before
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // it is answered
	}
	inside, err := c.server.InProcessConn()
	if err != nil {
		ws.Close(websocket.StatusGoingAway, "the service ends")
		return
	}
	outside := websocket.NetConn(context.Background(), ws, websocket.MessageBinary)
	l := &link{known: known, since: time.Now(), ends: []io.Closer{inside, closer{ws}}}
	c.mu.Lock()
	old := c.links[a]
	c.links[a], c.grants[token] = l, a
	c.mu.Unlock()
	if old != nil { // the worker has given that one up
		old.close()
	}
	var both sync.WaitGroup
	both.Go(func() { pump(l, inside, outside) })
	both.Go(func() { pump(l, outside, inside) })
	go func() {
		both.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.grants, token)
		if c.links[a] == l {
			delete(c.links, a)
		}
	}()
}

// closer closes a WebSocket without waiting for the other side.
type closer struct{ *websocket.Conn }

func (c closer) Close() error { return c.CloseNow() }

// pump passes on what comes until either end is closed. Its buffer is small: most workers are idle.
func pump(l *link, to, from net.Conn) {
	// who is silent is noticed
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 4<<10))
	l.close()
}
