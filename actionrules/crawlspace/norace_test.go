//go:build !race

package crawlspace

// race says that the race detector is on, under which sync.Pool forgets at random.
const race = false
