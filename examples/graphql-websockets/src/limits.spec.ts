import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, test } from 'node:test';
import type { INestApplication } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { overrideRateLimitStore, resetLimits, VirtualClock } from 'nestjs-floodgate/testing';
import { WebSocket } from 'ws';
import { AppModule } from './app.module.js';

let app: INestApplication;

before(async () => {
  // The limits run on a virtual clock in the process: no Redis, and no test waits.
  const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), new VirtualClock());
  app = (await builder.compile()).createNestApplication();
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
});
beforeEach(() => resetLimits(app));
after(() => app.close());

test('ten guesses in one mutation are ten guesses: five are made', async () => {
  const guesses = Array.from({ length: 10 }, (_, i) => `guess${i}: login(password: "${i}")`);
  const response = await fetch(`${await app.getUrl()}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: `mutation { ${guesses.join(' ')} }` }),
  });
  const { errors } = (await response.json()) as { errors: { extensions: { code: string } }[] };
  assert.deepEqual(
    errors.map(({ extensions }) => extensions.code),
    Array.from({ length: 5 }, () => 'RATE_LIMITED'),
  );
});

test('a connection says three things, and the fourth is refused', async () => {
  const socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
  await once(socket, 'open');
  const events: string[] = [];
  for (let i = 1; i <= 4; i++) {
    socket.send(JSON.stringify({ event: 'say', data: `message ${i}` }));
    const [answer] = (await once(socket, 'message')) as [Buffer];
    events.push((JSON.parse(answer.toString()) as { event: string }).event);
  }
  assert.deepEqual(events, ['said', 'said', 'said', 'exception']);
  socket.terminate();
});
