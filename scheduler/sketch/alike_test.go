package sketch

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// templateWith is a template with values in its first bins.
func templateWith(values ...uint8) *Template {
	t := new(Template)
	for i, v := range values {
		t.Minima[i][1] = v
	}
	return t
}

// withTitles adds titles to a template.
func (t *Template) withTitles(titles ...uint32) *Template {
	copy(t.Titles[:], titles)
	return t
}

// TestAlike is the doc comment of Alike, case by case.
func TestAlike(t *testing.T) {
	eight := []uint8{1, 2, 3, 4, 5, 6, 7, 8}
	ten := bins(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for _, c := range []struct {
		name      string
		a, b      Sketch
		templates []*Template
		want      float64
	}{
		{"the same", bins(1, eight...), bins(2, eight...), nil, 1},
		{"six of eight", bins(1, eight...), bins(1, 1, 2, 3, 4, 5, 6, 70, 80), nil, 0.75},
		{"an empty bin is a different one", bins(1, eight...), bins(1, 0, 2, 3, 4, 5, 6, 7, 8), nil, 0.875},
		{"as many in other bins", bins(1, eight...), bins(1, append(make([]uint8, 8), eight...)...), nil, 0},
		{"a nil template", bins(1, eight...), bins(2, eight...), []*Template{nil}, 1},
		{
			"the template left out", ten, bins(0, 1, 2, 3, 4, 5, 60, 70, 80, 90, 100),
			[]*Template{templateWith(1, 2)}, 3. / 8,
		},
		{
			"template in one of both", ten, bins(0, 11, 12, 3, 4, 5, 6, 7, 8, 9, 10),
			[]*Template{templateWith(1, 2)}, 0.8,
		},
		{
			"two templates", ten, bins(0, 1, 2, 3, 4, 5, 60, 70, 80, 90, 100),
			[]*Template{templateWith(1), templateWith(0, 2)}, 3. / 8,
		},
		{"a template's value in another bin", bins(1, eight...), bins(2, eight...), []*Template{templateWith(0, 1)}, 1},
		{"few bins, one title", bins(1, 1, 2), bins(1, 3, 4), nil, 1},
		{"few bins, two titles", bins(1, 1, 2), bins(2, 1, 2), nil, 0},
		{"few bins, one has a title", bins(0, 1, 2), bins(2, 1, 2), nil, 0},
		{"few bins, no title, equal", bins(0, 1, 2), bins(0, 1, 2), nil, 1},
		{"few bins, no title, one different", bins(0, 1, 2), bins(0, 1, 3), nil, 0},
		{"template only, one title", bins(1, eight...), bins(1, eight...), []*Template{templateWith(eight...)}, 1},
		{"template only, two titles", bins(1, eight...), bins(2, eight...), []*Template{templateWith(eight...)}, 0},
		{"template only, no title", bins(0, eight...), bins(0, eight...), []*Template{templateWith(eight...)}, 1},
		{
			"template only, no title, 7 of 10 equal", ten, bins(0, 1, 2, 3, 4, 5, 6, 7),
			[]*Template{templateWith(ten.Minima[:]...)}, 0,
		},
		{
			"template only, no title, 8 of 10 equal", ten, bins(0, 1, 2, 3, 4, 5, 6, 7, 8),
			[]*Template{templateWith(ten.Minima[:]...)}, 1,
		},
		{
			"the template's title, bins differ", bins(9, 1, 2), bins(9, 1, 3),
			[]*Template{templateWith().withTitles(9)}, 0,
		},
		{
			"the template's title, bins equal", bins(9, 1, 2), bins(9, 1, 2),
			[]*Template{templateWith().withTitles(9)}, 1,
		},
		{"two titles of the template", bins(8, 1), bins(9, 1), []*Template{templateWith().withTitles(9, 8)}, 1},
		{
			"titles of two templates", bins(8, 1), bins(9, 1),
			[]*Template{templateWith().withTitles(9), nil, templateWith().withTitles(8)}, 1,
		},
		{"the template's title and another", bins(9, 1), bins(8, 1), []*Template{templateWith().withTitles(9)}, 0},
		{"the template's title and none", bins(9, 1), bins(0, 1), []*Template{templateWith().withTitles(9)}, 1},
		{
			"one title, which is not the template's", bins(9, 1), bins(9, 2),
			[]*Template{templateWith().withTitles(8)}, 1,
		},
		{
			"the template's title, enough bins", bins(9, eight...), bins(9, 1, 2, 3, 4, 5, 6, 70, 80),
			[]*Template{templateWith().withTitles(9)}, 0.75,
		},
		{
			"template only, title included, 7 of 10 equal", bins(9, ten.Minima[:]...), bins(9, 1, 2, 3, 4, 5, 6, 7),
			[]*Template{templateWith(ten.Minima[:]...).withTitles(9)}, 0,
		},
		{
			"template only, title included, 8 of 10 equal", bins(9, ten.Minima[:]...), bins(9, 1, 2, 3, 4, 5, 6, 7, 8),
			[]*Template{templateWith(ten.Minima[:]...).withTitles(9)}, 1,
		},
		{"the template's title and nothing", bins(9), Sketch{}, []*Template{templateWith().withTitles(9)}, 1},
		{"nothing", Sketch{}, Sketch{}, nil, 1},
		{"nothing and something", Sketch{}, bins(0, 1), nil, 0},
		{"nothing and a long text", Sketch{}, ten, nil, 0},
		{"a title and nothing", bins(1), Sketch{}, nil, 0},
	} {
		if got := Alike(c.a, c.b, c.templates...); got != c.want {
			t.Errorf("%s: alike %v, want %v", c.name, got, c.want)
		}
		if got := Alike(c.b, c.a, c.templates...); got != c.want {
			t.Errorf("%s, the other way round: alike %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAlikeProperties: whatever the sketches, Alike is the same both ways, from 0 to 1, and 1 of a sketch with
// itself; a second template that repeats the first changes nothing.
func TestAlikeProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 5000 {
		most := 2 + i%254
		host := make([]Sketch, r.IntN(10))
		for i := range host {
			host[i] = anySketch(r, most)
		}
		a, b, template := anySketch(r, most), anySketch(r, most), TemplateOf(host)
		got := Alike(a, b, &template)
		if back := Alike(b, a, &template, nil, &template); got != back || got < 0 || got > 1 {
			t.Fatalf("%v and %v are alike %v, and %v the other way round", a, b, got, back)
		}
		if self := Alike(a, a, &template); self != 1 {
			t.Fatalf("%v is alike to itself: %v, want 1", a, self)
		}
	}
}

// TestTemplateOf: the minima and titles that a quarter of the sketches have, at least 3, in any order of the sketches.
func TestTemplateOf(t *testing.T) {
	type minimaOf = [Bins][perBin]uint8
	four := []Sketch{bins(1, 9, 7, 1, 0, 5), bins(2, 9, 8, 2, 0, 5), bins(3, 9, 7, 3, 3, 5), bins(4, 4, 8, 4, 0, 6)}
	want := Template{Minima: minimaOf{{9}, {}, {}, {}, {5}}}
	if got := TemplateOf(four); got != want {
		t.Errorf("the template of four is %v, want %v", got, want)
	}
	twelve := slices.Concat(four, four, four)
	want = Template{minimaOf{{9, 4}, {8, 7}, {4, 3, 2, 1}, {3}, {6, 5}}, [perBin]uint32{4, 3, 2, 1}}
	if got := TemplateOf(twelve); got != want {
		t.Errorf("the template of twelve is %v", got)
	}
	if got := TemplateOf(append(twelve, Sketch{})); got != (Template{Minima: minimaOf{{9}, {8, 7}, {}, {}, {5}}}) {
		t.Errorf("the template of thirteen is %v: 3 of 13 are less than a quarter", got)
	}
	titles := []Sketch{bins(4), bins(0), bins(4), bins(2), bins(0), bins(4), bins(2), bins(0)}
	if got := TemplateOf(titles).Titles; got != [perBin]uint32{4} {
		t.Errorf("the template has the titles %v, want only that of three documents", got)
	}
	for _, few := range [][]Sketch{nil, {four[0], four[0], four[0]}} {
		if got := TemplateOf(few); got != (Template{}) {
			t.Errorf("the template of %d is %v, want none", len(few), got)
		}
	}
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 200 {
		host := make([]Sketch, 4+r.IntN(29))
		for k := range host {
			host[k] = anySketch(r, 3+i%4)
		}
		one := TemplateOf(host)
		r.Shuffle(len(host), func(i, k int) { host[i], host[k] = host[k], host[i] })
		if two := TemplateOf(host); one != two {
			t.Fatalf("another template in another order: %v and %v", one, two)
		}
		checkTemplate(t, &one, host)
	}
}

// checkTemplate counts again what the sketches of a host have.
func checkTemplate(t *testing.T, template *Template, host []Sketch) {
	t.Helper()
	for bin := range template.Minima {
		for v := 1; v < 256; v++ {
			n := 0
			for i := range host {
				if host[i].Minima[bin] == uint8(v) {
					n++
				}
			}
			if in := slices.Contains(template.Minima[bin][:], uint8(v)); in != (n >= 3 && 4*n >= len(host)) {
				t.Fatalf("bin %d: %d of %d sketches have %d, in the template: %v", bin, n, len(host), v, in)
			}
		}
	}
	for title := uint32(1); title < 6; title++ {
		n := 0
		for i := range host {
			if host[i].Title == title {
				n++
			}
		}
		if in := slices.Contains(template.Titles[:], title); in != (n >= 3 && 4*n >= len(host)) {
			t.Fatalf("%d of %d sketches have the title %d, in the template: %v", n, len(host), title, in)
		}
	}
}

// TestAllocatesNothing: neither learning a template nor comparing by it allocates.
func TestAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	host := make([]Sketch, 32)
	for i := range host {
		host[i] = anySketch(r, 4)
	}
	if n := testing.AllocsPerRun(10, func() {
		template := TemplateOf(host)
		Alike(host[0], host[1], &template, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
