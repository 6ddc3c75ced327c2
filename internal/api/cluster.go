package api

// showCluster answers GET /cluster.
func (x *exchange) showCluster() (any, error) {
	if x.s.o.Cluster == nil {
		return nil, noWorkers
	}
	status, ok := x.s.o.Cluster()
	if !ok {
		return nil, noWorkers
	}
	return &status, nil
}

var noWorkers = fault(KindNotFound, "this service takes no workers and has no others beside it").
	with("set workers.enabled or cluster in the configuration")
