package main

import (
	"wield/tool/policy"
)

func (r *recordRun) args(rec *policyRecord) (policy.Verdict, error) {
	return policy.Verdict{Decision: decisionSkip}, nil
}

func (r *recordRun) envelope(rec *policyRecord) (policy.Verdict, error) {
	return policy.Verdict{Decision: decisionSkip}, nil
}
