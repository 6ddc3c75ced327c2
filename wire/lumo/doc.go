// Package lumo translates between the vocabulary of package chat and the protocol of Lumo, unencrypted, in both of its
// versions and without any HTTP: bytes in, values out, and the other way round. It is the side of a client only.
//
// Words:
//
//   - A turn is a message of the conversation, in the first version of the protocol.
//   - A target says what a piece of an answer belongs to: the message, its reasoning, a title, or the native tools.
//   - A native tool is one that Lumo itself runs. Its calls and results are part of the answer's stream. Lumo takes no definitions
//     of others; those have to be described in the text.
//   - A glued text holds several JSON objects, one behind the other: Lumo writes a call again when it fails.
package lumo
