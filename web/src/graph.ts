// The drawn map: keeps Cytoscape's elements equal to a view. What stands stays where it is.
import cytoscape, { type Core } from 'cytoscape';
import { bend } from './bend.ts';
import { fitting, roomIn, shiftInto, type Insets, type Room } from './camera.ts';
import { shorten } from './format.ts';
import { Ink } from './ink.ts';
import { Kept } from './kept.ts';
import { layout, lineKey, type Box, type Flow, type Line } from './layout.ts';
import type { Point } from './room.ts';
import { place } from './place.ts';
import { CARD_HEIGHT, FONT, FONT_PX, stylesheet } from './style.ts';
import type { Colours } from './theme.ts';
import type { View, ViewEdge, ViewNode } from './view.ts';

const LABEL_MOST = 30;
const FRESH_MS = 2400;
/** More news than this at once is not news: no highlight. */
const FRESH_MOST = 60;
const ZOOM_FIT_MOST = 1.25;
/** From here on edges are thin and without labels until they are marked. */
const CROWDED_EDGES = 400;

export interface ChartHandlers {
  node(id: string): void;
  edge(id: string): void;
  ground(): void;
  hover(id: string | null): void;
  insets(): Insets;
}

/** Which elements are set off; by the ids of the view. */
export interface Marks {
  chosen: string | null;
  up: ReadonlySet<string>;
  down: ReadonlySet<string>;
  /** Only then the rest fades. */
  active: boolean;
}

export class Chart {
  readonly cy: Core;
  private readonly ink: Ink;
  private readonly measure = document.createElement('canvas').getContext('2d');
  private readonly positions = new Map<string, Point>();
  private readonly kept = new Kept();
  /** What each element was last drawn from: only changes are handed on. */
  private readonly drawn = new Map<string, string>();
  private lanes = new Map<string, Point[]>();
  private flow: Flow = 'right';
  private moved = false;
  private reduced = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(
    private readonly container: HTMLElement,
    paper: HTMLCanvasElement,
    ink: HTMLCanvasElement,
    colours: Colours,
    private readonly handlers: ChartHandlers,
  ) {
    this.cy = cytoscape({
      container,
      style: stylesheet(colours),
      minZoom: 0.04,
      maxZoom: 3,
      boxSelectionEnabled: false,
      autounselectify: true,
      layout: { name: 'preset' },
    });
    this.ink = new Ink(this.cy, paper, ink, colours);
    this.listen();
  }

  private listen(): void {
    const { cy, handlers } = this;
    cy.on('tap', (event) => {
      if (event.target === cy) handlers.ground();
      else if (event.target.isNode()) handlers.node(event.target.id());
      else handlers.edge(event.target.id());
    });
    cy.on('mouseover', 'node, edge', (event) => handlers.hover(event.target.id()));
    cy.on('mouseout grab pan zoom', () => handlers.hover(null));
    cy.on('dragfree', 'node', (event) => {
      const id: string = event.target.id();
      this.positions.set(id, { ...event.target.position() });
      this.kept.put(id, event.target.position());
    });
    // Once the reader has chosen a part of the map, it is not moved away under the hand.
    cy.on('dragpan scrollzoom pinchzoom', () => (this.moved = true));
    new ResizeObserver(() => {
      cy.resize();
      if (!this.moved && !cy.nodes().empty()) this.fit();
    }).observe(this.container);
  }

  setColours(colours: Colours): void {
    this.ink.colours = colours;
    this.cy.style(stylesheet(colours));
  }

  /** Draws the view. `fresh` are ids that are new to the reader; `settle` lays out anew. */
  update(view: View, host: string, fresh: ReadonlySet<string>, settle: boolean): void {
    const first = this.cy.nodes().empty();
    this.kept.load(host);
    const added = [...view.nodes.values()].filter((node) => !this.has(node.id));
    this.cy.batch(() => {
      this.cy.elements().forEach((element) => {
        const id = element.id();
        if (view.nodes.has(id) || view.edges.has(id)) return;
        element.remove();
        this.drawn.delete(id);
      });
      for (const node of view.nodes.values()) this.putNode(node);
      for (const edge of view.edges.values()) this.putEdge(edge);
    });
    const much = added.length > 20 && added.length > view.nodes.size * 0.4;
    if (first || (settle && much)) this.layOut(view);
    else if (added.length > 0) this.placeNew(view, new Set(added.map((node) => node.id)));
    this.forget(view);
    this.crowd(view.edges.size > CROWDED_EDGES);
    if (!first) this.highlight(fresh);
    if (first || (settle && much)) this.fit();
    else if (added.length > 0 && !this.moved && this.outside()) this.fit();
  }

  private crowd(crowded: boolean): void {
    const wrong = crowded ? ':not(.crowded)' : '.crowded';
    this.cy.elements(wrong).toggleClass('crowded', crowded);
  }

  /** Lays everything out anew; what the reader had dragged is forgotten. */
  relayout(view: View): void {
    this.kept.clear();
    this.layOut(view);
    this.fit();
  }

  private putNode(node: ViewNode): void {
    const label = shorten(node.name, LABEL_MOST);
    const data = { id: node.id, label, width: this.width(label), kind: node.kind };
    this.put(node.id, data, node.live, () => this.cy.add({ group: 'nodes', data }));
  }

  private putEdge({ id, client, server, connections, rate, ...edge }: ViewEdge): void {
    // In steps: a rate that trembles does not redraw the line.
    const steps = Math.round(Math.log2(1 + Math.max(connections, rate)) * 2);
    const width = Math.min(5, 1.4 + steps * 0.25);
    const { label, guessed, failing } = edge;
    const data = { id, label, width, guessed, failing };
    this.put(id, data, edge.live, () => {
      return this.cy.add({ group: 'edges', data: { ...data, source: client, target: server } });
    });
  }

  private put(id: string, data: object, live: boolean, add: () => void): void {
    const signature = JSON.stringify([data, live]);
    const element = this.cy.getElementById(id);
    const gone = element.empty();
    if (!gone && this.drawn.get(id) === signature) return;
    this.drawn.set(id, signature);
    if (gone) add();
    else element.data(data);
    this.cy.getElementById(id).toggleClass('past', !live);
  }

  private width(label: string): number {
    if (!this.measure) return 60 + label.length * 7;
    this.measure.font = `600 ${FONT_PX}px ${FONT}`;
    return Math.max(72, Math.ceil(this.measure.measureText(label).width) + 50);
  }

  private layOut(view: View): void {
    const boxes = this.boxes(view);
    const lines = linesOf(view);
    const { width, height } = this.room();
    const drawing = layout(boxes, lines, Math.min(3, Math.max(0.5, width / height)));
    this.flow = drawing.flow;
    this.lanes = drawing.bends;
    const { places } = this.kept;
    for (const [id, point] of drawing.positions) this.positions.set(id, places.get(id) ?? point);
    // What the reader put somewhere keeps its ground; whoever the layout put there moves aside.
    const still = boxes.filter((box) => places.has(box.id));
    const hit = boxes.filter((box) => !places.has(box.id) && this.hits(box, still));
    if (hit.length > 0) {
      const rest = boxes.filter((box) => !hit.includes(box));
      const moved = place(hit, lines, rest, this.positions, this.flow);
      for (const [id, point] of moved) this.positions.set(id, point);
    }
    this.apply(view);
    this.drawCircle();
  }

  private hits(box: Box, others: readonly Box[]): boolean {
    const a = this.positions.get(box.id);
    return others.some((other) => {
      const b = this.positions.get(other.id);
      if (!a || !b) return false;
      const aside = Math.abs(a.x - b.x) >= (box.width + other.width) / 2 + 8;
      return !aside && Math.abs(a.y - b.y) < (box.height + other.height) / 2 + 8;
    });
  }

  private placeNew(view: View, added: ReadonlySet<string>): void {
    const boxes = this.boxes(view);
    for (const [id, point] of this.kept.places) {
      if (added.has(id)) this.positions.set(id, { ...point });
    }
    // Hidden and shown again: its place is still known, and as a rule still free.
    const back = boxes.filter((box) => added.has(box.id) && this.positions.has(box.id));
    const standing = boxes.filter((box) => !added.has(box.id));
    for (const box of back) {
      if (this.hits(box, standing)) this.positions.delete(box.id);
      else standing.push(box);
    }
    const fresh = boxes.filter((box) => !this.positions.has(box.id));
    const spots = place(fresh, linesOf(view), standing, this.positions, this.flow);
    for (const [id, point] of spots) this.positions.set(id, point);
    this.apply(view);
  }

  private apply(view: View): void {
    this.cy.batch(() => {
      for (const id of view.nodes.keys()) {
        const point = this.positions.get(id);
        const node = this.cy.getElementById(id);
        const now = node.position();
        if (point && (now.x !== point.x || now.y !== point.y)) node.position({ ...point });
      }
      for (const edge of view.edges.values()) this.bendEdge(edge);
    });
  }

  private bendEdge({ id, client, server }: ViewEdge): void {
    const element = this.cy.getElementById(id);
    const [from, to] = [this.positions.get(client), this.positions.get(server)];
    const lane = this.lanes.get(lineKey(client, server));
    if (!lane && !element.hasClass('bent')) return;
    const alone = element.parallelEdges().length === 1;
    const curve = lane && from && to && alone ? bend(from, to, lane) : null;
    if (curve) element.data({ ...curve });
    element.toggleClass('bent', curve !== null);
  }

  private boxes(view: View): Box[] {
    return [...view.nodes.keys()].map((id) => {
      const width = this.cy.getElementById(id).data('width') as number;
      return { id, width, height: CARD_HEIGHT };
    });
  }

  /** Places of services long gone do not pile up. */
  private forget(view: View): void {
    if (this.positions.size < view.nodes.size + 2000) return;
    for (const id of this.positions.keys()) {
      if (!view.nodes.has(id)) this.positions.delete(id);
    }
  }

  private highlight(fresh: ReadonlySet<string>): void {
    if (fresh.size === 0 || fresh.size > FRESH_MOST) return;
    for (const id of fresh) {
      const element = this.cy.getElementById(id);
      if (element.empty()) continue;
      element.addClass('fresh');
      const end = (): void => {
        element.removeClass('fresh');
        element.removeStyle('underlay-opacity');
      };
      // Fading redraws the map all the while: not where that is much work.
      if (this.reduced.matches || this.drawn.size > CROWDED_EDGES) setTimeout(end, FRESH_MS);
      else {
        const style = { 'underlay-opacity': 0 } as never;
        element.animate({ style }, { duration: FRESH_MS, complete: end });
      }
    }
  }

  mark(marks: Marks): void {
    const none = !marks.active && marks.chosen === null;
    const elements = none ? this.cy.elements('.chosen, .up, .down, .away') : this.cy.elements();
    this.cy.batch(() => {
      elements.forEach((element) => {
        const id = element.id();
        const [up, down] = [marks.up.has(id), marks.down.has(id)];
        const chosen = id === marks.chosen;
        element.toggleClass('chosen', chosen);
        element.toggleClass('up', up);
        element.toggleClass('down', down);
        element.toggleClass('away', marks.active && !up && !down && !chosen);
      });
    });
  }

  /** Rings around what a search found. */
  found(ids: ReadonlySet<string>): void {
    this.cy.batch(() => {
      this.cy.nodes().forEach((node) => void node.toggleClass('found', ids.has(node.id())));
    });
  }

  /** The ring of the keyboard. */
  at(id: string | null): void {
    this.cy.nodes('.at').removeClass('at');
    if (id !== null) this.cy.getElementById(id).addClass('at');
  }

  has(id: string): boolean {
    return !this.cy.getElementById(id).empty();
  }

  place(id: string): Point | null {
    return this.positions.get(id) ?? null;
  }

  /** The middle of a drawn element, in pixels of the page. */
  pixel(id: string): Point | null {
    const element = this.cy.getElementById(id);
    if (element.empty()) return null;
    const frame = this.container.getBoundingClientRect();
    const { zoom, pan } = { zoom: this.cy.zoom(), pan: this.cy.pan() };
    // The collection's own type knows the middle of edges only.
    const line = this.cy.edges().getElementById(id);
    const point = element.isNode() ? element.position() : line.midpoint();
    return { x: frame.left + point.x * zoom + pan.x, y: frame.top + point.y * zoom + pan.y };
  }

  /** A panel came or went: all of the map again, unless the reader had chosen a part of it. */
  roomChanged(): void {
    this.ink.asideRight = Math.max(0, this.handlers.insets().right - 28);
    if (!this.moved) this.fit(true);
    this.ink.draw();
  }

  /** All of the map in the room that panels leave. */
  fit(gently = false): void {
    this.moved = false;
    if (this.cy.nodes().empty()) return;
    const insets = this.handlers.insets();
    const box = this.cy.nodes().boundingBox({ includeLabels: false, includeOverlays: false });
    const limits = { least: this.cy.minZoom(), most: ZOOM_FIT_MOST };
    const viewport = fitting(box, this.room(), insets, limits);
    this.cy.stop();
    if (gently && !this.reduced.matches) this.cy.animate(viewport, { duration: 180 });
    else this.cy.viewport(viewport);
  }

  zoomBy(factor: number): void {
    this.moved = true;
    const insets = this.handlers.insets();
    const { width, height } = this.room();
    const renderedPosition = { x: insets.left + width / 2, y: insets.top + height / 2 };
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition });
  }

  /** Moves the map as little as it takes to have a node in sight. */
  reveal(id: string): void {
    const element = this.cy.getElementById(id);
    if (element.empty() || !element.isNode()) return;
    const insets = this.handlers.insets();
    const { x, y } = element.renderedPosition();
    const half = ((element.data('width') as number) / 2) * this.cy.zoom();
    const box = { x1: x - half, x2: x + half, y1: y - 20, y2: y + 20 };
    const shift = shiftInto(box, this.room(), insets);
    if (shift.x !== 0 || shift.y !== 0) this.cy.panBy(shift);
  }

  private outside(): boolean {
    const insets = this.handlers.insets();
    const box = this.cy.nodes().renderedBoundingBox({ includeLabels: false });
    const { width, height } = this.room();
    return (
      box.x1 < 0 || box.y1 < 0 ||
      box.x2 > insets.left + width + 20 || box.y2 > insets.top + height + 20
    );
  }

  private room(): Room {
    return roomIn(this.cy.width(), this.cy.height(), this.handlers.insets());
  }

  private drawCircle(): void {
    const box = this.cy.nodes().boundingBox({ includeLabels: false });
    const radius = Math.max(420, Math.hypot(box.w, box.h) * 0.52);
    this.ink.circle = { x: box.x1 + box.w / 2, y: box.y1 + box.h / 2, radius };
  }
}

function linesOf(view: View): Line[] {
  return [...view.edges.values()].map((edge) => ({ source: edge.client, target: edge.server }));
}
