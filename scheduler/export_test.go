package scheduler

// Entries returns how many hosts take memory.
func (f *Frontier) Entries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.hosts)
}

// Buffered returns how many URLs that are not in flight are in memory.
func (f *Frontier) Buffered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, h := range f.hosts {
		for q := h.queues; q != nil; q = q.sibling {
			if q.reading != nil {
				n += len(q.reading.buffer)
			}
		}
	}
	if n != f.buffered {
		panic("the number of buffered URLs is wrong")
	}
	return n
}

// Locked calls do while the mutex is held.
func (f *Frontier) Locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// Addresses returns how many addresses take memory.
func (f *Frontier) Addresses() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.addresses)
}
