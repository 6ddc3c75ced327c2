// Package dir makes tools of the programs in a directory.
//
// Words:
//
//   - A tool file is an executable file whose first lines are comments with tags: what the tool is called, what it does, what it
//     takes, what it touches.
//   - A tag is a comment line with a word, and a colon before its value: "# description: Counts the words of a file".
//
// A call runs the file with the arguments as JSON on its standard input, and each argument once more in the variable ARG_NAME.
// What it writes to its standard output is the result: JSON if it is JSON, else text. A status other than 0 is a failure, and what
// it wrote to its standard error says why.
package dir
