// Package httpcall makes tools of HTTP requests.
//
// Words:
//
//   - A Request says what a call sends: method, address, headers, body, with places for the arguments.
//   - A place is {NAME} in one of its texts; the value of the argument NAME stands there, written so that it stays
//     there: it cannot end a segment of the path, a pair of the query, a header or a text of the body, or begin
//     another.
//   - A field is one pair of the query, one header or one cookie.
//   - The site is scheme, host and port of the address. No argument changes it: that is what policies decide about.
//
// A request goes out by the client of its call, which goes where the policy lets it. Redirects stay on the site,
// since headers may carry secrets. What a server refuses is a result that says so, with the beginning of what the
// server wrote about it.
package httpcall
