package badgerstore

import (
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/fault"
	"github.com/sextant-crawler/sextant/internal/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func drawTime(t *rapid.T, name string) time.Time {
	if rapid.Bool().Draw(t, name+" zero") {
		return time.Time{}
	}
	return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")).UTC()
}

func encodeRecord(rec *scheduler.Record) []byte { return appendRecord(nil, rec) }

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
		Directives: scheduler.Directives(rapid.Byte().Draw(t, "Directives")), Simhash: rapid.Uint64().Draw(t, "Simhash"),
		Kind:    scheduler.Kind(rapid.Uint8Range(0, uint8(scheduler.Kinds)-1).Draw(t, "Kind")),
		FoundAt: drawTime(t, "FoundAt"), ClassAt: drawTime(t, "ClassAt"), ChangedAt: drawTime(t, "ChangedAt"),
		Was:   scheduler.Class(rapid.Uint8Range(0, uint8(scheduler.Permanent)).Draw(t, "Was")),
		Fault: fault.Fault(rapid.Byte().Draw(t, "Fault")), Linked: rapid.Bool().Draw(t, "Linked"), Entered: rapid.Bool().Draw(t, "Entered"),
		MediaType: rapid.OneOf(s, rapid.SampledFrom(mediaTypes[:])).Draw(t, "MediaType"),
		Reason:    scheduler.Reason(rapid.Uint8Range(0, uint8(scheduler.ReasonSessionWaits)).Draw(t, "Reason")),
		Misses:    rapid.Uint8().Draw(t, "Misses"), Gone: rapid.Bool().Draw(t, "Gone"),
		Deletion: scheduler.Deletion(rapid.Uint8Range(0, uint8(scheduler.DeletionHeld)).Draw(t, "Deletion")),
		History: scheduler.History{
			Checks: rapid.Uint32().Draw(t, "Checks"), Changes: rapid.Uint32().Draw(t, "Changes"),
			Quiet: time.Duration(rapid.Int64().Draw(t, "Quiet")), Busy: time.Duration(rapid.Int64().Draw(t, "Busy")),
		},
	}
	if rapid.Bool().Draw(t, "origin in URL") {
		rec.URL = rec.Origin + rec.URL
	}
	copy(rec.Host[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "Host"))
	copy(rec.Hash[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "Hash"))
	if len(rec.Aliases) == 0 {
		rec.Aliases = nil
	}
	return rec
}

func TestRecordRoundTrip(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		b := encodeRecord(&rec)
		got, err := decodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(rec, got); d != "" {
			t.Fatal(d)
		}
		if goneRecord(b) != rec.Gone {
			t.Fatalf("goneRecord is %t", !rec.Gone)
		}
		for _, cut := range []int{0, 1, len(b) / 2, len(b) - 1} {
			if _, err := decodeRecord(b[:cut]); err == nil {
				t.Fatalf("no error at %d of %d bytes", cut, len(b))
			}
		}
		if _, err := decodeRecord(append(b, 0)); err == nil {
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
	got, err := decodeRecord(encodeRecord(&rec))
	if d := cmp.Diff(rec, got); d != "" || err != nil {
		t.Errorf("record: %v\n%s", err, d)
	}
	var host scheduler.HostState
	full(t, reflect.ValueOf(&host).Elem())
	gotHost, err := decodeHost(encodeHost(&host))
	if d := cmp.Diff(host, gotHost); d != "" || err != nil {
		t.Errorf("host: %v\n%s", err, d)
	}
	var c counters
	for i, f := range c.fields() {
		*f = uint64(1000 + i)
	}
	c.clean = true
	gotCounters, err := decodeCounters(c.encode())
	if d := cmp.Diff(c, gotCounters, cmp.AllowUnexported(counters{})); d != "" || err != nil {
		t.Errorf("counters: %v\n%s", err, d)
	}
}

// decoded compares what was stored with what is read of it.
func decoded[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	d := cmp.Diff(want, got, cmp.AllowUnexported(counters{}, storedOrder{}, storedDead{}, rest{}, bodyPlace{}, orderPlace{}, segmentState{}, documents{}))
	if err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestOrderRoundTrip(t *testing.T) {
	for _, want := range []storedOrder{
		{op: push.Delete, at: time.Unix(5, 0).UTC(), url: "http://a.test/", source: "s", body: []byte(`{"a":1}`)},
		{moved: true, url: "http://a.test/", place: bodyPlace{segment: 1 << 40, offset: 1 << 35, length: MaxBody, sum: 0xfffffffe}},
		{lost: true, url: "http://a.test/", body: []byte{}},
		{op: push.Delete, url: "http://a.test/", body: []byte("{}"), rest: rest{
			reason: scheduler.ReasonLogin, hold: scheduler.HeldForEdit, edit: 1 << 60, again: time.Unix(6, 0).UTC(), text: "a log-in page",
		}},
		{op: push.Delete, url: "http://a.test/", body: []byte{}, rest: rest{text: "t"}},
	} {
		got, err := decodeOrder(want.append(nil))
		decoded(t, want, got, err)
		dead := storedDead{storedOrder: want, seq: 7, at: time.Unix(5, 6).UTC(), words: "bad document"}
		gotDead, err := decodeDead(dead.encode())
		decoded(t, dead, gotDead, err)
	}
	for _, p := range []orderPlace{
		{kind: kindHeld, moved: true, delete: true, seq: 300, size: 500, segment: 700},
		{kind: kindResting, delete: true, group: groupID{1, 7: 2}, seq: 300, size: 500},
		{kind: kindEdit, delete: true, group: editGroup(3), seq: 1 << 40},
	} {
		got, err := decodeOrderPlace(p.append(nil))
		decoded(t, p, got, err)
	}
	for _, d := range []documents{{count: 300}, documents{count: 300}.offer(weburl.Key{2}).offer(weburl.Key{1})} {
		got, err := decodeDocuments(d.append(nil))
		if len(got.sample) == 0 {
			got.sample = nil
		}
		decoded(t, d, got, err)
	}
	st := segmentState{entries: 1, live: 200, size: 1 << 40}
	gotState, err := decodeSegmentState(st.append(nil))
	decoded(t, st, gotState, err)
}

// TestOrdersOfFormat2 reads orders as they were written when bodies lay in Badger.
func TestOrdersOfFormat2(t *testing.T) {
	got, err := decodeOrder([]byte("\x01\x00\x0ehttp://a.test/\x01s{}"))
	want := storedOrder{url: "http://a.test/", source: "s", body: []byte("{}")}
	decoded(t, want, got, err)
	dead, err := decodeDead([]byte("\x01\x07\x0a\x06\x02no\x01\x00\x0ehttp://a.test/\x01s{}"))
	decoded(t, storedDead{storedOrder: want, seq: 7, at: time.Unix(5, 6).UTC(), words: "no"}, dead, err)
	place, err := decodeOrderPlace([]byte("\x01x\xac\x02\x05"))
	decoded(t, orderPlace{kind: kindHeld, seq: 300, size: 5}, place, err)
}

// TestOlderForms reads what formats 1 to 3 wrote of hosts and orders, and what they could
// not know.
func TestOlderForms(t *testing.T) {
	host, err := decodeHost([]byte("\x02\x0dhttp://a.test\x04\x06\x08\x0a\x04/log\x0a\x06"))
	decoded(t, scheduler.HostState{Origin: "http://a.test", Backoff: 2, Errors: 3, Delay: 4, NextAt: time.Unix(5, 6).UTC()}, host, err)
	order, err := decodeOrder([]byte("\x02\x01\x05\x0ehttp://a.test/\x01s{}"))
	decoded(t, storedOrder{op: push.Delete, at: time.Unix(5, 0).UTC(), url: "http://a.test/", source: "s", body: []byte("{}")}, order, err)
	if _, err := decodeOrder([]byte("\x02\x10\x05\x0ehttp://a.test/\x01s{}")); err == nil {
		t.Error("an order of format 3 rests")
	}
	var gone scheduler.Gone
	full(t, reflect.ValueOf(&gone).Elem())
	gone.Fault, gone.Reason = fault.Timeout, scheduler.ReasonTimeout
	b := appendGone(nil, &gone)
	old := append([]byte{valueVersion, b[1], b[2]}, b[4:]...)
	got, err := decodeGone(old)
	decoded(t, gone, got, err)
	if _, err := decodeRecord([]byte("\x01\x02\x01\x02\x03\x05\x80\x80\x08\x00hosthost\x0fhttp://a.test/1\x0d\xff\x00\x90\x03\x00\x00\x01r\x00\x01e\x00\x00\x00\x00\x00\x00")); err == nil {
		t.Error("a record of an older format has a reason of its own")
	}
}

// TestRecordDoesNotGrow: what nothing new is said of takes no more room than before.
func TestRecordDoesNotGrow(t *testing.T) {
	var rec scheduler.Record
	full(t, reflect.ValueOf(&rec).Elem())
	rec.Reason, rec.Deletion, rec.Misses, rec.Gone = 0, 0, 0, false
	b := encodeRecord(&rec)
	old := append([]byte{valueVersion}, b[1:]...)
	got, err := decodeRecord(old)
	rec.Reason = scheduler.OldReason(&rec)
	decoded(t, rec, got, err)
}

// FuzzDecode: garbage gives an error, never a panic, and what is read is stable.
func FuzzDecode(f *testing.F) {
	rec := scheduler.Record{URL: "http://a.test/x", Origin: "http://a.test", Host: weburl.HostKey{1}, Aliases: []string{"http://b.test/"}, ETag: `"1"`, FetchedAt: time.Unix(1, 2)}
	f.Add(encodeRecord(&rec))
	f.Add(encodeHost(&scheduler.HostState{Origin: "http://a.test", NextAt: time.Unix(1, 2)}))
	f.Add((&storedOrder{url: "http://a.test/", source: "s", body: []byte("{}")}).append(nil))
	inSegment := storedOrder{url: "http://a.test/", at: time.Unix(9, 0), place: bodyPlace{segment: 1, offset: 2, length: 3, sum: 4}}
	f.Add(inSegment.append(nil))
	f.Add([]byte("\x01\x00\x0ehttp://a.test/\x01s{}"))
	f.Add((&storedDead{storedOrder: inSegment, seq: 1, words: "no", at: time.Unix(1, 0)}).encode())
	f.Add(segmentState{entries: 1, live: 2, size: 3}.append(nil))
	f.Add((&counters{known: 300}).encode())
	f.Add(orderPlace{kind: kindHeld, seq: 300, size: 5, segment: 2}.append(nil))
	f.Add(orderPlace{kind: kindResting, group: groupID{3}, seq: 300, size: 5}.append(nil))
	f.Add(documents{count: 300}.offer(weburl.Key{2}).offer(weburl.Key{1}).append(nil))
	f.Add((&storedOrder{op: push.Delete, url: "http://a.test/", rest: rest{reason: 1, hold: 2, edit: 3, again: time.Unix(4, 0), text: "t"}}).append(nil))
	f.Add(encodeRecord(&scheduler.Record{URL: "http://a.test/x", Origin: "http://a.test", Reason: 3, Deletion: 1, Misses: 4, Gone: true}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if rec, err := decodeRecord(b); err == nil {
			again, err := decodeRecord(encodeRecord(&rec))
			if d := cmp.Diff(rec, again); d != "" || err != nil {
				t.Errorf("record: %v\n%s", err, d)
			}
		}
		if h, err := decodeHost(b); err == nil {
			again, err := decodeHost(encodeHost(&h))
			if d := cmp.Diff(h, again); d != "" || err != nil {
				t.Errorf("host: %v\n%s", err, d)
			}
		}
		if o, err := decodeOrder(b); err == nil {
			again, err := decodeOrder(o.append(nil))
			decoded(t, o, again, err)
		}
		if d, err := decodeDead(b); err == nil {
			again, err := decodeDead(d.encode())
			decoded(t, d, again, err)
		}
		if st, err := decodeSegmentState(b); err == nil {
			again, err := decodeSegmentState(st.append(nil))
			decoded(t, st, again, err)
		}
		if c, err := decodeCounters(b); err == nil {
			if again, err := decodeCounters(c.encode()); err != nil || again != c {
				t.Errorf("counters: %v, %+v, %+v", err, c, again)
			}
		}
		if d, err := decodeDocuments(b); err == nil && b != nil {
			again, err := decodeDocuments(d.append(nil))
			decoded(t, d, again, err)
		}
		if left, err := decodeGone(b); err == nil {
			again, err := decodeGone(appendGone(nil, &left))
			decoded(t, left, again, err)
		}
		if p, err := decodeOrderPlace(b); err == nil {
			if again, err := decodeOrderPlace(p.append(nil)); err != nil || again != p {
				t.Errorf("place: %v, %+v, %+v", err, p, again)
			}
		}
	})
}

// TestRecordOfFirstProgram reads a record as it was written before RulesVersion
// and HostSpelling were known.
func TestRecordOfFirstProgram(t *testing.T) {
	b := []byte("\x01\x02\x01\x02\x03\x05\x85\x01\x00hosthost\x0fhttp://a.test/1\x0d\xff\x00\x90\x03\x00\x00\x01r\x00\x01e\x00\x00\x00\x00\x00\x00")
	got, err := decodeRecord(b)
	want := scheduler.Record{
		URL: "http://a.test/1", Host: weburl.HostKey([]byte("hosthost")), Origin: "http://a.test", State: scheduler.AtRest, Class: scheduler.OK,
		Source: scheduler.Index, Fifo: scheduler.IndexFollow, Depth: 5, Root: true, Settled: true, Shift: -1, Status: 200,
		Referrer: "r", ETag: "e",
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	b[0] = recordVersion
	if again := encodeRecord(&got); string(again) != string(b) {
		t.Errorf("a record without the new fields is written as\n%q, want\n%q", again, b)
	}
}
