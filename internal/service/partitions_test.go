package service

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/config"
)

// TestPerAddressBesidePartitions: turns of hosts with one address are a promise of one machine alone.
func TestPerAddressBesidePartitions(t *testing.T) {
	for partitions, refused := range map[int]bool{1: false, 24: true} {
		e := clustertest.NewMemory()
		if _, err := cluster.Found(t.Context(), e, cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s"}, Partitions: partitions}); err != nil {
			t.Fatal(err)
		}
		c := config.Crawler{}
		c.Name = "docs"
		if err := fitsPartitions(t.Context(), e, &c); err != nil {
			t.Errorf("%d partitions, without perAddress: %v", partitions, err)
		}
		c.Frontier.PerAddress = true
		err := fitsPartitions(t.Context(), e, &c)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), `of Crawler "docs", perAddress="true" cannot be kept: this cluster has 24 partitions`) {
			t.Errorf("%d partitions: %v", partitions, err)
		}
	}
}
