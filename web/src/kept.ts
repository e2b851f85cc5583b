// Where the reader has dragged services to: kept in the browser, per host.
import { storage } from './dom.ts';
import type { Point } from './room.ts';

const PLACES_MOST = 2000;

export class Kept {
  readonly places = new Map<string, Point>();
  private host: string | null = null;

  /** Reads what was kept of a host; nothing happens while the host stays the same. */
  load(host: string): void {
    if (host === this.host) return;
    this.host = host;
    this.places.clear();
    try {
      const saved = JSON.parse(storage.get(this.key) ?? '[]') as unknown;
      for (const entry of Array.isArray(saved) ? saved.slice(0, PLACES_MOST) : []) {
        const [id, x, y] = Array.isArray(entry) ? (entry as unknown[]) : [];
        if (typeof id !== 'string' || typeof x !== 'number' || typeof y !== 'number') continue;
        this.places.set(id, { x, y });
      }
    } catch {
      // Not ours: as if nothing had been kept.
    }
  }

  put(id: string, { x, y }: Point): void {
    this.places.set(id, { x: Math.round(x), y: Math.round(y) });
    const entries = [...this.places].map(([each, point]) => [each, point.x, point.y]);
    storage.set(this.key, JSON.stringify(entries.slice(-PLACES_MOST)));
  }

  clear(): void {
    this.places.clear();
    storage.set(this.key, null);
  }

  private get key(): string {
    return `portolan.places.${this.host ?? ''}`;
  }
}
