import { Mutation, Query, Resolver } from '@nestjs/graphql';
import { RateLimitModule } from 'nestjs-floodgate';
import { type Driver, startGraphql } from '../../contexts/support/graphql-app.js';
import { handlers, PLAIN } from '../support/stage.js';
import type { Transport } from '../support/transport.js';
import { endingOfResponse, servedOverHttp1 } from './http1.js';

const DONE = 'done';

const Mutations = handlers(PLAIN, () => Mutation(() => String));
const none = { value: () => '', writable: true, configurable: true };
Query(() => String)(Mutations.prototype, 'none', none);
Object.defineProperty(Mutations.prototype, 'none', none);
Resolver()(Mutations);

function post(query: string): string {
  const body = JSON.stringify({ query });
  const headers = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST /graphql HTTP/1.1\r\n${headers}\r\n\r\n${body}`;
}

/** Operations over HTTP. They end with their response. Apollo over Fastify gets no reply: the response is found by its request. */
export function graphqlOverHttp(driver: Driver): Transport {
  return {
    name: `GraphQL over HTTP with ${driver}`,
    value: DONE,
    ways: ['FIN', 'RST', 'stays'],
    without: { stream: 'an answer of GraphQL over HTTP is sent as a whole' },
    ending: endingOfResponse(DONE),
    async open(options) {
      const imports = [RateLimitModule.forRoot(options)];
      const { http } = await startGraphql(driver, { imports, providers: [Mutations] });
      return servedOverHttp1(http, (work) => post(`mutation { ${work} }`));
    },
  };
}
