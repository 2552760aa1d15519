package record

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func fullLetter(t testing.TB) scheduler.Letter {
	u, err := weburl.Parse("http://a.test/x?y=ü")
	if err != nil {
		t.Fatal(err)
	}
	return scheduler.Letter{Depths: true, Link: scheduler.Link{
		URL: u, Fifo: scheduler.Follow, Kind: scheduler.KindItem, Root: true, Shift: -2, Depth: 65535, Hops: 255,
		Referrer: "http://r.test/", Alias: "http://b.test/", HostSpelling: "A.test", Fragment: "f", FoundAt: time.Unix(9, 0).UTC(),
		Item: &scheduler.Item{Document: scheduler.Document{Body: []byte("{}"), Hash: [16]byte{1, 15: 2}, Source: "s"}, At: time.Unix(8, 7).UTC(), RulesVersion: 1 << 40, Always: true, Large: true},
	}}
}

func TestLetter(t *testing.T) {
	full := fullLetter(t)
	v := reflect.ValueOf(full.Link)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("this test sets no %s", v.Type().Field(i).Name)
		}
	}
	for _, n := range []scheduler.Letter{
		full, {Link: scheduler.Link{URL: full.Link.URL}},
		{Note: &scheduler.Note{Name: "n", Value: []byte("v")}}, {Note: &scheduler.Note{Name: "n", Value: []byte{}}}, {Note: &scheduler.Note{Name: "gone"}},
	} {
		got, err := DecodeLetter(AppendLetter(nil, &n))
		if err != nil || !reflect.DeepEqual(got, n) {
			t.Errorf("%+v became %+v, %v", n, got, err)
		}
	}
	p := Piles{Last: 1 << 60, To: []scheduler.Pile{{To: 3, Count: 1, Bytes: 1 << 40, Removed: 7}, {To: 1 << 15}}}
	if got, err := DecodePiles(p.Append(nil)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v became %+v, %v", p, got, err)
	}
	if to, seq := SplitLetterKey(LetterKey(300, 1<<40)); to != 300 || seq != 1<<40 {
		t.Errorf("SplitLetterKey = %d, %d", to, seq)
	}
}

// FuzzLetter reads any bytes as a letter and as piles. What can be read is written the same again.
func FuzzLetter(f *testing.F) {
	full := fullLetter(f)
	f.Add(AppendLetter(nil, &full))
	f.Add(AppendLetter(nil, &scheduler.Letter{Note: &scheduler.Note{Name: "n", Value: []byte("v")}}))
	f.Add(AppendLetter(nil, &scheduler.Letter{Note: &scheduler.Note{Name: "n"}}))
	f.Add((&Piles{Last: 300, To: []scheduler.Pile{{To: 3, Count: 1, Bytes: 2, Removed: 4}}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := DecodeLetter(b); err == nil {
			once := AppendLetter(nil, &n)
			again, err := DecodeLetter(once)
			if twice := AppendLetter(nil, &again); err != nil || !bytes.Equal(once, twice) {
				t.Errorf("%x was read as %+v, and then as %+v, %v", b, n, again, err)
			}
		}
		if p, err := DecodePiles(b); err == nil {
			if again, err := DecodePiles(p.Append(nil)); err != nil || !reflect.DeepEqual(again, p) {
				t.Errorf("%x was read as %+v, and then as %+v, %v", b, p, again, err)
			}
		}
	})
}
