// Which part of the map is seen: pure arithmetic between the map's coordinates and the screen's.
import type { Point } from './room.ts';

/** What panels and buttons take from the edges of the screen's map, in pixels. */
export interface Insets {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

export interface Room {
  width: number;
  height: number;
}

export interface Rectangle {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** What the insets leave. */
export function roomIn(width: number, height: number, insets: Insets): Room {
  return {
    width: Math.max(80, width - insets.left - insets.right),
    height: Math.max(80, height - insets.top - insets.bottom),
  };
}

/** The view that has all of `box` in the middle of the room. */
export function fitting(
  box: Rectangle,
  room: Room,
  insets: Insets,
  limits: { least: number; most: number },
): { zoom: number; pan: Point } {
  const [width, height] = [Math.max(1, box.x2 - box.x1), Math.max(1, box.y2 - box.y1)];
  const wished = Math.min(room.width / width, room.height / height);
  const zoom = Math.min(limits.most, Math.max(limits.least, wished));
  const x = insets.left + room.width / 2 - (zoom * (box.x1 + box.x2)) / 2;
  const y = insets.top + room.height / 2 - (zoom * (box.y1 + box.y2)) / 2;
  return { zoom, pan: { x, y } };
}

/** The least shift that brings a rectangle of the screen into the room. */
export function shiftInto(box: Rectangle, room: Room, insets: Insets): Point {
  return {
    x: into(box.x1, box.x2, insets.left, insets.left + room.width),
    y: into(box.y1, box.y2, insets.top, insets.top + room.height),
  };
}

/** How far to shift so that from..to lies within low..high (its start, if it is too long). */
function into(from: number, to: number, low: number, high: number): number {
  if (from < low) return low - from;
  if (to > high) return Math.max(high - to, low - from);
  return 0;
}
