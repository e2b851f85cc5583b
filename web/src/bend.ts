// The curve of a long edge through its lanes, as Cytoscape wants it: control points by their share
// of the way and their distance from the straight line. So a dragged end takes its curve along.
import type { Point } from './room.ts';

/** A lane nearer than this to the straight line is the straight line. */
const STRAIGHT = 9;

export interface Bend {
  weights: string;
  distances: string;
}

export function bend(from: Point, to: Point, lane: readonly Point[]): Bend | null {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  if (length < 1) return null;
  const weights: string[] = [];
  const distances: string[] = [];
  let furthest = 0;
  for (const { x, y } of lane) {
    const [px, py] = [x - from.x, y - from.y];
    const distance = (py * dx - px * dy) / length;
    furthest = Math.max(furthest, Math.abs(distance));
    weights.push(((px * dx + py * dy) / length ** 2).toFixed(4));
    distances.push(distance.toFixed(1));
  }
  if (furthest < STRAIGHT) return null;
  return { weights: weights.join(' '), distances: distances.join(' ') };
}
