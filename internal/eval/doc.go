// Package eval measures how well texts that real models wrote are read.
//
// Its yardstick are rows in the form of the Berkeley Function-Calling Leaderboard: a model's raw answer, the tools it
// was shown, and, where one is known, the list of calls that the leaderboard's checker accepts ("gold"). A row is
// matched when the calls read from the answer are that list.
//
// Two measures stand side by side. Strict: strings exactly, calls in order. Loose, the leaderboard's own: strings
// without blanks and the characters , . / - _ * ^, in lower case; an absent argument equals an explicit null if it is
// not required; the order of the calls is free. In both, names are compared after . became _, and numbers as numbers.
// Calls in which the text ended do not count.
package eval
