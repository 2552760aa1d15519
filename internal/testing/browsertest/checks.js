// What a page must keep for people who use a screen reader or have poor sight, beyond the rules of axe-core. Gives the
// faults as texts, those of contrast for the theme that is shown.
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

  const ids = new Set();
  for (const e of all("[id]")) {
    if (ids.has(e.id)) fault(e, "the id is there twice");
    ids.add(e.id);
  }

  // Tables.
  for (const t of all("table").filter(shown)) {
    if (t.closest(".u-legend, .uplot")) continue; // the plot's own legend
    for (const th of t.querySelectorAll("th")) if (!th.scope) fault(th, "a header without scope");
    if (!t.caption && !words(t) && !words(t.parentElement) && !t.closest(".manual")) fault(t, "a table without a name");
  }

  for (const e of all("table.list :is(td, th)").filter(shown)) if (e.scrollWidth > e.clientWidth + 1) fault(e, "a cell that overflows");

  if (innerWidth > 1300) for (const e of all(".table-wrap").filter(shown)) if (e.scrollWidth > e.clientWidth + 1) fault(e, "a table cut off on a wide screen");

  for (const e of all(".card + .card").filter(shown)) if (e.getBoundingClientRect().top === e.previousElementSibling.getBoundingClientRect().bottom) fault(e, "boxes that touch");

  // Names of hosts keep their ports.
  for (const e of all(".host").filter(shown)) if (e.textContent.length < 30 && e.offsetHeight > 30) fault(e, "a host in two lines");

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
