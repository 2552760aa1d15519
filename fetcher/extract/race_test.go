//go:build race

package extract

// underRace says that the race detector watches: all is slow, and pools forget.
const underRace = true
