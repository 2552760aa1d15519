package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/config/secret"
)

func TestNotify(t *testing.T) {
	lookups := mapLookups(map[string][]byte{"/bin/tell": {}, "key": []byte("signs\n")}, map[string]string{"HOOK": "http://10.0.0.1/hook?key=1"})
	file, report := Parse(FileName, []byte(`<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21">
<Notify webhook="${HOOK}" secret="file:key" indexerDownMin="2"/><Notify command=" /bin/tell a  b " on="stop
 brake"/><Crawler name="a"/></CrawlConfig>`), lookups)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	want := []Notify{
		{Webhook: secret.New("http://10.0.0.1/hook?key=1"), Secret: secret.New("signs"), IndexerDown: 2 * time.Minute},
		{Command: []string{"/bin/tell", "a", "b"}, On: []string{"stop", "brake"}, IndexerDown: 15 * time.Minute},
	}
	if diff := cmp.Diff(want, file.Notify, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
