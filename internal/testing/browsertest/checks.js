// What a page must keep for people who use a keyboard, a screen reader, or have poor
// sight. Gives the faults as texts, those of contrast for the theme that is shown.
(() => {
  const faults = [];
  const name = (e) => {
    const attributes = [...e.attributes].filter((a) => ["id", "class", "name", "href"].includes(a.name)).map((a) => ` ${a.name}="${a.value.slice(0, 60)}"`);
    return `<${e.localName}${attributes.join("")}> ${(e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40)}`;
  };
  const fault = (e, words) => faults.push(`${words}: ${name(e)}`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && !e.closest("[aria-hidden=true]");
  const words = (e) => {
    const by = (e.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id));
    if (by.some((b) => !b)) fault(e, "aria-labelledby names nothing");
    const labels = [...(e.labels || [])].map((l) => l.textContent);
    return [...by.map((b) => b?.textContent), e.getAttribute("aria-label"), ...labels].join(" ").trim();
  };

  if (!document.documentElement.lang) faults.push("html has no lang");
  if (!document.title.trim()) faults.push("no title");
  if (all("main").length !== 1) faults.push("not one main");
  const ids = new Set();
  for (const e of all("[id]")) {
    if (ids.has(e.id)) fault(e, "the id is there twice");
    ids.add(e.id);
  }

  // Headings.
  const headings = all("h1, h2, h3, h4, h5, h6").filter(shown);
  const first = headings.filter((h) => h.localName === "h1");
  if (first.length !== 1) faults.push(`${first.length} h1 in place of one`);
  let level = 0;
  for (const h of headings) {
    const at = Number(h.localName[1]);
    if (at > level + 1) fault(h, `h${at} follows h${level}`);
    if (!h.textContent.trim()) fault(h, "an empty heading");
    level = at;
  }

  // Names of what can be used.
  for (const e of all("input:not([type=hidden]), select, textarea, [role=textbox]").filter(shown)) {
    if (!words(e)) fault(e, "no label");
  }
  for (const e of all("button, a[href], summary, [role=button]").filter(shown)) {
    if (!words(e) && !e.textContent.trim() && !e.querySelector("img[alt]:not([alt=''])")) fault(e, "no name");
  }
  for (const e of all("img").filter(shown)) if (!e.hasAttribute("alt")) fault(e, "no alt");
  for (const e of all("[role=region], nav, section[aria-labelledby]").filter(shown)) if (!words(e)) fault(e, "a region without a name");
  for (const e of all("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) fault(e, "a tabindex that changes the order");

  // Tables.
  for (const t of all("table").filter(shown)) {
    if (t.closest(".u-legend, .uplot")) continue; // the plot's own legend
    if (!t.querySelector("th")) fault(t, "a table without headers");
    for (const th of t.querySelectorAll("th")) if (!th.scope) fault(th, "a header without scope");
    if (!t.caption && !words(t) && !words(t.parentElement) && !t.closest(".manual")) fault(t, "a table without a name");
  }

  // What scrolls must be reachable by keyboard.
  for (const e of all("main, main *").filter(shown)) {
    const style = getComputedStyle(e);
    const scrolls = /auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1 || /auto|scroll/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 1;
    const reachable = e.tabIndex >= 0 || e.querySelector("a[href], button, input, select, textarea, [tabindex='0'], [contenteditable=true]") || e.matches(".cm-scroller");
    if (scrolls && !reachable) fault(e, "scrolls, but no keyboard reaches it");
  }

  // Contrast (WCAG 2.2, 1.4.3) of text with what is below it.
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const rgba = (colour) => {
    if (!colours.has(colour)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      colours.set(colour, [r, g, b, a / 255]);
    }
    return colours.get(colour);
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const above = (e) => e.parentElement || e.getRootNode().host; // also out of a shadow tree
  const grounds = new Map();
  const ground = (e) => {
    if (!e) return rgba("Canvas").slice(0, 3);
    if (!grounds.has(e)) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      grounds.set(e, c[3] === 1 ? c.slice(0, 3) : over(c, ground(above(e))));
    }
    return grounds.get(e);
  };
  const opacities = new Map();
  const opacity = (e) => {
    if (!e) return 1;
    if (!opacities.has(e)) opacities.set(e, Number(getComputedStyle(e).opacity) * opacity(above(e)));
    return opacities.get(e);
  };
  const light = (c) => c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const seen = new Set();
  let checked = 0;
  const texts = [document.body, ...all("*").filter((e) => e.shadowRoot).map((e) => e.shadowRoot)].flatMap((root) => {
    const found = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (walk.currentNode.parentElement) found.push(walk.currentNode);
    return found;
  });
  for (const n of texts) {
    const e = n.parentElement;
    if (!n.data.trim() || seen.has(e) || !shown(e) || e.closest(":disabled, .visually-hidden, script, style, option, .skip")) continue;
    seen.add(e);
    checked++;
    const style = getComputedStyle(e), below = ground(e);
    const [r, g, b, own] = rgba(style.color), a = own * opacity(e);
    if (a === 0) continue; // not seen until it is pointed at or focused
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    const got = ratio(over([r, g, b, a], below), below);
    if (got < (large ? 3 : 4.5)) fault(e, `contrast ${got.toFixed(2)}`);
  }
  for (const e of all("[placeholder]").filter(shown)) {
    const got = ratio(over(rgba(getComputedStyle(e, "::placeholder").color), ground(e)), ground(e));
    if (got < 4.5) fault(e, `contrast of the placeholder ${got.toFixed(2)}`);
  }
  if (!checked) faults.push("no text was checked");
  return faults.length > 12 ? [...faults.slice(0, 12), `and ${faults.length - 12} more`] : faults;
})()
