import { getEventListeners } from 'node:events';
import { Injectable, SetMetadata } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { clientOf, type ContextAdapter, RateLimitModule } from 'nestjs-floodgate';
import { start } from '../../support/http-app.js';
import { handlers, PLAIN, type Work } from '../support/stage.js';
import type { Client, Moment, Sent, Transport, Way } from '../support/transport.js';
import { endingOfHandler } from './sockets.js';

const DONE = 'done';

/** Where jobs come from: it may hang up. */
class Sender {
  private readonly controller = new AbortController();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  hangUp(): void {
    this.controller.abort();
  }
}

const Jobs = handlers(PLAIN, () => SetMetadata('job', true));
Injectable()(Jobs);

const JOBS: ContextAdapter = {
  type: 'job',
  handlers: 'a job',
  place: 'providers',
  isHandler: (_, handler) => Reflect.hasMetadata('job', handler),
  request: () => ({ headers: {} }),
};

class JobClient implements Client {
  readonly sender = new Sender();

  constructor(private readonly call: (work: Work, from: Sender) => Promise<unknown>) {}

  send(work: Work): Sent {
    const done = this.call(work, this.sender).catch(() => undefined);
    return { first: done, done };
  }

  leave(way: Way): void {
    if (way !== 'stays') this.sender.hangUp();
  }
}

function jobs(name: string, adapter: ContextAdapter, more: Pick<Transport, 'ways' | 'without'>): Transport {
  return {
    name,
    value: DONE,
    ...more,
    ending: endingOfHandler(DONE),
    async open(options) {
      const imports = [RateLimitModule.forRoot({ ...options, contexts: [adapter] })];
      const http = await start('Express', { imports, providers: [Jobs] });
      const creator = http.app.get(ExternalContextCreator);
      const instance = http.app.get(Jobs);
      const call = (work: Work, sender: Sender): Promise<unknown> => {
        const none = undefined;
        return creator.create(instance, instance[work]!, work, none, none, none, none, none, 'job')(sender);
      };
      const clients: JobClient[] = [];
      return {
        app: http.app,
        logs: http.logs,
        async client() {
          const client = new JobClient(call);
          clients.push(client);
          return client;
        },
        departed: () => clients.filter(({ sender }) => sender.signal.aborted).length,
        listeners: () => clients.flatMap(({ sender }) => getEventListeners(sender.signal, 'abort')).length,
        [Symbol.asyncDispose]: () => http.close(),
      };
    },
  };
}

const NO_STREAM = 'the application answers its jobs as a whole';
const NO_CLIENT = 'its adapter names nothing that closes';
const MOMENTS: readonly Moment[] = ['guard', 'identity', 'store', 'queue', 'handler'];

/** An application's own context whose adapter says what closes when a client leaves. */
export const jobsOfClients = jobs(
  'an own context with clients',
  { ...JOBS, client: (context) => clientOf(context.getArgByIndex<Sender>(0).signal) },
  { ways: ['FIN', 'stays'], without: { stream: NO_STREAM } },
);

/** One without: a job ends with its handler. */
export const jobsAlone = jobs('an own context without clients', JOBS, {
  ways: ['stays'],
  without: { ...Object.fromEntries(MOMENTS.map((moment) => [moment, NO_CLIENT])), stream: NO_STREAM },
});
