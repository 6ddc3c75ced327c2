// Package jsonbody reads and writes the JSON of wire protocols without reflection. The codecs of package wire stand
// on it.
//
// Words:
//
//   - A body is the JSON text of a request or an answer, a field a value somewhere in it.
//   - A Scanner walks over a text and takes what it finds there. It is for answers, of which nobody knows what they
//     hold.
//   - A Reader walks over the body of a request, which it has checked as a whole, and knows the name of the field where
//     it is, so that an error can name it.
//
// What is appended is always valid JSON in UTF-8.
package jsonbody
