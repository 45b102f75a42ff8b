import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { forbidden } from './forbidden.js';

/** For what changes something: only where that is enabled, and only from the page itself. */
@Injectable()
export class ControlGuard implements CanActivate {
  constructor(private readonly config: ConfigService<Configuration, true>) {}

  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    // Another site's page cannot send this header without asking first, and is not answered.
    if (headers['x-control-room'] === undefined) {
      throw forbidden('cross_origin', 'Only the control room itself may do this: it sends the header X-Control-Room');
    }
    if (this.config.get('controlRoom', { infer: true }) !== 'on') {
      throw forbidden(
        'control_room_watches',
        'This process is only watched, as it is in production: CONTROL_ROOM=on enables surge, switch and requests',
      );
    }
    return true;
  }
}
