package main

import (
	"net/http"
	"os"

	"wield/internal/cli"
	"wield/internal/cluster"
	"wield/internal/config"
	"wield/internal/gateway"
)

// openWorkers starts what workers connect to, where the configuration wants any.
func (s *site) openWorkers(c *config.Result) error {
	if !c.Workers.Enabled {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		name = "service"
	}
	s.environment.Cluster, err = cluster.Start(cluster.Options{Name: name, Version: cli.ThisBuild().Version,
		Known: s.knowsWorker, Log: s.environment.Log})
	return err
}

// knowsWorker reports whether a key lets workers in.
func (s *site) knowsWorker(key string) bool {
	g := s.gateway.Load()
	return g == nil || g.Known(gateway.Caller{Name: key, Role: gateway.RoleWorker})
}

// frontWorkers returns where workers connect.
func (s *site) frontWorkers() []gateway.Mount {
	if s.environment.Cluster == nil {
		return nil
	}
	return []gateway.Mount{{Prefix: cluster.Path, Roles: []gateway.Role{gateway.RoleWorker},
		Serve: func(w http.ResponseWriter, r *http.Request, by gateway.Caller) {
			s.environment.Cluster.Serve(w, r, by.Name)
		}}}
}

// clusterStatus tells who is there.
func (s *site) clusterStatus() (cluster.Status, bool) {
	if s.environment.Cluster == nil {
		return cluster.Status{}, false
	}
	return s.environment.Cluster.Status(), true
}
