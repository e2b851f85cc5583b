// The first drawing of a map: each connected part in layers, clients left and servers right (or
// top-down when much of it is cyclic), parts packed side by side, services without edges below.
// Deterministic: the same services and edges give the same drawing.
import { chain } from './chains.ts';
import { assignLayers, type Arc, type Layers, type Meter } from './layers.ts';
import { pack, type Block } from './pack.ts';
import { GAP, type Point } from './room.ts';

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Line {
  source: string;
  target: string;
}

export type Flow = 'right' | 'down';

export interface Drawing {
  positions: Map<string, Point>;
  flow: Flow;
  /** The lanes of long edges, from the source on; by `lineKey`. */
  bends: Map<string, Point[]>;
  /** Basic steps taken: what the time is proportional to. */
  operations: number;
}

/** The key of all edges from one service to another. */
export function lineKey(source: string, target: string): string {
  return JSON.stringify([source, target]);
}

/** Above this share of services on cycles there is no left and right: draw top-down. */
const CYCLIC_ENOUGH = 0.5;
/** In room this narrow layers from left to right would be tiny. */
const PORTRAIT = 0.75;
const SWEEPS = 8;
const ROWS_LEAST = 8;
/** What a long edge takes of a layer that it passes. */
const LANE = { width: 6, height: 6 } as const;

/** `aspect` is width by height of the room for the drawing. */
export function layout(boxes: readonly Box[], lines: readonly Line[], aspect: number): Drawing {
  const meter: Meter = { operations: 0 };
  const sorted = [...boxes].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const parts = connectedParts(sorted, lines, meter);
  const joined = parts.filter((part) => part.boxes.length > 1);
  const alone = parts.filter((part) => part.boxes.length === 1).map((part) => part.boxes[0]!);

  const layered = joined.map((part) => ({
    part,
    layers: assignLayers(part.boxes.length, part.arcs, meter),
  }));
  const total = layered.reduce((sum, { part }) => sum + part.boxes.length, 0);
  const cyclic = layered.reduce((sum, { part, layers }) => {
    return sum + layers.cyclic * part.boxes.length;
  }, 0);
  const turned = total > 0 && cyclic / total > CYCLIC_ENOUGH;
  const flow: Flow = turned || aspect < PORTRAIT ? 'down' : 'right';

  const blocks = layered.map(({ part, layers }) => {
    return drawPart(part, layers, flow, aspect, meter);
  });
  const { positions, bends } = pack(blocks, grid(alone, aspect), aspect, meter);
  return { positions, bends, flow, ...meter };
}

interface Part {
  boxes: Box[];
  arcs: Arc[];
}

function connectedParts(boxes: readonly Box[], lines: readonly Line[], meter: Meter): Part[] {
  const at = new Map(boxes.map((box, index) => [box.id, index]));
  const parent = boxes.map((_, index) => index);
  const find = (vertex: number): number => {
    while (parent[vertex] !== vertex) {
      meter.operations++;
      parent[vertex] = parent[parent[vertex]!]!;
      vertex = parent[vertex]!;
    }
    return vertex;
  };
  const arcs: Arc[] = [];
  for (const line of lines) {
    const [source, target] = [at.get(line.source), at.get(line.target)];
    if (source === undefined || target === undefined) continue;
    arcs.push({ source, target });
    parent[find(source)] = find(target);
  }
  const parts = new Map<number, Part>();
  const local: number[] = [];
  boxes.forEach((box, index) => {
    const root = find(index);
    const part = parts.get(root) ?? { boxes: [], arcs: [] };
    parts.set(root, part);
    local.push(part.boxes.push(box) - 1);
  });
  const seen = new Set<string>();
  for (const { source, target } of arcs) {
    const [from, to] = [local[source]!, local[target]!];
    const key = `${source} ${target}`;
    if (from === to || seen.has(key)) continue;
    seen.add(key);
    parts.get(find(source))?.arcs.push({ source: from, target: to });
  }
  return [...parts.values()];
}

/** One connected part in layers; its block has its own origin. */
function drawPart(part: Part, layers: Layers, flow: Flow, aspect: number, meter: Meter): Block {
  const size = part.boxes.length;
  const { layerOf, neighbours, lanes } = chain(size, part.arcs, layers.of, meter);
  const rows: number[][] = Array.from({ length: layers.count }, () => []);
  layerOf.forEach((layer, vertex) => rows[layer]!.push(vertex));
  orderRows(rows, layerOf, neighbours, meter);

  const down = flow === 'down';
  const across = (vertex: number): number => {
    const box = part.boxes[vertex] ?? LANE;
    return down ? box.width : box.height;
  };
  const along = (vertex: number): number => {
    const box = part.boxes[vertex] ?? LANE;
    return down ? box.height : box.width;
  };
  const most = rowLimit(rows, down ? 1 / aspect : aspect, across, along, meter);
  const columns = rows.flatMap((row) => wrap(row, most));
  const offsets = alignColumns(columns, neighbours, across, meter);

  const spots: Point[] = [];
  let edge = 0;
  for (const [index, column] of columns.entries()) {
    const width = Math.max(...column.vertices.map(along));
    if (index > 0) edge += column.first ? GAP.along : GAP.wrapped;
    for (const vertex of column.vertices) {
      const [a, b] = [edge + width / 2, offsets[vertex]!];
      spots[vertex] = down ? { x: b, y: a } : { x: a, y: b };
    }
    edge += width;
  }
  const points = new Map(part.boxes.map((box, vertex) => [box.id, spots[vertex]!]));
  const bends = new Map<string, Point[]>();
  for (const { source, target, through } of lanes) {
    const key = lineKey(part.boxes[source]!.id, part.boxes[target]!.id);
    bends.set(key, through.map((vertex) => spots[vertex]!));
  }
  return toBlock(part.boxes, points, bends);
}

/** Barycenter ordering: a vertex goes where its neighbours in the other layers are. */
function orderRows(
  rows: number[][],
  layerOf: number[],
  neighbours: number[][],
  meter: Meter,
): void {
  const place = new Array<number>(layerOf.length).fill(0);
  const settle = (row: number[]): void => {
    row.forEach((vertex, index) => (place[vertex] = (index + 0.5) / row.length));
  };
  rows.forEach(settle);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forward = sweep % 2 === 0;
    const order = forward ? rows : [...rows].reverse();
    for (const row of order) {
      const weight = new Map<number, number>();
      for (const vertex of row) {
        let sum = 0;
        let count = 0;
        for (const other of neighbours[vertex]!) {
          meter.operations++;
          const before = layerOf[other]! - layerOf[vertex]!;
          if (before === 0 || before < 0 !== forward) continue;
          sum += place[other]!;
          count++;
        }
        weight.set(vertex, count > 0 ? sum / count : place[vertex]!);
      }
      row.sort((a, b) => weight.get(a)! - weight.get(b)! || place[a]! - place[b]! || a - b);
      meter.operations += row.length * Math.ceil(Math.log2(row.length + 1));
      settle(row);
    }
  }
}

interface Column {
  vertices: number[];
  /** The first column of its layer; the others are the layer's overflow. */
  first: boolean;
}

/**
 * How many fit on top of each other before a layer goes on in the next column: the number that
 * brings the drawing nearest to the shape of the room.
 */
function rowLimit(
  rows: number[][],
  aspect: number,
  across: (vertex: number) => number,
  along: (vertex: number) => number,
  meter: Meter,
): number {
  const sizes = rows.map((row) => ({
    count: row.length,
    tall: row.reduce((sum, vertex) => sum + across(vertex) + GAP.across, 0),
    wide: Math.max(...row.map(along)),
  }));
  const longest = Math.max(...rows.map((row) => row.length));
  let best = { most: ROWS_LEAST, miss: Infinity };
  for (let most = ROWS_LEAST; most < longest * 1.2; most = Math.ceil(most * 1.15)) {
    let width = 0;
    let height = 0;
    for (const { count, tall, wide } of sizes) {
      meter.operations++;
      const columns = Math.ceil(count / most);
      width += columns * (wide + GAP.wrapped) + GAP.along - GAP.wrapped;
      height = Math.max(height, tall / columns);
    }
    const miss = Math.abs(Math.log(width / height / aspect));
    if (miss < best.miss) best = { most, miss };
  }
  return best.most;
}

/** Splits evenly: 40 in columns of at most 12 are 10, 10, 10, 10. */
function wrap(row: number[], most: number): Column[] {
  const count = Math.ceil(row.length / most);
  return Array.from({ length: count }, (_, index) => ({
    // Neighbours in the order stay neighbours: dealt out like cards, not cut.
    vertices: row.filter((_, at) => at % count === index),
    first: index === 0,
  }));
}

/**
 * Coordinates across the layers: each column is packed around the middle, then its boxes are drawn
 * towards their neighbours as far as their order and gaps allow.
 */
function alignColumns(
  columns: Column[],
  neighbours: number[][],
  across: (vertex: number) => number,
  meter: Meter,
): number[] {
  const offset = new Array<number>(neighbours.length).fill(0);
  for (const { vertices, first } of columns) {
    const size = vertices.reduce((sum, vertex) => sum + across(vertex) + GAP.across, 0);
    // Overflow columns are half a row off: lines of the one pass between boxes of the other.
    let edge = -size / 2 + (first ? 0 : (across(vertices[0]!) + GAP.across) / 2);
    for (const vertex of vertices) {
      offset[vertex] = edge + across(vertex) / 2;
      edge += across(vertex) + GAP.across;
    }
  }
  for (let pass = 0; pass < SWEEPS; pass++) {
    const order = pass % 2 === 0 ? columns : [...columns].reverse();
    for (const { vertices } of order) {
      const wanted = vertices.map((vertex) => {
        const all = neighbours[vertex]!;
        meter.operations += all.length;
        return all.reduce((sum, other) => sum + offset[other]!, 0) / all.length;
      });
      const sizes = vertices.map((vertex) => across(vertex) + GAP.across);
      spread(wanted, sizes, meter).forEach((value, at) => (offset[vertices[at]!] = value));
    }
  }
  return offset;
}

/**
 * The places nearest to the wanted ones that keep the order and the sizes apart: runs that would
 * overlap are merged and centred on their mean (pool adjacent violators).
 */
export function spread(wanted: number[], sizes: number[], meter: Meter): number[] {
  const runs: { sum: number; count: number; size: number; first: number }[] = [];
  const before: number[] = []; // from a run's start to each box's centre, when all were one run
  let total = 0;
  wanted.forEach((want, at) => {
    meter.operations++;
    before.push(total + sizes[at]! / 2);
    runs.push({ sum: want - before[at]!, count: 1, size: sizes[at]!, first: at });
    total += sizes[at]!;
    for (let last = runs.at(-1)!, prior = runs.at(-2); prior; prior = runs.at(-2)) {
      if (prior.sum / prior.count <= last.sum / last.count) break;
      meter.operations++;
      prior.sum += last.sum;
      prior.count += last.count;
      prior.size += last.size;
      runs.pop();
      last = prior;
    }
  });
  return runs.flatMap((run) => {
    return Array.from({ length: run.count }, (_, index) => {
      return run.sum / run.count + before[run.first + index]!;
    });
  });
}

/** Services without edges, row by row. */
function grid(boxes: readonly Box[], aspect: number): Block | null {
  if (boxes.length === 0) return null;
  const width = Math.max(...boxes.map((box) => box.width)) + GAP.wrapped;
  const height = Math.max(...boxes.map((box) => box.height)) + GAP.across;
  const columns = Math.max(1, Math.ceil(Math.sqrt((boxes.length * height * aspect) / width)));
  const points = new Map<string, Point>();
  boxes.forEach((box, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    points.set(box.id, { x: column * width, y: row * height });
  });
  return toBlock(boxes, points);
}

/** Moves a drawing's upper left corner to the origin. */
function toBlock(
  boxes: readonly Box[],
  points: Map<string, Point>,
  bends: Map<string, Point[]> = new Map(),
): Block {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    const point = points.get(box.id)!;
    left = Math.min(left, point.x - box.width / 2);
    right = Math.max(right, point.x + box.width / 2);
    top = Math.min(top, point.y - box.height / 2);
    bottom = Math.max(bottom, point.y + box.height / 2);
  }
  for (const point of [...points.values(), ...[...bends.values()].flat()]) {
    point.x -= left;
    point.y -= top;
  }
  return { points, bends, width: right - left, height: bottom - top };
}
