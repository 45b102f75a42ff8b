import { Body, Controller, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { limited, PLATFORMS } from '../support/http-app.js';
import { exchange, statuses } from '../support/raw-client.js';
import { StillStore } from '../support/still-store.js';

@Controller('rides')
class Rides {
  @Post()
  request(@Body() ride: unknown): unknown {
    return ride;
  }
}

const JSON_HEADERS = 'Host: floodgate.test\r\nConnection: close\r\nContent-Type: application/json\r\n';

describe.each(PLATFORMS)('the guard over %s', (platform) => {
  it.each<[string, string, number]>([
    ['a request without a route', `GET /nothing HTTP/1.1\r\n${JSON_HEADERS}\r\n`, 404],
    ['a body that is no JSON', `POST /rides HTTP/1.1\r\n${JSON_HEADERS}Content-Length: 2\r\n\r\n{x`, 400],
    [
      'a preflight',
      `OPTIONS /rides HTTP/1.1\r\n${JSON_HEADERS}Origin: http://a.test\r\nAccess-Control-Request-Method: POST\r\n\r\n`,
      204,
    ],
  ])('does not count %s, as documented', async (_, bytes, expected) => {
    const store = new StillStore();
    const defaults = [{ name: 'all', algorithm: 'fixed-window', limit: 1, window: '1h' }] as const;
    const configure = (app: { enableCors(): void }): void => app.enableCors();
    await using app = await limited(platform, Rides, { store, defaults }, { configure });
    for (let i = 0; i < 3; i++) expect(statuses(await exchange(app.port, bytes))).toEqual([expected]);
    expect(store.asked).toEqual([]);
    const good = `POST /rides HTTP/1.1\r\n${JSON_HEADERS}Content-Length: 2\r\n\r\n{}`;
    expect(statuses(await exchange(app.port, good))).toEqual([201]);
    expect(statuses(await exchange(app.port, good))).toEqual([429]);
  });
});
