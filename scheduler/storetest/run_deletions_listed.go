package storetest

import (
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func deletionGroups(f *fixture) {
	a, b := f.losing("http://a.test/1", leaving(0)), f.losing("http://b.test/1", leaving(0))
	a2 := f.losing("http://a.test/2", leaving(0))
	a5 := f.losing("http://a.test/5", replacing(0))
	edit := []scheduler.Link{f.losing("http://a.test/3", leaving(9)), f.losing("http://b.test/2", leaving(9))}
	f.losing("http://a.test/4", leaving(1<<40))
	f.again(a, leaving(0)) // it keeps its place
	groups := map[scheduler.DeletionGroup]uint64{}
	f.must(f.DeletionGroups(f.ctx, func(g scheduler.DeletionGroup, n uint64) error {
		if groups[g] > 0 {
			f.Errorf("group %v twice", g)
		}
		groups[g] = n
		return nil
	}))
	hostA, hostB := scheduler.DeletionGroup{Host: a.URL.HostKey()}, scheduler.DeletionGroup{Host: b.URL.HostKey()}
	f.equal("groups", groups, map[scheduler.DeletionGroup]uint64{hostA: 3, hostB: 1, {Edit: 9}: 2, {Edit: 1 << 40}: 1})
	for _, part := range []struct {
		g    scheduler.DeletionGroup
		want []scheduler.Link
	}{
		{hostA, []scheduler.Link{a, a2, a5}},
		{hostB, []scheduler.Link{b}},
		{scheduler.DeletionGroup{Edit: 9}, edit},
		{scheduler.DeletionGroup{Edit: 9, Host: a.URL.HostKey()}, edit},
		{scheduler.DeletionGroup{Edit: 10}, nil},
		{scheduler.DeletionGroup{Host: weburl.HostKey{1}}, nil},
	} {
		var got []weburl.Key
		f.must(f.Deletions(f.ctx, part.g, func(d scheduler.StoredDeletion) error {
			if want := scheduler.ReasonNotFound; !d.Replaces && (d.Reason != want || d.Text != "status 404") || d.Replaces != (d.Key == a5.URL.Key()) || d.Source != "s" {
				f.Errorf("%+v", d)
			}
			got = append(got, d.Key)
			return nil
		}))
		f.equal(fmt.Sprintf("%+v", part.g), got, keysOfLinks(part.want...))
	}
}

func deletionFilter(f *fixture) {
	one, two, three := f.losing("http://a.test/1", leaving(0)), f.losing("http://b.test/2", replacing(0)), f.losing("http://a.test/3", leaving(4))
	upTo := f.deletionOf(three).Seq
	login := leaving(4)
	login.Reason = scheduler.ReasonLogin
	four := f.losing("http://b.test/4", login)
	five := f.losing("http://a.test/5", replacing(0))
	for _, part := range []struct {
		filter scheduler.DeletionFilter
		want   []scheduler.Link
	}{
		{scheduler.DeletionFilter{}, []scheduler.Link{one, two, three, four, five}},
		{scheduler.DeletionFilter{UpTo: upTo}, []scheduler.Link{one, two, three}},
		{scheduler.DeletionFilter{UpTo: upTo, Host: "http://a.test"}, []scheduler.Link{one, three}},
		{scheduler.DeletionFilter{UpTo: upTo, Edit: 4}, []scheduler.Link{three}},
		{scheduler.DeletionFilter{UpTo: upTo - 1, URLs: []string{"http://a.test/3", "http://b.test/2"}}, []scheduler.Link{two}},
		{scheduler.DeletionFilter{Reason: scheduler.ReasonNewText}, []scheduler.Link{two, five}},
		{scheduler.DeletionFilter{Host: "http://a.test"}, []scheduler.Link{one, three, five}},
		{scheduler.DeletionFilter{Host: "http://strange.test"}, nil},
		{scheduler.DeletionFilter{Reason: scheduler.ReasonLogin}, []scheduler.Link{four}},
		{scheduler.DeletionFilter{Edit: 4}, []scheduler.Link{three, four}},
		{scheduler.DeletionFilter{Edit: 4, Reason: scheduler.ReasonNotFound}, []scheduler.Link{three}},
		{scheduler.DeletionFilter{URLs: []string{"http://a.test/5", "http://a.test/1", "http://a.test/1", "http://a.test/none"}}, []scheduler.Link{one, five}},
		{scheduler.DeletionFilter{URLs: []string{"http://a.test/5", "http://a.test/1"}, Reason: scheduler.ReasonNewText}, []scheduler.Link{five}},
	} {
		var got []weburl.Key
		for _, d := range f.deletions(part.filter) {
			got = append(got, d.Key)
		}
		f.equal(fmt.Sprintf("%+v", part.filter), got, keysOfLinks(part.want...))
	}
	if err := f.PendingDeletions(f.ctx, scheduler.DeletionFilter{URLs: []string{":"}}, nil); err == nil {
		f.Error("no error for an invalid URL")
	}
}

func deletionsError(f *fixture) {
	f.losing("http://a.test/1", leaving(0))
	f.losing("http://b.test/1", leaving(0))
	l := f.losing("http://a.test/2", leaving(0))
	enough, calls := errors.New("enough"), 0
	stop := func(scheduler.StoredDeletion) error { calls++; return enough }
	for what, err := range map[string]error{
		"Deletions":        f.Deletions(f.ctx, scheduler.DeletionGroup{Host: l.URL.HostKey()}, stop),
		"PendingDeletions": f.PendingDeletions(f.ctx, scheduler.DeletionFilter{}, stop),
		"DeletionGroups":   f.DeletionGroups(f.ctx, func(scheduler.DeletionGroup, uint64) error { calls++; return enough }),
	} {
		if !errors.Is(err, enough) {
			f.Errorf("%s = %v, want fn's error", what, err)
		}
	}
	f.equal("calls", calls, 3)
}
