package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
)

func TestPrintsNowhere(t *testing.T) {
	const hidden = "s3kr1t"
	v := secret.New(hidden)
	if v.Reveal() != hidden || v.IsEmpty() {
		t.Fatalf("Reveal is %q", v.Reveal())
	}
	var zero secret.Value
	if zero.Reveal() != "" || !zero.IsEmpty() {
		t.Error("the zero value is not empty")
	}
	if !v.Equal(secret.New(hidden)) || v.Equal(zero) || v.Equal(secret.New("other")) || !zero.Equal(secret.New("")) {
		t.Error("Equal compares something else than what is hidden")
	}
	type owner struct {
		Name     string
		Password secret.Value
	}
	o := owner{"robot", v}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v, "o", o, "p", &o)
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{log.String(), string(encoded), v.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		texts = append(texts, fmt.Sprintf(verb, v), fmt.Sprintf(verb, o), fmt.Sprintf(verb, &o))
	}
	for _, text := range texts {
		if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) {
			t.Errorf("the secret is printed: %s", text)
		}
	}
}
