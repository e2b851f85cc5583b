// A sign per kind of service, as strokes on a 16 by 16 field: for the map's canvas and the page.
import type { Kind } from './types.ts';

export type Sign = Kind | 'crowd';

export const SIGNS: Record<Sign, { path: string; label: string }> = {
  unit: {
    label: 'systemd unit',
    path:
      'M8 4.8V14M6.6 3.2a1.4 1.4 0 1 0 2.8 0a1.4 1.4 0 1 0 -2.8 0' +
      'M5 7.2H11M2.4 9.4C2.6 12.4 5 14 8 14C11 14 13.4 12.4 13.6 9.4',
  },
  container: {
    label: 'container',
    path: 'M2.2 5L8 2L13.8 5V11.4L8 14.4L2.2 11.4ZM2.2 5L8 8L13.8 5M8 8V14.4',
  },
  process: { label: 'process', path: 'M2.5 3.6L7 8L2.5 12.4M8.4 12.6H13.6' },
  user: {
    label: 'hidden process of a user',
    path:
      'M5.3 5a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0 -5.4 0' +
      'M2.6 14C2.8 10.8 5 9.6 8 9.6C11 9.6 13.2 10.8 13.4 14',
  },
  address: {
    label: 'address elsewhere',
    path:
      'M2 8a6 6 0 1 0 12 0a6 6 0 1 0 -12 0M2 8H14' +
      'M8 2C5.4 4.6 5.4 11.4 8 14M8 2C10.6 4.6 10.6 11.4 8 14',
  },
  crowd: {
    label: 'many addresses: click to open',
    path:
      'M2 10a4 4 0 1 0 8 0a4 4 0 1 0 -8 0M5.2 5.2a4 4 0 1 1 5.6 5.6' +
      'M8.2 2.6a4 4 0 1 1 5.2 5.2',
  },
};

/** The sign as an element. */
export function sign(kind: Sign): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', `sign ${kind}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', SIGNS[kind].path);
  svg.append(path);
  return svg;
}
