import { colorOf, fillOf, onThemeChange } from './colors.js';

/** @typedef {{ at: number, served: number, refused: number, failed: number, decider: string }} Point */
/** @typedef {{ at: number, text: string }} Mark */
/**
 * @typedef {object} View
 * @property {readonly Point[]} points oldest first
 * @property {number} from the left end of the axis, in the unit of `at`
 * @property {number} to
 * @property {number} top the upper end of the axis, in requests per second
 * @property {{ value: number, text: string } | undefined} [capacity]
 * @property {readonly Mark[]} [marks]
 */
/** @typedef {{ splits: (from: number, to: number) => number[], label: (at: number, to: number) => string }} TimeAxis */
/** @typedef {import('uplot').AlignedData} Data */
/** @typedef {import('uplot').Options} Options */
/** @typedef {InstanceType<typeof uPlot>} Plot */

const FONT = '12px system-ui, sans-serif';
const LABEL = '600 12px system-ui, sans-serif';
/** The band of an outage has its name in a strip of this height. */
const STRIP = 18;
/** No sample for longer: the outage is not drawn beyond. In the unit of `at`, seconds. */
const GAP = 2;

/** A stacked chart of what riders got, with the capacity, outages and marks drawn over it. */
export class Chart {
  /** @type {Plot | undefined} */
  plot;
  /** @type {View | undefined} */
  view;

  /** @param {HTMLElement} place its size is the chart's @param {TimeAxis} axis */
  constructor(place, axis) {
    this.place = place;
    this.axis = axis;
    new ResizeObserver(() => this.resize()).observe(place);
    onThemeChange(() => this.rebuild());
  }

  /** @param {View} view */
  draw(view) {
    this.view = view;
    if (this.plot === undefined) this.rebuild();
    else this.plot.setData(dataOf(view.points));
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width > 0 && height > 0) this.plot?.setSize({ width, height });
  }

  /** Draws again with the colours of the theme. */
  rebuild() {
    if (this.view === undefined) return;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(), dataOf(this.view.points), this.place);
  }

  /** @returns {Options} */
  options() {
    const { axis } = this;
    const view = () => /** @type {View} */ (this.view);
    const look = { stroke: colorOf('--muted'), font: FONT, ticks: { show: false } };
    const area = (/** @type {import('./colors.js').Outcome} */ outcome) => ({
      stroke: colorOf('--card'), // parts the areas from each other
      width: 1.5,
      fill: () => fillOf(outcome, uPlot.pxRatio),
      points: { show: false },
    });
    return {
      width: Math.max(1, this.place.clientWidth),
      height: Math.max(1, this.place.clientHeight),
      padding: [6, 14, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [view().from, view().to] },
        y: { range: () => [0, view().top] },
      },
      axes: [
        {
          ...look,
          grid: { show: false },
          size: 24,
          splits: () => axis.splits(view().from, view().to),
          values: (_, splits) => splits.map((at) => axis.label(at, view().to)),
        },
        { ...look, grid: { stroke: colorOf('--line'), width: 1 }, size: 42, space: 40 },
      ],
      // From the back to the front: each area covers the one below it down to zero.
      series: [{}, area('failed'), area('refused'), area('served')],
      hooks: { draw: [(plot) => this.annotate(plot)] },
    };
  }

  /** @param {Plot} plot */
  annotate(plot) {
    const { view } = this;
    if (view === undefined) return;
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    const x = (/** @type {number} */ at) => plot.valToPos(at, 'x', true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    for (const { from, to } of outagesOf(view.points)) this.drawOutage(ctx, bbox, x(from), x(to), ratio);
    for (const { at, text } of view.marks ?? []) this.drawMark(ctx, bbox, x(at), text, ratio);
    if (view.capacity !== undefined) {
      this.drawCapacity(ctx, bbox, plot.valToPos(view.capacity.value, 'y', true), view.capacity.text, ratio);
    }
    ctx.restore();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Plot['bbox']} box @param {number} from @param {number} to @param {number} ratio */
  drawOutage(ctx, box, from, to, ratio) {
    const width = Math.max(2 * ratio, to - from);
    ctx.fillStyle = colorOf('--outage');
    ctx.globalAlpha = 0.22;
    ctx.fillRect(from, box.top, width, box.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(from, box.top, width, STRIP * ratio);
    ctx.fillRect(from, box.top, ratio, box.height);
    ctx.fillRect(from + width - ratio, box.top, ratio, box.height);
    const text = 'Redis away';
    ctx.font = scaled(LABEL, ratio);
    if (ctx.measureText(text).width + 12 * ratio > width) {
      this.drawLabel(ctx, text, to + 8 * ratio, box.top + (STRIP / 2) * ratio, colorOf('--ink'), ratio);
      return;
    }
    ctx.fillStyle = colorOf('--card');
    ctx.fillText(text, from + 6 * ratio, box.top + (STRIP / 2 + 0.5) * ratio);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Plot['bbox']} box @param {number} y @param {string} text @param {number} ratio */
  drawCapacity(ctx, box, y, text, ratio) {
    const line = (/** @type {string} */ color, /** @type {number} */ width) => {
      ctx.strokeStyle = color;
      ctx.lineWidth = width * ratio;
      ctx.beginPath();
      ctx.moveTo(box.left, y);
      ctx.lineTo(box.left + box.width, y);
      ctx.stroke();
    };
    ctx.globalAlpha = 0.75;
    line(colorOf('--card'), 5); // without it the line is lost on the areas
    ctx.globalAlpha = 1;
    ctx.setLineDash([7 * ratio, 5 * ratio]);
    line(colorOf('--capacity'), 2);
    ctx.setLineDash([]);
    ctx.font = scaled(LABEL, ratio);
    const right = box.left + box.width - ctx.measureText(text).width - 7 * ratio;
    this.drawLabel(ctx, text, right, y - 14 * ratio, colorOf('--capacity'), ratio);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Plot['bbox']} box @param {number} x @param {string} text @param {number} ratio */
  drawMark(ctx, box, x, text, ratio) {
    for (const [color, width] of /** @type {const} */ ([
      ['--card', 4],
      ['--ink', 1.5],
    ])) {
      ctx.strokeStyle = colorOf(color);
      ctx.lineWidth = width * ratio;
      ctx.beginPath();
      ctx.moveTo(x, box.top);
      ctx.lineTo(x, box.top + box.height);
      ctx.stroke();
    }
    ctx.font = scaled(LABEL, ratio);
    const width = ctx.measureText(text).width;
    const fits = x + width + 14 * ratio < box.left + box.width;
    this.drawLabel(
      ctx,
      text,
      fits ? x + 7 * ratio : x - width - 7 * ratio,
      box.top + 12 * ratio,
      colorOf('--ink'),
      ratio,
    );
  }

  /** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} x @param {number} y @param {string} color @param {number} ratio */
  drawLabel(ctx, text, x, y, color, ratio) {
    const { width } = ctx.measureText(text);
    ctx.fillStyle = colorOf('--card');
    ctx.globalAlpha = 0.9;
    ctx.beginPath();
    ctx.roundRect(x - 5 * ratio, y - 9 * ratio, width + 10 * ratio, 18 * ratio, 4 * ratio);
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.fillStyle = color;
    ctx.fillText(text, x, y + 0.5 * ratio);
  }
}

/** @param {string} font @param {number} ratio */
function scaled(font, ratio) {
  return font.replace('12px', `${12 * ratio}px`);
}

/** @param {readonly Point[]} points @returns {Data} */
function dataOf(points) {
  return [
    points.map(({ at }) => at),
    points.map(({ served, refused, failed }) => served + refused + failed),
    points.map(({ served, refused }) => served + refused),
    points.map(({ served }) => served),
  ];
}

/** The highest stack. @param {readonly Point[]} points */
export function topOf(points) {
  return points.reduce((top, { served, refused, failed }) => Math.max(top, served + refused + failed), 0);
}

/** @param {readonly Point[]} points */
function outagesOf(points) {
  /** @type {{ from: number, to: number }[]} */
  const outages = [];
  for (const [i, { at, decider }] of points.entries()) {
    if (decider !== 'fallback') continue;
    const next = points[i + 1]?.at ?? at;
    const to = next - at > GAP ? at : next;
    const last = outages.at(-1);
    if (last !== undefined && last.to === at) last.to = to;
    else outages.push({ from: at, to });
  }
  return outages;
}
