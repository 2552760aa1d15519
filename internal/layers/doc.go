// Package layers holds the rules about which package may import which, and the
// check that its test runs over the whole source tree. A new package is added to
// Rules before anything else, or the test fails.
package layers
