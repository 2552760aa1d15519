// Package seeded gives tests their random numbers. Without a word they are the same at
// each run, so that `go test` gives the same answer twice. Long runs set SEXTANT_SEED: to
// "random", which draws a seed and logs it, or to such a seed, which repeats its run.
//
// A source has a mutex, so that goroutines of a test may share it.
package seeded

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The mutex of a source lets several goroutines of a test draw from it.

const (
	env    = "SEXTANT_SEED"
	random = "random" // the value of env that draws a seed
	usual  = 1        // the seed without env
)

// drawn is the seed of this process, and how rapid takes it.
var drawn = sync.OnceValues(func() (uint64, error) {
	seed, err := parse(os.LookupEnv(env))
	if err != nil {
		return 0, err
	}
	const name = "rapid.seed"
	if flag.Lookup(name).Value.String() != "0" {
		return seed, nil // given by hand
	}
	return seed, flag.Set(name, strconv.FormatUint(seed, 10))
})

// parse reads the value of env.
func parse(value string, set bool) (uint64, error) {
	switch {
	case !set:
		return usual, nil
	case value == random:
		return max(1, rand.Uint64()), nil // rapid takes 0 for no seed
	}
	seed, err := strconv.ParseUint(value, 10, 64)
	if err != nil || seed == 0 {
		return 0, fmt.Errorf("%s=%s: write a number above 0, or %s", env, value, random)
	}
	return seed, nil
}

// Seed returns the seed of all random numbers of the process, which it logs.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := drawn()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s=%d", env, seed)
	return seed
}

// Long reports whether SEXTANT_SEED is set: the run may depend on chance.
func Long() bool {
	_, set := os.LookupEnv(env)
	return set
}

// Rand returns random numbers by Seed, to any number of goroutines.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(&locked{source: rand.NewPCG(Seed(t), 0)})
}

type locked struct {
	mu     sync.Mutex
	source rand.Source
}

// Uint64 implements rand.Source.
func (l *locked) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.source.Uint64()
}

// Check is rapid.Check by Seed.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	Seed(t)
	rapid.Check(t, property)
}

// CheckFor is Check again and again, each time by the next seed, until a time has passed or
// the property fails: once if the time is zero.
func CheckFor(t *testing.T, limit time.Duration, property func(*rapid.T)) {
	t.Helper()
	begin := time.Now()
	for seed := Seed(t); ; seed++ {
		if err := flag.Set("rapid.seed", strconv.FormatUint(seed, 10)); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, property)
		if t.Failed() || time.Since(begin) >= limit {
			t.Logf("last: %s=%d", env, seed)
			return
		}
	}
}

// Pause draws a pause of up to most, and makes it in Long runs: what follows, such as a
// kill, then meets a process at any moment.
func Pause(r *rand.Rand, most time.Duration) {
	if d := time.Duration(r.Int64N(int64(most))); Long() {
		time.Sleep(d)
	}
}
