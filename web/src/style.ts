// How the map's elements look: Cytoscape's stylesheet from the page's colours.
import type { StylesheetJson } from 'cytoscape';
import type { Colours } from './theme.ts';

export const FONT = 'system-ui, sans-serif';
export const FONT_PX = 13;
export const CARD_HEIGHT = 34;
/** Smaller than this on the screen, a label is not drawn. */
export const LABEL_MIN_PX = 7.5;

// Cytoscape's own types lack some properties (outline, underlay, corner radius).
type Rules = { selector: string; style: Record<string, unknown> }[];

export function stylesheet(c: Colours): StylesheetJson {
  const rules: Rules = [...nodeRules(c), ...edgeRules(c), ...walkRules(c), ...markRules(c)];
  return rules as unknown as StylesheetJson;
}

function nodeRules(c: Colours): Rules {
  const point = '-1 0 -0.86 -1 0.86 -1 1 0 0.86 1 -0.86 1';
  return [
    {
      selector: 'node',
      style: {
        label: 'data(label)',
        width: 'data(width)',
        height: CARD_HEIGHT,
        'font-family': FONT,
        'font-size': FONT_PX,
        'min-zoomed-font-size': LABEL_MIN_PX,
        'text-valign': 'center',
        'text-halign': 'center',
        'text-margin-x': 10,
        color: c.ink,
        'background-color': c.card,
        'border-width': 1.5,
        'overlay-opacity': 0,
        'outline-opacity': 0,
      },
    },
    {
      selector: 'node[kind = "unit"]',
      style: { shape: 'round-rectangle', 'corner-radius': 7, 'border-color': c.unit },
    },
    {
      selector: 'node[kind = "container"]',
      style: { shape: 'cut-rectangle', 'corner-radius': 8, 'border-color': c.container },
    },
    {
      selector: 'node[kind = "process"]',
      style: { shape: 'round-rectangle', 'corner-radius': 17, 'border-color': c.process },
    },
    {
      selector: 'node[kind = "user"]',
      style: {
        shape: 'rectangle',
        'border-color': c.user,
        'border-style': 'double',
        'border-width': 4,
      },
    },
    {
      selector: 'node[kind = "address"]',
      style: { shape: 'polygon', 'shape-polygon-points': point, 'border-color': c.address },
    },
    {
      selector: 'node[kind = "crowd"]',
      style: {
        shape: 'polygon',
        'shape-polygon-points': point,
        'border-color': c.crowd,
        'border-style': 'double',
        'border-width': 5,
        'font-weight': 600,
      },
    },
  ];
}

function edgeRules(c: Colours): Rules {
  return [
    {
      selector: 'edge',
      style: {
        'curve-style': 'bezier',
        'control-point-step-size': 36,
        width: 'data(width)',
        'line-color': c.edge,
        'target-arrow-color': c.edge,
        'target-arrow-shape': 'triangle',
        'arrow-scale': 0.95,
        'overlay-opacity': 0,
        'font-family': FONT,
        'font-size': 11,
        'min-zoomed-font-size': 9.5,
        color: c.faint,
        label: 'data(label)',
        'text-background-color': c.paper,
        'text-background-opacity': 0.86,
        'text-background-padding': 2,
        'text-background-shape': 'round-rectangle',
        'text-events': 'yes',
      },
    },
    {
      selector: 'edge.bent',
      style: {
        'curve-style': 'unbundled-bezier',
        'edge-distances': 'node-position',
        'control-point-distances': 'data(distances)',
        'control-point-weights': 'data(weights)',
      },
    },
    { selector: 'edge[?guessed]', style: { 'target-arrow-fill': 'hollow' } },
    {
      selector: 'edge[?failing]',
      style: {
        'line-style': 'dashed',
        'line-dash-pattern': [7, 4],
        'line-color': c.failing,
        'target-arrow-color': c.failing,
        color: c.failing,
      },
    },
    {
      selector: 'edge.crowded',
      style: { label: '', 'line-opacity': 0.38, width: 1, 'arrow-scale': 0.7 },
    },
    { selector: 'edge[?failing].crowded', style: { 'line-opacity': 1, width: 2 } },
  ];
}

function marked(c: Colours, colour: string): Record<string, unknown> {
  return {
    'line-color': colour,
    'line-opacity': 1,
    'target-arrow-color': colour,
    color: c.ink,
    opacity: 1,
    'z-index': 10,
  };
}

/** History, and the two directions of a walk. */
function walkRules(c: Colours): Rules {
  return [
    { selector: 'node.past', style: { 'border-style': 'dashed', color: c.faint } },
    {
      selector: 'edge.past',
      style: {
        'line-style': 'dashed',
        'line-dash-pattern': [5, 5],
        'line-color': c.past,
        'target-arrow-color': c.past,
        width: 1.2,
      },
    },
    { selector: '.away', style: { opacity: 0.2, 'text-opacity': 0.6, 'z-index': 0 } },
    {
      selector: 'node.up',
      style: { 'border-color': c.dependents, 'border-width': 3, color: c.ink, 'z-index': 10 },
    },
    {
      selector: 'node.down',
      style: { 'border-color': c.needs, 'border-width': 3, color: c.ink, 'z-index': 10 },
    },
    {
      selector: 'node.up.down',
      style: {
        'border-color': c.dependents,
        'outline-color': c.needs,
        'outline-width': 3,
        'outline-offset': 1,
        'outline-opacity': 1,
      },
    },
    { selector: 'edge.up', style: marked(c, c.dependents) },
    { selector: 'edge.down', style: marked(c, c.needs) },
    // Drawn small, a marked line must still be seen.
    { selector: 'edge.crowded.up, edge.crowded.down', style: { width: 4, 'arrow-scale': 1.2 } },
    { selector: 'node.crowded.up, node.crowded.down', style: { 'border-width': 5 } },
    { selector: 'edge.up, edge.down, edge.chosen', style: { label: 'data(label)' } },
  ];
}

/** The selected, the new, the found, the keyboard's place. */
function markRules(c: Colours): Rules {
  return [
    {
      selector: 'node.chosen',
      style: {
        'background-color': c.select,
        color: c.paper,
        'border-color': c.select,
        'font-weight': 600,
        'z-index': 20,
      },
    },
    {
      selector: 'edge.chosen',
      style: { ...marked(c, c.select), width: 4, 'min-zoomed-font-size': 5, 'font-weight': 600 },
    },
    {
      selector: '.fresh',
      style: {
        'underlay-color': c.fresh,
        'underlay-opacity': 0.5,
        'underlay-padding': 7,
        'underlay-shape': 'round-rectangle',
      },
    },
    {
      selector: 'node.found',
      style: {
        'outline-color': c.fresh,
        'outline-width': 4,
        'outline-offset': 2,
        'outline-opacity': 1,
      },
    },
    {
      selector: 'node.at',
      style: {
        'outline-color': c.ink,
        'outline-width': 3,
        'outline-offset': 4,
        'outline-opacity': 1,
        'z-index': 30,
      },
    },
  ];
}
