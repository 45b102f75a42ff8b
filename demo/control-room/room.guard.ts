import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { forbidden } from './forbidden.js';
import { hostName, isLoopback } from './host-name.js';
import { RoomApplication } from './room-application.js';

/**
 * Allows requests to the control room whose `Host` is this machine or a name in `CONTROL_ROOM_HOSTS`.
 *
 * A foreign page can rebind its name to this machine's address (DNS rebinding). For its browser it then has the same origin,
 * and only the name in `Host` differs. The guard does not compare ports, since port forwarding changes them.
 */
@Injectable()
export class RoomGuard implements CanActivate {
  private readonly names: ReadonlySet<string | undefined>;

  constructor({ hosts }: RoomApplication) {
    const names = hosts.map((host) => hostName(isIPv6(host) ? `[${host}]` : host));
    this.names = new Set(names.filter((name) => name !== '0.0.0.0' && name !== '[::]'));
  }

  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    // Never X-Forwarded-Host, since a page can send it.
    const name = hostName(context.switchToHttp().getRequest<IncomingMessage>().headers.host);
    if (name !== undefined && (isLoopback(name) || this.names.has(name))) return true;
    throw forbidden(
      'host_not_allowed',
      'Open the control room as localhost, or add this host name to the variable CONTROL_ROOM_HOSTS',
    );
  }
}
