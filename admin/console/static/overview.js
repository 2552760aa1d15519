// The plots of the overview: figures over time from /api/v1/history.
"use strict";
(() => {
  const plots = document.getElementById("plots");
  const chooser = document.getElementById("span");
  const span = document.getElementById("span-of");
  const sources = ["user", "redir", "index", "index_follow", "follow", "refresh"];
  const kinds = {
    rates: { series: [["pages", "pages_per_s"], ["requests", "requests_per_s"]] },
    bytes: { series: [["KiB", "bytes_per_s"]], scale: 1 / 1024 },
    depth: { series: sources.map((s) => [s, "depth_" + s]), whole: true },
    share: { series: sources.map((s) => [s, "taken_per_s_" + s]), percent: true },
    outbox: { series: [["waiting", "outbox_waiting"], ["resting", "outbox_resting"], ["held", "outbox_held"], ["dead", "outbox_dead"]], whole: true },
    commits: { series: [["commits", "commits_per_s"], ["changes", "writes_per_s"]] },
  };
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 4]];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const digits = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

  let history = null; // the last answer
  let drawn = [];     // [uPlot, its figure, its kind]

  // columnsOf gives uPlot's data: times, then one column a series.
  const columnsOf = (kind) => {
    const by = new Map(history.series.map((s) => [s.name, s.values]));
    let columns = kind.series.map(([, name]) => by.get(name) || history.times.map(() => null));
    if (kind.scale) columns = columns.map((c) => c.map((v) => v === null ? null : v * kind.scale));
    if (kind.percent) {
      const sums = history.times.map((_, i) => columns.reduce((sum, c) => sum + (c[i] || 0), 0));
      columns = columns.map((c) => c.map((v, i) => v === null || sums[i] === 0 ? null : 100 * v / sums[i]));
    }
    return [history.times, ...columns];
  };

  const axis = (more) => ({ stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") }, font: "12px system-ui, sans-serif", ...more });
  const local = (seconds) => sextant.localTime(new Date(seconds * 1000)); // as in 2026-01-31 08:05:00
  const clock = (seconds) => local(seconds).slice(11, 16);
  const day = (seconds) => local(seconds).slice(5, 13) + "h";

  // shownSpan is not shorter than ten minutes, or a day: a service that has just started
  // would show a few points as if they were a development.
  const shownSpan = (min, max, week) => {
    const to = max ?? Date.now() / 1000;
    return [Math.min(min ?? to, to - (week ? 86400 : 600)), to];
  };

  // latest has the legend show the last values while no point is pointed at.
  const latest = (u) => { if (u.cursor.idx === null || u.cursor.idx === undefined) u.setLegend({ idx: u.data[0].length - 1 }); };

  // sizeOf is that of the plot in a figure, which has a padding.
  const sizeOf = (figure) => ({ width: Math.max(240, figure.clientWidth - 30), height: 200 });

  const draw = (figure, kind) => {
    const week = span.value === "week";
    const u = new uPlot({
      ...sizeOf(figure),
      cursor: { drag: { x: false, y: false } },
      hooks: { setCursor: [latest] },
      scales: { x: { time: true, range: (_, min, max) => shownSpan(min, max, week) }, y: { range: (_, min, max) => kind.percent ? [0, 100] : [0, Math.max(max || 0, kind.whole ? 4 : 1) * 1.05] } },
      axes: [
        axis({ values: (_, at) => at.map(week ? day : clock), space: week ? 90 : 60, incrs: (week ? [3, 6, 12, 24, 48] : [1 / 30, 1 / 12, 1 / 6, 1 / 4]).map((h) => h * 3600) }),
        axis({ size: 56, values: (_, at) => at.map((v) => v >= 1e6 ? v / 1e6 + " M" : v >= 1e4 ? v / 1e3 + " k" : digits.format(v)) }),
      ],
      series: [
        { label: "time", value: (_, v) => v === null ? "–" : local(v) },
        ...kind.series.map(([label], i) => ({
          label, stroke: colour("--s" + (i + 1)), width: 2, dash: dashes[i], spanGaps: false,
          points: { show: history.times.length < 3 },
          value: (_, v) => v === null || v === undefined ? "–" : digits.format(v),
        })),
      ],
    }, columnsOf(kind), figure);
    latest(u);
    drawn.push([u, figure, kind]);
  };

  // describe says the last values to those who do not see the plot.
  const describe = (figure, kind) => {
    const data = columnsOf(kind);
    const last = history.times.length - 1;
    const words = kind.series.map(([label], i) => `${label} ${last < 0 || data[i + 1][last] === null ? "not known" : digits.format(data[i + 1][last])}`);
    const canvas = figure.querySelector("canvas");
    canvas?.setAttribute("role", "img");
    canvas?.setAttribute("aria-label", figure.querySelector("figcaption").textContent + ", now: " + words.join(", "));
  };

  const drawAll = () => {
    for (const [u] of drawn) u.destroy();
    drawn = [];
    if (!history) return;
    for (const figure of plots.querySelectorAll("[data-plot]")) {
      draw(figure, kinds[figure.dataset.plot]);
      describe(figure, kinds[figure.dataset.plot]);
    }
  };

  // load fetches what is newer than what is there, or all of a span.
  const load = async (whole) => {
    const wanted = span.value;
    const query = { span: wanted };
    if (!whole && history?.times.length) query.since = history.times[history.times.length - 1];
    let answer;
    try {
      answer = (await sextant.api("GET", "/history", { query })).data;
    } catch {
      return; // the next time, maybe; the page says already that the service does not answer
    }
    if (wanted !== span.value) return;
    if (query.since === undefined || !history) {
      history = answer;
      drawAll();
      return;
    }
    if (!answer.times.length) return;
    const points = wanted === "week" ? 2016 : 720;
    const old = new Map(history.series.map((s) => [s.name, s.values]));
    history.times = history.times.concat(answer.times).slice(-points);
    for (const s of answer.series) s.values = (old.get(s.name) || []).concat(s.values).slice(-points);
    history.series = answer.series;
    for (const [u, figure, kind] of drawn) {
      u.setData(columnsOf(kind));
      latest(u);
      describe(figure, kind);
    }
  };

  chooser.hidden = false;
  chooser.addEventListener("submit", (e) => e.preventDefault());
  span.addEventListener("change", () => load(true));
  document.addEventListener("themechange", drawAll);
  document.body.addEventListener("refresh", () => load(false));
  let width = plots.clientWidth;
  new ResizeObserver(() => {
    if (plots.clientWidth === width) return;
    width = plots.clientWidth;
    for (const [u, figure] of drawn) u.setSize(sizeOf(figure));
  }).observe(plots);
  load(true);
})();
