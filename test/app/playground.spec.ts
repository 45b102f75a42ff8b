import { afterEach, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;
afterEach(() => service.app.close());

// Its files are those of a build: test/browser/playground.spec.ts loads them.
describe.each(PLATFORMS)('the playground over %s', (platform) => {
  it.each(['/playground', '/playground?a=/', '/PLAYGROUND'])('redirects %s to its folder', async (path) => {
    service = await start(platform);
    const log = jest.spyOn(process.stderr, 'write');
    try {
      const answer = await request(service.url).get(path);
      expect([answer.status, answer.headers['location']]).toEqual([302, 'playground/']);
      expect((await request(service.url).head(path)).status).toBe(302);
      expect(log).not.toHaveBeenCalled();
    } finally {
      log.mockRestore();
    }
  });

  it('has no other method, and no path beside its own', async () => {
    service = await start(platform);
    const { url } = service;
    const answers = [
      await request(url).post('/playground/'),
      await request(url).get('/playgrounds'),
      await request(url).get('/x/playground/'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });
});
