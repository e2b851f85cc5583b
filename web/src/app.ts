// The page's one state and what follows from it: model -> view -> map, panel, list, header.
import { EventStream, fetchGraph, type Status } from './api.ts';
import type { Announcer } from './announce.ts';
import { swap } from './dom.ts';
import { count } from './format.ts';
import type { Chart } from './graph.ts';
import { notice, type Header } from './header.ts';
import { readingOrder, type Arrow, nearest } from './keyboard.ts';
import type { Point } from './room.ts';
import type { ListView } from './list.ts';
import { Model, type Change } from './model.ts';
import { crowdPanel, edgePanel, nodePanel, type Focus } from './panel.ts';
import { SIGNS } from './icons.ts';
import { beyondStream, buildView, sinceMs, type Range, type View } from './view.ts';
import { Adjacency, walk } from './walk.ts';

export interface Parts {
  chart: Chart;
  header: Header;
  list: ListView;
  announcer: Announcer;
  panel: HTMLElement;
  notice: HTMLElement;
  map: HTMLElement;
}

const REFRESH_MS = 30;
const CLOCK_MS = 20_000;
/** The longer history is asked for again at most this often. */
const OLDER_MS = 30_000;
const NOTHING: ReadonlySet<string> = new Set();

export class App {
  readonly model = new Model();
  readonly stream: EventStream;
  view: View | null = null;
  selected: string | null = null;
  private status: Status = { state: 'connecting' };
  private range: Range = '24h';
  private history = true;
  private idle = true;
  private readonly expanded = new Set<string>();
  private focus: Focus = 'both';
  private depth = Infinity;
  private keyboardAt: string | null = null;
  private fresh = new Set<string>();
  private settle = false;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private heardAt = 0;
  private olderAt = -Infinity;

  constructor(private readonly parts: Parts) {
    this.stream = new EventStream({
      graph: (graph) => {
        this.heardAt = performance.now();
        this.changed(this.model.replace(graph));
        if (beyondStream(this.range)) void this.loadOlder();
      },
      delta: (delta) => {
        this.heardAt = performance.now();
        const applied = this.model.apply(delta);
        if (applied === 'gap') return false;
        if (applied !== 'stale') this.changed(applied);
        return true;
      },
      status: (status) => this.setStatus(status),
    });
    setInterval(() => this.schedule(), CLOCK_MS);
  }

  /** The server's clock, also between its messages. */
  get nowMs(): number {
    return this.model.nowMs + (performance.now() - this.heardAt);
  }

  private changed(change: Change): void {
    if (!change.whole) {
      for (const id of [...change.addedNodes, ...change.addedEdges]) this.fresh.add(id);
    }
    this.parts.announcer.change(change);
    const lost = change.removedEdges.length > 0 && beyondStream(this.range);
    if (lost && performance.now() - this.olderAt > OLDER_MS) void this.loadOlder();
    this.schedule();
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.refresh();
    }, REFRESH_MS);
  }

  private setStatus(status: Status): void {
    const before = this.status.state;
    this.status = status;
    this.parts.header.setStatus(status);
    notice(this.parts.notice, status, this.model, this.view);
    if (before === 'live' && status.state === 'lost') this.parts.announcer.tell('Connection lost');
    if (before === 'lost' && status.state === 'live') this.parts.announcer.tell('Connected again');
  }

  /** Makes everything on the page follow from the state. */
  refresh(): void {
    if (!this.model.loaded) return;
    const { range, history, idle, expanded } = this;
    const options = { range, history, idle, expanded };
    this.view = buildView(this.model, options, this.nowMs, this.view ?? undefined);
    this.parts.chart.update(this.view, this.model.host, this.drawnFresh(), this.settle);
    this.settle = false;
    this.fresh.clear();
    if (this.keyboardAt !== null && !this.view.nodes.has(this.keyboardAt)) this.at(null);
    const known = this.selected === null || this.kindOf(this.selected) !== null;
    if (!known) this.select(null);
    else this.showSelection();
    this.parts.header.show(this.model, this.view);
    this.parts.list.update(this.view, this.selected);
    notice(this.parts.notice, this.status, this.model, this.view);
    document.documentElement.dataset['ready'] = 'true';
  }

  private drawnFresh(): Set<string> {
    return new Set([...this.fresh].map((id) => this.view?.drawnAs.get(id) ?? id));
  }

  private kindOf(id: string): 'service' | 'edge' | 'crowd' | null {
    if (!this.view) return null;
    if (this.view.services.has(id)) return 'service';
    if (this.view.links.has(id)) return 'edge';
    return this.view.edges.has(id) ? 'crowd' : null;
  }

  /** Selects a service, an edge or a crowd's edge; null clears. False: it is not on the map. */
  select(id: string | null, reveal = false): boolean {
    if (id !== null && this.kindOf(id) === null) return false;
    if (id !== this.selected) {
      this.focus = 'both';
      this.parts.panel.scrollTop = 0;
    }
    this.selected = id;
    this.showSelection();
    if (this.view) this.parts.list.update(this.view, id);
    if (id === null) return true;
    if (reveal) this.parts.chart.reveal(this.drawn(id));
    this.sayWhatIsOpen(id);
    return true;
  }

  /** What an id is drawn as: a service in a crowd is drawn as the crowd. */
  drawn(id: string): string {
    return this.view?.drawnAs.get(id) ?? id;
  }

  /** A click or Enter on what is drawn: crowds open, the rest is selected. */
  open(id: string): void {
    if (this.view?.nodes.get(id)?.kind === 'crowd') this.openCrowd(id);
    else this.select(id, true);
  }

  openCrowd(id: string): void {
    const members = this.view?.nodes.get(id)?.members ?? [];
    this.expanded.add(id);
    if (this.selected?.startsWith(id)) this.selected = null;
    this.refresh();
    this.parts.announcer.say(`${count(members.length, 'client')} drawn`);
    const first = members[0];
    if (this.keyboardAt === null && first && document.activeElement === this.parts.map) {
      this.at(first);
    }
  }

  gather(id: string): void {
    this.expanded.delete(id);
    this.refresh();
  }

  private showSelection(): void {
    const { chart, panel } = this.parts;
    const id = this.selected;
    const kind = id === null ? null : this.kindOf(id);
    const opens = panel.hidden !== (kind === null);
    panel.hidden = kind === null;
    document.documentElement.dataset['open'] = String(kind !== null);
    if (opens) chart.roomChanged();
    if (id === null || kind === null || !this.view) {
      swap(panel);
      chart.mark({ chosen: null, up: NOTHING, down: NOTHING, active: false });
      return;
    }
    if (kind === 'service') this.showService(id, this.view);
    else this.showEdge(id, this.view);
  }

  private showService(id: string, view: View): void {
    const node = view.services.get(id);
    if (!node) return;
    const adjacency = new Adjacency(view.links.values());
    const dependents = walk(adjacency, id, 'dependents', this.depth);
    const needs = walk(adjacency, id, 'needs', this.depth);
    const drawn = (ids: Iterable<string>): string[] => [...ids].map((each) => this.drawn(each));
    const up = this.focus === 'needs' ? [] : [...dependents.reached.keys(), ...dependents.edges];
    const down = this.focus === 'dependents' ? [] : [...needs.reached.keys(), ...needs.edges];
    const chosen = this.drawn(id);
    this.parts.chart.mark({
      chosen,
      up: new Set(drawn(up)),
      down: new Set(drawn(down)),
      active: true,
    });
    const { depth, focus, nowMs } = this;
    const opened = view.opened.get(id) ?? [];
    const details = { node, dependents, needs, depth, focus, opened, known: view, nowMs };
    swap(this.parts.panel, ...nodePanel(details));
  }

  private showEdge(id: string, view: View): void {
    const drawn = view.edges.get(this.drawn(id));
    if (!drawn) return;
    this.parts.chart.mark({
      chosen: drawn.id,
      up: new Set([drawn.client]),
      down: new Set([drawn.server]),
      active: true,
    });
    const edge = view.links.get(id);
    if (edge) {
      swap(this.parts.panel, ...edgePanel({ edge, known: view, nowMs: this.nowMs }));
      return;
    }
    const crowd = view.nodes.get(drawn.client);
    const edges = drawn.members.flatMap((member) => view.links.get(member) ?? []);
    swap(this.parts.panel, ...crowdPanel(crowd?.name ?? '', edges, view, drawn.client));
  }

  private sayWhatIsOpen(id: string): void {
    const node = this.view?.services.get(id);
    const edge = this.view?.links.get(id);
    if (node) this.parts.announcer.say(`${node.name}, details open`);
    if (edge) this.parts.announcer.say(`edge to port ${edge.server_port}, details open`);
  }

  setFocus(focus: Focus): void {
    this.focus = this.focus === focus ? 'both' : focus;
    this.showSelection();
  }

  setDepth(depth: number): void {
    this.depth = depth;
    this.showSelection();
  }

  setRange(range: Range): void {
    this.range = range;
    this.settle = true;
    this.parts.header.setTrouble(null);
    if (beyondStream(range)) void this.loadOlder();
    this.refresh();
  }

  toggle(what: 'history' | 'idle'): boolean {
    this[what] = !this[what];
    this.settle = true;
    this.refresh();
    return this[what];
  }

  relayout(): void {
    if (this.view) this.parts.chart.relayout(this.view);
  }

  private async loadOlder(): Promise<void> {
    this.olderAt = performance.now();
    const { range } = this;
    try {
      const graph = await fetchGraph(sinceMs(range, this.nowMs));
      this.model.addOlder(graph);
      this.settle = true;
      this.schedule();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.parts.header.setTrouble(`The history of this range could not be read: ${why}`);
    }
  }

  /** Puts the ring of the keyboard on a drawn node. */
  at(id: string | null): void {
    this.keyboardAt = id;
    this.parts.chart.at(id);
    const node = id === null ? undefined : this.view?.nodes.get(id);
    if (!node || id === null || !this.view) return;
    this.parts.chart.reveal(id);
    const adjacency = new Adjacency(this.view.edges.values());
    const callers = adjacency.next(id, 'dependents').length;
    const calls = adjacency.next(id, 'needs').length;
    const what = SIGNS[node.kind].label;
    this.parts.announcer.say(`${node.name}, ${what}, needed by ${callers}, needs ${calls}`);
  }

  private places(): Map<string, Point> {
    const places = new Map<string, Point>();
    for (const id of this.view?.nodes.keys() ?? []) {
      const point = this.parts.chart.place(id);
      if (point) places.set(id, point);
    }
    return places;
  }

  step(back: boolean): boolean {
    const order = readingOrder(this.places());
    const now = this.keyboardAt === null ? -1 : order.indexOf(this.keyboardAt);
    const start = back ? order.length - 1 : 0;
    const next = order[now < 0 ? start : now + (back ? -1 : 1)];
    this.at(next ?? null);
    return next !== undefined;
  }

  toward(arrow: Arrow): void {
    const places = this.places();
    const from = this.keyboardAt ?? (this.selected === null ? null : this.drawn(this.selected));
    if (from === null || !places.has(from)) this.step(false);
    else this.at(nearest(places, from, arrow) ?? from);
  }

  /** Enter on the map: opens what the ring is on, and goes to its details. */
  openAt(): void {
    const id = this.keyboardAt;
    if (id === null) return;
    const crowd = this.view?.nodes.get(id)?.kind === 'crowd';
    this.open(id);
    if (!crowd) this.parts.panel.focus({ preventScroll: true });
  }

  /** Escape: from the details back to the map, then the selection, the ring, the map itself. */
  clear(): void {
    const inside = this.parts.panel.contains(document.activeElement);
    if (this.selected !== null) {
      const last = this.drawn(this.selected);
      this.select(null);
      if (inside) this.parts.map.focus({ preventScroll: true });
      if (inside && this.view?.nodes.has(last)) this.at(last);
    } else if (this.keyboardAt !== null) this.at(null);
    else (document.activeElement as HTMLElement | null)?.blur();
  }
}
