// What screen readers are told of changes: gathered, at most one sentence every few seconds.
import { count } from './format.ts';
import type { Change } from './model.ts';

const PAUSE_MS = 6000;

export class Announcer {
  private pending = { up: 0, down: 0, nodes: 0, gone: 0 };
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly region: HTMLElement,
    private readonly focusRegion: HTMLElement,
  ) {}

  /** At once, for what the reader has just done. */
  say(text: string): void {
    this.focusRegion.textContent = text;
  }

  /** Soon, for what happened by itself. */
  tell(text: string): void {
    this.region.textContent = text;
  }

  change(change: Change): void {
    if (change.whole) return;
    this.pending.up += change.addedEdges.length;
    this.pending.down += change.removedEdges.length;
    this.pending.nodes += change.addedNodes.length;
    this.pending.gone += change.removedNodes.length;
    this.timer ??= setTimeout(() => this.flush(), PAUSE_MS);
  }

  private flush(): void {
    this.timer = null;
    const { up, down, nodes, gone } = this.pending;
    this.pending = { up: 0, down: 0, nodes: 0, gone: 0 };
    const parts: string[] = [];
    if (nodes > 0) parts.push(count(nodes, 'new service'));
    if (up > 0) parts.push(count(up, 'new edge'));
    if (gone > 0) parts.push(`${count(gone, 'service')} gone`);
    if (down > 0) parts.push(`${count(down, 'edge')} gone`);
    if (parts.length > 0) this.tell(parts.join(', '));
  }
}
