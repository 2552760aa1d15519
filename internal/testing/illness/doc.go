// Package illness tries to make a crawl lose what it must keep: sites of several sizes fall ill
// in every way that a Site knows, under every error policy, and get well again.
// A document is lost if it leaves the index, or if a text that is not the site's own replaces it.
// What must leave does so, too, and in time: pages, sections and hosts that are gone, sites that
// move, redesigns. The tests use what an operator has, and look at what reaches an indexer.
//
// Most of them run under virtual time, over a real store and a network in memory, so that
// days pass in moments. A usual test run tries the cells of the matrix that chosen names and few
// sizes; SEXTANT_ILLNESS=all (make illness) tries all of them. SEXTANT_ILLNESS=real (make
// illness-real) runs the program itself against servers on loopback.
package illness
