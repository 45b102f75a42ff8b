import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, test } from 'node:test';
import assert from 'node:assert/strict';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expectLimit, overrideRateLimitStore, resetLimits, VirtualClock } from 'nestjs-floodgate/testing';
import { AppModule } from './app.module.js';

let app: INestApplication;

before(async () => {
  const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), new VirtualClock());
  app = (await builder.compile()).createNestApplication();
});
beforeEach(() => resetLimits(app));
after(() => app.close());

test('a client searches 20 times at once, then once a second', async () => {
  await expectLimit(app).get('/search').toAdmit(20).perSecond(1);
});

/** What `npm start` runs, without a Redis and without a variable. */
test('it starts, prints its address, serves its page and limits', async () => {
  const started = spawn(process.execPath, ['dist/main.js'], {
    env: { PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let url: string | undefined;
    for await (const line of createInterface(started.stdout)) {
      url = /^Open (http:\S+)/.exec(line)?.[1];
      if (url !== undefined) break;
    }
    const page = await (await fetch(url!)).text();
    const paths = new Set(Array.from(page.matchAll(/data-path="(\w+)"/g), ([, path]) => path));
    assert.deepEqual([...paths], ['search', 'export']);
    const statuses = async (path: string, count: number): Promise<number[]> => {
      const answers = await Promise.all(Array.from({ length: count }, () => fetch(`${url}/${path}`)));
      return answers.map(({ status }) => status).toSorted((a, b) => a - b);
    };
    const searches = await statuses('search', 25);
    assert.ok(searches.filter((status) => status === 200).length >= 20);
    assert.ok(searches.includes(429));
    assert.deepEqual(await statuses('export', 5), [200, 200, 429, 429, 429]);
  } finally {
    started.kill();
  }
});
