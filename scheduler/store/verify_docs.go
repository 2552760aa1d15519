package store

import (
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// deletes checks that a record's pending deletion exists.
func (v *verification) deletes(k weburl.Key, rec *scheduler.Record) error {
	if !rec.LossPending {
		return nil
	}
	at, err := v.view.Get(record.DeletionKey(k))
	if err == nil && at == nil {
		v.fault(rec.URL, "its record has a pending loss, but none is stored")
	}
	return err
}

// docs compares a host's stored documents with the records.
func (v *verification) docs(key, value []byte) error {
	if len(key) != record.HostKeyLen {
		return record.ErrLength
	}
	h := weburl.HostKey(key[1:])
	d, err := record.DecodeDocuments(value)
	if err != nil {
		return err
	}
	if found := v.documents[h]; found != [2]uint64{d.Count, d.Lost} {
		v.fault("", "host %x has the counts %d documents and %d lost, but there are %d and %d", h, d.Count, d.Lost, found[0], found[1])
	}
	v.count.Pooled += d.Pooled()
	delete(v.documents, h)
	for _, k := range d.Host().Sample {
		rec, ok := v.known(k, fmt.Sprintf("a document in the sample of host %x", h))
		if ok && (!rec.Indexed || rec.Host != h) {
			v.fault(rec.URL, "is in the document sample of host %x, but is not one of its documents", h)
		}
	}
	return nil
}

// endDocs reports hosts whose documents are not counted.
func (v *verification) endDocs() {
	for h, n := range v.documents {
		v.fault("", "host %x has %d documents and lost %d, but no record of them", h, n[0], n[1])
	}
}
