import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { forbidden } from './forbidden.js';
import { RoomApplication } from './room-application.js';

/** Protects routes that change something: they need `CONTROL_ROOM=on` and a request of the page itself. */
@Injectable()
export class ControlGuard implements CanActivate {
  constructor(private readonly application: RoomApplication) {}

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
    if (this.application.mode !== 'on') {
      throw forbidden(
        'control_room_watches',
        'The control room of this process only watches, as in production; CONTROL_ROOM=on enables surge, switch and requests',
      );
    }
    return true;
  }
}
