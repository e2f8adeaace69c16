/** Charts over time by uPlot, whose files are loaded when the first chart is shown. */

import { html, useEffect, useRef, useState } from "./preact.js";
import { usePrefs } from "./prefs.js";

let library = null;

function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const element = (name, fields) => Object.assign(document.createElement(name), fields);
    const style = element("link", { rel: "stylesheet", href: "vendor/uPlot.css" });
    const script = element("script", { src: "vendor/uPlot.js" });
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => reject(new Error("vendor/uPlot.js cannot be loaded"));
    document.head.append(style, script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Lines over `x`: `series` is [{label, values, color (a CSS variable), dash, format}]. */
export function Chart({ label, x, xLabel, series, height = 160 }) {
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
      if (isGone || !box.current) return; // The view may have gone while the library came.
      plot.current = new UPlot(options(xLabel, series, height, box.current), latest.current, box.current);
    }).catch((error) => ((library = null), box.current?.append(error.message)));
    return () => {
      isGone = true;
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify([x.length, x.at(-1), data])]);
  useEffect(() => {
    const resized = new ResizeObserver(([{ contentRect }]) => {
      plot.current?.setSize({ width: contentRect.width, height });
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
    <figure class="chart" aria-label=${label}>
      <figcaption>${label}</figcaption>
      <div ref=${box}></div>
    </figure>
  `;
}

function options(xLabel, series, height, box) {
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--muted"), grid, font: "11px system-ui, sans-serif", ticks: { show: false } };
  const values = (_plot, ticks) => ticks.map(series[0].format ?? String);
  return {
    width: box.clientWidth || 480,
    height,
    cursor: { y: false },
    scales: { x: { time: false } },
    axes: [{ ...axis, size: 28 }, { ...axis, size: 56, values }],
    series: [
      { label: xLabel },
      ...series.map(({ label, color, dash, format }) => ({
        label, dash, width: 1.5, stroke: colour(color), points: { show: false },
        value: (_plot, value) => (value === null ? "–" : (format ?? String)(value)),
      })),
    ],
  };
}
