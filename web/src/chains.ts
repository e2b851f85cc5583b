// Long edges as chains: an edge over several layers gets a small stand-in in each layer between,
// so that ordering and spacing keep a lane free for it.
import type { Arc, Meter } from './layers.ts';

/** More stand-ins than this per service, and the lanes would cost more room than they give. */
const LANES_MOST = 2;

export interface Chains {
  /** Layer of every vertex, the stand-ins after the services. */
  layerOf: number[];
  neighbours: number[][];
  /** The stand-ins of each long edge, from its source on. */
  lanes: { source: number; target: number; through: number[] }[];
}

export function chain(size: number, arcs: readonly Arc[], of: number[], meter: Meter): Chains {
  const layerOf = [...of];
  const neighbours: number[][] = Array.from({ length: size }, () => []);
  const join = (a: number, b: number): void => {
    meter.operations++;
    neighbours[a]!.push(b);
    neighbours[b]!.push(a);
  };
  const span = (arc: Arc): number => Math.abs(of[arc.target]! - of[arc.source]!);
  const needed = arcs.reduce((sum, arc) => sum + Math.max(0, span(arc) - 1), 0);
  const worth = needed <= size * LANES_MOST;
  const lanes: Chains['lanes'] = [];
  for (const arc of arcs) {
    const sense = Math.sign(of[arc.target]! - of[arc.source]!);
    const through: number[] = [];
    let last = arc.source;
    for (let step = 1; worth && step < span(arc); step++) {
      const vertex = layerOf.push(of[arc.source]! + sense * step) - 1;
      neighbours.push([]);
      through.push(vertex);
      join(last, vertex);
      last = vertex;
    }
    join(last, arc.target);
    if (through.length > 0) lanes.push({ source: arc.source, target: arc.target, through });
  }
  return { layerOf, neighbours, lanes };
}
