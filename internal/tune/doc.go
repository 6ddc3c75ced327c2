// Package tune finds out how a model calls tools best. It asks the model for calls that are known beforehand, once
// through its backend's function calling and once in each dialect that it may know, and counts what comes out.
//
// Words:
//
//   - A candidate is one way to give a model tools: function calling, or text in a dialect.
//   - A probe is a request with tools of its own and the calls that answer it.
//   - A trial is one probe put to the model in the way of one candidate.
package tune
