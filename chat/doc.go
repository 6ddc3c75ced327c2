// Package chat defines the types that every part of wield shares: what a client asks of a model (Request), what comes
// back (a stream of Event), and the one interface between them (Model). It imports no other package of wield and holds
// almost no code. Its comments are the contract between the packages.
//
// Words:
//
//   - A message is one entry of a conversation, written by a role. Its content is a list of parts.
//   - A tool, here, is a definition: a name, a description and a JSON Schema of the arguments. What runs a tool lives
//     elsewhere.
//   - A call is one request of the model to run one tool. Its arguments are JSON text, kept as the model wrote it (or
//     as it was repaired), never re-serialised: big numbers and the order of keys survive.
//   - A result holds the output or the error of a call, and is handed back to the model.
//   - A turn is one response of a model. A run is the loop from a user's message to the final answer and may hold
//     several turns. A session is one conversation.
//   - A dialect is a text protocol for calls; package dialect reads and writes it.
//   - Origin says through which channel a call arrived: as text, through the backend's function calling, or through the
//     backend's native pipeline, which carries and runs its own tools.
//   - A span is a range [At, End) of byte offsets into the raw text of one turn.
package chat
