/** @typedef {import('./requests-layout.js').Mark} Mark */
/** @typedef {import('./requests-layout.js').Shape} Shape */
/** @typedef {Readonly<Record<Shape | 'card', string>>} Colors */

const RADIUS = 4;
const TURN = 2 * Math.PI;

/** The colours in force, also those that a theme or forced colours replace. @param {HTMLElement} place @returns {Colors} */
export function readColors(place) {
  const probe = document.createElement('span');
  probe.style.forcedColorAdjust = 'none';
  probe.hidden = true;
  place.append(probe);
  const read = (/** @type {string} */ name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = {
    open: read('--ink'),
    served: read('--served'),
    refused: read('--refused'),
    failed: read('--failed'),
    card: read('--card'),
  };
  probe.remove();
  return colors;
}

/** Of a shape's own picture, in CSS pixels. */
const SPRITE = 16;

/** Each shape around the middle of its picture. @type {Readonly<Record<Shape | 'followed' | 'chosen', Shaper>>} */
const SHAPES = {
  open: (context, colors) => {
    context.fillStyle = colors.card;
    disc(context, RADIUS - 0.5);
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = colors.open;
    context.stroke();
  },
  served: (context, colors) => {
    context.fillStyle = colors.served;
    disc(context, RADIUS);
    context.fill();
  },
  refused: (context, colors) => {
    context.fillStyle = colors.refused;
    context.fillRect(-3.5, -3.5, 7, 7);
  },
  failed: (context, colors) => {
    context.lineWidth = 2.5;
    context.strokeStyle = colors.failed;
    context.moveTo(-3.75, -3.75);
    context.lineTo(3.75, 3.75);
    context.moveTo(3.75, -3.75);
    context.lineTo(-3.75, 3.75);
    context.stroke();
  },
  followed: (context, colors) => {
    context.lineWidth = 1.5;
    context.strokeStyle = colors.open;
    disc(context, RADIUS + 3);
    context.stroke();
  },
  chosen: (context, colors) => {
    context.lineWidth = 3;
    context.strokeStyle = colors.open;
    disc(context, RADIUS + 7);
    context.stroke();
  },
};

/** @typedef {(context: CanvasRenderingContext2D, colors: Colors) => void} Shaper */

/** Paints marks on a canvas. It copies a small picture of each shape, which costs less than a path. */
export class Painter {
  scale = 1;
  width = 0;
  height = 0;
  /** @type {Map<string, HTMLCanvasElement>} */
  sprites = new Map();

  /** @param {HTMLCanvasElement} canvas @param {Colors} colors */
  constructor(canvas, colors) {
    this.canvas = canvas;
    this.colors = colors;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  }

  /** @param {number} width @param {number} height in CSS pixels */
  resize(width, height) {
    // More pixels cost more than they show.
    this.scale = Math.min(2, devicePixelRatio);
    [this.width, this.height] = [width, height];
    this.canvas.width = Math.round(width * this.scale);
    this.canvas.height = Math.round(height * this.scale);
    this.sprites.clear();
  }

  /** @param {Colors} colors */
  recolor(colors) {
    this.colors = colors;
    this.sprites.clear();
  }

  /** @param {readonly Mark[]} marks @param {Mark | undefined} chosen */
  paint(marks, chosen) {
    const { context } = this;
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    for (const { request, x, y, shape, size } of marks) {
      const side = SPRITE * size;
      context.drawImage(this.sprite(shape), x - side / 2, y - side / 2, side, side);
      if (request.sent.isFollowed) context.drawImage(this.sprite('followed'), x - 8, y - 8, SPRITE, SPRITE);
    }
    if (chosen === undefined) return;
    context.translate(chosen.x, chosen.y);
    context.beginPath();
    SHAPES.chosen(context, this.colors);
  }

  /** @param {Shape | 'followed'} shape */
  sprite(shape) {
    const known = this.sprites.get(shape);
    if (known !== undefined) return known;
    const sprite = document.createElement('canvas');
    sprite.width = sprite.height = Math.round(SPRITE * this.scale);
    const context = /** @type {CanvasRenderingContext2D} */ (sprite.getContext('2d'));
    context.scale(sprite.width / SPRITE, sprite.width / SPRITE);
    context.translate(SPRITE / 2, SPRITE / 2);
    context.beginPath();
    SHAPES[shape](context, this.colors);
    this.sprites.set(shape, sprite);
    return sprite;
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} radius */
function disc(context, radius) {
  context.moveTo(radius, 0);
  context.arc(0, 0, radius, 0, TURN);
}
