import { keyedQueue } from '../collections/keyed-queue.js';
import { type Box, distanceToBoxKm } from './box-distance.js';
import { distanceKm, type Position } from './position.js';

/** The tree keeps positions in steps of a ten-millionth of a degree, about 1 cm, as GPS receivers report them. */
const STEPS = 1e7;
/** The size of the root box: 2^32 steps are 429 degrees, more than the earth has. */
const ROOT_BITS = 32;
/** The tree divides a box with more spots. */
const MAX_SPOTS = 16;
/** The most positions and boxes that one search compares. Real cities need some hundreds. */
export const MAX_LOOKS = 4000;

/** All items at one and the same position. */
interface Spot<T> extends Position {
  /** Whole steps from the south-west. */
  readonly x: number;
  readonly y: number;
  readonly entries: Entry<T>[];
}

/** An item and its position. `remove` takes it. */
export interface Entry<T> extends Position {
  readonly item: T;
  /** @internal */
  readonly spot: Spot<T>;
  /** @internal Its index among the entries of the spot. */
  index: number;
}

/** A box of 2^bits steps. It has either spots or up to four boxes of half its size. */
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

/** Rounds a position to the steps in which the tree keeps it. */
export function snapped({ lat, lng }: Position): Position {
  return { lat: Math.round(lat * STEPS) / STEPS, lng: Math.round(lng * STEPS) / STEPS };
}

/**
 * Finds the nearest items without a comparison with every item, however the items are spread.
 *
 * It is a quadtree that divides its boxes until each holds a few positions. Any number of items may share a position.
 */
export class PositionTree<T> {
  private readonly root: Node<T> = nodeOf(0, 0, ROOT_BITS);
  private looked = 0;

  /** Positions and boxes that all searches have compared so far. */
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
   * Finds the nearest items within the radius, the nearest first, at most `limit`.
   *
   * The result is exact, unless the search compares more than `MAX_LOOKS` positions and boxes. That takes thousands of
   * positions at almost the same distance. The search then returns the nearest items that it has compared. It visits boxes in
   * the order of their distance, so an item that it misses is nearer than its results by less than the size of such a box.
   */
  nearest(center: Position, radiusKm: number, limit: number): Found<T>[] {
    const found: Found<T>[] = [];
    const ahead = keyedQueue<Node<T> | Spot<T>>();
    ahead.push({ key: 0, item: this.root });
    let looks = 0;
    while (ahead.length > 0 && found.length < limit) {
      const { key: reachedKm, item: next } = ahead.pop()!;
      if ('entries' in next) {
        const count = Math.min(next.entries.length, limit - found.length);
        for (let i = 0; i < count; i++) found.push({ entry: next.entries[i]!, distanceKm: reachedKm });
        continue;
      }
      if (looks >= MAX_LOOKS) continue;
      for (const spot of next.spots ?? []) {
        looks++;
        const km = distanceKm(center, spot);
        if (km <= radiusKm) ahead.push({ key: km, item: spot });
      }
      for (const child of next.children) {
        if (child === undefined) continue;
        looks++;
        const km = distanceToBoxKm(center, child.box);
        if (km <= radiusKm) ahead.push({ key: km, item: child });
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
    // Merge boxes that hold few spots, or their number would grow as drivers move.
    for (let parent = path.pop(); parent !== undefined; parent = path.pop()) {
      const spots = spotsBelow(parent);
      if (spots === undefined || spots.length > MAX_SPOTS / 2) return;
      parent.children.fill(undefined);
      parent.spots = spots;
    }
  }
}

/** All spots of the children; undefined if a child is divided itself. */
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

/** Divides a box until each part is small enough. It ends, since one step holds at most one spot. */
function divide<T>(node: Node<T>): void {
  const { spots } = node;
  if (spots === undefined || spots.length <= MAX_SPOTS) return;
  node.spots = undefined;
  for (const spot of spots) childOf(node, spot.x, spot.y).spots!.push(spot);
  for (const child of node.children) if (child !== undefined) divide(child);
}
