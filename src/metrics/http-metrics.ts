import { Injectable } from '@nestjs/common';
import { Histogram, Registry } from 'prom-client';
import { HttpAnswers } from '../http/http-answers.js';

/** From a cached answer to a request that waited in a queue as long as it could. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Measures the duration of requests at the server. */
@Injectable()
export class HttpMetrics {
  constructor(registry: Registry, answers: HttpAnswers) {
    const durations = new Histogram({
      name: 'ride_hailing_http_request_duration_seconds',
      help: 'Time until a request was answered',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers: [registry],
    });
    answers.listen(({ method, route, status, tookMs }) => {
      durations.observe({ method, route, status }, tookMs / 1000);
    });
  }
}
