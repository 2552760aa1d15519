// Package finish finds out that a crawl over several partitions has nothing left to do: no URL waits or is being fetched in
// any of them, and no letter is on its way between two. To say so too early would be wrong where something follows from
// it, such as the end of the process, or a deletion of what was not found.
//
// It goes in rounds. In a round each owner says once that its partitions are idle: the number of their claim, and a number that rises
// with what arrives. When all have, the next round begins; when that finds the same numbers as the one before, it is over.
//
// Why this is right: an idle partition gets work only by a letter, whose arrival raises its number, and whoever sent that has it in its queue, and so is not
// idle, until it is stored. Let T be the moment at which the second round begins. Each partition was idle before T, in the first
// round, and is idle after T, in the second; its number is the same, so nothing arrived in between and it was idle all the time, at T too.
// At T all are idle at once, so no letter is on its way, and nobody will ever have work again.
//
// There is no coordinator: whoever sees that a round is complete takes the step that ends it, which compares all that it was
// decided by. There is no goroutine and no lock here.
package finish
