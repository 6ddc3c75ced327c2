package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"wield/internal/cluster"
)

// dialTime bounds the making of a connection.
const dialTime = 15 * time.Second

// A RefusedError says that the service does not let the worker in, which trying again does not change.
type RefusedError struct {
	Status int
	Text   string
}

func (e *RefusedError) Error() string {
	switch e.Status {
	case http.StatusUnauthorized:
		return "the service does not know the key of this worker"
	case http.StatusForbidden:
		return "the key is not one of a worker: the service needs one with role: worker (" + e.Text + ")"
	case http.StatusNotFound:
		return "the service takes no workers: set workers.enabled in its configuration"
	}
	return fmt.Sprintf("the service answers %d: %s", e.Status, e.Text)
}

// A dialer makes the connection of NATS out of a WebSocket.
type dialer struct {
	url    string
	key    string
	id     string
	client *http.Client

	mu      sync.Mutex
	address cluster.Address
	token   string // of the last connection, for one login
	last    error
}

// endpoint returns where workers connect to a service.
func endpoint(service string) (string, error) {
	u, err := url.Parse(service)
	switch {
	case err != nil:
		return "", err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is no address of a service: write http://HOST:PORT or https://HOST", service)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + cluster.Path
	u.RawQuery, u.Fragment = "", ""
	return u.String(), nil
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(string, string) (net.Conn, error) {
	conn, err := d.dial()
	d.mu.Lock()
	d.last = err
	d.mu.Unlock()
	return conn, err
}

// SkipTLSHandshake tells nats.go that the connection is as it has to be.
func (d *dialer) SkipTLSHandshake() bool { return true }

func (d *dialer) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	header := http.Header{cluster.HeaderID: {d.id}}
	if d.key != "" {
		header.Set("Authorization", "Bearer "+d.key)
	}
	ws, answer, err := websocket.Dial(ctx, d.url, &websocket.DialOptions{HTTPClient: d.client, HTTPHeader: header})
	if err != nil {
		if answer != nil && answer.StatusCode >= 400 && answer.StatusCode < 500 &&
			answer.StatusCode != http.StatusTooManyRequests {
			text, _ := io.ReadAll(io.LimitReader(answer.Body, 300)) // the library has kept the beginning
			return nil, &RefusedError{answer.StatusCode, strings.TrimSpace(string(text))}
		}
		return nil, err
	}
	d.mu.Lock()
	d.address = cluster.Address{Key: answer.Header.Get(cluster.HeaderKey), ID: d.id}
	d.token = answer.Header.Get(cluster.HeaderToken)
	d.mu.Unlock()
	if d.address.Key == "" {
		ws.CloseNow()
		return nil, errors.New("what answers is no service of wield that takes workers")
	}
	return websocket.NetConn(context.Background(), ws, websocket.MessageBinary), nil
}

// login returns the token for the connection that was just made.
func (d *dialer) login() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.token
}

func (d *dialer) known() (cluster.Address, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.address, d.last
}

// plain is a client that follows no redirects: the key would go along.
func plain() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} // WebSockets are of HTTP/1.1
	t.ForceAttemptHTTP2 = false
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}
