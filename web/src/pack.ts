// Puts drawn parts side by side, none on another, in about the shape of the room there is.
import type { Meter } from './layers.ts';
import { GAP, type Point } from './room.ts';

/** A drawing with its upper left corner at the origin. */
export interface Block {
  points: Map<string, Point>;
  bends: Map<string, Point[]>;
  width: number;
  height: number;
}

interface Step {
  x: number;
  y: number;
  width: number;
}

export interface Packed {
  positions: Map<string, Point>;
  bends: Map<string, Point[]>;
}

/** The blocks packed, `last` below all of them. */
export function pack(
  blocks: Block[],
  last: Block | null,
  aspect: number,
  meter: Meter,
): Packed {
  const area = [...blocks, ...(last ? [last] : [])].reduce((sum, block) => {
    return sum + (block.width + GAP.parts) * (block.height + GAP.parts);
  }, 0);
  const widest = Math.max(0, ...blocks.map((block) => block.width)) + GAP.parts;
  const room = Math.max(widest, Math.sqrt(area * aspect));
  const packed: Packed = { positions: new Map(), bends: new Map() };
  let skyline: Step[] = [{ x: 0, y: 0, width: room }];
  // Tall before short: the short ones fill what is left. Ties keep their order: deterministic.
  const order = [...blocks].sort((a, b) => b.height - a.height || b.width - a.width);
  for (const block of order) {
    const width = Math.min(block.width + GAP.parts, room);
    const spot = lowest(skyline, width, room, meter);
    put(block, spot, packed);
    skyline = raise(skyline, spot.x, width, spot.y + block.height + GAP.parts);
  }
  if (last) put(last, { x: 0, y: Math.max(...skyline.map((step) => step.y)) }, packed);
  return packed;
}

function lowest(skyline: Step[], width: number, room: number, meter: Meter): Point {
  let best: Point = { x: 0, y: Infinity };
  for (const [at, { x }] of skyline.entries()) {
    if (x + width > room + 0.5) break;
    let y = 0;
    for (let index = at; index < skyline.length && skyline[index]!.x < x + width; index++) {
      meter.operations++;
      y = Math.max(y, skyline[index]!.y);
    }
    if (y < best.y) best = { x, y };
  }
  return best;
}

function raise(skyline: Step[], x: number, width: number, y: number): Step[] {
  const result: Step[] = [];
  const end = x + width;
  let placed = false;
  for (const step of skyline) {
    const stop = step.x + step.width;
    if (step.x < x) result.push({ ...step, width: Math.min(stop, x) - step.x });
    if (!placed && stop > x) {
      result.push({ x, y, width });
      placed = true;
    }
    if (stop > end) {
      const from = Math.max(step.x, end);
      result.push({ x: from, y: step.y, width: stop - from });
    }
  }
  return result;
}

function put(block: Block, at: Point, packed: Packed): void {
  const move = (point: Point): Point => ({ x: at.x + point.x, y: at.y + point.y });
  for (const [id, point] of block.points) packed.positions.set(id, move(point));
  for (const [key, lane] of block.bends) packed.bends.set(key, lane.map(move));
}
