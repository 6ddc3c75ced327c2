// Package worker runs tools for services on other machines. It connects outwards to a service, tells what it offers,
// and runs the calls that it is given by its own rules: the registry, the policy and the sandbox are those of this
// machine.
package worker
