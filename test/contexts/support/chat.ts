import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { type Policy, RateLimit } from 'nestjs-floodgate';

/** How long a test waits for what must happen. */
export const LIMIT_MS = 10_000;
export const TWENTY = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' } as const satisfies Policy;

/** The body of a rejection by TWENTY. */
export const BODY = {
  statusCode: 429,
  error: 'rate_limit_exceeded',
  message: 'Too many requests, retry in 3600 seconds',
  retry_after: 3600,
  retry_after_ms: 3_600_000,
  policy: 'twenty',
};

@WebSocketGateway()
export class Chat {
  @SubscribeMessage('say')
  @RateLimit(TWENTY)
  say(@MessageBody() text: unknown): unknown {
    return { event: 'said', data: text };
  }

  @SubscribeMessage('free')
  free(): unknown {
    return { event: 'freed', data: 1 };
  }
}
