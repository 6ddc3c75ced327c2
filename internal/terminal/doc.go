// Package terminal is a conversation in a terminal: what a person types goes to an agent, what the agent does appears
// while it happens, and whatever would change something is shown in full and asked about first.
//
// Words:
//
//   - The scrollback is what has been printed. It is never printed again, so that nothing flickers or jumps, the
//     terminal's own scrolling and searching work, and text can be copied.
//   - The tail is what may still change, below the scrollback: the line that is being written, the status, the input.
//     It is the only part that is painted again. It is never higher than the screen.
//   - A row is one line of the screen, a line what ends with a newline. A row is a list of spans: text with a style.
//   - Text of a model or a tool is cleaned before it is shown: what would move the cursor, write the clipboard or turn
//     the direction of text is spelled out. In questions what cannot be seen is spelled out too.
//   - A question is a call that needs a person's answer. It stands in the journal, so that whoever answers first, here
//     or elsewhere, has answered.
//
// Without a terminal the same conversation is a sequence of plain lines: there is no tail, and each line of the input
// is a message.
//
// Escape sequences are written by this package itself and not by a library for screens, because such libraries paint
// a whole screen, and the point here is to paint almost nothing.
package terminal
