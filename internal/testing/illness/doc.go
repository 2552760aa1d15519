// Package illness tries to make a crawl lose what it must keep: sites of several sizes become ill in every way that a
// Site supports, under every error policy, and well again. A document is lost if it leaves the index, or if a text that
// is not the site's own replaces it. What must leave does leave, in time: pages, sections and hosts that are gone,
// sites that move, redesigns. The tests use an operator's interfaces, and check what reaches a target.
//
// Most of them run in virtual time, with a real store and an in-memory network, so that days take moments. A usual test
// run covers the cells of the matrix that chosen names and a few sizes; SEXTANT_ILLNESS=all (make illness) covers all
// of them. SEXTANT_ILLNESS=real (make illness-real) runs the program itself against servers on loopback.
package illness
