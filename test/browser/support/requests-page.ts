import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { readPageFiles } from '../../../libs/control-room/page-files.js';
import { until } from '../../support/faults/until.js';
import type { AnsweredRequest, SentRequest, WorldTick } from '../../../libs/control-room/stage/surge-tick.js';

const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Requests</title>
    <link rel="icon" href="icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="palette.css" />
    <link rel="stylesheet" href="base.css" />
    <link rel="stylesheet" href="requests.css" />
    <script type="module" src="fixture.js"></script>
  </head>
  <body>
    <main>
      <button type="button">before</button>
      <section class="card" id="place"></section>
      <button type="button">after</button>
      <p id="below" style="margin-top: 200vh">below</p>
    </main>
  </body>
</html>`;

const SCRIPT = `import { Requests } from './requests.js';
window.world = new Requests(document.getElementById('place'), { title: 'With limits' });`;

/** What the tests use of the page's class \`Requests\`. */
interface World {
  hear(tick: WorldTick, atMs: number): void;
  restart(): void;
  readonly marks: readonly {
    readonly x: number;
    readonly y: number;
    readonly request: { readonly sent: SentRequest };
  }[];
  readonly painter: { paint: (...marks: unknown[]) => void };
}

declare global {
  interface Window {
    world: World;
    paints: number;
  }
}

/** Serves a page that has nothing but the drawn requests of one world. */
export class RequestsServer implements AsyncDisposable {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<RequestsServer> {
    const files = new Map(readPageFiles());
    files.set('', { type: 'text/html; charset=utf-8', content: HTML, caching: 'no-cache' });
    files.set('fixture.js', { type: 'text/javascript; charset=utf-8', content: SCRIPT, caching: 'no-cache' });
    const server = createServer((request, response) => {
      const file = files.get((request.url ?? '').slice(1));
      if (file === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': file.type }).end(file.content);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RequestsServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** The page in a browser, and the clock of a run that the test decides. */
export class RequestsPage implements AsyncDisposable {
  /** Messages of the browser's console, and errors of the page. */
  readonly troubles: string[] = [];
  /** Of the run, when the page began. */
  private readonly startedAt = performance.now();

  private constructor(readonly page: Page) {}

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<RequestsPage> {
    const context = await browser.newContext({ viewport: { width: 900, height: 700 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const opened = new RequestsPage(page);
    page.on('console', (message) => opened.troubles.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => opened.troubles.push(`error: ${error.message}`));
    await page.goto(url);
    await page.waitForFunction(() => window.world !== undefined);
    return opened;
  }

  /** Milliseconds of the run. */
  get atMs(): number {
    return performance.now() - this.startedAt;
  }

  /** Sends the page a tick. */
  async tick(
    sent: readonly SentRequest[],
    answered: readonly AnsweredRequest[],
    { atMs = this.atMs, oneOf = 1, enforced = true }: { atMs?: number; oneOf?: number; enforced?: boolean } = {},
  ): Promise<void> {
    const total = { sent: 0, served: 0, refused: 0, failed: 0 };
    const rates = { served: 0, refused: 0, failed: 0, p99Ms: null, rides: 0, waiting: 34, utilisation: 0 };
    const tick: WorldTick = {
      sample: { atMs, ...rates, enforced, decider: enforced ? 'redis' : 'none' },
      total,
      servedShare: { rides: null, estimates: null },
      drawn: { oneOf, sent, answered },
      followed: { id: 'rider-7', policies: [], at: 0, total },
    };
    await this.page.evaluate(([heard, at]) => window.world.hear(heard, at), [tick, atMs] as const);
  }

  /** Where requests are on the screen, by ID. */
  async places(): Promise<Record<number, { x: number; y: number }>> {
    return this.page.evaluate(() => {
      const { left, top } = document.querySelector('#place canvas')!.getBoundingClientRect();
      return Object.fromEntries(
        window.world.marks.map(({ x, y, request }) => [request.sent.id, { x: left + x, y: top + y }]),
      );
    });
  }

  /** The colour of the canvas beside a request's middle, as CSS writes it. */
  async pixel(id: number, x = 0, y = 0): Promise<string> {
    return this.page.evaluate(
      ([of, dx, dy]) => {
        const canvas = document.querySelector<HTMLCanvasElement>('#place canvas')!;
        const mark = window.world.marks.find(({ request }) => request.sent.id === of)!;
        // Reading from a copy does not change how the browser keeps the page's canvas, and warns of nothing.
        const copy = document.createElement('canvas');
        const context = copy.getContext('2d')!;
        const scale = canvas.width / canvas.clientWidth;
        context.drawImage(canvas, -Math.floor((mark.x + dx) * scale), -Math.floor((mark.y + dy) * scale));
        const [r, g, b, alpha] = context.getImageData(0, 0, 1, 1).data;
        return alpha! < 128 ? 'nothing' : `rgb(${r}, ${g}, ${b})`;
      },
      [id, x, y] as const,
    );
  }

  /** The largest difference of a channel, 0 to 255, between a request's middle and a CSS colour. */
  async difference(id: number, color: string): Promise<number> {
    const channels = (text: string): number[] => (text.match(/[\d.]+/g) ?? []).map(Number);
    const [painted, wanted] = [channels(await this.pixel(id)), channels(await this.color(color))];
    return Math.max(...[0, 1, 2].map((i) => Math.abs((painted[i] ?? Infinity) - (wanted[i] ?? -Infinity))));
  }

  /** A CSS colour, as the browser resolves it. */
  private async color(color: string): Promise<string> {
    return this.page.evaluate((name) => {
      const probe = document.createElement('span');
      probe.style.forcedColorAdjust = 'none';
      probe.style.color = name;
      document.body.append(probe);
      const resolved = getComputedStyle(probe).color;
      probe.remove();
      return resolved;
    }, color);
  }

  /** The text of the open card, in one line. */
  async card(): Promise<string> {
    const card = this.page.locator('.requests-card');
    await card.waitFor();
    return (await card.innerText()).replaceAll(/\s+/g, ' ').trim();
  }

  /** Waits until the requests rest in matching's queue. */
  async rest(...ids: number[]): Promise<void> {
    let last = '';
    await until('the requests rest', 10_000, async () => {
      const places = await this.places();
      const text = JSON.stringify(ids.map((id) => places[id]));
      const rests = ids.every((id) => id in places) && text === last;
      last = text;
      await delay(150);
      return rests;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
