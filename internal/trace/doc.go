// Package trace sends what happens in a request to a collector, as spans in the protocol of OpenTelemetry (OTLP over
// HTTP, in JSON), with the attributes of its conventions for generative AI.
//
// Words:
//
//   - A span is a piece of time with a name. The span of a request holds those of its attempts: each answer of a model
//     is one, the second answer after a bounce as well.
//   - An event is a point in a span: the first token, a rejected call, a bounce.
//   - The exporter gathers spans that have ended and posts them now and then. It never makes a request wait: what does
//     not fit into its queue is dropped and counted.
//
// All is seen in the events of an answer, so that nothing between a client and a server carries a span with it. What
// is said stands in no span unless Options.Content asks for it.
//
// The protocol is written here rather than by its client library because that brings a whole other protocol and its
// runtime into every binary, for one POST of JSON.
package trace
