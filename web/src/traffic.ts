// What went over an edge in the span of the last reading, in words. Pure.
import type { Edge, Traffic } from './types.ts';

const FAILURES = [
  ['refused', 'refused'],
  ['timed_out', 'timed out'],
  ['unreachable', 'unreachable'],
  ['abandoned', 'abandoned'],
] as const;

const UNITS = ['', 'k', 'M', 'G', 'T'] as const;

/** New connections per second; 0 where nobody counts. */
export function newPerSecond({ traffic }: Pick<Edge, 'traffic'>): number {
  return traffic ? perSecond(traffic.opened, traffic) : 0;
}

export function perSecond(count: number, traffic: Traffic): number {
  return traffic.ms > 0 ? (count * 1000) / traffic.ms : 0;
}

/** `120/s`, `1.2k/s`. */
export function rate(value: number): string {
  const [short, unit] = scaled(value);
  return `${short}${unit}/s`;
}

/** `48 B/s`, `1.2 MB/s`. */
export function byteRate(value: number): string {
  const [short, unit] = scaled(value);
  return `${short} ${unit}B/s`;
}

/** `43 µs`, `0.4 ms`, `1.2 s`. */
export function roundTrip(us: number): string {
  if (us < 100) return `${Math.round(us)} µs`;
  if (us < 999_500) return `${digits(us / 1000)} ms`;
  return `${digits(us / 1e6)} s`;
}

/** `5 refused`, `1 timed out`: how handshakes failed in the span. */
export function failures({ traffic }: Pick<Edge, 'traffic'>): string[] {
  if (!traffic) return [];
  const some = FAILURES.filter(([field]) => traffic[field] > 0);
  return some.map(([field, word]) => `${traffic[field].toLocaleString('en')} ${word}`);
}

/** Why an edge fails, in a word or two: the most frequent reason; empty if it does not fail. */
export function reason({ failing, traffic }: Pick<Edge, 'failing' | 'traffic'>): string {
  if (!failing) return '';
  const most = traffic
    ? [...FAILURES].sort(([a], [b]) => traffic[b] - traffic[a])[0]
    : undefined;
  return most?.[1] ?? 'failing';
}

/** A value below a thousand, and the letter of its unit. */
function scaled(value: number): [string, string] {
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return [digits(value), UNITS[unit] ?? ''];
}

/** One decimal below ten, none above; something is never nothing. */
function digits(value: number): string {
  if (value > 0 && value < 0.05) return '<0.1';
  return value < 9.95 ? String(Number(value.toFixed(1))) : value.toFixed(0);
}
