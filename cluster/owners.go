package cluster

import "context"

// Owner is who owns a partition, as one read of the engine found it.
type Owner struct {
	Partition Partition
	Seat
	Session  string // the process
	Epoch    int64
	Released bool // nobody owns it: the seat had it last
}

// Same holds while it is owned by the same claim.
func (o *Owner) Same() Condition { return Condition{ownKey(o.Partition), Revision(o.Epoch)} }

// Ownership is who owns what, as of one moment.
type Ownership struct {
	Meta
	MetaAt Revision
	Owners []Owner // of all partitions, by their numbers
}

// Same holds while nothing of it has changed.
func (o *Ownership) Same() []Condition {
	all := []Condition{{metaKey, o.MetaAt}}
	for i := range o.Owners {
		all = append(all, o.Owners[i].Same())
	}
	return all
}

// Owners reads who owns what. ErrNoCluster if there is no cluster.
func Owners(ctx context.Context, e Engine) (o Ownership, err error) {
	meta, err := MetaOf(ctx, e)
	if err != nil {
		return o, err
	}
	keys := []string{metaKey}
	for p := range Partition(meta.Partitions) {
		keys = append(keys, ownKey(p))
	}
	v, err := e.Read(ctx, keys...)
	if err != nil {
		return o, err
	}
	o.MetaAt = v.Keys[0].Revision
	if err := read(v.Keys[0], &o.Meta); err != nil {
		return o, err
	}
	for i, kv := range v.Keys[1:] {
		var own ownership
		if err := read(kv, &own); err != nil {
			return o, err
		}
		o.Owners = append(o.Owners, Owner{Partition(i), own.Seat, own.Session, int64(kv.Revision), own.Released})
	}
	return o, nil
}
