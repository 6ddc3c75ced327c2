// Package policies has the commands that explain and test policies.
package policies
