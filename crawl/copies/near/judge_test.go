package near

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
)

// frameOf is learnt from pages.
func frameOf(pages []copysites.Page) (f *Frame) {
	for i := range pages {
		if t := Read(pages[i].Title, pages[i].Text); t != nil {
			f = f.With(keyOf(uint64(i)*0x9e3779b97f4a7c15), t)
		}
	}
	return f
}

const (
	menu = 120 // words that all pages of a test's site have
	name = "Example Site"
)

// siteFrame is the frame of a site whose pages have a menu and their own text.
func siteFrame() *Frame {
	var pages []copysites.Page
	for i := range 40 {
		pages = append(pages, copysites.Page{Title: fmt.Sprintf("page w%c%c - %s", 'a'+i/26, 'a'+i%26, name), Text: many(menu, "menu") + many(150, fmt.Sprintf("w%c%c", 'a'+i/26, 'a'+i%26))})
	}
	return frameOf(pages)
}

// change replaces the n-th word of a text, and what is after it.
func change(text string, n, words int, by string) string {
	all := strings.Fields(text)
	return strings.Join(slices.Concat(all[:n], strings.Fields(by), all[n+words:]), " ")
}

// TestJudge: what is a copy, and what is a page of its own.
func TestJudge(t *testing.T) {
	frame := siteFrame()
	own := change(many(150, "text"), 40, 0, "12 March 2024")
	page := many(menu, "menu") + own
	chinese, arabic := many(menu, "menu")+hanText(200), many(menu, "menu")+arabicText(200)
	at := menu + 60
	tests := map[string]struct {
		titleA, textA, titleB, textB string
		want                         Reason
	}{
		"the same":                       {"A b", page, "A b", page, SameWords},
		"the same, other case and space": {"A b", page, "A b", strings.ToUpper(strings.ReplaceAll(page, " ", "\n")), SameWords},
		"another title":                  {"A b", page, "A c", page, OtherTitle},
		"a digit of the title":           {"Part 1", page, "Part 2", page, OtherTitle},
		"a digit in one title alone":     {"Part", page, "Part 2", page, OtherTitle},
		"the site in one title":          {"A b - " + name, page, "A b", page, SameWords},
		"one title contains the other":   {"A b", page, "A b c", page, SameWords},
		"one name":                       {"A b", page, "A b", change(page, at, 1, "Meier"), OtherText},
		"two names":                      {"A b", page, "A b", change(change(page, at, 1, "Meier"), at+40, 1, "Huber"), OtherText},
		"the date":                       {"A b", page, "A b", change(page, menu+40, 3, "4 May 2026"), Numbers},
		"a counter":                      {"A b", page + " 7 visitors", "A b", page + " 8 visitors", Numbers},
		"ten numbers":                    {"A b", page + numbers(1), "A b", page + numbers(100), OtherText},
		"a sentence more":                {"A b", page, "A b", change(page, at, 0, "here somebody added a whole sentence of ten words more"), Addition},
		"a sentence more, the other way": {"A b", change(page, at, 0, "here somebody added a whole sentence of ten words more"), "A b", page, Addition},
		"a paragraph more":               {"A b", page, "A b", page + many(100, "more"), OtherText},
		"an advertisement":               {"A b", change(page, at, 0, "buy these cheap shoes now while they last"), "A b", change(page, at, 0, "visit our sale of old sofas this weekend"), Exchange},
		"four facts":                     {"A b", facts(page, "a"), "A b", facts(page, "b"), OtherText},
		"the print version":              {"A b", page, "A b", own, OtherFrame},
		"the print version's title":      {"A b - " + name, page, "A b", own, OtherFrame},
		"half of the text":               {"A b", page, "A b", many(menu, "menu") + many(75, "text"), OtherText},
		"Chinese, the same":              {"中文", chinese, "中文", chinese, SameWords},
		"Chinese, one character":         {"中文", chinese, "中文", strings.Replace(chinese, hanText(120)[300:303], "龍", 1), OtherText},
		"Arabic, the same":               {"عنوان", arabic, "عنوان", arabic, SameWords},
		"Arabic, one word":               {"عنوان", arabic, "عنوان", change(arabic, at, 1, "كلمة"), OtherText},
		"Arabic, a sentence more":        {"عنوان", arabic, "عنوان", change(arabic, at, 0, "هذه جملة اخرى من سبع كلمات جديدة"), Addition},
		"little text, the same":          {"A b", many(menu, "menu") + "one fact", "A b", many(menu, "menu") + "one fact", SameWords},
		"little text, one digit":         {"A b", many(menu, "menu") + "room 17", "A b", many(menu, "menu") + "room 18", Short},
		"nothing but the frame":          {"A b", many(menu, "menu"), "A b", many(menu, "menu"), Short},
		"the site's title, and a date":   {name, page, name, change(page, menu+40, 3, "4 May 2026"), NoTitle},
		"no titles, and a date":          {"", page, "", change(page, menu+40, 3, "4 May 2026"), NoTitle},
		"no titles, the same":            {"", page, "", page, SameWords},
		"huge, the same":                 {"A b", many(menu, "menu") + huge, "A b", many(menu, "menu") + huge, SameWords},
		"huge, and its end differs":      {"A b", many(menu, "menu") + huge, "A b", many(menu, "menu") + huge + "end", Long},
	}
	for name, tt := range tests {
		a, b := Read(tt.titleA, tt.textA), Read(tt.titleB, tt.textB)
		for range 2 {
			v := Judge(&a.Signature, &b.Signature, frame, frame)
			if v.Reason != tt.want || v.Copy != (tt.want >= SameWords) {
				t.Errorf("%s: %v (overlap %.2f), want %v", name, v.Reason, v.Overlap, tt.want)
			}
			a, b = b, a
		}
	}
}

var huge = strings.Repeat(many(9000, "huge"), 9)

func numbers(from int) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, " value %d of", from+7*i)
	}
	return b.String()
}

// facts changes a text in four places.
func facts(text, who string) string {
	for i := range 4 {
		text = change(text, menu+15+30*i, 1, fmt.Sprint(who, "fact", string(rune('a'+i))))
	}
	return text
}

// hanText is a text without spaces.
func hanText(n int) string {
	r := rand.New(rand.NewPCG(8, 8))
	runes := make([]rune, n)
	for i := range runes {
		runes[i] = rune(0x4e00 + r.IntN(3000))
	}
	return string(runes)
}

func arabicText(n int) string {
	r := rand.New(rand.NewPCG(9, 9))
	words := make([]string, n)
	for i := range words {
		letters := make([]rune, 3+r.IntN(4))
		for k := range letters {
			letters[k] = rune(0x628 + r.IntN(34))
		}
		words[i] = string(letters)
	}
	return strings.Join(words, " ")
}

// TestUnknownFrame: where too few pages of a host are known only the same words count.
func TestUnknownFrame(t *testing.T) {
	page := many(200, "text")
	a, b := Read("t", page), Read("t", page+"one more sentence is here for all to see")
	var f *Frame
	for i := range minSampled - 1 {
		f = f.With(keyOf(uint64(i)), Read("t", many(200, string(rune('a'+i)))))
	}
	// More of the same text say no more.
	for i := range 30 {
		f = f.With(keyOf(uint64(100+i)), Read("t", many(200, "a")))
	}
	for _, known := range []*Frame{nil, f} {
		if v := Judge(&a.Signature, &b.Signature, known, known); v.Reason != UnknownFrame || v.Copy {
			t.Errorf("%v, want %v", v.Reason, UnknownFrame)
		}
		if v := Judge(&a.Signature, &a.Signature, known, known); v.Reason != SameWords || !v.Copy {
			t.Errorf("the same words: %v", v.Reason)
		}
	}
}

// TestFrameGrows in any order to the same, is stored and read again, and follows pages that
// change.
func TestFrameGrows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 200, Own: 100, Pages: 80, Copied: 20, Seed: 4})
	want := frameOf(pages).Append(nil)
	if len(want) > MaxFrameSize || MaxFrameSize > 4<<10 {
		t.Errorf("%d bytes, want at most %d, and that at most 4 KiB", len(want), MaxFrameSize)
	}
	for range 5 {
		var f *Frame
		for _, i := range r.Perm(len(pages)) {
			key, text := keyOf(uint64(i)*0x9e3779b97f4a7c15), Read(pages[i].Title, pages[i].Text)
			if i%7 == 0 {
				f = f.With(key, Read("before", many(300, "before")))
			}
			if f = f.With(key, text); f.With(key, text) != f {
				t.Fatal("the same document makes another frame")
			}
			if later := keyOf(r.Uint64()); !f.Takes(later) && f.With(later, text) != f {
				t.Fatal("the frame takes a document that it said it does not")
			}
			stored, err := DecodeFrame(f.Append(nil))
			if err != nil || string(stored.Append(nil)) != string(f.Append(nil)) {
				t.Fatalf("the frame is stored as another: %v", err)
			}
		}
		if string(f.Append(nil)) != string(want) {
			t.Fatal("another order gives another frame")
		}
	}
}

// TestFrameSize: it is known about how large frames are, in short and long pages.
func TestFrameSize(t *testing.T) {
	for _, frame := range []int{0, 50, 200, 500} {
		for _, own := range []int{20, 100, 600, 3000} {
			pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: frame, Own: own, Pages: 40, Seed: uint64(own)})
			grown := frameOf(pages)
			if grown == nil {
				continue // all are too short
			}
			f := grown.known()
			if f.size < frame*3/4 || f.size > frame*5/4+own/6+40 {
				t.Errorf("a frame of %d words in pages with %d of their own counts as %d", frame, own, f.size)
			}
		}
	}
}

// FuzzDecodeFrame: what is read is as it was written, and can be used.
func FuzzDecodeFrame(f *testing.F) {
	f.Add(siteFrame().Append(nil))
	f.Add([]byte{frameVersion, 0})
	a := Read("t", many(100, "w"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := DecodeFrame(b)
		if err != nil {
			return
		}
		if string(frame.Append(nil)) != string(b) {
			t.Fatal("it is written otherwise")
		}
		Judge(&a.Signature, &a.Signature, frame, frame)
		a.Titles("source", frame)
	})
}

// TestTitles: a page is looked for under its title with the site's name and without.
func TestTitles(t *testing.T) {
	frame := siteFrame()
	text := many(100, "w")
	under := func(title string) uint32 { s := Read(title, text); return s.Place("src").Title }
	for _, title := range []string{"A b", "A b - " + name} {
		got := Read(title, text).Titles("src", frame)
		for _, other := range []string{"A b", "A b - " + name} {
			if !slices.Contains(got, under(other)) {
				t.Errorf("%q is not looked for as %q", title, other)
			}
		}
	}
	if got := Read(name, text).Titles("src", frame); len(got) != 1 {
		t.Errorf("the site's name is looked for under %d titles, want its own alone", len(got))
	}
	if Read("A", text).Place("one") == Read("A", text).Place("other") {
		t.Error("a page of another source has the same place")
	}
}

var reasons = [...]string{
	UnknownFrame: "too few documents of the host are known",
	OtherTitle:   "the titles differ",
	NoTitle:      "the texts differ, and the title is the site's",
	Short:        "there is too little text of the page's own",
	Long:         "the text is too long to be compared",
	OtherText:    "the texts differ",
	SameWords:    "the words are the same",
	Numbers:      "a few numbers differ",
	OneInHundred: "one word in a hundred differs at most",
	Addition:     "a sentence is added",
	Exchange:     "a sentence differs",
	OtherFrame:   "only the frame differs",
}

// String says it in words.
func (r Reason) String() string { return reasons[r] }
