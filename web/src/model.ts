// The map's state: the last graph with every delta since, without a page around it.
import type { Delta, Edge, Graph, ServiceNode } from './types.ts';

/** What one message changed; the page draws, highlights and announces from it. */
export interface Change {
  addedNodes: string[];
  addedEdges: string[];
  removedNodes: string[];
  removedEdges: string[];
  /** The whole graph was replaced: nothing in it counts as new to the reader. */
  whole: boolean;
}

/** `gap`: a revision is missing, ask for the whole graph; `stale`: already applied. */
export type Applied = Change | 'gap' | 'stale';

export class Model {
  readonly nodes = new Map<string, ServiceNode>();
  readonly edges = new Map<string, Edge>();
  revision = -1;
  nowMs = 0;
  intervalMs = 1000;
  host = '';
  method = '';
  warnings: string[] = [];
  /** Edges and nodes that only a request for a longer history brought, not the event stream. */
  readonly older = new Set<string>();

  get loaded(): boolean {
    return this.revision >= 0;
  }

  /** Takes the whole graph; what it does not name is gone. */
  replace(graph: Graph): Change {
    const change = emptyChange(true);
    retain(this.nodes, graph.nodes, change.removedNodes);
    retain(this.edges, graph.edges, change.removedEdges);
    this.older.clear();
    this.upsert(graph.nodes, graph.edges, change);
    this.revision = graph.revision;
    this.nowMs = graph.now_ms;
    this.intervalMs = graph.interval_ms || 1000;
    this.host = graph.host;
    this.method = graph.method;
    this.warnings = graph.warnings;
    return change;
  }

  /** Applies a delta to the revision before it. */
  apply(delta: Delta): Applied {
    if (!this.loaded) return 'gap';
    if (delta.revision <= this.revision) return 'stale';
    if (delta.revision !== this.revision + 1) return 'gap';
    const change = emptyChange(false);
    // Edges first: an edge never stays without its ends.
    for (const id of delta.removed_edges) {
      if (this.edges.delete(id)) change.removedEdges.push(id);
    }
    for (const id of delta.removed_nodes) {
      if (this.nodes.delete(id)) change.removedNodes.push(id);
    }
    this.upsert(delta.nodes, delta.edges, change);
    this.revision = delta.revision;
    if (delta.now_ms > 0) this.nowMs = delta.now_ms;
    if (delta.warnings) this.warnings = delta.warnings;
    return change;
  }

  /**
   * Adds the history that a longer time range has and the event stream has not. Known records and
   * live ones are left alone: for those the stream is the one source.
   */
  addOlder(graph: Graph): Change {
    const change = emptyChange(true);
    const nodes = graph.nodes.filter((node) => !node.live && !this.nodes.has(node.id));
    const known = new Set(nodes.map((node) => node.id));
    const has = (id: string): boolean => this.nodes.has(id) || known.has(id);
    const edges = graph.edges.filter(
      (edge) => !edge.live && !this.edges.has(edge.id) && has(edge.client) && has(edge.server),
    );
    this.upsert(nodes, edges, change);
    for (const record of [...nodes, ...edges]) this.older.add(record.id);
    return change;
  }

  private upsert(nodes: ServiceNode[], edges: Edge[], change: Change): void {
    for (const node of nodes) {
      if (!this.nodes.has(node.id)) change.addedNodes.push(node.id);
      this.nodes.set(node.id, node);
      this.older.delete(node.id);
    }
    for (const edge of edges) {
      // An edge that was history and is up again is news as well.
      const before = this.edges.get(edge.id);
      if (!before || (!before.live && edge.live)) change.addedEdges.push(edge.id);
      this.edges.set(edge.id, edge);
      this.older.delete(edge.id);
    }
  }
}

function emptyChange(whole: boolean): Change {
  return { addedNodes: [], addedEdges: [], removedNodes: [], removedEdges: [], whole };
}

function retain<T extends { id: string }>(
  map: Map<string, T>,
  keep: readonly T[],
  removed: string[],
): void {
  const ids = new Set(keep.map((item) => item.id));
  for (const id of map.keys()) {
    if (ids.has(id)) continue;
    map.delete(id);
    removed.push(id);
  }
}
