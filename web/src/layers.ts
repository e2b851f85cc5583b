// Which layer a service goes to: edges that close a cycle are set aside (Tarjan's components tell
// which), then every service is one layer right of its furthest client (longest path).

export interface Arc {
  source: number;
  target: number;
}

export interface Layers {
  /** Layer of each vertex, from 0. */
  of: number[];
  count: number;
  /** Share of vertices that lie on a cycle, 0 to 1. */
  cyclic: number;
}

/** Counts the basic steps of a layout, so that a test can bound them without a clock. */
export interface Meter {
  operations: number;
}

export function assignLayers(size: number, arcs: readonly Arc[], meter: Meter): Layers {
  const out = outgoing(size, arcs);
  const component = strongComponents(size, out, meter);
  const members = new Map<number, number>();
  for (const of of component) members.set(of, (members.get(of) ?? 0) + 1);
  const onCycle = component.filter((of) => (members.get(of) ?? 0) > 1).length;

  const forward = acyclic(size, out, component, meter);
  const of = longestPath(size, forward, meter);
  pullClients(size, arcs, of, meter);
  return { of, count: size === 0 ? 0 : Math.max(...of) + 1, cyclic: size ? onCycle / size : 0 };
}

function outgoing(size: number, arcs: readonly Arc[]): number[][] {
  const out: number[][] = Array.from({ length: size }, () => []);
  for (const { source, target } of arcs) {
    if (source !== target) out[source]?.push(target);
  }
  return out;
}

/** Tarjan's algorithm without recursion: the strong component of each vertex. */
export function strongComponents(size: number, out: number[][], meter: Meter): number[] {
  const index = new Int32Array(size).fill(-1);
  const low = new Int32Array(size);
  const component = new Array<number>(size).fill(-1);
  const open: number[] = [];
  let counter = 0;
  let components = 0;
  for (let start = 0; start < size; start++) {
    if (index[start] !== -1) continue;
    const path = [{ vertex: start, at: 0 }];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      meter.operations++;
      const { vertex } = top;
      if (top.at === 0) {
        index[vertex] = low[vertex] = counter++;
        open.push(vertex);
      }
      const next = out[vertex]?.[top.at++];
      if (next !== undefined) {
        if (index[next] === -1) path.push({ vertex: next, at: 0 });
        else if (component[next] === -1) low[vertex] = Math.min(low[vertex]!, index[next]!);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent) low[parent.vertex] = Math.min(low[parent.vertex]!, low[vertex]!);
      if (low[vertex] !== index[vertex]) continue;
      let member: number | undefined;
      do {
        member = open.pop();
        if (member !== undefined) component[member] = components;
      } while (member !== vertex && member !== undefined);
      components++;
    }
  }
  return component;
}

/** The edges without those that close a cycle inside a component (back edges of a walk). */
function acyclic(size: number, out: number[][], component: number[], meter: Meter): number[][] {
  const forward: number[][] = Array.from({ length: size }, () => []);
  const state = new Uint8Array(size); // 0 unseen, 1 on the path, 2 done
  const indegree = new Array<number>(size).fill(0);
  for (const targets of out) for (const target of targets) indegree[target]!++;
  // From those that nobody calls first: the cycle is then entered where the outside enters it.
  const order = [...out.keys()].sort((a, b) => indegree[a]! - indegree[b]! || a - b);
  for (const start of order) {
    if (state[start] !== 0) continue;
    state[start] = 1;
    const path = [{ vertex: start, at: 0 }];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      meter.operations++;
      const next = out[top.vertex]?.[top.at++];
      if (next === undefined) {
        state[top.vertex] = 2;
        path.pop();
        continue;
      }
      if (component[next] === component[top.vertex] && state[next] === 1) continue;
      forward[top.vertex]?.push(next);
      if (state[next] !== 0) continue;
      state[next] = 1;
      path.push({ vertex: next, at: 0 });
    }
  }
  return forward;
}

function longestPath(size: number, forward: number[][], meter: Meter): number[] {
  const layer = new Array<number>(size).fill(0);
  const waiting = new Array<number>(size).fill(0);
  for (const targets of forward) for (const target of targets) waiting[target]!++;
  const ready = [...waiting.keys()].filter((vertex) => waiting[vertex] === 0);
  for (let at = 0; at < ready.length; at++) {
    const vertex = ready[at]!;
    for (const target of forward[vertex]!) {
      meter.operations++;
      layer[target] = Math.max(layer[target]!, layer[vertex]! + 1);
      if (--waiting[target]! === 0) ready.push(target);
    }
  }
  return layer;
}

/** A pure client stands right before the first service that it calls, not at the far left. */
function pullClients(size: number, arcs: readonly Arc[], layer: number[], meter: Meter): void {
  const called = new Uint8Array(size);
  const nearest = new Array<number>(size).fill(Infinity);
  for (const { source, target } of arcs) {
    meter.operations++;
    if (source === target) continue;
    called[target] = 1;
    nearest[source] = Math.min(nearest[source]!, layer[target]!);
  }
  for (let vertex = 0; vertex < size; vertex++) {
    const first = nearest[vertex]!;
    if (!called[vertex] && Number.isFinite(first)) layer[vertex] = Math.max(0, first - 1);
  }
}
