// Package dir makes tools of files: programs in a directory, functions of Python, directories of tools of LLF, lines
// of shell.
//
// Words:
//
//   - A tool file is a file in a directory of tools. An executable one is a program: comments at its top are tags that
//     say what it is, or it prints its definition when it is called with the argument "describe". A Python file that is
//     no program holds typed functions, and each is a tool.
//   - A tag is a comment line with a word, and a colon before its value: "# description: Counts the words of a file".
//   - A tool directory of LLF holds config.json, tool_definition.json and execute.py, or an execute in another
//     language. A registry lists them.
//   - A Set keeps what was loaded: asked again, it reads only what has changed, and a file that is broken now leaves in
//     force what it held before.
//
// A call of a program runs the file with the arguments as JSON on its standard input, and each argument once more in
// a variable such as ARG_name. What it writes to its standard output is the result: JSON if it is JSON, else text. A
// status other than 0 is a failure, and what it wrote to its standard error says why.
package dir
