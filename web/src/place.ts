// Places services that appear later: near their neighbours, on free ground; nothing else moves.
import type { Box, Flow, Line } from './layout.ts';
import { GAP, type Point } from './room.ts';

/** Tries this many spots around the wished one before it takes the ground below the map. */
const TRIES = 400;
const CELL = 200;

/** Positions for `fresh`; `placed` and `positions` are what already stands. */
export function place(
  fresh: readonly Box[],
  lines: readonly Line[],
  placed: readonly Box[],
  positions: ReadonlyMap<string, Point>,
  flow: Flow,
): Map<string, Point> {
  const ground = new Ground();
  const known = new Map<string, Point>();
  for (const box of placed) {
    const point = positions.get(box.id);
    if (!point) continue;
    known.set(box.id, point);
    ground.take(box, point);
  }
  const result = new Map<string, Point>();
  const settle = (box: Box, wish: Point): void => {
    const point = ground.free(box, wish) ?? ground.below(box);
    ground.take(box, point);
    known.set(box.id, point);
    result.set(box.id, point);
  };
  let waiting = [...fresh].sort((a, b) => (a.id < b.id ? -1 : 1));
  while (waiting.length > 0) {
    const later: Box[] = [];
    for (const box of waiting) {
      const wish = wished(box, lines, known, flow);
      if (wish) settle(box, wish);
      else later.push(box);
    }
    if (later.length === waiting.length) {
      // Nothing around them stands yet: put one down, the others may follow it.
      const first = later.shift()!;
      settle(first, ground.below(first));
    }
    waiting = later;
  }
  return result;
}

/** One layer before the servers it calls, one after the clients that call it. */
function wished(
  box: Box,
  lines: readonly Line[],
  known: ReadonlyMap<string, Point>,
  flow: Flow,
): Point | null {
  let [x, y, count] = [0, 0, 0];
  for (const { source, target } of lines) {
    const other = source === box.id ? target : target === box.id ? source : null;
    const point = other === null || other === box.id ? undefined : known.get(other);
    if (!point) continue;
    const side = source === box.id ? -1 : 1;
    x += point.x + (flow === 'right' ? side * (box.width + GAP.along) : 0);
    y += point.y + (flow === 'down' ? side * (box.height + GAP.along) : 0);
    count++;
  }
  return count > 0 ? { x: x / count, y: y / count } : null;
}

/** Taken ground, in cells so that a look-up does not go through all boxes. */
class Ground {
  private readonly cells = new Map<string, { box: Box; point: Point }[]>();
  private bottom = 0;
  private left = Infinity;

  take(box: Box, point: Point): void {
    for (const key of this.keys(box, point)) {
      const cell = this.cells.get(key);
      if (cell) cell.push({ box, point });
      else this.cells.set(key, [{ box, point }]);
    }
    this.bottom = Math.max(this.bottom, point.y + box.height / 2);
    this.left = Math.min(this.left, point.x - box.width / 2);
  }

  /** The free spot nearest to the wish: rows up and down first, then columns. */
  free(box: Box, wish: Point): Point | null {
    const [dx, dy] = [box.width + GAP.wrapped, (box.height + GAP.across) / 2];
    const spots: { point: Point; far: number }[] = [];
    const reach = Math.ceil(Math.sqrt(TRIES) / 2);
    for (let column = -2; column <= 2; column++) {
      for (let row = -reach * 2; row <= reach * 2; row++) {
        const point = { x: wish.x + column * dx, y: wish.y + row * dy };
        spots.push({ point, far: Math.hypot(column * dx * 1.5, row * dy) });
      }
    }
    spots.sort((a, b) => a.far - b.far);
    return spots.find(({ point }) => this.isFree(box, point))?.point ?? null;
  }

  /** The next spot under everything. */
  below(box: Box): Point {
    const left = Number.isFinite(this.left) ? this.left : 0;
    return { x: left + box.width / 2, y: this.bottom + GAP.parts + box.height / 2 };
  }

  private isFree(box: Box, point: Point): boolean {
    for (const key of this.keys(box, point)) {
      for (const other of this.cells.get(key) ?? []) {
        const x = Math.abs(other.point.x - point.x) < (other.box.width + box.width) / 2 + 12;
        const y = Math.abs(other.point.y - point.y) < (other.box.height + box.height) / 2 + 12;
        if (x && y) return false;
      }
    }
    return true;
  }

  private *keys(box: Box, point: Point): Generator<string> {
    const margin = 12;
    const [left, right] = [point.x - box.width / 2 - margin, point.x + box.width / 2 + margin];
    const [top, end] = [point.y - box.height / 2 - margin, point.y + box.height / 2 + margin];
    for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x++) {
      for (let y = Math.floor(top / CELL); y <= Math.floor(end / CELL); y++) yield `${x} ${y}`;
    }
  }
}
