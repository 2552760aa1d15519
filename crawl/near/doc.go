// Package near finds texts that are nearly the same: a fingerprint of a text, in
// which near-duplicates differ in few bits (Charikar 2002), and an index of
// fingerprints that finds those within three bits (Manku, Jain, Das Sarma 2007)
// in memory.
package near
