package storetest

import (
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func deletionGroups(f *fixture) {
	a, b := f.rested("http://a.test/1", resting(0)), f.rested("http://b.test/1", resting(0))
	a2 := f.rested("http://a.test/2", resting(0))
	f.rested("http://a.test/held", held())
	edit := []scheduler.Link{f.rested("http://a.test/3", resting(9)), f.rested("http://b.test/2", resting(9))}
	f.rested("http://a.test/4", resting(1<<40))
	f.again(a, resting(0)) // it keeps its place
	groups := map[scheduler.DeletionGroup]uint64{}
	f.must(f.DeletionGroups(f.ctx, func(g scheduler.DeletionGroup, n uint64) error {
		if groups[g] > 0 {
			f.Errorf("group %v twice", g)
		}
		groups[g] = n
		return nil
	}))
	hostA, hostB := scheduler.DeletionGroup{Host: a.URL.HostKey()}, scheduler.DeletionGroup{Host: b.URL.HostKey()}
	f.equal("groups", groups, map[scheduler.DeletionGroup]uint64{hostA: 2, hostB: 1, {Edit: 9}: 2, {Edit: 1 << 40}: 1})
	for _, part := range []struct {
		g    scheduler.DeletionGroup
		want []scheduler.Link
	}{
		{hostA, []scheduler.Link{a, a2}},
		{hostB, []scheduler.Link{b}},
		{scheduler.DeletionGroup{Edit: 9}, edit},
		{scheduler.DeletionGroup{Edit: 9, Host: a.URL.HostKey()}, edit},
		{scheduler.DeletionGroup{Edit: 10}, nil},
		{scheduler.DeletionGroup{Host: weburl.HostKey{1}}, nil},
	} {
		var got []weburl.Key
		f.must(f.Deletions(f.ctx, part.g, func(d scheduler.StoredDeletion) error {
			if d.State != scheduler.DeletionResting || d.Reason != scheduler.ReasonNotFound || d.Text != "status 404" || d.Source != "s" {
				f.Errorf("%+v", d)
			}
			got = append(got, d.Key)
			return nil
		}))
		f.equal(fmt.Sprintf("%+v", part.g), got, keysOfLinks(part.want...))
	}
}

func deletionFilter(f *fixture) {
	one, two, three := f.rested("http://a.test/1", resting(0)), f.rested("http://b.test/2", held()), f.rested("http://a.test/3", resting(4))
	login := resting(4)
	login.Reason = scheduler.ReasonLogin
	four := f.rested("http://b.test/4", login)
	five := f.rested("http://a.test/5", held())
	for _, part := range []struct {
		filter scheduler.DeletionFilter
		want   []scheduler.Link
	}{
		{scheduler.DeletionFilter{}, []scheduler.Link{one, two, three, four, five}},
		{scheduler.DeletionFilter{State: scheduler.DeletionHeld}, []scheduler.Link{two, five}},
		{scheduler.DeletionFilter{State: scheduler.DeletionResting}, []scheduler.Link{one, three, four}},
		{scheduler.DeletionFilter{Host: "http://a.test"}, []scheduler.Link{one, three, five}},
		{scheduler.DeletionFilter{Host: "http://a.test", State: scheduler.DeletionResting}, []scheduler.Link{one, three}},
		{scheduler.DeletionFilter{Host: "http://strange.test"}, nil},
		{scheduler.DeletionFilter{Reason: scheduler.ReasonLogin}, []scheduler.Link{four}},
		{scheduler.DeletionFilter{Edit: 4}, []scheduler.Link{three, four}},
		{scheduler.DeletionFilter{Edit: 4, Reason: scheduler.ReasonNotFound}, []scheduler.Link{three}},
		{scheduler.DeletionFilter{URLs: []string{"http://a.test/5", "http://a.test/1", "http://a.test/1", "http://a.test/none"}}, []scheduler.Link{one, five}},
		{scheduler.DeletionFilter{URLs: []string{"http://a.test/5", "http://a.test/1"}, State: scheduler.DeletionHeld}, []scheduler.Link{five}},
	} {
		var got []weburl.Key
		for _, d := range f.deletions(part.filter) {
			got = append(got, d.Key)
		}
		f.equal(fmt.Sprintf("%+v", part.filter), got, keysOfLinks(part.want...))
	}
	if err := f.HeldDeletions(f.ctx, scheduler.DeletionFilter{URLs: []string{":"}}, nil); err == nil {
		f.Error("no error for what is no URL")
	}
}

func deletionsError(f *fixture) {
	f.rested("http://a.test/1", resting(0))
	f.rested("http://b.test/1", resting(0))
	l := f.rested("http://a.test/2", resting(0))
	enough, calls := errors.New("enough"), 0
	stop := func(scheduler.StoredDeletion) error { calls++; return enough }
	for what, err := range map[string]error{
		"Deletions":      f.Deletions(f.ctx, scheduler.DeletionGroup{Host: l.URL.HostKey()}, stop),
		"HeldDeletions":  f.HeldDeletions(f.ctx, scheduler.DeletionFilter{}, stop),
		"DeletionGroups": f.DeletionGroups(f.ctx, func(scheduler.DeletionGroup, uint64) error { calls++; return enough }),
	} {
		if !errors.Is(err, enough) {
			f.Errorf("%s = %v, want fn's error", what, err)
		}
	}
	f.equal("calls", calls, 3)
}
