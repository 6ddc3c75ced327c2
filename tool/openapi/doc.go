// Package openapi makes tools of the operations of an OpenAPI document.
//
// Words:
//
//   - A document is a text in JSON or YAML after OpenAPI 3.0 or 3.1. It is read as data: nothing in it is fetched, and
//     references lead only into the document itself.
//   - An operation is a method on a path. It becomes one tool, whose arguments are the parameters and, as one argument,
//     the body.
//   - A credential answers a security scheme of the document. It comes from whoever uses the document and never from
//     the document.
//
// What is wrong with a document is told with its line, and operations that nothing is wrong with become tools all the
// same.
package openapi
