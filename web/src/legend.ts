// What the signs and lines of the map mean.
import { el } from './dom.ts';
import { SIGNS, type Sign } from './icons.ts';

export function legend(): HTMLElement {
  const kinds = Object.keys(SIGNS) as Sign[];
  return el(
    'div',
    {},
    el(
      'ul',
      {},
      ...kinds.map((kind) => {
        return el('li', {}, shape(kind), SIGNS[kind].label);
      }),
    ),
    el(
      'ul',
      {},
      el('li', {}, el('span', { class: 'stroke live' }), 'connected now'),
      el('li', {}, el('span', { class: 'stroke past' }), 'history'),
      el('li', {}, el('span', { class: 'stroke failing' }), 'does not connect'),
      el('li', {}, el('span', { class: 'stroke guessed' }), 'direction guessed'),
      el('li', {}, el('span', { class: 'stroke up' }), 'depends on the selected'),
      el('li', {}, el('span', { class: 'stroke down' }), 'is needed by the selected'),
    ),
  );
}

/** The outlines of style.ts, small. */
const OUTLINES: Record<Sign, string[]> = {
  unit: ['M6 1H34Q38 1 38 5V19Q38 23 34 23H6Q2 23 2 19V5Q2 1 6 1Z'],
  container: ['M8 1H32L38 7V17L32 23H8L2 17V7Z'],
  process: ['M13 1H27A11 11 0 0 1 27 23H13A11 11 0 0 1 13 1Z'],
  user: ['M2 1H38V23H2Z', 'M5 4H35V20H5Z'],
  address: ['M8 1H32L39 12L32 23H8L1 12Z'],
  crowd: ['M8 1H32L39 12L32 23H8L1 12Z', 'M9.5 4H30.5L35.5 12L30.5 20H9.5L4.5 12Z'],
};

function shape(kind: Sign): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 40 24');
  svg.setAttribute('class', `sign outline ${kind}`);
  svg.setAttribute('aria-hidden', 'true');
  for (const d of OUTLINES[kind]) {
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  const inner = document.createElementNS(space, 'path');
  inner.setAttribute('d', SIGNS[kind].path);
  inner.setAttribute('transform', 'translate(14.4 6.4) scale(0.7)');
  svg.append(inner);
  return svg;
}
