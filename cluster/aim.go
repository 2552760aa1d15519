package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/cluster/placement"
)

// ErrOnePartition says that there is nothing to divide among nodes.
var ErrOnePartition = errors.New("the cluster has one partition")

// Numbers of copies that a cluster of several partitions can have of each.
const (
	MinReplicas = 2
	MaxReplicas = 3
)

// aimOf reads what people want of the map.
func aimOf(kv KeyValue) (placement.Aim, error) {
	a := placement.Aim{Replicas: MinReplicas}
	if kv.Revision == 0 {
		return a, nil
	}
	err := read(kv, &a)
	a.Replicas = min(max(a.Replicas, MinReplicas), MaxReplicas)
	return a, err
}

// ChangeAim changes what people want of the map; the leader sees to it. change may be called more than once.
func ChangeAim(ctx context.Context, e Engine, change func(*placement.Aim)) (placement.Aim, error) {
	for {
		v, err := e.Read(ctx, metaKey, aimKey)
		if err != nil {
			return placement.Aim{}, err
		}
		var meta Meta
		if v.Keys[0].Revision == 0 {
			return placement.Aim{}, ErrNoCluster
		}
		if err := read(v.Keys[0], &meta); err != nil {
			return placement.Aim{}, err
		}
		if meta.Partitions == 1 {
			return placement.Aim{}, fmt.Errorf("%w: sextant cluster release hands it over", ErrOnePartition)
		}
		a, err := aimOf(v.Keys[1])
		if err != nil {
			return a, err
		}
		change(&a)
		slices.Sort(a.Drained)
		slices.Sort(a.Leaving)
		out, err := e.Commit(ctx, Step{If: []Condition{{metaKey, v.Keys[0].Revision}, {aimKey, v.Keys[1].Revision}}, Then: []Write{Put(aimKey, a)}})
		if err != nil || out.Taken {
			return a, err
		}
	}
}
