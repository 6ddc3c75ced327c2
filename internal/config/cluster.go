package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Cluster says how services that share a journal reach each other.
type Cluster struct {
	Name   string     `key:"name" doc:"Name of this service. Empty: the host name."`
	Listen Address    `key:"listen" doc:"Address for other services, as host:port. They connect with the embedded NATS server."`
	Peers  []Address  `key:"peers" doc:"cluster.listen of other services; one that is reachable is enough. May include this service."`
	Secret Secret     `key:"secret" doc:"Secret shared by all services, as env:NAME or file:PATH."`
	TLS    ClusterTLS `key:"tls" doc:"Certificates for connections between services, checked on both ends. Without them the connections are not encrypted."`
	NATS   Secret     `key:"nats" doc:"External NATS server instead of listen: nats://USER:PASSWORD@HOST:7422 (leaf node port), as env:NAME or file:PATH."`
}

// ClusterTLS names the certificates of connections between services.
type ClusterTLS struct {
	Cert string `key:"cert" doc:"PEM file with this service's certificate."`
	Key  string `key:"key" doc:"PEM file with its private key."`
	CA   string `key:"ca" doc:"PEM file with the authorities that sign the services' certificates."`
}

// On reports whether the service works with others.
func (c *Cluster) On() bool { return c.Listen != "" || !c.NATS.IsZero() }

func (c *Cluster) check(d *decoder, all *Config) {
	if c.On() && all.Journal.Store != "postgres" {
		d.at("cluster", "services share a journal in PostgreSQL: set journal.store to postgres")
	}
	switch {
	case c.Listen != "" && !c.NATS.IsZero():
		d.at("cluster.nats", "either an external NATS server, or listen and peers")
	case c.Listen != "" && c.Secret.IsZero():
		d.at("cluster.secret", "services that connect to each other need a secret: env:NAME or file:PATH")
	case c.Listen == "" && len(c.Peers) > 0:
		d.at("cluster.peers", "set cluster.listen, too: each service connects to the others")
	}
	if t := c.TLS; t != (ClusterTLS{}) && (t.Cert == "" || t.Key == "" || t.CA == "") {
		d.at("cluster.tls", "cert, key and ca belong together")
	}
}

// Config reads the certificates. It returns nil where there are none.
func (t *ClusterTLS) Config() (*tls.Config, error) {
	if *t == (ClusterTLS{}) {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("cluster.tls: %w", err)
	}
	text, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, fmt.Errorf("cluster.tls.ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("cluster.tls.ca: no certificate in PEM")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: pool,
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}, nil
}
