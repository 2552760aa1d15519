package extract

import "testing"

func TestPassword(t *testing.T) {
	for body, want := range map[string]bool{
		`<form><input name=user><input type=password name=p></form>`: true,
		`<INPUT TYPE=" PassWord " NAME=p>`:                           true,
		`<input type=text name=password>`:                            false,
		`<input name=p type=hidden value=password>`:                  false,
		`<!-- <input type=password> -->`:                             false,
		`<script>"<input type=password>"</script>`:                   false,
		`<template><input type=password></template>`:                 false,
		`<p>password</p>`:                                            false,
	} {
		if got := read(t, body, "text/html").Password; got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
}
