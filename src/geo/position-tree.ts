import { MinHeap } from '../collections/min-heap.js';
import { type Box, distanceToBoxKm } from './box-distance.js';
import { distanceKm, type Position } from './position.js';

/** Positions are kept in steps of a ten-millionth of a degree, about 1 cm: as GPS receivers give them. */
const STEPS = 1e7;
/** Of the root box: 2^32 steps are 429 degrees, more than there are. */
const ROOT_BITS = 32;
/** Spots in a box before it is divided. */
const MAX_SPOTS = 16;
/** Positions and boxes that one search looks at, besides what it finds. Real cities need some hundreds. */
export const MAX_LOOKS = 4000;

/** All items at one and the same position. */
interface Spot<T> extends Position {
  /** Whole steps from the south-west. */
  readonly x: number;
  readonly y: number;
  readonly entries: Entry<T>[];
}

/** An item and where it is; `remove` wants it back. */
export interface Entry<T> extends Position {
  readonly item: T;
  /** @internal */
  readonly spot: Spot<T>;
  /** @internal Its place among the entries of the spot. */
  index: number;
}

/** A box of 2^bits steps. It has spots, or up to four boxes of half its size. */
interface Node<T> {
  readonly x: number;
  readonly y: number;
  readonly bits: number;
  readonly box: Box;
  spots: Spot<T>[] | undefined;
  readonly children: (Node<T> | undefined)[];
}

export interface Found<T> {
  readonly entry: Entry<T>;
  readonly distanceKm: number;
}

/** The position that is kept for one: in whole steps. */
export function snapped({ lat, lng }: Position): Position {
  return { lat: Math.round(lat * STEPS) / STEPS, lng: Math.round(lng * STEPS) / STEPS };
}

/**
 * Things with a position, the nearest of which are found without looking at all of them, however they are spread: a quadtree
 * whose boxes are divided until each holds a few positions. Any number of things may be at one position.
 */
export class PositionTree<T> {
  private readonly root: Node<T> = nodeOf(0, 0, ROOT_BITS);
  private looked = 0;

  /** Positions and boxes that searches have looked at, since the start: their work. */
  get looks(): number {
    return this.looked;
  }

  add(item: T, position: Position): Entry<T> {
    const { lat, lng } = snapped(position);
    const [x, y] = [Math.round((lng + 180) * STEPS), Math.round((lat + 90) * STEPS)];
    let node = this.root;
    while (node.spots === undefined) node = childOf(node, x, y);
    let spot = node.spots.find((one) => one.x === x && one.y === y);
    if (spot === undefined) {
      spot = { x, y, lat, lng, entries: [] };
      node.spots.push(spot);
      divide(node);
    }
    const entry = { item, lat, lng, spot, index: spot.entries.length };
    spot.entries.push(entry);
    return entry;
  }

  remove({ spot, index }: Entry<T>): void {
    const { entries } = spot;
    const last = entries.pop()!;
    if (last.index !== index) {
      entries[index] = last;
      last.index = index;
    }
    if (entries.length === 0) this.removeSpot(spot);
  }

  /**
   * The nearest items within the radius, the nearest first, at most `limit`.
   *
   * Exact, unless a search looks at more than `MAX_LOOKS` positions and boxes. Only thousands of different positions at almost
   * the same distance can take it there; then the nearest of what it has looked at are found. It takes boxes in the order of
   * their distance, so what it misses is nearer than what it finds by less than the size of such a box.
   */
  nearest(center: Position, radiusKm: number, limit: number): Found<T>[] {
    const found: Found<T>[] = [];
    const ahead = new MinHeap<Node<T> | Spot<T>>();
    ahead.push(0, this.root);
    let looks = 0;
    while (ahead.size > 0 && found.length < limit) {
      const reachedKm = ahead.firstKey;
      const next = ahead.pop()!;
      if ('entries' in next) {
        const count = Math.min(next.entries.length, limit - found.length);
        for (let i = 0; i < count; i++) found.push({ entry: next.entries[i]!, distanceKm: reachedKm });
        continue;
      }
      if (looks >= MAX_LOOKS) continue;
      for (const spot of next.spots ?? []) {
        looks++;
        const km = distanceKm(center, spot);
        if (km <= radiusKm) ahead.push(km, spot);
      }
      for (const child of next.children) {
        if (child === undefined) continue;
        looks++;
        const km = distanceToBoxKm(center, child.box);
        if (km <= radiusKm) ahead.push(km, child);
      }
    }
    this.looked += looks;
    return found;
  }

  private removeSpot(spot: Spot<T>): void {
    const path: Node<T>[] = [];
    let node = this.root;
    while (node.spots === undefined) {
      path.push(node);
      node = node.children[quarterOf(node, spot.x, spot.y)]!;
    }
    node.spots.splice(node.spots.indexOf(spot), 1);
    // Boxes that hold little become one again, or they would add up as drivers move.
    for (let parent = path.pop(); parent !== undefined; parent = path.pop()) {
      const spots = spotsBelow(parent);
      if (spots === undefined || spots.length > MAX_SPOTS / 2) return;
      parent.children.fill(undefined);
      parent.spots = spots;
    }
  }
}

/** Undefined where a child is divided itself. */
function spotsBelow<T>({ children }: Node<T>): Spot<T>[] | undefined {
  const spots: Spot<T>[] = [];
  for (const child of children) {
    if (child === undefined) continue;
    if (child.spots === undefined) return undefined;
    spots.push(...child.spots);
  }
  return spots;
}

function nodeOf<T>(x: number, y: number, bits: number): Node<T> {
  const size = 2 ** bits;
  const box = {
    south: y / STEPS - 90,
    north: Math.min(90, (y + size) / STEPS - 90),
    west: x / STEPS - 180,
    east: Math.min(180, (x + size) / STEPS - 180),
  };
  return { x, y, bits, box, spots: [], children: [undefined, undefined, undefined, undefined] };
}

function quarterOf({ x, y, bits }: Node<unknown>, spotX: number, spotY: number): number {
  const half = 2 ** (bits - 1);
  return (spotX >= x + half ? 1 : 0) + (spotY >= y + half ? 2 : 0);
}

function childOf<T>(node: Node<T>, x: number, y: number): Node<T> {
  const quarter = quarterOf(node, x, y);
  const half = 2 ** (node.bits - 1);
  return (node.children[quarter] ??= nodeOf(
    node.x + (quarter & 1) * half,
    node.y + (quarter >> 1) * half,
    node.bits - 1,
  ));
}

/** One step holds one spot, so this ends. */
function divide<T>(node: Node<T>): void {
  const { spots } = node;
  if (spots === undefined || spots.length <= MAX_SPOTS) return;
  node.spots = undefined;
  for (const spot of spots) childOf(node, spot.x, spot.y).spots!.push(spot);
  for (const child of node.children) if (child !== undefined) divide(child);
}
