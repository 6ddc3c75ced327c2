// Package webhook tells other services what happens to runs: it sends a signed request for each event that they want
// to know of.
//
// Words:
//
//   - An endpoint is where events are sent, with the secret that signs them.
//   - An event is something that happened to a run or to a question of one: a record of the journal, told in a form of
//     its own.
//   - A link is an address that lets whoever has it see and answer one question. Its token is made from the endpoint's
//     secret and the question's id, so that nothing has to be kept, and a restart changes nothing.
//
// The journal is the queue: each endpoint has a goroutine that follows it at its own pace. So a slow endpoint holds
// up neither a run nor another endpoint, and costs no memory.
//
// Requests are signed as the Standard Webhooks specification says: webhook-id, webhook-timestamp and
// webhook-signature, which is v1, and the HMAC-SHA256 in base64 of id, timestamp and body with points between them.
package webhook
