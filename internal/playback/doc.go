// Package playback reads runs out of a journal and plays them again: with what a model wrote then, through what reads
// it today; or with another model, and what the tools gave then. No tool ever runs.
//
// Words:
//
//   - A Recording is one run as a journal has it, with the questions that it put to people.
//   - A Turn is one answer of the model in it, with its calls and what became of them. Answers that were bounced belong
//     to the turn whose answer was taken.
//   - A Difference is what one playing did otherwise than the recording.
package playback
