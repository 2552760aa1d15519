package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
)

func chunksOf(t *testing.T, body string, words int) ([]push.Chunk, bool) {
	t.Helper()
	found, err := Read(t.Context(), &Order{ContentType: "text/html; charset=utf-8", ChunkWords: words}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return found.Chunks, found.ChunksCut
}

// TestChunks: a section is a chunk, with its headings and the anchor at which it begins.
func TestChunks(t *testing.T) {
	got, cut := chunksOf(t, `<title>T</title><body id=top><p>Before <b>all</b>.<script>x()</script>
<h1 id=lamps>Lamps &amp; <i>more</i></h1><p>One.</p><p>Two<br>three.
<section id=kinds><h3>Kinds</h3><ul><li>small<li>large</ul></section>
<a name=old></a><h2>Old</h2><table><tr><td>a<td>b</table>
<h2><span id="in side"></span><a id=inside>Inside</a></h2><h2 id=none>Nothing in it</h2><h1>Last</h1>end`, 100)
	want := []push.Chunk{
		{Text: "Before all.", Anchor: ""},
		{Headings: []string{"Lamps & more"}, Anchor: "lamps", Text: "One.\nTwo\nthree."},
		{Headings: []string{"Lamps & more", "Kinds"}, Anchor: "kinds", Text: "small\nlarge"},
		{Headings: []string{"Lamps & more", "Old"}, Anchor: "old", Text: "a b"},
		{Headings: []string{"Last"}, Text: "end"},
	}
	if d := cmp.Diff(want, got); d != "" || cut {
		t.Errorf("cut %v (-want +got):\n%s", cut, d)
	}
}

// TestChunksAreSmall: a longer section is divided between blocks, a longer block between sentences, and a text without
// blanks at its punctuation.
func TestChunksAreSmall(t *testing.T) {
	const sentence, chinese = "one two three four five six seven.", "潮水一天来两次。"
	const two = sentence + "\n" + sentence
	long := strings.Repeat("潮", 67)
	for name, tt := range map[string]struct {
		body string
		want []string
	}{
		"blocks":         {strings.Repeat("<p>"+sentence, 4), []string{two, two}},
		"sentences":      {"<p>" + strings.Repeat(sentence+" ", 3), []string{sentence + " " + sentence, sentence}},
		"no sentence":    {"<p>" + strings.Repeat("a ", 25), []string{"a" + strings.Repeat(" a", 19), "a a a a a"}},
		"Chinese":        {"<p>" + strings.Repeat(chinese, 6), []string{strings.Repeat(chinese, 5), chinese}},
		"one long word":  {"<p>" + strings.Repeat("潮", 150), []string{long, long, strings.Repeat("潮", 16)}},
		"glued elements": {"<p>un<b>believ</b>able <i>x</i>", []string{"unbelievable x"}},
	} {
		got, _ := chunksOf(t, tt.body, 20)
		var texts []string
		for _, c := range got {
			texts = append(texts, c.Text)
		}
		if d := cmp.Diff(tt.want, texts); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got, cut := ChunksOf(strings.Repeat("a ", 30)+"\nb", 20); len(got) != 2 || cut {
		t.Errorf("of a text: %+v, %v", got, cut)
	}
}

// TestChunksAreBounded: no page makes more of them, or longer ones, than a document can hold.
func TestChunksAreBounded(t *testing.T) {
	pages := hostilePages()
	pages["headings"] = strings.Repeat("<h1>x</h1>y", 2000)
	heading := "<h6 id=" + strings.Repeat("i", 150) + ">" + strings.Repeat("h", 1000) + "</h6>y"
	pages["long headings"] = strings.Repeat(heading, 1500)
	pages["headings in headings"] = strings.Repeat("<h1><div><h2><div><h3>x", 80)
	pages["long"] = "<p>" + strings.Repeat("word ", 250_000)
	for name, body := range pages {
		got, cut := chunksOf(t, body, 20)
		size := 0
		for _, c := range got {
			size += len(fmt.Sprint(c))
			if len(strings.Fields(c.Text)) > 20 || len(c.Headings) > 6 {
				t.Errorf("%s: %d words, %d headings", name, len(strings.Fields(c.Text)), len(c.Headings))
			}
		}
		isLong := name == "headings" || name == "long headings" || name == "long"
		if len(got) > maxChunks || size > maxChunkBytes+(4<<10) || cut != isLong {
			t.Errorf("%s: %d chunks of %d bytes, cut %v", name, len(got), size, cut)
		}
	}
}
