package scheduler

// Pause ends the giving out of URLs until Resume: every Next blocks. Leases are
// ended as before.
func (f *Frontier) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = true
}

// Resume ends a Pause.
func (f *Frontier) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = false
	f.wake()
}

// Paused says whether URLs are not given out because of Pause.
func (f *Frontier) Paused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}
