import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { apiKeyIdentity, ipIdentity, type Policy, RateLimit } from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { BUCKET } from './support/identities.js';

describe.each(PLATFORMS)('policies by API key and by ip, over %s', (platform) => {
  @Controller()
  class Paired {
    @Get()
    @RateLimit(
      { ...BUCKET, name: 'key', capacity: 5, by: 'api-key' } as Policy,
      { ...BUCKET, name: 'address', capacity: 20, by: 'ip' } as Policy,
    )
    get(): void {}
  }

  it('admit no more than the ip limit of requests from one address with a new API key each', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Paired, { store, identity: FROM_HEADERS }, { trustProxy: true });
    const statuses: number[] = [];
    const from = (address: string, key: string) =>
      app.send('/', { headers: { 'X-API-Key': key, 'X-Forwarded-For': address } });
    for (let i = 0; i < 60; i++) statuses.push((await from('10.0.0.1', `invented-${i}`)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.slice(20)).toEqual(statuses.slice(20).map(() => 429));
    expect((await from('10.0.0.1', 'invented-60')).body).toMatchObject({ policy: 'address' });
    // The rejected requests charged nothing to the invented keys, and another address has its own limit.
    expect((await from('10.0.0.2', 'invented-59')).headers['x-ratelimit-remaining']).toBe('4');
  });

  it('count requests without a key by their address, and one key from many addresses as one client', async () => {
    await using app = await limited(
      platform,
      Paired,
      { store: new StillStore(), identity: FROM_HEADERS },
      { trustProxy: true },
    );
    expect(await app.crowd(7, '/', { headers: { 'X-Forwarded-For': '10.0.0.3' } })).toEqual({ 200: 5, 429: 2 });
    const shared: number[] = [];
    for (let i = 0; i < 7; i++) {
      const headers = { 'X-API-Key': 'real', 'X-Forwarded-For': `10.0.1.${i}` };
      shared.push((await app.send('/', { headers })).status);
    }
    expect(shared).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  it('count each request by its key and by its address', async () => {
    const store = new StillStore();
    const identity = [apiKeyIdentity(), ipIdentity()];
    await using app = await limited(platform, Paired, { store, identity });
    await app.send('/', { headers: { 'X-API-Key': 'a' } });
    expect(store.keys.map((key) => key.slice(4, 8))).toEqual(['key:', 'ip:1']);
  });
});
