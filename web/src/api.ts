// The connection to the hub: the event stream with reconnect and resync, and single requests.
import { EventParser, type ServerEvent } from './sse.ts';
import { readDelta, readGraph, type Delta, type Graph } from './types.ts';

export type Status =
  | { state: 'connecting' }
  | { state: 'live' }
  /** `why` in words for the reader; `since` when the map was last known to be right. */
  | { state: 'lost'; why: string; since: number | null; attempt: number };

export interface Handlers {
  graph(graph: Graph): void;
  /** False: the delta does not fit, ask for the whole graph. */
  delta(delta: Delta): boolean;
  status(status: Status): void;
}

/** What the stream needs of its surroundings; a test brings its own. */
export interface Surroundings {
  fetch(url: string, init: RequestInit): Promise<Response>;
  now(): number;
  after(ms: number, run: () => void): () => void;
}

export const RETRY_MS = { first: 500, most: 5000 } as const;
/** The hub sends a comment every 10 s: silence three times as long is a dead connection. */
export const SILENCE_MS = 30_000;

const browser: Surroundings = {
  fetch: (url, init) => fetch(url, init),
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Reads `api/v1/events` for ever: `start()` once, the handlers hear the rest. */
export class EventStream {
  private abort = new AbortController();
  private attempt = 0;
  private lastHeard: number | null = null;
  private stopped = false;
  private stopRetry: (() => void) | null = null;
  private stopWatch: (() => void) | null = null;

  constructor(
    private readonly handlers: Handlers,
    private readonly around: Surroundings = browser,
  ) {}

  start(): void {
    this.handlers.status({ state: 'connecting' });
    void this.connect();
  }

  /** Tries at once instead of at the next attempt; nothing happens on a live connection. */
  retryNow(): void {
    if (!this.stopRetry) return;
    this.stopRetry();
    this.stopRetry = null;
    void this.connect();
  }

  stop(): void {
    this.stopped = true;
    this.stopWatch?.();
    this.stopRetry?.();
    this.stopRetry = null;
    this.abort.abort();
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    let why = 'the server closed the connection';
    try {
      this.watch(abort);
      why = (await this.read(abort)) ?? why;
    } catch (error) {
      why = whyLost(error, abort.signal.reason);
    }
    this.stopWatch?.();
    if (this.stopped) return;
    abort.abort();
    this.retry(why);
  }

  /** Reads until the connection ends; a string says why it is of no use. */
  private async read(abort: AbortController): Promise<string | null> {
    const headers = { accept: 'text/event-stream' };
    const init: RequestInit = { headers, signal: abort.signal, cache: 'no-store' };
    const response = await this.around.fetch('api/v1/events', init);
    if (!response.ok || !response.body) return refusal(response);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      this.watch(abort);
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        const trouble = this.take(event);
        if (trouble === null) continue;
        void reader.cancel().catch(() => undefined);
        return trouble;
      }
    }
  }

  private take(event: ServerEvent): string | null {
    if (event.event !== 'graph' && event.event !== 'delta') return null;
    const value = parse(event.data);
    if (event.event === 'graph') {
      const graph = readGraph(value);
      if (!graph) return 'the server sent a graph that this page cannot read';
      this.attempt = 0;
      this.handlers.graph(graph);
      this.handlers.status({ state: 'live' });
    } else {
      const delta = readDelta(value);
      if (!delta) return 'the server sent a change that this page cannot read';
      if (!this.handlers.delta(delta)) return 'a change was missed';
    }
    this.lastHeard = this.around.now();
    return null;
  }

  private retry(why: string): void {
    const delay = Math.min(RETRY_MS.first * 2 ** this.attempt, RETRY_MS.most);
    this.attempt++;
    this.handlers.status({ state: 'lost', why, since: this.lastHeard, attempt: this.attempt });
    this.stopRetry = this.around.after(delay, () => {
      this.stopRetry = null;
      void this.connect();
    });
  }

  private watch(abort: AbortController): void {
    this.stopWatch?.();
    this.stopWatch = this.around.after(SILENCE_MS, () => {
      abort.abort(new Dropped('the server has been silent for 30 seconds'));
    });
  }
}

/** The graph with history back to `sinceMs`. */
export async function fetchGraph(
  sinceMs: number,
  around: Pick<Surroundings, 'fetch'> = browser,
): Promise<Graph> {
  const url = `api/v1/graph?since_ms=${Math.floor(sinceMs)}`;
  const response = await around.fetch(url, { cache: 'no-store' });
  if (!response.ok) throw new Error(await refusal(response));
  const graph = readGraph(await response.json());
  if (!graph) throw new Error('the server sent a graph that this page cannot read');
  return graph;
}

class Dropped extends Error {}

/** The hub's own words where it gave any. */
async function refusal(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: unknown } | null)?.error;
  return typeof error === 'string' ? error : `the server answered ${response.status}`;
}

function whyLost(error: unknown, reason: unknown): string {
  if (reason instanceof Dropped) return reason.message;
  if (error instanceof Dropped) return error.message;
  return 'the server cannot be reached (portolan map may have ended)';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
