// Package browsertest tests the console in a real Chromium: it starts the program as a user does, crawls a site, and
// drives a browser through the pages. It also tests crawls whose pages the program renders in a Chromium.
//
// Without a Chromium its tests are skipped. SEXTANT_CHROMIUM names one in an unusual place, SEXTANT_SCREENSHOTS a
// folder for screenshots of the pages, SEXTANT_AXE the file axe.min.js of the npm package axe-core, by whose rules the
// pages are checked.
package browsertest
