// One application that works for each request: node overload-server.js <variant> <ms of work>, started with an IPC channel.
import './same-start.js';
import 'reflect-metadata';
import underPressure from '@fastify/under-pressure';
import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';

const [variant, work] = process.argv.slice(2);
const WORK_MS = Number(work);
/** The thresholds of both. */
const UTILIZATION = 0.8;
const DELAY_MS = 50;

class WorkController {
  work() {
    const end = performance.now() + WORK_MS;
    while (performance.now() < end);
    return { worked: true };
  }
}
// Node 20 has no decorators: these are the same functions, called by hand.
const descriptor = Object.getOwnPropertyDescriptor(WorkController.prototype, 'work');
const decorate = (decorator) => decorator(WorkController.prototype, 'work', descriptor);
Controller()(WorkController);
decorate(Get('work'));
decorate(RateLimit({ algorithm: 'token-bucket', capacity: 1_000_000, refill: 1_000_000 }));

const classOf = ({ headers }) => headers['x-class'];
const PRESSURE = {
  maxEventLoopDelay: DELAY_MS,
  maxEventLoopUtilization: UTILIZATION,
  eventLoopUtilizationMode: 'interval',
};
const VARIANTS = {
  plain: {},
  shed: {
    shed: {
      classes: ['background', 'normal'],
      priority: classOf,
      eventLoopUtilization: UTILIZATION,
      eventLoopDelay: DELAY_MS,
    },
  },
  underPressure: { plugin: PRESSURE },
  // It measures as often as Floodgate does, and passes requests that the application calls critical.
  underPressureSparing: {
    plugin: {
      ...PRESSURE,
      sampleInterval: 50,
      pressureHandler: (request, reply) => {
        if (classOf(request) === 'critical') return undefined;
        reply.code(503).header('Retry-After', '5');
        return { statusCode: 503, message: 'The server is overloaded' };
      },
    },
  },
};

const { shed, plugin } = VARIANTS[variant];
const adapter = new FastifyAdapter();
const limits = RateLimitModule.forRoot({ ...(shed && { shed }) });
const root = { module: class App {}, controllers: [WorkController], imports: [limits] };
const app = await NestFactory.create(root, adapter, { logger: false });
if (plugin) await app.register(underPressure, plugin);
await app.listen(0, '127.0.0.1');

const ANSWERS = {
  cpu: () => process.cpuUsage(),
  stats: () => app.get(RateLimiter).stats().shedding ?? null,
};
process.on('message', (question) => process.send(ANSWERS[question]()));
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => {});
process.send({ port: app.getHttpServer().address().port });
