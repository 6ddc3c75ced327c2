// Package stats counts what models and tools did, hour by hour, so that one can look back over days and months.
//
// Words:
//
//   - An answer is one response of a model to a client, its bounces and fallbacks included; of an agent it is one turn.
//   - An attempt is text, or what a server reported, that was a call or tried to be one. It ends as a call or is
//     rejected.
//   - A call is right at the first try if the first answer held it and nothing in it was repaired.
//   - Dims (dimensions) are what numbers are told apart by: model as configured, client (the name of its key), dialect,
//     tool. What is counted of answers has no tool.
//   - A cell holds the numbers of one hour for one value of each dimension.
//
// # Where the numbers come from
//
// [Store.Model] stands around a model that answers clients and sees its events. [Store.Journal] stands around the
// journal that runs are recorded in and sees their records. A model that runs tools is counted by its journal alone, so
// that nothing counts twice.
//
// # Where they are kept
//
// Every program adds lines to the file of the day, in one write, a few times a minute and when it ends: a cell may have
// many lines, whose numbers add up. So several programs count at once without knowing of each other, a program that is
// killed loses some seconds, and a line that is cut off loses itself. Lines of past days are added up now and then:
// those of one cell after two days, and after a week the hours of a day, which then count for its first (in UTC). Times
// are kept as histograms whose buckets are 2 % wide, so that a percentile of any selection is within 1 % of the true
// one.
package stats
