package scheduler

// Pause ends the giving out of URLs until Resume: every Next blocks. Leases are
// ended as before.
func (f *Frontier) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.paused {
		f.paused, f.pausedAt = true, f.now()
	}
}

// Resume ends a Pause.
func (f *Frontier) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused {
		f.paused = false
		f.pausedFor += f.now() - f.pausedAt
	}
	f.wake()
}

// Active is for how long the frontier has given out URLs: its time, without the pauses.
func (f *Frontier) Active() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.paused {
		now = f.pausedAt
	}
	return now - f.pausedFor
}

// Paused reports whether URLs are not given out because of Pause.
func (f *Frontier) Paused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}
