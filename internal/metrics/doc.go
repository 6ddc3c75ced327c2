// Package metrics counts what a service does, for Prometheus.
//
// Words:
//
//   - A front request is one request of a client for an answer of a model; the bounces and the fallbacks that it takes
//     are part of it. A backend request is one request of wield to a server.
//   - A label is what a number is told apart by. Every label here has a bounded number of values: names come from the
//     configuration, kinds and reasons from closed lists, and the names of tools, which clients choose, are counted
//     under "other" once there are many.
//   - A call is detected when an answer holds it, and completed when its result comes back in a later request. A client
//     sends the whole conversation again with each request; a result counts once nevertheless.
//
// What is measured is seen by two decorators of chat.Model, one around all that answers a client and one around a
// server, so that nothing between them knows of it. Names beginning with gen_ai follow the semantic conventions of
// OpenTelemetry for generative AI, in the spelling that its exporters use for Prometheus; all others begin with
// wield.
package metrics
