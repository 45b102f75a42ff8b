import { UseGuards } from '@nestjs/common';
import { Mutation, Query, Resolver } from '@nestjs/graphql';
import { RateLimitModule } from 'nestjs-floodgate';
import { type Driver, type GraphqlSettings, startGraphql } from '../../contexts/support/graphql-app.js';
import { GatedGuard, Limited, stage } from '../support/stage.js';
import type { Served, Transport } from '../support/transport.js';
import { endingOfResponse, servedOverHttp1 } from './http1.js';

const DONE = 'done';

@Resolver()
@UseGuards(GatedGuard)
class Mutations {
  @Query(() => String)
  none(): string {
    return '';
  }

  @Mutation(() => String)
  @Limited('work')
  work(): unknown {
    return stage.work();
  }

  @Mutation(() => String)
  @Limited('planned')
  planned(): unknown {
    return stage.work();
  }

  @Mutation(() => String)
  @Limited('chosen')
  chosen(): unknown {
    return stage.work();
  }

  @Mutation(() => String)
  @Limited('queue')
  queue(): unknown {
    return stage.work();
  }
}

function post(query: string): string {
  const body = JSON.stringify({ query });
  const headers = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST /graphql HTTP/1.1\r\n${headers}\r\n\r\n${body}`;
}

async function open(
  driver: Driver,
  options: Parameters<Transport['open']>[0],
  settings?: GraphqlSettings,
): Promise<Served> {
  const imports = [RateLimitModule.forRoot(options)];
  const { http } = await startGraphql(driver, { imports, providers: [Mutations] }, settings);
  return servedOverHttp1(http, (work) => post(`mutation { ${work} }`));
}

const OVER_HTTP = {
  value: DONE,
  ways: ['FIN', 'RST', 'stays'],
  without: { stream: 'an answer of GraphQL over HTTP is sent as a whole' },
} as const satisfies Partial<Transport>;

/** Apollo over Fastify has to be given the reply. */
const WITH_REPLY: GraphqlSettings = {
  apollo: { context: (req: unknown, reply: unknown) => ({ req, reply }) },
};

/** Operations over HTTP. They end with their response. */
export function graphqlOverHttp(driver: Driver): Transport {
  return {
    ...OVER_HTTP,
    name: `GraphQL over HTTP with ${driver}`,
    ending: endingOfResponse(DONE),
    open: (options) => open(driver, options, driver === 'Apollo over Fastify' ? WITH_REPLY : undefined),
  };
}

/** The application gives Apollo no reply, so that the response has to be found by its request. */
export const graphqlWithoutReply: Transport = {
  ...OVER_HTTP,
  name: 'GraphQL over HTTP with Apollo over Fastify, without the reply',
  // It differs in how it finds the response. The crowd is that of the drivers above.
  clients: 20,
  ending: endingOfResponse(DONE),
  open: (options) => open('Apollo over Fastify', options),
};
