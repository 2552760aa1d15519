package admin

import (
	"slices"
	"strings"
	"testing"
)

func TestBatches(t *testing.T) {
	long := strings.Repeat("x", batchBytes/2)
	for name, tt := range map[string]struct {
		urls []string
		want []int
	}{
		"none":         {nil, []int{0}},
		"a full one":   {make([]string, batchURLs), []int{batchURLs}},
		"one more":     {make([]string, batchURLs+1), []int{batchURLs, 1}},
		"long ones":    {[]string{long, long, long, "y"}, []int{2, 2}},
		"a huge one":   {[]string{long + long + long, "y"}, []int{1, 1}},
		"huge, behind": {[]string{"y", long + long + long}, []int{1, 1}},
	} {
		var got []int
		var all []string
		for b := range batches(tt.urls) {
			got, all = append(got, len(b)), append(all, b...)
		}
		if !slices.Equal(got, tt.want) || !slices.Equal(all, tt.urls) {
			t.Errorf("%s: parts of %v, want %v", name, got, tt.want)
		}
	}
}
