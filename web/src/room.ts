// What every part of the layout measures with.

/** The centre of a box. */
export interface Point {
  x: number;
  y: number;
}

/** The room between drawn things, in model pixels. */
export const GAP = { along: 96, across: 18, wrapped: 30, parts: 56 } as const;
