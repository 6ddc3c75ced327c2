// Package toolsearch lets a model search among many tools instead of being shown all of them.
//
// The model is shown the search tool with the groups of the others. What it finds stands at the end of the
// conversation, so that the beginning of the prompt stays as it is and the server's cache of prompts holds.
package toolsearch
