package cluster

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Join says how the services of a cluster reach each other. The zero value is a service that stands alone.
type Join struct {
	Listen string      // HOST:PORT where other services connect
	Peers  []string    // HOST:PORT of other services; those that they know are found, too
	Secret string      // that all services of the cluster know
	TLS    *tls.Config // of both ends of a connection; nil: none

	NATS string // address of the leaf nodes of a NATS server that connects the services instead
}

// joined is the name by which services know that they belong together.
const joined = "wield"

// routes writes into the options of a server how it reaches those of other services.
func (j *Join) routes(o *server.Options) error {
	if j.NATS != "" {
		u, err := url.Parse(j.NATS)
		if err != nil || u.Host == "" {
			// it may hold a password
			return fmt.Errorf("the address of NATS cannot be read; it looks like nats://USER:PASSWORD@HOST:7422")
		}
		o.LeafNode.ReconnectInterval = time.Second
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{u}, TLS: u.Scheme == "tls"}}
	}
	if j.Listen == "" {
		return nil
	}
	host, text, err := net.SplitHostPort(j.Listen)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	// The server begins with routes when it listens for clients, too. Only those with a grant get in.
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	o.Cluster = server.ClusterOpts{Name: joined, Host: host, Port: cmp.Or(port, server.RANDOM_PORT), Username: joined,
		Password: j.Secret, TLSConfig: j.TLS, NoAdvertise: true, PingInterval: BeatEvery, MaxPingsOut: 2,
		WriteDeadline: 10 * time.Second}
	if j.TLS != nil {
		o.Cluster.TLSTimeout = 5
	}
	for _, peer := range j.Peers {
		o.Routes = append(o.Routes,
			&url.URL{Scheme: "nats-route", Host: peer, User: url.UserPassword(joined, j.Secret)})
	}
	return nil
}

// Address returns where other services connect, or "" if they do not.
func (c *Cluster) Address() string {
	if a := c.server.ClusterAddr(); a != nil {
		return a.String()
	}
	return ""
}
