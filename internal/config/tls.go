package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLS names the certificate that the service shows. Both files or none.
type TLS struct {
	Cert string `key:"cert" doc:"PEM file with the certificate chain; turns HTTPS on."`
	Key  string `key:"key" doc:"PEM file with the private key."`
}

func (t *TLS) check(d *decoder) {
	if (t.Cert == "") != (t.Key == "") {
		d.at("tls", "cert and key belong together: the file of the certificate and that of its private key")
	}
}

// A certificate is read again when its files change, so that one that is renewed needs no restart.
type certificate struct {
	files TLS
	log   *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	stamps  [2]stamp
	checked time.Time
}

// certificateCheck is the interval between checks of a certificate's files.
const certificateCheck = 10 * time.Second

// Server returns what a TLS server needs, or nil if the service is to speak plain HTTP.
func (t TLS) Server(log *slog.Logger) (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	c := &certificate{files: t, log: log}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.get}, nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateCheck {
		c.checked = now
		if c.stampNow() != c.stamps {
			if err := c.read(); err != nil {
				c.log.Error("cannot use the new certificate; keeping the old one", "error", err)
			} else {
				c.log.Info("certificate reloaded", "file", c.files.Cert)
			}
		}
	}
	return c.pair, nil
}

func (c *certificate) stampNow() [2]stamp {
	return [2]stamp{stampOf(c.files.Cert), stampOf(c.files.Key)}
}

func (c *certificate) read() error {
	c.stamps = c.stampNow()
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return err
	}
	c.pair = &pair
	return nil
}

// A stamp tells one state of a file from another.
type stamp struct {
	size int64
	time time.Time
}

// stampOf returns the state of a file; that of one which cannot be looked at is zero.
func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// A Watch notices that a file was changed. Ask it at intervals.
type Watch struct {
	name         string
	known, later stamp
}

// Watch watches the file of a configuration from the state on in which it was read, however long ago that was.
func (r *Result) Watch() *Watch {
	return &Watch{name: r.File, known: r.state, later: r.state}
}

// Changed reports whether the file is another one than the last time it did so. A change counts once the file has
// stayed the same between two questions, so that one that is being written is not read half way; a file that is gone
// has not changed.
func (w *Watch) Changed() bool {
	now := stampOf(w.name)
	settled := now == w.later
	w.later = now
	if !settled || now == w.known || now == (stamp{}) {
		return false
	}
	w.known = now
	return true
}

// Expires returns when the certificate ends.
func (t TLS) Expires() (time.Time, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return time.Time{}, err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return time.Time{}, err
	}
	return leaf.NotAfter, nil
}
