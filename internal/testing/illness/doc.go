// Package illness tries to make a crawl delete what it must not: sites of several sizes
// fall ill in every way that internal/testing/sicksite knows, under every error policy, and get
// well again. The tests use what an operator has, and look at what reaches an indexer.
//
// Most of them run under virtual time, over a real store and a network in memory, so that
// days pass in moments. A usual test run tries the cells of the matrix that chosen names;
// SEXTANT_ILLNESS=all (make illness) tries all of them. SEXTANT_ILLNESS=real (make
// illness-real) runs the program itself against servers on loopback.
package illness
