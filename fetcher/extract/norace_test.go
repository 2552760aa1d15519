//go:build !race

package extract

const underRace = false
