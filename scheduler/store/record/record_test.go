package record

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

func drawTime(t *rapid.T, name string) time.Time {
	if rapid.Bool().Draw(t, name+" zero") {
		return time.Time{}
	}
	return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")).UTC()
}

func drawRecord(t *rapid.T) scheduler.Record {
	s := rapid.String()
	rec := scheduler.Record{
		URL:    s.Draw(t, "URL"),
		Origin: s.Draw(t, "Origin"),
		State:  scheduler.State(rapid.Uint8Range(0, uint8(scheduler.AtRest)).Draw(t, "State")),
		Source: scheduler.Source(rapid.Uint8Range(0, scheduler.Sources-1).Draw(t, "Source")),
		Fifo:   scheduler.Source(rapid.Uint8Range(0, scheduler.Sources-1).Draw(t, "Fifo")),
		Seq:    rapid.Uint64().Draw(t, "Seq"), NextAt: drawTime(t, "NextAt"),
		Root: rapid.Bool().Draw(t, "Root"), Shift: rapid.Int8().Draw(t, "Shift"),
		Depth: rapid.Uint16().Draw(t, "Depth"), Hops: rapid.Uint8().Draw(t, "Hops"),
		Referrer: s.Draw(t, "Referrer"), Aliases: rapid.SliceOfN(s, 0, 3).Draw(t, "Aliases"),
		Class:  scheduler.Class(rapid.Uint8Range(0, uint8(scheduler.Permanent)).Draw(t, "Class")),
		Status: rapid.Int().Draw(t, "Status"), Errors: rapid.Int().Draw(t, "Errors"),
		FirstErrorAt: drawTime(t, "FirstErrorAt"), LastError: s.Draw(t, "LastError"),
		Settled: rapid.Bool().Draw(t, "Settled"), FetchedAt: drawTime(t, "FetchedAt"),
		ETag: s.Draw(t, "ETag"), LastModified: s.Draw(t, "LastModified"), Date: s.Draw(t, "Date"),
		Interval: time.Duration(rapid.Int64().Draw(t, "Interval")), Indexed: rapid.Bool().Draw(t, "Indexed"),
		PushedSource: s.Draw(t, "PushedSource"), RedirectTo: s.Draw(t, "RedirectTo"), DuplicateOf: s.Draw(t, "DuplicateOf"),
		RulesVersion: rapid.Uint64().Draw(t, "RulesVersion"), HostSpelling: s.Draw(t, "HostSpelling"),
		CheckedAt: drawTime(t, "CheckedAt"), UnavailableAt: drawTime(t, "UnavailableAt"),
		Directives: scheduler.Directives(rapid.Byte().Draw(t, "Directives")), Signature: rapid.StringN(0, -1, scheduler.MaxSignature).Draw(t, "Signature"), Overlap: rapid.Byte().Draw(t, "Overlap"),
		Kind:    scheduler.Kind(rapid.Uint8Range(0, uint8(scheduler.Kinds)-1).Draw(t, "Kind")),
		FoundAt: drawTime(t, "FoundAt"), ClassAt: drawTime(t, "ClassAt"), ChangedAt: drawTime(t, "ChangedAt"),
		Was:   scheduler.Class(rapid.Uint8Range(0, uint8(scheduler.Permanent)).Draw(t, "Was")),
		Fault: fault.Fault(rapid.Byte().Draw(t, "Fault")), Linked: rapid.Bool().Draw(t, "Linked"), Entered: rapid.Bool().Draw(t, "Entered"),
		MediaType: rapid.OneOf(s, rapid.SampledFrom(mediaTypes[:])).Draw(t, "MediaType"),
		Reason:    scheduler.Reason(rapid.Uint8Range(0, uint8(scheduler.ReasonSessionWaits)).Draw(t, "Reason")),
		Misses:    rapid.Uint8().Draw(t, "Misses"), Gone: rapid.Bool().Draw(t, "Gone"),
		LossPending: rapid.Bool().Draw(t, "LossPending"), LostAt: drawTime(t, "LostAt").Truncate(time.Second),
		Reading: rapid.Uint16().Draw(t, "Reading"), MetasHash: rapid.Uint32().Draw(t, "MetasHash"), Lively: rapid.Uint8().Draw(t, "Lively"),
		History: scheduler.History{
			Checks: rapid.Uint32().Draw(t, "Checks"), Changes: rapid.Uint32().Draw(t, "Changes"),
			Quiet: time.Duration(rapid.Int64().Draw(t, "Quiet")), Busy: time.Duration(rapid.Int64().Draw(t, "Busy")),
		},
	}
	if rapid.Bool().Draw(t, "origin in URL") {
		rec.URL = rec.Origin + rec.URL
	}
	copy(rec.Host[:], rapid.SliceOfN(rapid.Byte(), len(rec.Host), len(rec.Host)).Draw(t, "Host"))
	if rec.LostAt.Unix() <= 0 {
		rec.LostAt = time.Time{}
	}
	if rapid.Bool().Draw(t, "sketched") {
		rec.Sketch, _, _ = sketch.Read(rapid.SliceOfN(rapid.Byte(), sketch.Size, sketch.Size).Draw(t, "Sketch"))
	}
	copy(rec.Hash[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "Hash"))
	if len(rec.Aliases) == 0 {
		rec.Aliases = nil
	}
	return rec
}

func TestRecordRoundTrip(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		var links scheduler.LinkPrints
		if rec.Linked {
			for range rapid.IntRange(0, 300).Draw(t, "links") {
				links = links.AppendPrint(weburl.Key(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "link")))
			}
		}
		b := Append(nil, &rec, links)
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if stored, err := Links(b); err != nil || !bytes.Equal(stored, links) {
			t.Fatalf("links %x are read as %x, %v", links, stored, err)
		}
		if d := cmp.Diff(rec, got); d != "" {
			t.Fatal(d)
		}
		if IsGone(b) != rec.Gone {
			t.Fatalf("goneRecord is %t", !rec.Gone)
		}
		for _, cut := range []int{0, 1, len(b) / 2, len(b) - 1} {
			if _, err := Decode(b[:cut]); err == nil {
				t.Fatalf("no error at %d of %d bytes", cut, len(b))
			}
		}
		if _, err := Decode(append(b, 0)); err == nil {
			t.Fatal("no error with a byte too many")
		}
	})
}

// full gives each field of the struct a value other than zero, so that a field which
// the encoding does not know is found.
func full(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(1_700_000_000, 123).UTC()))
			continue
		case []string:
			f.Set(reflect.ValueOf([]string{"a", "b"}))
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString("x" + v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int8, reflect.Int64:
			f.SetInt(2)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			f.SetUint(2)
		case reflect.Struct:
			full(t, f)
		case reflect.Array:
			if f = f.Index(0); f.Kind() == reflect.Array {
				f = f.Index(0)
			}
			f.SetUint(2)
		default:
			t.Fatalf("field %s has a kind that this test does not know", v.Type().Field(i).Name)
		}
	}
}

func TestNoFieldForgotten(t *testing.T) {
	var rec scheduler.Record
	full(t, reflect.ValueOf(&rec).Elem())
	rec.LostAt = rec.LostAt.Truncate(time.Second)
	got, err := Decode(Append(nil, &rec, nil))
	if d := cmp.Diff(rec, got); d != "" || err != nil {
		t.Errorf("record: %v\n%s", err, d)
	}
	var host scheduler.HostState
	full(t, reflect.ValueOf(&host).Elem())
	gotHost, err := DecodeHost(EncodeHost(&host))
	if d := cmp.Diff(host, gotHost); d != "" || err != nil {
		t.Errorf("host: %v\n%s", err, d)
	}
	o := Order{Op: push.Delete, URL: "http://a.test/", Body: []byte("{}")}
	full(t, reflect.ValueOf(&o.Pending).Elem())
	for _, at := range []*time.Time{&o.Pending.Loss.First, &o.Pending.Loss.Last, &o.Pending.Loss.Counted} {
		*at = at.Truncate(time.Second)
	}
	gotOrder, err := DecodeOrder(o.Append(nil))
	decoded(t, o, gotOrder, err)
	var c Counters
	for i, f := range c.Fields() {
		*f = uint64(1000 + i)
	}
	c.Clean = true
	gotCounters, err := DecodeCounters(c.Encode())
	if d := cmp.Diff(c, gotCounters, cmp.AllowUnexported(Counters{})); d != "" || err != nil {
		t.Errorf("counters: %v\n%s", err, d)
	}
}

// decoded compares what was stored with what is read of it.
func decoded[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	d := cmp.Diff(want, got, cmp.AllowUnexported(Counters{}, Order{}, Dead{}, Pending{}, BodyPlace{}, OrderPlace{}, Segment{}, Documents{}))
	if err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestOrderRoundTrip(t *testing.T) {
	for _, want := range []Order{
		{Op: push.Delete, At: time.Unix(5, 0).UTC(), URL: "http://a.test/", Source: "s", Body: []byte(`{"a":1}`)},
		{Moved: true, URL: "http://a.test/", Place: BodyPlace{Segment: 1 << 40, Offset: 1 << 35, Length: MaxBody, Sum: 0xfffffffe}},
		{Lost: true, URL: "http://a.test/", Body: []byte{}},
		{Op: push.Delete, URL: "http://a.test/", Body: []byte("{}"), Pending: Pending{
			Reason: scheduler.ReasonLogin, Edit: 1 << 60, Text: "a log-in page", Loss: scheduler.Loss{
				Explicit: true, Least: scheduler.LossMost, First: time.Unix(6, 0).UTC(), Last: time.Unix(7, 0).UTC(), Visits: 255,
				Days: 254, Counted: time.Unix(8, 0).UTC(), WellDay: 253,
			},
		}},
		{Op: push.Delete, URL: "http://a.test/", Body: []byte{}, Pending: Pending{Text: "t"}},
		{URL: "http://a.test/", Place: BodyPlace{Segment: 1, Length: 2}, Pending: Pending{Loss: scheduler.Loss{Visits: 1, Hash: [16]byte{15: 1}}}},
		{URL: "http://a.test/", Place: BodyPlace{Segment: 1, Length: 2}, Pending: Pending{Loss: scheduler.Loss{
			Hash: [16]byte{1}, Sketch: sketch.Sketch{Title: 1 << 31, Minima: [sketch.Bins]uint8{1, 31: 255}},
		}}},
	} {
		got, err := DecodeOrder(want.Append(nil))
		decoded(t, want, got, err)
		dead := Dead{Order: want, Seq: 7, At: time.Unix(5, 6).UTC(), Words: "bad document"}
		gotDead, err := DecodeDead(dead.Encode())
		decoded(t, dead, gotDead, err)
	}
	for _, p := range []OrderPlace{
		{Kind: KindOrder, Moved: true, Delete: true, Seq: 300, Size: 500, Segment: 700},
		{Kind: KindHostLoss, Group: Group{1, 7: 2}, Moved: true, Seq: 300, Size: 500, Segment: 700},
		{Kind: KindHostLoss, Delete: true, Group: Group{1, 7: 2}, Seq: 300, Size: 500},
		{Kind: KindEditLoss, Delete: true, Group: editGroup(3), Seq: 1 << 40},
	} {
		got, err := DecodeOrderPlace(p.Append(nil))
		decoded(t, p, got, err)
	}
	for _, d := range []Documents{{Count: 300}, {Lost: 200}, {Count: 1, Lost: 1 << 40}, Documents{Count: 300}.Offer(weburl.Key{2}).Offer(weburl.Key{1})} {
		got, err := DecodeDocuments(d.Append(nil))
		if len(got.Sample) == 0 {
			got.Sample = nil
		}
		decoded(t, d, got, err)
	}
	st := Segment{Entries: 1, Live: 200, Size: 1 << 40}
	gotState, err := DecodeSegment(st.Append(nil))
	decoded(t, st, gotState, err)
}

// TestOtherVersions: a value with another version byte is refused, whatever stands behind that.
func TestOtherVersions(t *testing.T) {
	order := Order{URL: "http://a.test/", Source: "s", Body: []byte("{}")}
	values := map[string]struct {
		value  []byte
		decode func([]byte) error
	}{
		"record":    {Append(nil, &scheduler.Record{URL: "http://a.test/"}, nil), func(b []byte) error { _, err := Decode(b); return err }},
		"host":      {EncodeHost(&scheduler.HostState{Origin: "http://a.test"}), func(b []byte) error { _, err := DecodeHost(b); return err }},
		"order":     {order.Append(nil), func(b []byte) error { _, err := DecodeOrder(b); return err }},
		"place":     {OrderPlace{Kind: KindOrder, Seq: 300}.Append(nil), func(b []byte) error { _, err := DecodeOrderPlace(b); return err }},
		"dead":      {(&Dead{Order: order, Seq: 7}).Encode(), func(b []byte) error { _, err := DecodeDead(b); return err }},
		"gone":      {AppendGone(nil, &scheduler.Gone{URL: "http://a.test/"}), func(b []byte) error { _, err := DecodeGone(b); return err }},
		"queue":     {Queue{Count: 3}.Append(nil), func(b []byte) error { _, err := DecodeQueue(b); return err }},
		"documents": {Documents{Count: 3}.Append(nil), func(b []byte) error { _, err := DecodeDocuments(b); return err }},
		"segment":   {Segment{Entries: 1}.Append(nil), func(b []byte) error { _, err := DecodeSegment(b); return err }},
		"counters":  {(&Counters{Known: 3}).Encode(), func(b []byte) error { _, err := DecodeCounters(b); return err }},
		"saved":     {Saved{Number: 3}.Encode(), func(b []byte) error { _, err := DecodeSaved(b); return err }},
	}
	for name, c := range values {
		for version := range 256 {
			b := bytes.Clone(c.value)
			b[0] = byte(version)
			err := c.decode(b)
			if (err == nil) != (version == valueVersion) {
				t.Errorf("%s of version %d: %v", name, version, err)
			}
		}
	}
	gone := Append(nil, &scheduler.Record{URL: "http://a.test/", Gone: true}, nil)
	if gone[0]++; IsGone(gone) {
		t.Error("a record of another version is taken for one that is gone")
	}
}

// TestRecordDoesNotGrow: a field that is zero takes no room.
func TestRecordDoesNotGrow(t *testing.T) {
	rec := scheduler.Record{
		URL: "http://a.test/1", Host: weburl.HostKey([]byte("hosthost")), Origin: "http://a.test", State: scheduler.AtRest, Class: scheduler.OK,
		Source: scheduler.Index, Fifo: scheduler.IndexFollow, Depth: 5, Root: true, Settled: true, Shift: -1, Status: 200,
		Referrer: "r", ETag: "e",
	}
	want := "\x01\x02\x01\x02\x03\x05\x85\x01\x00hosthost\x0fhttp://a.test/1\x0d\xff\x00\x90\x03\x00\x00\x01r\x00\x01e\x00\x00\x00\x00\x00\x00"
	if got := Append(nil, &rec, nil); string(got) != want {
		t.Errorf("a plain record is written as\n%q, want\n%q", got, want)
	}
}

// FuzzDecode: garbage gives an error, never a panic, and what is read is stable.
func FuzzDecode(f *testing.F) {
	rec := scheduler.Record{URL: "http://a.test/x", Origin: "http://a.test", Host: weburl.HostKey{1}, Aliases: []string{"http://b.test/"}, ETag: `"1"`, FetchedAt: time.Unix(1, 2)}
	f.Add(Append(nil, &rec, nil))
	rec.Linked = true
	f.Add(Append(nil, &rec, scheduler.LinkPrints("6bytes12bytes")[:12]))
	f.Add(EncodeHost(&scheduler.HostState{Origin: "http://a.test", NextAt: time.Unix(1, 2)}))
	f.Add((&Order{URL: "http://a.test/", Source: "s", Body: []byte("{}")}).Append(nil))
	inSegment := Order{URL: "http://a.test/", At: time.Unix(9, 0), Place: BodyPlace{Segment: 1, Offset: 2, Length: 3, Sum: 4}}
	f.Add(inSegment.Append(nil))
	f.Add((&Dead{Order: inSegment, Seq: 1, Words: "no", At: time.Unix(1, 0)}).Encode())
	f.Add(Segment{Entries: 1, Live: 2, Size: 3}.Append(nil))
	f.Add((&Counters{Known: 300}).Encode())
	done, _ := Done(nil).With(70, nil)
	f.Add(Queue{Count: 3, Floor: 64, Done: done}.Append(nil))
	f.Add([]byte(with(Chunk(nil).Append(nil, weburl.Key{1}).Append(nil, weburl.Key{2}), 30, weburl.Key{3})))
	f.Add(OrderPlace{Kind: KindOrder, Seq: 300, Size: 5, Segment: 2}.Append(nil))
	f.Add(OrderPlace{Kind: KindHostLoss, Group: Group{3}, Seq: 300, Size: 5}.Append(nil))
	f.Add(Documents{Count: 300}.Offer(weburl.Key{2}).Offer(weburl.Key{1}).Append(nil))
	f.Add((&Order{Op: push.Delete, URL: "http://a.test/", Pending: Pending{Reason: 1, Edit: 3, Text: "t", Loss: scheduler.NewLoss(true, time.Unix(4, 0))}}).Append(nil))
	f.Add((&Order{URL: "http://a.test/", Place: inSegment.Place, Pending: Pending{Loss: scheduler.Loss{Hash: [16]byte{1}}}}).Append(nil))
	f.Add(Documents{Lost: 300}.Append(nil))
	f.Add(Append(nil, &scheduler.Record{URL: "http://a.test/x", Origin: "http://a.test", Reason: 3, LossPending: true, Misses: 4, Gone: true}, nil))
	f.Add(Append(nil, &scheduler.Record{URL: "http://a.test/x", Origin: "http://a.test", Reading: 3, Lively: 2, LostAt: time.Unix(4, 0), Sketch: sketch.Sketch{Title: 5}}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if rec, err := Decode(b); err == nil {
			links, noLinks := Links(b)
			written := Append(nil, &rec, links)
			again, err := Decode(written)
			kept, lost := Links(written)
			if d := cmp.Diff(rec, again); d != "" || err != nil || noLinks != nil || lost != nil || !bytes.Equal(links, kept) {
				t.Errorf("record: %v, links %v, %v, %x are read as %x\n%s", err, noLinks, lost, links, kept, d)
			}
		}
		if h, err := DecodeHost(b); err == nil {
			again, err := DecodeHost(EncodeHost(&h))
			if d := cmp.Diff(h, again); d != "" || err != nil {
				t.Errorf("host: %v\n%s", err, d)
			}
		}
		if o, err := DecodeOrder(b); err == nil {
			again, err := DecodeOrder(o.Append(nil))
			decoded(t, o, again, err)
		}
		if d, err := DecodeDead(b); err == nil {
			again, err := DecodeDead(d.Encode())
			decoded(t, d, again, err)
		}
		if st, err := DecodeSegment(b); err == nil {
			again, err := DecodeSegment(st.Append(nil))
			decoded(t, st, again, err)
		}
		if c, err := DecodeCounters(b); err == nil {
			if again, err := DecodeCounters(c.Encode()); err != nil || again != c {
				t.Errorf("counters: %v, %+v, %+v", err, c, again)
			}
		}
		if d, err := DecodeDocuments(b); err == nil && b != nil {
			again, err := DecodeDocuments(d.Append(nil))
			decoded(t, d, again, err)
		}
		if left, err := DecodeGone(b); err == nil {
			again, err := DecodeGone(AppendGone(nil, &left))
			decoded(t, left, again, err)
		}
		if q, err := DecodeQueue(b); err == nil && b != nil {
			again, err := DecodeQueue(q.Append(nil))
			decoded(t, q, again, err)
			marked, _ := q.Done.With(uint64(len(b))*7, nil)
			if !marked.valid() {
				t.Errorf("%x and number %d are %x", q.Done, len(b)*7, marked)
			}
		}
		if c := Chunk(b); c.Valid() {
			var again Chunk
			for i := range uint64(ChunkLen) {
				if k, ok := c.At(i); ok {
					again = with(again, i, k)
				}
			}
			if !bytes.Equal(c, again) || c.Without(chunkFull) != nil {
				t.Errorf("chunk %x, made again %x", c, again)
			}
		}
		if p, err := DecodeOrderPlace(b); err == nil {
			if again, err := DecodeOrderPlace(p.Append(nil)); err != nil || again != p {
				t.Errorf("place: %v, %+v, %+v", err, p, again)
			}
		}
	})
}
