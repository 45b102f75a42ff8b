import { Controller, Get, type Type, Version, VERSION_NEUTRAL } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { routeOf, UniqueNames } from './route.js';

@Controller('rides')
class Rides {
  @Get('plain') plain(): void {}
  @Version('1') @Get('one') one(): void {}
  @Version(['1', '2']) @Get('both') both(): void {}
  @Version(VERSION_NEUTRAL) @Get('any') any(): void {}
  @Version(['1', VERSION_NEUTRAL]) @Get('one-or-none') oneOrNone(): void {}
}

describe('routeOf', () => {
  it.each([
    ['plain', 'GET /rides/plain'],
    ['one', 'GET /rides/one v1'],
    ['both', 'GET /rides/both v1+2'],
    ['any', 'GET /rides/any'],
    ['oneOrNone', 'GET /rides/one-or-none v1+neutral'],
  ] as const)('names the route of %s %s', (method, name) => {
    expect(routeOf(Rides as Type, Rides.prototype[method])).toBe(name);
  });
});

describe('UniqueNames', () => {
  it('gives no name twice, not even where a text looks like a second name', () => {
    const names = new UniqueNames();
    const texts = ['A /x', 'A /x #2', 'A /x', 'A /x', 'A /x #2'];
    expect(texts.map((text) => names.name(text))).toEqual(['A /x', 'A /x #2', 'A /x #3', 'A /x #4', 'A /x #2 #2']);
  });
});
