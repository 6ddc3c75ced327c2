package mcp

import "testing"

func TestTelling(t *testing.T) {
	const notThere = `npm warn deprecated y@1
npm error code E404
npm error 404 Not Found - GET https://registry.example/x
npm error 404
npm error 404  The requested resource could not be found
npm error A complete log of this run can be found in: /x.log
`
	const noNetwork = `npm error code ECONNREFUSED
npm error syscall connect
npm error errno -111
npm error FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED 127.0.0.1:9
`
	const stack = "node:internal:1228\n  throw err;\n\nError: Cannot find module 'x'\n    at f\nNode.js v22\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "\n\n", ""},
		{"the last line", "starting\nno such file: x\n", "no such file: x"},
		{"the first error", stack, "Error: Cannot find module 'x'"},
		{"npm, not there", notThere, "404 Not Found - GET https://registry.example/x"},
		{"npm, no network", noNetwork,
			"FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED 127.0.0.1:9"},
		{"an older npm", "npm ERR! code E404\nnpm ERR! 404 Not Found - x\n", "404 Not Found - x"},
		{"only asides of npm", "npm notice New version\nnpm error code 1\n", ""},
		{"npm's notices, then the server", "npm warn exec x\nusage: server DIR\nnpm notice\n", "usage: server DIR"},
	} {
		if got := telling(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
