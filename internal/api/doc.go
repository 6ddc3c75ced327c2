// Package api is the HTTP interface over runs: what they do, what they wait for, and what they left behind. It is
// what a page, a script or another service works with, and stands under /api/v1.
//
// Words:
//
//   - A route is a method and a path, with the roles that may use it, the types of what goes in and comes out, and the
//     errors it can answer with. All routes stand in one table, which requests are answered from and the OpenAPI
//     document is written from.
//   - A caller is who sends a request: the holder of a key, or somebody who has logged in with one and shows a cookie
//     since.
//   - A link is an address with a token that lets whoever has it see and decide one approval, and nothing else.
//   - A cursor marks the end of a page of a list; the next page begins behind it.
//   - A stream is an answer of server-sent events. Each event has an id, and a client that shows the last one it has
//     seen goes on behind it.
//
// What belongs to another key is not there for a client: it is answered as what does not exist.
package api
