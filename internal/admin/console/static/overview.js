// The plots of the overview: figures over time from /api/v1/history.
"use strict";
(() => {
  const plots = document.getElementById("plots");
  const chooser = document.getElementById("span");
  const span = document.getElementById("span-of");
  const sources = ["user", "redir", "index", "index_follow", "follow", "refresh"];
  const classes = ["dns", "connect", "tls", "timeout", "address", "protocol", "redirect", "login", "4xx", "5xx", "robots", "too_large", "unreadable", "other"];
  const kinds = {
    rates: { series: [["pages", "pages_per_s"], ["requests", "requests_per_s"]] },
    errors: { series: classes.map((c) => [c.replaceAll("_", " "), "errors_per_s_" + c]), most: 6 },
    documents: { series: [["documents", "indexed"]], whole: true },
    lag: { series: [["lag", "outbox_lag_s"]], whole: true },
    depth: { series: sources.map((s) => [s.replaceAll("_", " "), "depth_" + s]), whole: true },
    outbox: { series: [["waiting", "outbox_waiting"], ["pending", "outbox_pending"], ["dead", "outbox_dead"]], whole: true },
  };
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 4]];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const digits = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

  let history = null; // the last answer
  let drawn = [];     // [uPlot, its figure, its kind]

  // seriesOf are those of a kind that are shown: where only the greatest are, these.
  const seriesOf = (kind) => {
    if (!kind.most) return kind.series;
    const by = new Map(history.series.map((s) => [s.name, s.values]));
    const sums = new Map(kind.series.map(([, name]) => [name, (by.get(name) || []).reduce((sum, v) => sum + (v || 0), 0)]));
    const some = kind.series.filter(([, name]) => sums.get(name) > 0).sort((a, b) => sums.get(b[1]) - sums.get(a[1])).slice(0, kind.most);
    return some.length ? some : [["none", ""]];
  };

  // columnsOf gives uPlot's data: times, then one column a series.
  const columnsOf = (kind, series) => {
    const by = new Map(history.series.map((s) => [s.name, s.values]));
    return [history.times, ...series.map(([, name]) => by.get(name) || history.times.map(() => null))];
  };

  const axis = (more) => ({ stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") }, font: "12px system-ui, sans-serif", ...more });
  const local = (seconds) => sextant.localTime(new Date(seconds * 1000)); // as in 2026-01-31 08:05:00
  const clock = (seconds) => local(seconds).slice(11, 16);
  const day = (seconds) => local(seconds).slice(5, 13) + "h";

  // shownSpan is not shorter than ten minutes, or a day: a service that has just started
  // would show a few points as if they were a development.
  const shownSpan = (min, max, seconds) => {
    const to = max ?? Date.now() / 1000;
    return [Math.max(to - seconds, Math.min(min ?? to, to - Math.min(seconds, isWeek() ? 86400 : 600))), to];
  };

  // latest has the legend show the last values while no point is pointed at.
  const latest = (u) => { if (u.cursor.idx === null || u.cursor.idx === undefined) u.setLegend({ idx: u.data[0].length - 1 }); };

  // The marks are events, as letters over lines.
  const letters = { start: "S", reload: "L", pause: "P", resume: "R" };
  let marks = [];
  const drawMarks = (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--muted");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    for (const mark of marks) {
      const x = u.valToPos(mark.at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + 12 * devicePixelRatio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(letters[mark.kind], x - 4 * devicePixelRatio, bbox.top + 10 * devicePixelRatio);
    }
    ctx.restore();
  };

  // loadMarks asks for the events of the plots.
  const loadMarks = async () => {
    try {
      const { data } = await sextant.api("GET", "/events", { query: { kind: Object.keys(letters).join(","), limit: 200 } });
      marks = data.items.map((e) => ({ kind: e.kind, at: new Date(e.at).getTime() / 1000 }));
      document.getElementById("marks").hidden = marks.length === 0;
    } catch {
      marks = []; // plots without marks are plots all the same
    }
  };

  const isWeek = () => Number(span.value) > 3600;

  // sizeOf is that of the plot in a figure, which has a padding.
  const sizeOf = (figure) => ({ width: Math.max(240, figure.clientWidth - 30), height: 200 });

  const draw = (figure, kind) => {
    const week = Number(span.value) > 43200, seconds = Number(span.value);
    const series = seriesOf(kind);
    const u = new uPlot({
      ...sizeOf(figure),
      cursor: { drag: { x: false, y: false } },
      hooks: { setCursor: [latest], draw: [drawMarks] },
      scales: { x: { time: true, range: (_, min, max) => shownSpan(min, max, seconds) }, y: { range: (_, min, max) => [0, Math.max(max || 0, kind.whole ? 4 : 1) * 1.05] } },
      axes: [
        axis({ values: (_, at) => at.map(week ? day : clock), space: week ? 90 : 60, incrs: (week ? [3, 6, 12, 24, 48] : [1 / 30, 1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2]).map((h) => h * 3600) }),
        axis({ size: 56, values: (_, at) => at.map((v) => v >= 1e6 ? v / 1e6 + " M" : v >= 1e4 ? v / 1e3 + " k" : digits.format(v)) }),
      ],
      series: [
        { label: "time", value: (_, v) => v === null ? "–" : local(v) },
        ...series.map(([label], i) => ({
          label, stroke: colour("--s" + (i + 1)), width: 2, dash: dashes[i], spanGaps: false,
          points: { show: history.times.length < 3 },
          value: (_, v) => v === null || v === undefined ? "–" : digits.format(v),
        })),
      ],
    }, columnsOf(kind, series), figure);
    latest(u);
    drawn.push([u, figure, kind, series]);
    describe(figure, series, kind);
  };

  // describe says the last values to those who do not see the plot.
  const describe = (figure, series, kind) => {
    const data = columnsOf(kind, series);
    const last = history.times.length - 1;
    const words = series.map(([label], i) => `${label} ${last < 0 || data[i + 1][last] === null ? "not known" : digits.format(data[i + 1][last])}`);
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
    }
  };

  // load fetches what is newer than what is there, or all of a span.
  const load = async (whole) => {
    const wanted = span.value;
    const query = { span: isWeek() ? "week" : "hour" };
    if (!whole && history?.times.length) query.since = history.times[history.times.length - 1];
    let answer;
    const marked = marks.length;
    await loadMarks();
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
    const points = isWeek() ? 2016 : 720;
    const old = new Map(history.series.map((s) => [s.name, s.values]));
    history.times = history.times.concat(answer.times).slice(-points);
    for (const s of answer.series) s.values = (old.get(s.name) || []).concat(s.values).slice(-points);
    history.series = answer.series;
    if (marks.length !== marked || drawn.some(([, , kind, series]) => String(seriesOf(kind)) !== String(series))) {
      drawAll();
      return;
    }
    for (const [u, figure, kind, series] of drawn) {
      u.setData(columnsOf(kind, series));
      latest(u);
      describe(figure, series, kind);
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
