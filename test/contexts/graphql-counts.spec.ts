import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { graphqlContext } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { codes, DRIVERS } from './support/graphql-app.js';
import { aliases, begin } from './support/riders.js';

describe.each(DRIVERS)('what counts once with %s', (driver) => {
  it('100 aliased logins of one mutation are 100 attempts', async () => {
    await using app = await begin(driver);
    const login = 'login(password: "guess")';
    const many = await app.ask(`mutation { ${aliases(100, login)} }`);
    expect(codes(many)[0]).toBe('RATE_LIMITED');
    expect(many.data).toBeNull();
    expect(codes(await app.ask(`mutation { ${login} }`))).toEqual(['RATE_LIMITED']);
  });

  it('aliases in fragments are attempts as well, and a field that is named twice is one', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const fragment = 'fragment F on Mutation { b: login(password: "b") c: login(password: "c") }';
    await app.ask(`mutation { a: login(password: "a") ...F ...F a: login(password: "a") } ${fragment}`);
    expect(store.asked).toHaveLength(3);
  });

  it('a query is charged once for each policy, however many fields and aliases ask', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const { data } = await app.ask(`{ ${aliases(30, 'rider(id: 1) { id }')} first second more: second }`);
    expect(Object.keys(data!)).toHaveLength(33);
    expect(store.asked.flat().map(({ key, cost }) => [key.split(':').at(-3), cost])).toEqual([
      ['twenty', 1],
      ['shared', 1],
    ]);
    await app.ask('{ first second }');
    expect(store.asked.flat()).toHaveLength(3);
  });

  it('one document counts for each of its requests, whichever of its operations they name', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const query = 'query A { rider(id: 1) { id } } query B { rider(id: 2) { id } }';
    for (const operationName of ['A', 'B', 'A']) await app.post({ query, operationName });
    await Promise.all(Array.from({ length: 5 }, () => app.post({ query, operationName: 'B' })));
    expect(store.asked).toHaveLength(8);
  });

  it('each operation of a batch counts', async () => {
    await using app = await begin(driver);
    const replies = await app.batch(...Array.from({ length: 25 }, () => '{ rider(id: 1) { id } }'));
    expect(replies.flatMap(codes)).toEqual(Array.from({ length: 5 }, () => 'RATE_LIMITED'));
    expect(replies.filter(({ data }) => data?.['rider'] !== undefined)).toHaveLength(20);
  });

  it('a field is limited where guards see fields: once for an operation, or each where the application says so', async () => {
    const once = new StillStore();
    await using one = await begin(driver, { store: once }, { fieldResolverEnhancers: ['guards'] });
    expect((await one.ask('{ riders { id label other: label } }')).data!['riders']).toHaveLength(3);
    expect(once.asked).toHaveLength(1);
    expect(one.http.logs.of('warn')).toEqual([]);
    const store = new StillStore();
    const contexts = [graphqlContext({ count: 'field' })];
    await using app = await begin(driver, { store, contexts }, { fieldResolverEnhancers: ['guards'] });
    await app.ask(`{ riders { label } ${aliases(3, 'rider(id: 1) { id }')} }`);
    expect(store.asked).toHaveLength(6);
  });
});

describe('a document that is kept', () => {
  it('by Apollo counts for each request that names its hash, which a batch may do as well', async () => {
    const store = new StillStore();
    await using app = await begin('Apollo over Express', { store });
    const query = '{ rider(id: 1) { id } }';
    const sha256Hash = createHash('sha256').update(query).digest('hex');
    const extensions = { persistedQuery: { version: 1, sha256Hash } };
    await app.post({ query, extensions });
    for (let i = 0; i < 2; i++)
      expect(await (await app.post({ extensions })).json()).toEqual({ data: { rider: { id: 1 } } });
    await app.post([{ extensions }, { extensions }]);
    expect(store.asked).toHaveLength(5);
  });

  it('by Mercurius, compiled, counts for each request and for each alias of a mutation', async () => {
    const store = new StillStore();
    const settings = { mercurius: { jit: 1 }, fieldResolverEnhancers: ['guards' as const] };
    await using app = await begin('Mercurius', { store }, settings);
    for (let i = 0; i < 5; i++) {
      expect((await app.ask('{ a: first b: first }')).data).toEqual({ a: 1, b: 1 });
    }
    expect(store.asked).toHaveLength(5);
    for (let i = 0; i < 3; i++) {
      const { data } = await app.ask('mutation { a: login(password: "a") b: login(password: "bb") }');
      expect(data).toEqual({ a: 1, b: 2 });
    }
    expect(store.asked).toHaveLength(11);
    for (let i = 0; i < 3; i++) await app.ask('{ riders { label } }');
    expect(store.asked).toHaveLength(14);
  });
});
