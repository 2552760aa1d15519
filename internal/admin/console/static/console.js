// What all pages share: the theme, local times, and words about what went wrong.
"use strict";
(() => {
  const root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (preferred.matches ? "dark" : "light")) === "dark";

  // The theme: what the system prefers, until the button is used.
  const button = document.getElementById("theme");
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours"); };
  const changed = () => { label(); document.dispatchEvent(new CustomEvent("themechange")); };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this page only */ }
    changed();
  });
  preferred.addEventListener("change", changed);

  // Times are local to the browser, and the foot names its zone; UTC is in their titles.
  const two = (n) => String(n).padStart(2, "0");
  const localTime = (t) => `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  const localTimes = (within) => {
    for (const e of within.querySelectorAll("time[data-local]")) {
      const t = new Date(e.dateTime);
      if (!isNaN(t)) e.textContent = localTime(t);
    }
  };
  const offset = (t) => {
    const minutes = -t.getTimezoneOffset();
    return (minutes < 0 ? "-" : "+") + two(Math.floor(Math.abs(minutes) / 60)) + ":" + two(Math.abs(minutes) % 60);
  };
  const zone = document.getElementById("zone");
  if (zone) zone.textContent = `${Intl.DateTimeFormat().resolvedOptions().timeZone} (${offset(new Date())})`;
  localTimes(document);
  document.addEventListener("htmx:load", (e) => localTimes(e.target));

  // Choosing a Crawler needs no second click.
  document.getElementById("crawler-name")?.addEventListener("change", (e) => e.target.form.requestSubmit());

  // Parts of a page that have hx-trigger="refresh from:body" are fetched again every 5 s,
  // unless the page is not seen or the button with the id "updates" stopped it.
  const updates = document.getElementById("updates");
  updates?.addEventListener("click", () => {
    const stopped = updates.getAttribute("aria-pressed") !== "true";
    updates.setAttribute("aria-pressed", String(stopped));
  });
  setInterval(() => {
    if (!document.hidden && updates?.getAttribute("aria-pressed") !== "true") document.body.dispatchEvent(new CustomEvent("refresh"));
  }, 5000);

  // A day or time without a zone is one of the browser's zone.
  document.addEventListener("submit", (e) => {
    const since = e.target.elements.since;
    const [, day, time] = since?.value.trim().match(/^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?$/) || [];
    if (!day) return;
    const t = new Date(`${day}T${time || "00:00"}`);
    if (!isNaN(t)) since.value = localTime(t).replace(" ", "T") + offset(t);
  });

  // A button with data-confirm asks first.
  document.addEventListener("submit", (e) => {
    const words = e.submitter?.dataset.confirm;
    if (words && !confirm(words)) e.preventDefault();
  });

  // say shows words of the page itself, for screen readers too.
  const said = document.getElementById("said");
  const say = (words, kind) => {
    said.replaceChildren();
    if (!words) return;
    const p = document.createElement("p");
    p.className = "notice " + (kind || "good");
    p.textContent = words;
    said.append(p);
  };

  // What htmx cannot fetch is said once, and taken back when it can again.
  let failing = false;
  const failed = (words) => { failing = true; say(words, "bad"); };
  document.addEventListener("htmx:sendError", () => failed("The service does not answer. What is shown is not up to date."));
  document.addEventListener("htmx:responseError", (e) => {
    if (e.detail.xhr.status === 401 || e.detail.xhr.responseURL.includes("/signin")) location.reload();
    else failed(`The service answers with an error (${e.detail.xhr.status}). What is shown is not up to date.`);
  });
  document.addEventListener("htmx:afterOnLoad", () => { if (failing) { failing = false; say(""); } });

  // api asks /api/v1 with the cookie. What is no success is thrown: an Error with the
  // problem's fields (status, code, detail, findings).
  const api = async (method, path, options = {}) => {
    const query = new URLSearchParams(options.query || {});
    const crawler = new URLSearchParams(location.search).get("crawler") || document.getElementById("crawler-name")?.value;
    if (crawler && !query.has("crawler")) query.set("crawler", crawler);
    const headers = { Accept: "application/json", ...options.headers };
    let body = options.body;
    if (body !== undefined && typeof body !== "string") {
      body = JSON.stringify(body);
      headers["Content-Type"] = "application/json";
    }
    const text = query.toString();
    const answer = await fetch("/api/v1" + path + (text ? "?" + text : ""), { method, headers, body, credentials: "same-origin", redirect: "error", signal: options.signal });
    const media = answer.headers.get("Content-Type") || "";
    const data = media.includes("json") ? await answer.json() : await answer.text();
    if (!answer.ok) {
      const problem = new Error(data.detail || `the service answered ${answer.status}`);
      Object.assign(problem, typeof data === "object" ? data : {}, { status: answer.status });
      throw problem;
    }
    return { data, headers: answer.headers };
  };

  // On a phone the pages stand in a strip: the current one is in sight.
  const current = document.querySelector(".top nav a[aria-current]");
  const inSight = () => {
    const strip = current.closest("ul");
    strip.scrollLeft = current.offsetLeft - strip.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
  };
  if (current) {
    inSight();
    addEventListener("resize", inSight);
  }

  window.sextant = { api, say, localTime };
})();
