// What is drawn around Cytoscape's picture: below it the rhumb lines of a portolan chart, above it
// the signs of the services and, when the map is small, the names of the best connected ones.
import type { Core, NodeSingular } from 'cytoscape';
import { SIGNS, type Sign } from './icons.ts';
import { CARD_HEIGHT, FONT, FONT_PX, LABEL_MIN_PX } from './style.ts';
import type { Colours } from './theme.ts';

const WINDS = 16;
const NAMES_MOST = 45;
const NAME_PX = 11;

export interface Circle {
  x: number;
  y: number;
  radius: number;
}

interface Frame {
  zoom: number;
  pan: { x: number; y: number };
  width: number;
  height: number;
}

export class Ink {
  colours: Colours;
  /** Where the wind rose of the chart is, in the map's coordinates. */
  circle: Circle = { x: 0, y: 0, radius: 600 };
  /** Width of what lies over the right edge of the map. */
  asideRight = 0;
  private readonly paths: Record<string, Path2D> = {};

  constructor(
    private readonly cy: Core,
    private readonly paper: HTMLCanvasElement,
    private readonly ink: HTMLCanvasElement,
    colours: Colours,
  ) {
    this.colours = colours;
    for (const [kind, { path }] of Object.entries(SIGNS)) this.paths[kind] = new Path2D(path);
    cy.on('render', () => this.draw());
  }

  draw(): void {
    const frame: Frame = {
      zoom: this.cy.zoom(),
      pan: this.cy.pan(),
      width: this.cy.width(),
      height: this.cy.height(),
    };
    const paper = prepare(this.paper, frame);
    if (paper) this.drawWinds(paper, frame);
    const ink = prepare(this.ink, frame);
    if (ink) this.drawServices(ink, frame);
  }

  /** Sixteen points on a circle, each joined with each: the net of courses. */
  private drawWinds(context: CanvasRenderingContext2D, frame: Frame): void {
    const { zoom, pan } = frame;
    const middle = { x: this.circle.x * zoom + pan.x, y: this.circle.y * zoom + pan.y };
    const radius = this.circle.radius * zoom;
    const reach = 4000;
    const at = (wind: number): { x: number; y: number } => {
      const angle = (wind * 2 * Math.PI) / WINDS;
      return { x: middle.x + radius * Math.sin(angle), y: middle.y - radius * Math.cos(angle) };
    };
    context.lineWidth = 1;
    const inks = [this.colours['wind-main'], this.colours['wind-half']];
    for (const [half, colour] of inks.entries()) {
      context.strokeStyle = colour;
      context.beginPath();
      for (let a = 0; a < WINDS; a++) {
        for (let b = a + 1; b < WINDS; b++) {
          // A chord's direction is the mean of its ends': whole winds, then half winds.
          if ((a + b) % 2 !== 0 || ((a + b) / 2) % 2 !== half) continue;
          const [from, to] = [at(a), at(b)];
          const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
          const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
          context.moveTo(from.x - dx * reach, from.y - dy * reach);
          context.lineTo(to.x + dx * reach, to.y + dy * reach);
        }
      }
      context.stroke();
    }
    if (frame.width < 700) return;
    const corner = { x: frame.width - this.asideRight - 92, y: frame.height - 132 };
    drawRose(context, corner, 56, this.colours);
  }

  private drawServices(context: CanvasRenderingContext2D, frame: Frame): void {
    const small = FONT_PX * frame.zoom < LABEL_MIN_PX;
    const names: { node: NodeSingular; x: number; y: number; rank: number }[] = [];
    this.cy.nodes().forEach((node) => {
      const { x, y } = node.position();
      const [left, top] = [x * frame.zoom + frame.pan.x, y * frame.zoom + frame.pan.y];
      if (left < -200 || top < -60 || left > frame.width + 200 || top > frame.height + 60) return;
      const away = node.hasClass('away');
      this.drawSign(context, node, left, top, frame.zoom, small, away);
      if (!small || away) return;
      const marked = node.hasClass('chosen') || node.hasClass('at') || node.hasClass('found');
      const near = node.hasClass('up') || node.hasClass('down');
      const rank = node.degree(false) + (marked ? 10_000 : near ? 1000 : 0);
      if (rank > 0) names.push({ node, x: left, y: top, rank });
    });
    context.globalAlpha = 1;
    if (small) this.drawNames(context, names, frame);
  }

  private drawSign(
    context: CanvasRenderingContext2D,
    node: NodeSingular,
    x: number,
    y: number,
    zoom: number,
    small: boolean,
    away: boolean,
  ): void {
    const kind = node.data('kind') as Sign;
    const path = this.paths[kind];
    const size = (small ? 24 : 15) * zoom;
    if (!path || size < 5) return;
    const half = ((node.data('width') as number) / 2) * zoom;
    const centre = small ? x : x - half + (CARD_HEIGHT / 2) * zoom + 2 * zoom;
    context.save();
    context.globalAlpha = away ? 0.14 : node.hasClass('past') ? 0.6 : 1;
    context.translate(centre - size / 2, y - size / 2);
    context.scale(size / 16, size / 16);
    context.strokeStyle = node.hasClass('chosen') ? this.colours.paper : this.colours[kind];
    context.lineWidth = small ? 1.8 : 1.5;
    context.lineCap = 'round';
    context.lineJoin = 'round';
    context.stroke(path);
    context.restore();
  }

  /** Like a chart at a small scale: the important ports have names, and no name hits another. */
  private drawNames(
    context: CanvasRenderingContext2D,
    names: { node: NodeSingular; x: number; y: number; rank: number }[],
    frame: Frame,
  ): void {
    names.sort((a, b) => b.rank - a.rank);
    context.font = `500 ${NAME_PX}px ${FONT}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.lineJoin = 'round';
    const taken: { left: number; right: number; top: number; bottom: number }[] = [];
    const drop = (CARD_HEIGHT / 2) * frame.zoom + NAME_PX * 0.7;
    for (const { node, x, y } of names) {
      if (taken.length >= NAMES_MOST) break;
      const text = node.data('label') as string;
      const half = context.measureText(text).width / 2 + 3;
      const line = y + drop;
      const room = {
        left: x - half,
        right: x + half,
        top: line - NAME_PX * 0.7 - drop,
        bottom: line + NAME_PX * 0.7,
      };
      const hit = taken.some((other) => {
        const beside = room.left > other.right || room.right < other.left;
        return !beside && room.top <= other.bottom && room.bottom >= other.top;
      });
      if (hit) continue;
      taken.push(room);
      context.lineWidth = 4;
      context.strokeStyle = this.colours.paper;
      context.strokeText(text, x, line);
      context.fillStyle = this.colours.ink;
      context.fillText(text, x, line);
    }
  }
}

function drawRose(
  context: CanvasRenderingContext2D,
  at: { x: number; y: number },
  radius: number,
  colours: Colours,
): void {
  context.save();
  context.translate(at.x, at.y);
  context.strokeStyle = colours['wind-main'];
  context.fillStyle = colours['wind-main'];
  for (const size of [0.62, 0.95, 1]) {
    context.beginPath();
    context.arc(0, 0, radius * size, 0, 2 * Math.PI);
    context.stroke();
  }
  for (let ray = 0; ray < 8; ray++) {
    const long = ray % 2 === 0 ? 1.18 : 0.8;
    for (const side of [-1, 1]) {
      context.beginPath();
      context.moveTo(0, 0);
      context.lineTo(0, -radius * long);
      context.lineTo(side * radius * 0.16, -radius * 0.24);
      context.closePath();
      if (side > 0) context.fill();
      context.stroke();
    }
    context.rotate(Math.PI / 4);
  }
  context.restore();
}

/** The canvas at the size of the map and the density of the screen, empty. */
function prepare(canvas: HTMLCanvasElement, frame: Frame): CanvasRenderingContext2D | null {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(frame.width * density), Math.round(frame.height * density)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext('2d');
  context?.setTransform(density, 0, 0, density, 0, 0);
  context?.clearRect(0, 0, frame.width, frame.height);
  return context;
}
