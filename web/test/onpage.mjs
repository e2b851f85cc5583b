// Runs one test on one page with one mock server.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { launch } from './browser.mjs';
import { Mock } from './mock.mjs';

const SHOTS = new URL('../artefacts/', import.meta.url).pathname;
export const PG = 'unit:postgresql@15-main.service';

let browser = null;

export async function open() {
  await mkdir(SHOTS, { recursive: true });
  browser = await launch({ reducedMotion: 'reduce' });
}

export async function close() {
  await browser?.close();
}

/** One page on one mock; fails the test on any script error or break of the content policy. */
export async function onPage(value, run, media = {}) {
  const mock = await new Mock(value).start();
  const page = await browser.context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    const policy = /Content Security Policy/i.test(message.text());
    // A refused connection is what the browser says of a server that is gone: expected there.
    const gone = /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(message.text());
    if (policy || (message.type() === 'error' && !gone)) errors.push(message.text());
  });
  const foreign = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1:')) foreign.push(request.url());
  });
  try {
    await page.emulateMedia({ colorScheme: 'light', ...media });
    await page.goto(mock.url);
    await page.waitForSelector('html[data-ready="true"]');
    await run(page, mock);
    assert.deepEqual(errors, [], 'no script errors, no break of the content policy');
    assert.deepEqual(foreign, [], 'no request to anywhere else');
  } finally {
    await page.close();
    if (mock.server.listening) await mock.stop();
  }
}

export const shot = (page, name) => page.screenshot({ path: `${SHOTS}${name}.png` });
export const call = (page, name, ...args) =>
  page.evaluate(([method, list]) => window.portolan[method](...list), [name, args]);
export const text = (page, selector) => page.locator(selector).innerText();
export const until = (page, check, arg) => page.waitForFunction(check, arg, { timeout: 5000 });
