package shared

import (
	"cmp"
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/cluster"
)

// Count is what the owner of a partition tells of it to the others, so that each can judge by the whole.
type Count struct {
	Partition cluster.Partition `json:"partition"`
	Epoch     int64             `json:"epoch"` // of the owner's claim: the highest counts
	Documents uint64            `json:"documents"`
	// Deleted are the documents whose deletion left within the brake's window.
	Deleted int `json:"deleted"`
}

const countsFolder = "counts/"

// SayCounts tells the counts of a node's partitions, each second if they have changed. What they were stays until somebody else owns a partition: the
// documents of a node that died are still there.
func SayCounts(ctx context.Context, e cluster.Engine, node string, counts []Count) error {
	var before []Count
	at, err := Value(ctx, e, countsFolder+node, &before)
	if err != nil || slices.Equal(before, counts) {
		return err
	}
	return SetValue(ctx, e, countsFolder+node, at, counts)
}

// Counts are the latest of all partitions that have any, in order of their numbers.
func Counts(ctx context.Context, e cluster.Engine) ([]Count, error) {
	from, to := cluster.Folder(valueKey(countsFolder))
	v, err := cluster.ListAll(ctx, e, from, to)
	if err != nil {
		return nil, err
	}
	latest := map[cluster.Partition]Count{}
	for _, kv := range v.Keys {
		var counts []Count
		if err := kv.Decode(&counts); err != nil {
			return nil, err
		}
		for _, c := range counts {
			if c.Epoch > latest[c.Partition].Epoch {
				latest[c.Partition] = c
			}
		}
	}
	all := make([]Count, 0, len(latest))
	for _, c := range latest {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Compare(a.Partition, b.Partition) })
	return all, nil
}
