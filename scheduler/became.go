package scheduler

// Became is what followed from the result of a lease.
type Became struct {
	Class     Class
	Added     bool // a document of the URL is sent to the indexer for the first time
	Updated   bool // one is sent in place of another
	Deleted   bool // its deletion is sent
	Resting   bool // its deletion rests, or is held
	Indexed   bool // the indexer has a document of it, or will have
	Forgotten bool // nothing of the URL is remembered
}

// Became is known when Complete has returned; it is for the holder of the lease.
func (l *Lease) Became() Became { return l.became }

func became(old *Record, c *Completion) Became {
	b := Became{Class: c.Next.Class, Indexed: c.Next.Indexed, Forgotten: c.Forget}
	if o := c.Order; o != nil {
		add := o.Op == OrderAdd
		b.Added, b.Updated = add && !old.Indexed, add && old.Indexed
		b.Resting, b.Deleted = !add && o.Deletion != NoDeletion, !add && o.Deletion == NoDeletion
	}
	return b
}
