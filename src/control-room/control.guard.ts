import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { forbidden } from '../http/forbidden.js';

/** Protects routes that change something: they need `CONTROL_ROOM=on` and a request of the page itself. */
@Injectable()
export class ControlGuard implements CanActivate {
  constructor(private readonly config: ConfigService<Configuration, true>) {}

  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    // A browser lets another site send this header only after a preflight request, which this server rejects.
    if (headers['x-control-room'] === undefined) {
      throw forbidden(
        'cross_origin',
        'Only the page of the control room may do this; it sends the header X-Control-Room',
      );
    }
    if (this.config.get('controlRoom', { infer: true }) !== 'on') {
      throw forbidden(
        'control_room_watches',
        'The control room of this process only watches, as in production; CONTROL_ROOM=on enables surge, switch and requests',
      );
    }
    return true;
  }
}
