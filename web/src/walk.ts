// Who depends on a service, and what it needs: walks over the edges, to any depth, cycles included.

/** The two ends of an edge; all a walk needs of it. */
export interface Link {
  id: string;
  client: string;
  server: string;
}

/** `dependents`: against the edges, what breaks; `needs`: along them. */
export type Direction = 'dependents' | 'needs';

export interface Step {
  depth: number;
  edge: string;
  from: string;
  node: string;
  /** The node was listed before (a cycle, or a second path): its own steps are not repeated. */
  again: boolean;
}

export interface Walk {
  /** In the order of a depth-first walk. */
  steps: Step[];
  /** Every service reached, the root not counted, with its least distance. */
  reached: Map<string, number>;
  edges: Set<string>;
}

/** The edges by the end that a walk starts from. */
export class Adjacency {
  private readonly byClient = new Map<string, Link[]>();
  private readonly byServer = new Map<string, Link[]>();

  constructor(links: Iterable<Link>) {
    for (const link of links) {
      push(this.byClient, link.client, link);
      push(this.byServer, link.server, link);
    }
  }

  /** The links to follow from a node. */
  next(node: string, direction: Direction): readonly Link[] {
    const side = direction === 'needs' ? this.byClient : this.byServer;
    return side.get(node) ?? [];
  }

  /** Links with this node as an end. */
  degree(node: string): number {
    return this.next(node, 'needs').length + this.next(node, 'dependents').length;
  }
}

/** Walks from `root` at most `depth` links far (Infinity: to the end). */
export function walk(
  adjacency: Adjacency,
  root: string,
  direction: Direction,
  depth: number,
): Walk {
  const { reached, edges } = distances(adjacency, root, direction, depth);
  const steps: Step[] = [];
  const listed = new Set([root]);
  // A stack of iterators, not recursion: a chain of thousands must not end the page.
  const stack = [{ node: root, links: adjacency.next(root, direction), at: 0 }];
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const link = top.links[top.at++];
    if (!link) {
      stack.pop();
      continue;
    }
    const node = farEnd(link, direction);
    // A longer path to it is told as `again`; what follows is listed at its nearest place.
    const nearest = reached.get(node) === stack.length;
    const again = listed.has(node) || !nearest;
    steps.push({ depth: stack.length, edge: link.id, from: top.node, node, again });
    if (again) continue;
    listed.add(node);
    if (stack.length < depth) {
      stack.push({ node, links: adjacency.next(node, direction), at: 0 });
    }
  }
  return { steps, reached, edges };
}

function distances(
  adjacency: Adjacency,
  root: string,
  direction: Direction,
  depth: number,
): { reached: Map<string, number>; edges: Set<string> } {
  const reached = new Map([[root, 0]]);
  const edges = new Set<string>();
  let front = [root];
  for (let distance = 1; distance <= depth && front.length > 0; distance++) {
    const following: string[] = [];
    for (const node of front) {
      for (const link of adjacency.next(node, direction)) {
        edges.add(link.id);
        const other = farEnd(link, direction);
        if (reached.has(other)) continue;
        reached.set(other, distance);
        following.push(other);
      }
    }
    front = following;
  }
  reached.delete(root);
  return { reached, edges };
}

function farEnd(link: Link, direction: Direction): string {
  return direction === 'needs' ? link.server : link.client;
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
