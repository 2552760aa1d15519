package main

import "strings"

// identify gives the SPDX identifiers of the licences whose words stand in a text. It
// knows those that the parts of this program have had so far.
func identify(text string) (ids []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(words ...string) bool {
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	}
	if has("apache license") && (has("version 2.0") || has("apache-2.0")) {
		ids = append(ids, "Apache-2.0")
	}
	if has("mozilla public license", "2.0") {
		ids = append(ids, "MPL-2.0")
	}
	if has("permission is hereby granted, free of charge, to any person obtaining a copy") {
		ids = append(ids, "MIT")
	}
	if has("redistribution and use in source and binary forms") {
		if has("neither the name") || has("nor the names of") || has("may not be used to endorse") {
			ids = append(ids, "BSD-3-Clause")
		} else {
			ids = append(ids, "BSD-2-Clause")
		}
	}
	if has("permission to use, copy, modify, and/or distribute this software for any purpose with or without fee") ||
		has("permission to use, copy, modify, and distribute this software for any purpose with or without fee") {
		ids = append(ids, "ISC")
	}
	if has("this is free and unencumbered software released into the public domain") {
		ids = append(ids, "Unlicense")
	}
	return ids
}
