/** Charts over time by uPlot, whose files are loaded when the first chart is shown. */

import { html, useEffect, useRef, useState } from "./preact.js";
import { usePrefs } from "./prefs.js";

const HEIGHT = 160;
let library = null;

function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement("link"), {
      rel: "stylesheet",
      href: "vendor/uPlot.css",
    });
    const script = Object.assign(document.createElement("script"), { src: "vendor/uPlot.js" });
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => reject(new Error("vendor/uPlot.js"));
    document.head.append(style, script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Lines over `x`: `series` is [{label, values, color (a CSS variable), dash, format}]. */
export function Chart({ label, x, xLabel, series, height = HEIGHT }) {
  const box = useRef();
  const plot = useRef();
  const { theme } = usePrefs();
  const [scheme, setScheme] = useState(0);
  const data = [x, ...series.map((each) => each.values)];
  const latest = useRef();
  latest.current = data;
  const shape = JSON.stringify([series.map(({ label: name, color }) => [name, color]), theme, scheme]);

  useEffect(() => {
    let isGone = false;
    loadLibrary().then((UPlot) => {
      if (isGone) return;
      plot.current = new UPlot(options(xLabel, series, height, box.current), latest.current, box.current);
    });
    return () => {
      isGone = true;
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify([x.length, x.at(-1), data])]);
  useEffect(() => {
    const resized = new ResizeObserver(() => {
      plot.current?.setSize({ width: box.current.clientWidth, height });
    });
    resized.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setScheme((old) => old + 1);
    dark.addEventListener("change", changed);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", changed);
    };
  }, []);
  return html`
    <figure class="chart" role="img" aria-label=${label}>
      <figcaption>${label}</figcaption>
      <div ref=${box}></div>
    </figure>
  `;
}

function options(xLabel, series, height, box) {
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, font: FONT };
  return {
    width: box.clientWidth || 480,
    height,
    cursor: { y: false },
    scales: { x: { time: false } },
    axes: [{ ...axis, size: 28, ticks: { show: false } }, { ...axis, size: 56, ticks: { show: false }, values: axisValues(series) }],
    series: [
      { label: xLabel },
      ...series.map(({ label, color, dash, format }) => ({
        label,
        stroke: colour(color),
        width: 1.5,
        dash,
        points: { show: false },
        value: (_plot, value) => (value === null ? "–" : (format ?? String)(value)),
      })),
    ],
  };
}

const FONT = "11px system-ui, sans-serif";

const axisValues = ([{ format }]) => (_plot, ticks) => ticks.map(format ?? String);
