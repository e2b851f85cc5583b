// Looks at a running `portolan map` with a real browser.
//
//   node test/live.mjs URL [--expect-node NAME]... [--wait-edge SUBSTRING [--within-ms N]]
//                          [--click NAME [--panel TEXT]...] [--shots DIR]
//
// NAME is a service's name or id. --wait-edge prints "waiting" once the page listens; the edge has
// to come up after that (its id, or "client server" by name, contains SUBSTRING). Exit code: 0 all
// was as asked, 1 something was not (the last line says what), 2 wrong use.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch } from './browser.mjs';

const PATIENCE_MS = 15_000;

class Miss extends Error {}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'expect-node': { type: 'string', multiple: true, default: [] },
      'wait-edge': { type: 'string' },
      'within-ms': { type: 'string', default: '10000' },
      click: { type: 'string' },
      panel: { type: 'string', multiple: true, default: [] },
      shots: { type: 'string' },
    },
  });
  const [url] = positionals;
  if (!url || positionals.length > 1 || !(Number(values['within-ms']) > 0)) {
    throw new Error('usage: node test/live.mjs URL [options]; the head of the file lists them');
  }
  if (values.panel.length > 0 && values.click === undefined) {
    throw new Error('--panel needs --click NAME: which details to look at');
  }
  return { url, ...values };
}

/** Names by id from the page's table, which every service of the map is in. */
function names(page) {
  return page.evaluate(() => {
    const buttons = [...document.querySelectorAll('#list [data-id]')];
    return buttons.map((button) => [button.dataset.id, button.textContent]);
  });
}

async function find(page, name) {
  const ids = await page.evaluate(() => window.portolan.nodes());
  const exact = ids.find((id) => id === name);
  if (exact) return exact;
  const entry = (await names(page)).find(([id, text]) => text === name && ids.includes(id));
  return entry?.[0] ?? ids.find((id) => id.endsWith(`:${name}`)) ?? null;
}

/** The first result that is not null, or a miss that says what was there instead. */
async function waitFor(page, what, ms, check) {
  const end = Date.now() + ms;
  for (;;) {
    const result = await check();
    if (result !== null) return result;
    if (Date.now() > end) {
      const known = (await names(page)).map(([, text]) => text).sort().join(', ');
      throw new Miss(`${what} within ${ms} ms; services on the map: ${known || 'none'}`);
    }
    await page.waitForTimeout(40);
  }
}

async function waitEdge(page, part, ms) {
  // Live edges only: one of the history must not be taken for the one that is to come.
  await page.locator('#range').selectOption('live');
  const matching = async () => {
    const edges = await page.evaluate(() => window.portolan.edges());
    const named = new Map(await names(page));
    return edges.filter((id) => {
      const [client, service] = id.split('>');
      const server = service.slice(0, service.lastIndexOf(':'));
      const words = `${named.get(client) ?? ''} ${named.get(server) ?? ''}`;
      return id.includes(part) || words.includes(part);
    });
  };
  const before = new Set(await matching());
  console.log('waiting');
  const start = Date.now();
  const edge = await waitFor(page, `no new edge with "${part}"`, ms, async () => {
    return (await matching()).find((id) => !before.has(id)) ?? null;
  });
  console.log(`edge ${edge} after ${Date.now() - start} ms`);
  await page.locator('#range').selectOption('24h');
}

async function click(page, name) {
  const id = await waitFor(page, `no service "${name}"`, PATIENCE_MS, () => find(page, name));
  const place = () => page.evaluate((each) => window.portolan.position(each), id);
  // A map that is just being fitted moves for a moment.
  let at = await place();
  for (let tries = 0; tries < 20; tries++) {
    await page.waitForTimeout(60);
    const next = await place();
    if (at && next && at.x === next.x && at.y === next.y) break;
    at = next;
  }
  if (!at) throw new Miss(`service "${name}" is not drawn`);
  await page.mouse.click(at.x, at.y);
  const details = page.locator('#details');
  await details.waitFor({ state: 'visible', timeout: 3000 }).catch(() => {
    throw new Miss(`a click on "${name}" at ${at.x},${at.y} opened no details`);
  });
  return details;
}

async function look(options, page) {
  const shot = async (name) => {
    if (options.shots) await page.screenshot({ path: join(options.shots, `${name}.png`) });
  };
  await page.goto(options.url).catch((error) => {
    throw new Miss(`${options.url} cannot be opened: ${error.message.split('\n')[0]}`);
  });
  const ready = { timeout: PATIENCE_MS };
  await page.waitForSelector('html[data-ready="true"]', ready).catch(async () => {
    const words = await page.locator('body').innerText().catch(() => '');
    throw new Miss(`no map within ${PATIENCE_MS} ms; the page says: ${words.slice(0, 300)}`);
  });
  await shot('1-map');
  for (const name of options['expect-node']) {
    await waitFor(page, `no service "${name}"`, PATIENCE_MS, () => find(page, name));
    console.log(`service ${name}`);
  }
  if (options['wait-edge'] !== undefined) {
    await waitEdge(page, options['wait-edge'], Number(options['within-ms']));
    await shot('2-edge');
  }
  if (options.click !== undefined) {
    const details = await click(page, options.click);
    await shot('3-details');
    const text = await details.innerText();
    for (const part of options.panel) {
      if (!text.includes(part)) throw new Miss(`no "${part}" in the details:\n${text}`);
      console.log(`details have ${part}`);
    }
  }
}

let options;
try {
  options = readArguments();
} catch (error) {
  console.error(error.message);
  process.exit(2);
}
if (options.shots) await mkdir(options.shots, { recursive: true });
const browser = await launch({ reducedMotion: 'reduce' });
const page = await browser.context.newPage();
const errors = [];
page.on('pageerror', (error) => errors.push(String(error)));
try {
  await look(options, page);
  if (errors.length > 0) throw new Miss(`errors in the page's script: ${errors.join('; ')}`);
  console.log('ok');
} catch (error) {
  console.error(`FAILED: ${error.message}`);
  process.exitCode = 1;
  if (options.shots) {
    await page.screenshot({ path: join(options.shots, 'failed.png') }).catch(() => undefined);
  }
} finally {
  await browser.close();
}
