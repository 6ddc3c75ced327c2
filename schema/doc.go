// Package schema reads JSON strictly and checks it against JSON Schema.
//
// Words:
//
//   - A schema is a JSON Schema, compiled once from its text (Compile, Cache). Dialects 2020-12 and draft-07 are known
//     by their "$schema"; a schema without one is read as 2020-12, with a few older habits allowed (see Compile).
//   - A document is the JSON text that is checked, such as the arguments of a call. It stays text: the validator walks
//     over the document's tokens and builds no values, so numbers keep all their digits and nothing is lost or
//     reordered.
//   - A violation is one way in which a document breaks its schema: a JSON pointer (RFC 6901) into the document and a
//     message that a model can act on. Validate reports all of them.
//   - A shape (package shape) is the part of a schema that a reader of calls needs: types, enums, properties in order.
//   - Strict reading means RFC 8259 with nothing left to chance: UTF-8 only, no duplicate keys, no lone surrogates,
//     nothing after the value, names compared exactly (Check).
//
// No reference is ever loaded from a file or a network. Work and memory are bounded by the sizes of schema and
// document.
package schema
